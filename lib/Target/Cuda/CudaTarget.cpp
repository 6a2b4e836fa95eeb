// Programs for GPUs: loops of bodies become kernels, and functions a table of what is launched.
#include "DeviceCode.h"
#include "Traffic.h"
#include "lib/Target/Cuda/Attention/AttentionOnePass.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/Passes.h"
#include "ppc/Codegen/Manifest.h"
#include "ppc/Target/Cuda/Assembler.h"
#include "ppc/Target/Cuda/ChipKernels.h"
#include "ppc/Target/Cuda/Writer/Ptx.h"
#include "ppc/Target/Target.h"
#include "ppc/Transforms/Buffers/BufferPasses.h"
#include "llvm/Support/ThreadPool.h"

#include <deque>

using namespace mlir;
using namespace mlir::ppc;

namespace {

class CudaTarget : public Target {
public:
  const TargetCapabilities &capabilities() const override { return cudaCapabilities(); }
  void registerDialects(DialectRegistry &registry) const override;
  void registerPasses() const override;
  void addBodyPasses(OpPassManager &pm, bool overlap) const override;
  void addCodePasses(OpPassManager &pm) const override;
  FailureOr<std::string> describeProgram(ModuleOp module, const ProgramTexts &texts) const override;
  llvm::Error checkProcessors(StringRef processors) const override;
  std::string processorsFor(ArrayRef<std::string> architectures) const override;
  llvm::Error writeObject(ModuleOp module, StringRef description, const CodeOptions &options,
                          raw_ostream &object) const override;
  llvm::Expected<std::string> kernelText(ModuleOp module, StringRef processors) const override;
  llvm::Expected<std::string> kernelTable(ModuleOp module, StringRef processors) const override;
  llvm::Expected<std::string> trafficTable(ModuleOp module) const override { return cuda::trafficTable(module); }
  llvm::Expected<LinkTools> findLinkTools(const LinkOptions &options) const override {
    return ppc::findLinkTools(options);
  }
  llvm::Error link(StringRef object, StringRef executable, const LinkTools &tools) const override {
    return linkExecutable(object, executable, tools);
  }
};

/// The chips of a list with commas; all of them where it is empty.
llvm::Expected<SmallVector<cuda::Chip>> chipsOf(StringRef names) {
  if (names.empty())
    return SmallVector<cuda::Chip>(cuda::knownChips());
  SmallVector<cuda::Chip> chips;
  for (StringRef name : llvm::split(names, ',')) {
    llvm::Expected<cuda::Chip> chip = cuda::chipNamed(name.trim());
    if (!chip)
      return chip.takeError();
    if (llvm::none_of(chips, [&](const cuda::Chip &other) { return other.name == chip->name; }))
      chips.push_back(*chip);
  }
  return chips;
}

/// PTX of the kernels of a module; nothing where it has none.
llvm::Expected<std::string> ptxOf(ModuleOp module, const cuda::Chip &chip) {
  OwningOpRef<ModuleOp> kernels = cuda::kernelsOn(module, chip);
  return kernels ? cuda::emitPtx(*kernels, chip) : std::string();
}

/// Kernels of chips as text and as machine code, which the assembler makes while those of the next chip are compiled.
class AssembledImages {
public:
  /// `text`: what the assembler takes; empty where there are no kernels. `assembles`: if it is installed.
  void add(const cuda::Chip &chip, std::string text, bool assembles) {
    Image &image = images.emplace_back(Image{chip, std::move(text)});
    if (!assembler || !assembles || image.text.empty())
      return;
    pool.async([this, &image] {
      llvm::Expected<cuda::Assembled> assembled = cuda::assemble(*assembler, image.text, image.chip);
      if (assembled)
        image.machineCode = std::move(assembled->machineCode);
      else
        image.problem = llvm::toString(assembled.takeError());
    });
  }

  llvm::Expected<SmallVector<DeviceImage>> take() {
    pool.wait();
    SmallVector<DeviceImage> all;
    for (Image &image : images) {
      if (!image.problem.empty())
        return llvm::createStringError(image.problem);
      if (!image.machineCode.empty())
        all.push_back({image.chip.name, true, std::move(image.machineCode)});
      all.push_back({image.chip.name, false, std::move(image.text)}); // for drivers that are older than the assembler
    }
    return std::move(all);
  }

private:
  struct Image {
    cuda::Chip chip;
    std::string text, machineCode = "", problem = "";
  };
  std::optional<std::string> assembler = cuda::findAssembler();
  std::deque<Image> images;     // in places that stay
  llvm::DefaultThreadPool pool; // destroyed first
};

} // namespace

void CudaTarget::registerDialects(DialectRegistry &registry) const {
  registerBufferDialects(registry);
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
}

void CudaTarget::registerPasses() const {
  registerBufferPasses();
  mlir::registerPass([] { return cuda::createAttentionScratchPass(); });
  mlir::registerPass([] { return cuda::createOutlineKernelsPass(); });
}

void CudaTarget::addBodyPasses(OpPassManager &pm, bool overlap) const {
  addBufferPasses(pm, overlap, /*fuseRows=*/true, /*fuseEpilogues=*/true,
                  [](OpPassManager &more) { more.addPass(cuda::createAttentionScratchPass()); });
  pm.addPass(cuda::createOutlineKernelsPass());
  // What was computed for kernels alone. Kernels themselves become canonical where they are lowered.
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
}

