// Choosing and loading an image.
#include "runtime/cuda/Kernels.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>

namespace ppcrt::cuda {
namespace {

// "sm_90a" as 90 and true.
struct Chip {
  int number = 0;
  bool isAlone = false; // its code runs on no other chip
};

Chip chipOf(const char *name) {
  if (std::strncmp(name, "sm_", 3) != 0)
    return {};
  char *end;
  long number = std::strtol(name + 3, &end, 10);
  return {int(number), *end != '\0'};
}

bool runsOn(const ppcrt_image &image, int architecture) {
  Chip chip = chipOf(image.chip);
  if (chip.number <= 0)
    return false;
  if (chip.isAlone)
    return chip.number == architecture;
  if (image.kind == PPCRT_CUBIN) // of its generation, from its own chip on: sm_86 and sm_89 run what is for sm_80
    return chip.number / 10 == architecture / 10 && chip.number <= architecture;
  return image.kind == PPCRT_PTX && chip.number <= architecture;
}

// What does not fit in the memory that every kernel may use has to be asked for.
constexpr int64_t sharedWithoutAsking = 48 << 10;

} // namespace

std::vector<const ppcrt_image *> imagesFor(const ppcrt_program &program, int architecture) {
  std::vector<const ppcrt_image *> found;
  for (uint64_t i = 0; i < program.image_count; ++i)
    if (runsOn(program.images[i], architecture))
      found.push_back(&program.images[i]);
  auto worth = [](const ppcrt_image *image) {
    Chip chip = chipOf(image->chip);
    return std::tuple(image->kind == PPCRT_CUBIN, chip.number, chip.isAlone);
  };
  std::sort(found.begin(), found.end(), [&](auto *a, auto *b) { return worth(a) > worth(b); });
  return found;
}

Kernels::Kernels(CudaDevice &device, const ppcrt_program &program, const std::vector<Kernel> &kernels)
    : device(device) {
  if (kernels.empty())
    return;
  chip = load(program);
  for (const Kernel &kernel : kernels)
    this->kernels.push_back(find(kernel));
}

Kernels::Loaded Kernels::find(const Kernel &kernel) {
  Loaded found{nullptr, kernel.blocks, kernel.threads, kernel.sharedBytes, nullptr};
  for (const ChipLaunch &own : kernel.chips)
    if (own.chip == chip)
      found = {nullptr, own.blocks, own.threads, own.sharedBytes, &own.maps};
  if (device.driver.moduleGetFunction(&found.function, module, kernel.name.c_str()) != success)
    throw InputError("code.kernels: the program's image has no kernel \"" + kernel.name + "\"");
  if (found.sharedBytes > sharedWithoutAsking)
    device.check(device.driver.funcSetAttribute(found.function, mostDynamicSharedBytes, int(found.sharedBytes)),
                 ("cuFuncSetAttribute of \"" + kernel.name + "\"").c_str());
  return found;
}

TensorMapBytes Kernels::encode(const TensorMap &map, uint64_t address) {
  std::vector<uint64_t> sizes(map.sizes.begin(), map.sizes.end()), strides(map.strides.begin(), map.strides.end());
  std::vector<unsigned> box(map.box.begin(), map.box.end()), steps(map.box.size(), 1);
  TensorMapBytes bytes;
  device.check(device.driver.tensorMapEncodeTiled(&bytes, mapOfBf16, unsigned(sizes.size()),
                                                  reinterpret_cast<void *>(address), sizes.data(), strides.data(),
                                                  box.data(), steps.data(), mapNotInterleaved, mapSwizzled128,
                                                  mapPromoted256, mapFilledWithZeros),
               "cuTensorMapEncodeTiled");
  return bytes;
}

void Kernels::launch(int number, std::vector<uint64_t> &operands) {
  const Loaded &kernel = kernels[size_t(number)];
  parameters.clear();
  for (uint64_t &operand : operands)
    parameters.push_back(&operand);
  if (kernel.maps) {
    maps.clear();
    for (const TensorMap &map : *kernel.maps)
      maps.push_back(encode(map, operands[size_t(map.operand)]));
    for (TensorMapBytes &map : maps)
      parameters.push_back(&map);
  }
  device.launch(kernel.function, kernel.blocks, kernel.threads, kernel.sharedBytes, parameters.data());
}

std::string Kernels::load(const ppcrt_program &program) {
  std::vector<const ppcrt_image *> images = imagesFor(program, device.architecture);
  std::string compiled;
  for (uint64_t i = 0; i < program.image_count; ++i)
    compiled +=
        (i ? ", " : "") + std::string(program.images[i].chip) + (program.images[i].kind == PPCRT_CUBIN ? "" : " (PTX)");
  if (images.empty())
    throw InputError(format("GPU %d is a %s, sm_%d, and the program was compiled for %s: compile it for sm_%d or an "
                            "older chip",
                            device.number, device.name.c_str(), device.architecture, compiled.c_str(),
                            device.architecture));
  std::string failures;
  for (const ppcrt_image *image : images) {
    // The driver reads PTX to a zero byte.
    std::string content(static_cast<const char *>(image->data), size_t(image->size));
    Status status = device.driver.moduleLoadData(&module, content.c_str());
    if (status == success)
      return image->chip;
    const char *name = nullptr;
    if (device.driver.getErrorName(status, &name) != success || !name)
      name = "unknown error";
    failures += (failures.empty() ? "" : ", ") + std::string(image->chip) + ": " + name;
  }
  throw InputError(format("the driver of GPU %d (%s) loads none of the program's images (%s): install a newer one",
                          device.number, device.name.c_str(), failures.c_str()));
}

Kernels::~Kernels() {
  if (module)
    device.driver.moduleUnload(module);
}

} // namespace ppcrt::cuda
