// Loops of device functions -> launches of kernels. Equal kernels are emitted once.
#include "ppc/Target/Cuda/ChipKernels.h"

#include "dialects/ppc/LegalShape.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "ppc/Support/Limits.h"
#include "ppc/Transforms/Profile/Work.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/xxhash.h"

namespace mlir::ppc::cuda {
namespace {

/// Accesses of a kernel to the buffer of a parameter, from its code. Uses that are not followed count as both.
struct Use {
  bool reads = false, writes = false;

  Use &operator|=(const Use &other) {
    reads |= other.reads, writes |= other.writes;
    return *this;
  }
};

Use useOf(Value pointer) {
  Use use;
  SmallVector<Value> pending{pointer};
  llvm::SmallDenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &operand : value.getUses()) {
      Operation *user = operand.getOwner();
      if (isa<LLVM::LoadOp>(user))
        use.reads = true;
      else if (auto copy = dyn_cast<NVVM::CpAsyncOp>(user); copy && copy.getSrc() == value)
        use.reads = true; // into shared memory
      else if (auto store = dyn_cast<LLVM::StoreOp>(user); store && store.getAddr() == value)
        use.writes = true;
      else if (auto text = dyn_cast<LLVM::InlineAsmOp>(user);
               text && text.getAsmString().contains("st.global") && !text.getAsmString().contains("ld.global"))
        use.writes = true;
      else if (isa<LLVM::GEPOp>(user))
        pending.push_back(user->getResult(0));
      else
        return {true, true};
    }
  }
  return use;
}

/// The shared memory of a kernel, which has a name of its own.
SmallVector<std::pair<LLVM::AddressOfOp, LLVM::GlobalOp>> sharedMemoryOf(LLVM::LLVMFuncOp function) {
  SmallVector<std::pair<LLVM::AddressOfOp, LLVM::GlobalOp>> found;
  function->walk([&](LLVM::AddressOfOp address) {
    auto kernels = function->getParentOfType<ModuleOp>();
    found.emplace_back(address, kernels.lookupSymbol<LLVM::GlobalOp>(address.getGlobalName()));
  });
  return found;
}

/// The text of a kernel but its name.
std::string contentOf(LLVM::LLVMFuncOp function, const Kernel &kernel) {
  std::string text = std::to_string(kernel.blocks) + "x" + std::to_string(kernel.threads) + "\n";
  StringAttr name = function.getSymNameAttr();
  function.setSymName("kernel");
  llvm::raw_string_ostream stream(text);
  function->print(stream, OpPrintingFlags().useLocalScope());
  function.setSymNameAttr(name);
  for (auto [address, shared] : sharedMemoryOf(function))
    shared->print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

/// Kernel kind for users who look at a profile.
StringRef kindOf(Operation *op) {
  if (isa<ppcrt::AttentionOp>(op))
    return "attention";
  if (isa<ppcrt::AttentionBackwardOp>(op))
    return "attention_backward";
  if (isa<memref::CopyOp>(op))
    return "copy";
  if (isa<linalg::FillOp>(op))
    return "fill";
  if (isa<scf::ExecuteRegionOp>(op))
    return "rows";
  return isa<scf::ForOp>(op) ? "loops" : "elementwise";
}

/// The loads outside of `op` that it computes with: a kernel repeats them, and what is computed from them.
SmallVector<memref::LoadOp> repeatedLoads(Operation *op) {
  SmallVector<memref::LoadOp> loads;
  SmallVector<Value> pending;
  llvm::SmallDenseSet<Value> seen;
  auto add = [&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == op->getBlock() && seen.insert(operand).second)
        pending.push_back(operand);
  };
  op->walk(add);
  while (!pending.empty()) {
    Operation *producer = pending.pop_back_val().getDefiningOp();
    if (auto load = dyn_cast<memref::LoadOp>(producer))
      loads.push_back(load);
    else if (isMemoryEffectFree(producer))
      add(producer);
  }
  return loads;
}