void CudaTarget::addCodePasses(OpPassManager &pm) const { cuda::buildLowerKernels(pm.nest<ModuleOp>()); }

FailureOr<std::string> CudaTarget::describeProgram(ModuleOp module, const ProgramTexts &texts) const {
  FailureOr<llvm::json::Object> code = cuda::describeCode(module);
  if (failed(code))
    return failure();
  return writeManifest(module, capabilities().name, texts.plan, texts.config, texts.mathematics, std::move(*code));
}

llvm::Error CudaTarget::checkProcessors(StringRef processors) const { return chipsOf(processors).takeError(); }

std::string CudaTarget::processorsFor(ArrayRef<std::string> architectures) const {
  SmallVector<StringRef> chips;
  for (StringRef architecture : architectures) {
    // "sm_90" is that of "sm_90a"; machine code of sm_80 runs on later ones of its generation, sm_86 and sm_89.
    auto known = llvm::find_if(cuda::knownChips(), [&](const cuda::Chip &chip) {
      return chip.name == architecture || chip.name == (architecture + "a").str() ||
             (chip.name == "sm_80" && architecture.size() == 5 && architecture.starts_with("sm_8"));
    });
    if (known == cuda::knownChips().end())
      return "";
    if (!llvm::is_contained(chips, known->name))
      chips.push_back(known->name);
  }
  return llvm::join(chips, ",");
}

llvm::Error CudaTarget::writeObject(ModuleOp module, StringRef description, const CodeOptions &options,
                                    raw_ostream &object) const {
  llvm::Expected<SmallVector<cuda::Chip>> chips = chipsOf(options.processors);
  if (!chips)
    return chips.takeError();
  // PTX of the oldest chip is the only form that carries forward: that of an "a" runs on its own architecture alone.
  const cuda::Chip &oldest = cuda::knownChips().front();
  bool isOldestWanted = llvm::any_of(*chips, [&](const cuda::Chip &chip) { return chip.name == oldest.name; });
  if (!isOldestWanted)
    chips->insert(chips->begin(), oldest);
  AssembledImages images;
  for (const cuda::Chip &chip : *chips) {
    llvm::Expected<std::string> text = ptxOf(module, chip);
    if (!text)
      return text.takeError();
    images.add(chip, std::move(*text), isOldestWanted || chip.name != oldest.name);
  }
  llvm::Expected<SmallVector<DeviceImage>> all = images.take();
  if (!all)
    return all.takeError();
  std::vector<std::vector<char>> expanded;
  return emitDeviceObject(description, *all, cuda::constantsOf(module, expanded), object);
}

/// Calls `body(chip, its PTX)` for each of the processors.
static llvm::Error forEachChip(ModuleOp module, StringRef processors,
                               function_ref<llvm::Error(const cuda::Chip &, StringRef)> body) {
  llvm::Expected<SmallVector<cuda::Chip>> chips = chipsOf(processors);
  if (!chips)
    return chips.takeError();
  for (const cuda::Chip &chip : *chips) {
    llvm::Expected<std::string> text = ptxOf(module, chip);
    if (!text)
      return text.takeError();
    if (llvm::Error error = body(chip, *text))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<std::string> CudaTarget::kernelText(ModuleOp module, StringRef processors) const {
  std::string all;
  llvm::Error error = forEachChip(module, processors, [&](const cuda::Chip &, StringRef text) {
    all += text;
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  return all;
}

llvm::Expected<std::string> CudaTarget::kernelTable(ModuleOp module, StringRef processors) const {
  std::optional<std::string> assembler = cuda::findAssembler();
  llvm::MapVector<StringRef, SmallVector<ppcrt::LaunchOp>> launches;
  module.walk([&](ppcrt::LaunchOp launch) { launches[launch.getKernel().getLeafReference()].push_back(launch); });
  std::string table;
  llvm::raw_string_ostream out(table);
  if (!assembler)
    out << "# ptxas is not installed: registers, spills and shared memory are not known\n";
  out << "architecture,kernel,blocks,threads,launches in bodies,registers,spilled bytes,shared bytes,bytes "
         "read,bytes written,FLOP\n";
  llvm::Error error = forEachChip(module, processors, [&](const cuda::Chip &chip, StringRef text) -> llvm::Error {
    llvm::StringMap<cuda::KernelResources> resources;
    if (assembler && !text.empty()) {
      llvm::Expected<cuda::Assembled> assembled = cuda::assemble(*assembler, text, chip);
      if (!assembled)
        return assembled.takeError();
      for (cuda::KernelResources &kernel : assembled->kernels)
        resources[kernel.kernel] = kernel;
    }
    for (auto &[name, places] : launches) {
      cuda::ChipLaunch launch = cuda::launchOn(module, name, int64_t(places.front().getBlocks()),
                                               int64_t(places.front().getThreads()), chip.name);
      out << chip.name << "," << name << "," << launch.blocks << "," << launch.threads << "," << places.size();
      if (auto known = resources.find(name); known != resources.end())
        out << "," << known->second.registers << "," << known->second.spillBytes << ","
            << known->second.sharedBytes + launch.sharedBytes;
      else
        out << ",,,";
      cuda::LaunchTraffic moved = cuda::trafficOf(places.front());
      out << "," << moved.read << "," << moved.written << ","
          << (launch.chip.empty() ? int64_t(places.front().getFlops()) : launch.flops) << "\n";
    }
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  return table;
}

const Target &ppc::cudaTarget() {
  static const CudaTarget cuda;
  return cuda;
}
