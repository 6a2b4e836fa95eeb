// One op of loops on buffers -> a kernel: which shape it has, and the two that take any loops.
#include "lib/Target/Cuda/Writer/KernelWriter.h"

#include "dialects/ppcrt/PpcRt.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/ScopeExit.h"

namespace mlir::ppc::cuda {

constexpr int64_t kThreads = 128;

/// A thread for each of so many iterations.
static void giveToThreads(Kernel &kernel, int64_t iterations) {
  kernel.threads = std::min<int64_t>(kThreads, llvm::alignTo(iterations, kWarp));
  kernel.blocks = llvm::divideCeil(iterations, kernel.threads);
}

void writeLoops(KernelWriter &w, linalg::GenericOp generic) {
  ImplicitLocOpBuilder &b = w.b;
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges(), parallelSizes;
  SmallVector<unsigned> parallel, reduction;
  generic.getParallelDims(parallel);
  generic.getReductionDims(reduction);
  int64_t iterations = 1;
  for (unsigned dim : parallel) {
    parallelSizes.push_back(sizes[dim]);
    iterations *= sizes[dim];
  }
  giveToThreads(w.kernel, iterations);
  Value number = w.threadsBelow(iterations);
  SmallVector<Value> dims(sizes.size(), w.index(0));
  for (auto [dim, value] : llvm::zip(parallel, w.delinearize(number, parallelSizes)))
    dims[dim] = value;
  // Maps of outputs have no dimension of a reduction: their places can be computed before its loops.
  Block &body = *generic.getBody();
  SmallVector<SmallVector<Value>> places;
  SmallVector<Value> carried;
  for (OpOperand &output : generic.getDpsInitsMutable()) {
    places.push_back(w.place(generic, output, dims));
    bool read = !reduction.empty() || !body.getArgument(output.getOperandNumber()).use_empty();
    Type type = cast<MemRefType>(output.get().getType()).getElementType();
    carried.push_back(read ? w.load(output.get(), places.back()) : LLVM::UndefOp::create(b, type).getResult());
  }
  SmallVector<scf::ForOp> loops;
  for (unsigned dim : reduction) {
    loops.push_back(scf::ForOp::create(b, w.index(0), w.index(sizes[dim]), w.index(1), carried));
    b.setInsertionPointToStart(loops.back().getBody());
    dims[dim] = loops.back().getInductionVar();
    carried.assign(loops.back().getRegionIterArgs().begin(), loops.back().getRegionIterArgs().end());
  }
  for (OpOperand *input : generic.getDpsInputOperands())
    if (Value argument = body.getArgument(input->getOperandNumber()); !argument.use_empty())
      w.map.map(argument, isa<MemRefType>(input->get().getType()) ? w.load(input->get(), w.place(generic, *input, dims))
                                                                  : w.map.lookup(input->get()));
  for (auto [output, value] : llvm::zip(generic.getDpsInitsMutable(), carried))
    w.map.map(body.getArgument(output.getOperandNumber()), value);
  w.clone(body, dims);
  auto results = llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value v) { return w.map.lookup(v); });
  for (scf::ForOp loop : llvm::reverse(loops)) {
    scf::YieldOp::create(b, results);
    b.setInsertionPointAfter(loop);
    results.assign(loop.getResults().begin(), loop.getResults().end());
  }
  for (auto [output, value, indices] : llvm::zip(generic.getDpsInits(), results, places))
    w.store(value, output, indices);
}

/// The innermost loop of a nest without anything after it, if each of its iterations writes, and reads of what is
/// written, only places whose last index is its number: they can run in any order.
static scf::ForOp columnsOf(scf::ForOp outermost) {
  scf::ForOp innermost = outermost;
  for (auto inner = innermost.getBody()->getOps<scf::ForOp>(); llvm::hasSingleElement(inner);
       inner = innermost.getBody()->getOps<scf::ForOp>())
    innermost = *inner.begin();
  bool apart = innermost != outermost && innermost.getInitArgs().empty();
  llvm::SmallPtrSet<Value, 2> written;
  outermost->walk([&](memref::StoreOp write) {
    written.insert(write.getMemref());
    apart &= write->getParentOp() == innermost && !write.getIndices().empty() &&
             write.getIndices().back() == innermost.getInductionVar();
  });
  outermost->walk([&](memref::LoadOp read) {
    apart &= !written.contains(read.getMemref()) ||
             (!read.getIndices().empty() && read.getIndices().back() == innermost.getInductionVar());
  });
  auto constant = [](Value value) { return getConstantIntValue(value); };
  return apart && constant(innermost.getLowerBound()) == 0 && constant(innermost.getStep()) == 1 &&
                 constant(innermost.getUpperBound())
             ? innermost
             : scf::ForOp();
}