/// Checks that a value that a kernel loads again is still in memory: no op has written to its buffer since.
LogicalResult checkLoads(Block &block) {
  llvm::DenseMap<Operation *, Operation *> overwritten; // loads so far -> the first op that writes there, or null
  for (Operation &op : block) {
    if (isKernelOp(&op))
      for (memref::LoadOp load : repeatedLoads(&op))
        if (Operation *write = overwritten.lookup(load)) {
          InFlightDiagnostic error = op.emitError("computes with what was loaded before its buffer was written again");
          error.attachNote(load.getLoc()) << "loaded here";
          error.attachNote(write->getLoc()) << "written here";
          return error;
        }
    auto effects = getEffectsRecursively(&op);
    for (auto &[load, write] : overwritten) {
      Value buffer = cast<memref::LoadOp>(load).getMemref();
      auto writes = [&](const MemoryEffects::EffectInstance &effect) {
        return isa<MemoryEffects::Write>(effect.getEffect()) && (!effect.getValue() || effect.getValue() == buffer);
      };
      if (!write && effects && llvm::any_of(*effects, writes))
        write = &op;
    }
    if (isa<memref::LoadOp>(op))
      overwritten[&op] = nullptr;
  }
  return success();
}

/// Number of runs of an op inside of `op`, which becomes a kernel; std::nullopt if the size of a loop is not known.
std::optional<int64_t> iterationsOf(Operation *inner, Operation *op) {
  int64_t iterations = 1;
  for (Operation *loop = inner->getParentOp();; loop = loop->getParentOp()) {
    if (auto loops = dyn_cast<linalg::LinalgOp>(loop)) {
      for (int64_t size : loops.getStaticLoopRanges())
        iterations *= size;
    } else if (auto counted = dyn_cast<scf::ForOp>(loop)) {
      std::optional<APInt> trips = counted.getStaticTripCount();
      if (!trips)
        return std::nullopt;
      iterations *= trips->getSExtValue();
    } else if (!isa<scf::ExecuteRegionOp>(loop)) {
      return std::nullopt;
    }
    if (loop == op)
      return iterations;
  }
}

/// Value of kTouchedBytesAttr for a buffer.
int64_t touchedBytes(Operation *op, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t reads = 0, writes = 0, element = int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  for (Operation *user : buffer.getUsers()) {
    if (!op->isAncestor(user))
      continue;
    std::optional<int64_t> iterations =
        user != op && isa<memref::LoadOp, memref::StoreOp>(user) ? iterationsOf(user, op) : std::nullopt;
    if (!iterations)
      return -1;
    (isa<memref::LoadOp>(user) ? reads : writes) += *iterations * element;
  }
  int64_t most = std::max(reads, writes);
  return most > 0 && most < type.getNumElements() * element ? most : -1;
}

class KernelOutliner {
public:
  explicit KernelOutliner(ModuleOp module) : module(module) {
    OpBuilder builder(module.getBodyRegion());
    kernels = ModuleOp::create(builder, module.getLoc(), kKernelsName);
  }

  LogicalResult run(func::FuncOp function) {
    if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
      return success();
    if (failed(checkLoads(function.front())))
      return failure();
    for (Operation &op : llvm::make_early_inc_range(function.front())) {
      if (!isKernelOp(&op))
        continue;
      if (failed(checkSizes(&op)))
        return failure();
      FailureOr<SmallVector<Kernel>> built = buildKernels(&op, kernels, "kernel_without_name");
      if (failed(built))
        return failure();
      for (const Kernel &kernel : *built)
        if (kernel.blocks < 1 || kernel.blocks > kMostBlocks)
          return op.emitOpError() << "needs " << kernel.blocks << " blocks of threads, expected 1 to " << kMostBlocks;
      auto flops = double(workOf(&op).flops), parts = double(built->size());
      for (auto [number, kernel] : llvm::enumerate(*built))
        launch(op, kernel, number, int64_t(kernel.share < 0 ? flops / parts : flops * kernel.share));
      op.erase();
    }
    return success();
  }

  /// A module without kernels has no module of kernels.
  void finish() {
    if (kernels.getBody()->empty())
      kernels.erase();
  }

private:
  LogicalResult checkSizes(Operation *op) {
    for (Type type : op->getOperandTypes())
      if (auto buffer = dyn_cast<MemRefType>(type); buffer && !isLegalShape(buffer.getShape()))
        return op->emitOpError() << "works on " << type << ", expected no dimension of size zero and at most "
                                 << limits::tensorElements << " elements";
    return success();
  }

