#include "ppc/Target/Cuda/ChipKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::ppc::cuda {
namespace {

/// Blocks, threads, bytes and operations; of each map the operand, then its rank, sizes, strides and box.
constexpr StringLiteral kLaunchAttr = "ppc.launch";

std::string moduleName(StringRef chip) { return (kKernelsName + "_" + chip).str(); }

ChipLaunch launchOf(LLVM::LLVMFuncOp kernel, StringRef chip) {
  ArrayRef<int64_t> numbers = kernel->getAttrOfType<DenseI64ArrayAttr>(kLaunchAttr).asArrayRef();
  ChipLaunch launch{chip, numbers[0], numbers[1], numbers[2], numbers[3], {}};
  for (numbers = numbers.drop_front(4); !numbers.empty();) {
    auto rank = size_t(numbers[1]);
    LaunchTensorMap &map = launch.maps.emplace_back();
    map.operand = numbers[0];
    llvm::append_range(map.sizes, numbers.slice(2, rank));
    llvm::append_range(map.strides, numbers.slice(2 + rank, rank - 1));
    llvm::append_range(map.box, numbers.slice(1 + 2 * rank, rank));
    numbers = numbers.drop_front(1 + 3 * rank);
  }
  return launch;
}

} // namespace

ModuleOp chipModule(ModuleOp module, StringRef chip) {
  std::string name = moduleName(chip);
  if (auto found = module.lookupSymbol<ModuleOp>(name))
    return found;
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(module.lookupSymbol<ModuleOp>(kKernelsName));
  return ModuleOp::create(builder, module.getLoc(), name);
}

void setLaunch(ModuleOp kernels, const Kernel &kernel, int64_t flops) {
  SmallVector<int64_t> numbers{kernel.blocks, kernel.threads, kernel.sharedBytes, flops};
  for (const KernelTensorMap &map : kernel.maps) {
    numbers.push_back(llvm::find(kernel.operands, map.buffer) - kernel.operands.begin());
    numbers.push_back(int64_t(map.sizes.size()));
    llvm::append_range(numbers, map.sizes);
    llvm::append_range(numbers, map.strides);
    llvm::append_range(numbers, map.box);
  }
  kernels.lookupSymbol(kernel.name)->setAttr(kLaunchAttr, DenseI64ArrayAttr::get(kernels.getContext(), numbers));
}

ChipLaunch launchOn(ModuleOp module, StringRef kernel, int64_t blocks, int64_t threads, StringRef chip) {
  if (auto kernels = module.lookupSymbol<ModuleOp>(moduleName(chip)))
    if (auto own = kernels.lookupSymbol<LLVM::LLVMFuncOp>(kernel))
      return launchOf(own, chip);
  auto kernels = module.lookupSymbol<ModuleOp>(kKernelsName);
  auto function = kernels ? kernels.lookupSymbol<LLVM::LLVMFuncOp>(kernel) : LLVM::LLVMFuncOp();
  auto bytes = function ? function->getAttrOfType<IntegerAttr>(kSharedBytesAttr) : IntegerAttr();
  return {{}, blocks, threads, bytes ? bytes.getInt() : 0, 0, {}};
}

std::vector<ChipLaunch> chipLaunches(ModuleOp module, StringRef kernel) {
  std::vector<ChipLaunch> launches;
  for (const Chip &chip : knownChips())
    if (ChipLaunch launch = launchOn(module, kernel, 1, 1, chip.name); !launch.chip.empty())
      launches.push_back(std::move(launch));
  return launches;
}

OwningOpRef<ModuleOp> kernelsOn(ModuleOp module, const Chip &chip) {
  auto kernels = module.lookupSymbol<ModuleOp>(kKernelsName);
  if (!kernels)
    return {};
  OwningOpRef<ModuleOp> all = kernels.clone();
  auto own = module.lookupSymbol<ModuleOp>(moduleName(chip.name));
  if (!own)
    return all;
  OpBuilder builder(all->getBodyRegion());
  builder.setInsertionPointToEnd(all->getBody());
  for (Operation &op : own.getBody()->getOperations()) {
    // A kernel, or its shared memory.
    if (Operation *replaced = all->lookupSymbol(cast<SymbolOpInterface>(op).getNameAttr()))
      replaced->erase();
    builder.clone(op)->removeAttr(kLaunchAttr);
  }
  return all;
}

} // namespace mlir::ppc::cuda