void writeSequential(KernelWriter &w, scf::ForOp loop) {
  scf::ForOp columns = columnsOf(loop);
  int64_t width = columns ? *getConstantIntValue(columns.getUpperBound()) : 1;
  giveToThreads(w.kernel, width);
  Value number = w.threadsBelow(width);
  w.cloneOp(*loop, {});
  if (!columns)
    return;
  // The loop over columns runs once, for the column of this thread.
  auto variable = cast<BlockArgument>(w.map.lookup(columns.getInductionVar()));
  auto cloned = cast<scf::ForOp>(variable.getOwner()->getParentOp());
  w.b.setInsertionPoint(cloned);
  cloned.setLowerBound(number);
  cloned.setUpperBound(arith::AddIOp::create(w.b, number, w.index(1)));
}

bool isKernelOp(Operation *op) {
  if (isa<linalg::LinalgOp, memref::CopyOp, ppcrt::AttentionOp, ppcrt::AttentionBackwardOp, scf::ExecuteRegionOp>(op))
    return true;
  if (!isa<scf::ForOp>(op))
    return false;
  return !op->walk([&](Operation *inner) {
              return isa<CallOpInterface, linalg::LinalgOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
            }).wasInterrupted();
}

/// One kernel of all ops of a region.
static FailureOr<SmallVector<Kernel>> buildRegionKernel(scf::ExecuteRegionOp op, ModuleOp kernels, StringRef name) {
  std::string why = "it has several blocks";
  std::optional<RowRegion> region;
  if (llvm::hasSingleElement(op.getRegion()))
    region = RowRegion::of(llvm::to_vector(op.getRegion().front().getOps<linalg::LinalgOp>()), &why);
  if (!region)
    return op.emitError() << "no kernel is known for these ops together: " << why;
  KernelWriter w(op, kernels, name);
  if (failed(w.begin()))
    return failure();
  writeRowRegion(w, *region);
  return SmallVector<Kernel>{w.finish()};
}

/// Copies, fills and other named ops as loops; the op itself if it has them.
static FailureOr<Operation *> withLoops(Operation *op) {
  OpBuilder builder(op);
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return linalg::makeMemRefCopyOp(builder, op->getLoc(), copy.getSource(), copy.getTarget()).getOperation();
  if (!isa<linalg::LinalgOp>(op) || isa<linalg::GenericOp>(op))
    return op;
  Operation *duplicate = builder.clone(*op);
  IRRewriter rewriter(builder);
  rewriter.setInsertionPoint(duplicate);
  FailureOr<linalg::GenericOp> generic = linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(duplicate));
  if (succeeded(generic))
    return generic->getOperation();
  duplicate->erase();
  return op->emitError("no loops are known for it");
}

FailureOr<SmallVector<Kernel>> buildKernels(Operation *op, ModuleOp kernels, StringRef name) {
  if (isa<ppcrt::AttentionOp, ppcrt::AttentionBackwardOp>(op))
    return buildAttentionKernels(op, kernels, name);
  if (auto region = dyn_cast<scf::ExecuteRegionOp>(op))
    return buildRegionKernel(region, kernels, name);
  FailureOr<Operation *> loops = withLoops(op);
  if (failed(loops))
    return failure();
  llvm::scope_exit drop([&] {
    if (*loops != op)
      (*loops)->erase();
  });
  KernelWriter w(*loops, kernels, name);
  if (failed(w.begin()))
    return failure();
  auto generic = dyn_cast<linalg::GenericOp>(*loops);
  if (auto loop = dyn_cast<scf::ForOp>(*loops)) {
    if (!writeRowScatter(w, loop))
      writeSequential(w, loop);
  } else if (isRowReduction(generic))
    writeRowReduction(w, generic);
  else if (isColumnSum(generic))
    writeColumnSum(w, generic);
  else if (int64_t width = elementsPerThread(generic); width > 1)
    writeElementwise(w, generic, width);
  else
    writeLoops(w, generic);
  return SmallVector<Kernel>{w.finish()};
}

std::optional<Kernel> buildChipKernel(Operation *op, size_t number, ModuleOp kernels, StringRef name, StringRef chip) {
  return buildChipAttention(op, number, kernels, name, chip);
}

} // namespace mlir::ppc::cuda
