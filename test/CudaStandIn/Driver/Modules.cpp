// Modules and launches of the fake driver.
#include "test/CudaStandIn/Driver/Machine.h"
#include "test/CudaStandIn/Ptx/Launch.h"
#include "test/CudaStandIn/Ptx/Module.h"
#include "test/CudaStandIn/Ptx/TensorMap.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

using namespace standin;

namespace {

struct LoadedFunction {
  const ptx::Function *code;
  int64_t dynamicShared = 48 << 10; // that a launch may ask for
};

struct LoadedModule {
  std::unique_ptr<ptx::Module> code;
  std::map<std::string, LoadedFunction> functions;
};

// Whether the chip that it is for, "sm_90a", is this one, or an older one and no chip of its own kind.
bool runsHere(const std::string &target) {
  char *end;
  long number = std::strtol(target.c_str() + 3, &end, 10);
  return *end && *end != ',' ? number == Machine::get().chip : number <= Machine::get().chip;
}

} // namespace

extern "C" {

int cuModuleLoadData(LoadedModule **loaded, const void *image) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  if (!machine.contexts)
    return InvalidContext;
  if (machine.status() || !machine.mayPrepare("cuModuleLoadData"))
    return machine.status();
  auto *text = static_cast<const char *>(image);
  if (std::strncmp(text,
                   "\x7f"
                   "ELF",
                   4) == 0)
    return NoBinaryForGpu; // machine code
  auto module = std::make_unique<LoadedModule>();
  try {
    module->code = ptx::parse(text);
  } catch (const ptx::ParseError &error) {
    std::fprintf(stderr, "stand-in of a GPU: PTX, %s\n", error.what());
    return InvalidPtx;
  }
  if (!runsHere(module->code->target))
    return NoBinaryForGpu;
  module->code->load([&](int64_t bytes, int64_t alignment) { return machine.memory.allocate(bytes, alignment); },
                     [&](uint64_t address, const std::vector<uint8_t> &bytes) {
                       std::memcpy(machine.memory.use(ptx::Use::Write, address, int64_t(bytes.size())), bytes.data(),
                                   bytes.size());
                     });
  for (const auto &[name, kernel] : module->code->kernels)
    module->functions[name].code = kernel.get();
  *loaded = module.release();
  return Success;
}

int cuModuleUnload(LoadedModule *module) {
  Lock lock(Machine::get().mutex);
  Machine::get().finishAll();
  delete module;
  return Machine::get().status();
}

int cuModuleGetFunction(LoadedFunction **function, LoadedModule *module, const char *name) {
  Lock lock(Machine::get().mutex);
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    return NotFound;
  *function = &found->second;
  return Machine::get().status();
}

int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, LoadedModule *module, const char *name) {
  for (const ptx::Variable &variable : module->code->variables)
    if (variable.name == name) {
      *address = variable.address;
      *bytes = size_t(variable.bytes);
      return Machine::get().status();
    }
  return NotFound;
}

int cuFuncSetAttribute(LoadedFunction *function, int attribute, int value) {
  Lock lock(Machine::get().mutex);
  constexpr int mostDynamicShared = 8, mostShared = 227 << 10;
  Machine &machine = Machine::get();
  if (machine.status() || !machine.mayPrepare("cuFuncSetAttribute"))
    return machine.status();
  if (attribute != mostDynamicShared || value < 0 || value > mostShared)
    return InvalidValue;
  function->dynamicShared = value;
  return Success;
}

// Encodes a map in the format that the fake driver's kernels read (Ptx/TensorMap.h).
int cuTensorMapEncodeTiled(void *encoded, int type, unsigned rank, void *address, const uint64_t *sizes,
                           const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                           int swizzle, int, int fill) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  if (int status = machine.status())
    return status;
  constexpr int bytesOf[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  if (reinterpret_cast<uintptr_t>(encoded) % 64 || rank < 1 || rank > ptx::TensorMap::mostRank || type < 0 ||
      type >= int(std::size(bytesOf)) || interleave || fill || swizzle < 0 || swizzle > 3)
    return InvalidValue;
  ptx::TensorMap map;
  map.rank = uint8_t(rank);
  map.elementBytes = uint8_t(bytesOf[type]);
  map.swizzle = uint8_t(swizzle);
  map.address = reinterpret_cast<uint64_t>(address);
  for (unsigned i = 0; i < rank; ++i) {
    if (steps[i] != 1 || sizes[i] > UINT32_MAX || box[i] > 256)
      return InvalidValue;
    map.sizes[i] = uint32_t(sizes[i]);
    map.box[i] = uint16_t(box[i]);
    map.strides[i] = i ? strides[i - 1] : map.elementBytes;
  }
  if (const char *what = ptx::faultOf(map))
    return machine.fail(InvalidValue, std::string("cuTensorMapEncodeTiled: ") + what);
  std::memset(encoded, 0, 128);
  std::memcpy(encoded, &map, sizeof map);
  return Success;
}

int cuLaunchKernel(LoadedFunction *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                   unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream *stream, void **parameters,
                   void **extra) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  if (int status = machine.status())
    return status;
  if (!function || !stream || extra)
    return InvalidHandle;
  const ptx::Function &code = *function->code;
  if (sharedBytes > function->dynamicShared)
    return machine.fail(InvalidValue, "kernel '" + code.name + "' gets " + std::to_string(sharedBytes) +
                                          " bytes of dynamic shared memory, and no attribute allows that");
  if (!stream->captured)
    machine.beginStep();
  auto bytes = std::make_shared<std::vector<std::byte>>(size_t(code.parameterBytes));
  for (size_t i = 0; i < code.parameters.size(); ++i)
    std::memcpy(bytes->data() + code.parameters[i].address, parameters[i], size_t(code.parameters[i].bytes));
  ptx::LaunchShape shape{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes};
  machine.enqueue(stream, "kernel '" + code.name + "'", [&machine, &code, shape, bytes] {
    ptx::LaunchOptions options;
    options.seed = machine.draw();
    ptx::launch(code, shape, bytes->data(), machine.memory, options);
  });
  return machine.status();
}

} // extern "C"