  void launch(Operation &op, Kernel &kernel, size_t number, int64_t flops) {
    auto function = kernels.lookupSymbol<LLVM::LLVMFuncOp>(kernel.name);
    SmallVector<Use> uses;
    for (BlockArgument argument : function.getArguments())
      uses.push_back(useOf(argument));
    size_t kinds = names.size();
    StringAttr name = unify(function, kernel, kindOf(&op));
    if (names.size() > kinds)
      addForChips(op, number, name);
    SmallVector<int64_t> reads, writes, idle;
    for (auto [place, operand] : llvm::enumerate(kernel.operands)) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      Use use = uses[place], any = use;
      for (const Chip &chip : knownChips())
        any |= useOn(chip.name, name, place);
      if (any.reads || !any.writes) // a parameter that is not used is no harm to read
        reads.push_back(int64_t(place));
      if (any.writes)
        writes.push_back(int64_t(place));
      if (!use.reads && !use.writes)
        idle.push_back(int64_t(place));
    }
    OpBuilder builder(&op);
    auto symbol = SymbolRefAttr::get(kernels.getSymNameAttr(), {FlatSymbolRefAttr::get(name)});
    auto launch = ppcrt::LaunchOp::create(builder, op.getLoc(), symbol, uint64_t(kernel.blocks),
                                          uint64_t(kernel.threads), kernel.operands, reads, writes, uint64_t(flops));
    if (!idle.empty())
      launch->setAttr(kIdleOperandsAttr, builder.getDenseI64ArrayAttr(idle));
    auto touched = llvm::map_to_vector(kernel.operands, [&](Value operand) -> int64_t {
      return isa<MemRefType>(operand.getType()) ? touchedBytes(&op, operand) : -1;
    });
    if (llvm::any_of(touched, [](int64_t bytes) { return bytes >= 0; }))
      launch->setAttr(kTouchedBytesAttr, builder.getDenseI64ArrayAttr(touched));
  }

  /// Accesses of a chip's own kernel to an operand.
  Use useOn(StringRef chip, StringRef name, size_t place) {
    Use use;
    auto own = module.lookupSymbol<ModuleOp>((kKernelsName + "_" + chip).str());
    auto function = own ? own.lookupSymbol<LLVM::LLVMFuncOp>(name) : LLVM::LLVMFuncOp();
    if (!function)
      return use;
    use = useOf(function.getArgument(unsigned(place)));
    for (const LaunchTensorMap &map : launchOn(module, name, 1, 1, chip).maps) // copied from
      use.reads |= map.operand == int64_t(place);
    return use;
  }

  /// Adds the kernels that single chips run instead of a new kernel.
  void addForChips(Operation &op, size_t number, StringRef name) {
    for (const Chip &chip : knownChips()) {
      ModuleOp own = chipModule(module, chip.name);
      if (std::optional<Kernel> kernel = buildChipKernel(&op, number, own, name, chip.name))
        setLaunch(own, *kernel, int64_t(double(workOf(&op).flops) * (kernel->share < 0 ? 1 : kernel->share)));
      else if (own.getBody()->empty())
        own.erase();
    }
  }

  /// The name of the one kernel with this code; `function` is it, or goes.
  StringAttr unify(LLVM::LLVMFuncOp function, const Kernel &kernel, StringRef kind) {
    std::string content = contentOf(function, kernel);
    auto [known, isNew] = names.try_emplace(content);
    auto shared = sharedMemoryOf(function);
    if (!isNew) {
      llvm::SmallSetVector<Operation *, 1> globals;
      for (auto [address, global] : shared)
        globals.insert(global);
      function.erase();
      for (Operation *global : globals)
        global->erase();
      return known->second;
    }
    uint64_t hash = llvm::xxh3_64bits(content);
    std::string name;
    do // two contents with one hash
      name = (kind + "_" + llvm::utohexstr(hash++, /*LowerCase=*/true, 16)).str();
    while (kernels.lookupSymbol(name));
    function.setSymName(name);
    for (auto [address, global] : shared) {
      if (global.getSymName().starts_with(kernel.name)) // once, however many addresses are taken
        global.setSymName(name + global.getSymName().drop_front(kernel.name.size()).str());
      address.setGlobalName(global.getSymName());
    }
    return known->second = function.getSymNameAttr();
  }

  ModuleOp module, kernels;
  llvm::StringMap<StringAttr> names; // by content
};

struct OutlineKernelsPass : PassWrapper<OutlineKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlineKernelsPass)
  StringRef getArgument() const override { return "ppc-outline-kernels"; }
  StringRef getDescription() const override { return "Loops of device functions become launches of kernels"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, arith::ArithDialect, linalg::LinalgDialect, math::MathDialect,
                    memref::MemRefDialect, ppcrt::PpcRtDialect, scf::SCFDialect>();
  }
  void runOnOperation() override {
    KernelOutliner outliner(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(outliner.run(function)))
        return signalPassFailure();
    outliner.finish();
  }
};

} // namespace

std::unique_ptr<Pass> createOutlineKernelsPass() { return std::make_unique<OutlineKernelsPass>(); }

} // namespace mlir::ppc::cuda
