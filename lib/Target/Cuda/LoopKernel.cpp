// One op of loops on buffers -> a kernel.
#include "ppc/Target/Cuda/Kernel.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/ScopeExit.h"

namespace mlir::ppc::cuda {
namespace {

constexpr int64_t kThreads = 128;
constexpr unsigned kGlobalSpace = 1;

/// Writes the body of one kernel.
class KernelWriter {
public:
  KernelWriter(Operation *op, ModuleOp kernels, StringRef name)
      : op(op), kernels(kernels), b(op->getLoc(), op->getContext()) {
    kernel.name = name.str();
  }

  FailureOr<Kernel> run();

private:
  /// The memrefs that the op uses and that come from outside.
  LogicalResult collectBuffers();
  void createFunction();
  /// A number of this thread among all, as index.
  Value threadNumber();
  /// A value from outside as the kernel has it: computed again.
  LogicalResult captureValues();
  LogicalResult capture(Value value);

  LogicalResult writeGeneric(linalg::GenericOp generic);
  LogicalResult writeLoop(scf::ForOp loop);

  Value address(Value memref, ValueRange indices);
  Value load(Value memref, ValueRange indices);
  void store(Value value, Value memref, ValueRange indices);
  /// Clones the ops of a block, with memory accesses on addresses; results are in `map`. Not its terminator.
  void clone(Block &block, ValueRange dims);
  void cloneOp(Operation &inner, ValueRange dims);

  Operation *op;
  ModuleOp kernels;
  ImplicitLocOpBuilder b;
  Kernel kernel;
  LLVM::LLVMFuncOp function;
  IRMapping map; // values outside and in the op -> values of the kernel; memrefs -> addresses
};

bool isOutside(Value value, Operation *op) { return !op->isAncestor(value.getParentBlock()->getParentOp()); }

LogicalResult KernelWriter::collectBuffers() {
  llvm::SetVector<Value> buffers;
  WalkResult result = op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      auto type = dyn_cast<MemRefType>(operand.getType());
      if (!type || !isOutside(operand, op))
        continue;
      if (!type.hasStaticShape() || !type.isStrided()) {
        op->emitError() << "a kernel needs buffers of static shapes, and has " << type;
        return WalkResult::interrupt();
      }
      buffers.insert(operand);
    }
    return WalkResult::advance();
  });
  kernel.buffers.assign(buffers.begin(), buffers.end());
  return failure(result.wasInterrupted());
}

void KernelWriter::createFunction() {
  MLIRContext *context = op->getContext();
  auto pointer = LLVM::LLVMPointerType::get(context, kGlobalSpace);
  SmallVector<Type> inputs(kernel.buffers.size(), pointer);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), inputs);
  b.setInsertionPointToEnd(kernels.getBody());
  function = LLVM::LLVMFuncOp::create(b, kernel.name, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  for (auto [buffer, argument] : llvm::zip(kernel.buffers, entry->getArguments()))
    map.map(buffer, argument);
}

Value KernelWriter::threadNumber() {
  Type i32 = b.getI32Type();
  auto index = [&](Value value) { return arith::IndexCastUIOp::create(b, b.getIndexType(), value).getResult(); };
  Value block = index(NVVM::BlockIdXOp::create(b, i32)), thread = index(NVVM::ThreadIdXOp::create(b, i32));
  Value size = arith::ConstantIndexOp::create(b, kernel.threads);
  return arith::AddIOp::create(b, arith::MulIOp::create(b, block, size), thread);
}

LogicalResult KernelWriter::captureValues() {
  WalkResult result = op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (isOutside(operand, op) && failed(capture(operand)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult KernelWriter::capture(Value value) {
  if (map.contains(value))
    return success();
  Operation *producer = value.getDefiningOp();
  bool isScalarLoad = isa_and_nonnull<memref::LoadOp>(producer);
  if (!producer || producer->getNumRegions() || (!isScalarLoad && !isMemoryEffectFree(producer)))
    return op->emitError() << "a kernel cannot compute again what it takes from outside: " << value;
  for (Value operand : producer->getOperands()) {
    if (isa<MemRefType>(operand.getType()) && !map.contains(operand)) {
      // A buffer that only this value reads.
      kernel.buffers.push_back(operand);
      map.map(operand,
              function.getBody().addArgument(LLVM::LLVMPointerType::get(op->getContext(), kGlobalSpace), op->getLoc()));
      continue;
    }
    if (failed(capture(operand)))
      return failure();
  }
  cloneOp(*producer, {});
  return success();
}

Value KernelWriter::address(Value memref, ValueRange indices) {
  auto type = cast<MemRefType>(memref.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  Value place = arith::ConstantIndexOp::create(b, offset);
  for (auto [index, stride] : llvm::zip(indices, strides)) {
    Value step = arith::MulIOp::create(b, index, arith::ConstantIndexOp::create(b, stride));
    place = arith::AddIOp::create(b, place, step);
  }
  Value number = arith::IndexCastOp::create(b, b.getI64Type(), place);
  Value base = map.lookup(memref);
  return LLVM::GEPOp::create(b, base.getType(), type.getElementType(), base, ValueRange(number));
}

Value KernelWriter::load(Value memref, ValueRange indices) {
  return LLVM::LoadOp::create(b, cast<MemRefType>(memref.getType()).getElementType(), address(memref, indices));
}

void KernelWriter::store(Value value, Value memref, ValueRange indices) {
  LLVM::StoreOp::create(b, value, address(memref, indices));
}

void KernelWriter::cloneOp(Operation &inner, ValueRange dims) {
  auto mapped = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return map.lookupOrDefault(value); });
  };
  if (auto index = dyn_cast<linalg::IndexOp>(inner))
    return map.map(index.getResult(), dims[index.getDim()]);
  if (auto read = dyn_cast<memref::LoadOp>(inner))
    return map.map(read.getResult(), load(read.getMemref(), mapped(read.getIndices())));
  if (auto write = dyn_cast<memref::StoreOp>(inner))
    return store(map.lookup(write.getValue()), write.getMemref(), mapped(write.getIndices()));
  if (inner.getNumRegions() == 0) {
    b.clone(inner, map);
    return;
  }
  // An op with regions: itself without them, then their blocks.
  Operation *outer = b.cloneWithoutRegions(inner, map);
  OpBuilder::InsertionGuard guard(b);
  for (auto [from, to] : llvm::zip(inner.getRegions(), outer->getRegions()))
    for (Block &block : from) {
      SmallVector<Location> places(block.getNumArguments(), inner.getLoc());
      b.createBlock(&to, to.end(), block.getArgumentTypes(), places);
      for (auto [a, c] : llvm::zip(block.getArguments(), to.back().getArguments()))
        map.map(a, c);
      clone(block, dims);
      b.clone(*block.getTerminator(), map);
    }
}

void KernelWriter::clone(Block &block, ValueRange dims) {
  for (Operation &inner : block.without_terminator())
    cloneOp(inner, dims);
}

LogicalResult KernelWriter::writeGeneric(linalg::GenericOp generic) {
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
  SmallVector<unsigned> parallel, reduction;
  for (auto [i, kind] : llvm::enumerate(generic.getIteratorTypesArray()))
    (kind == utils::IteratorType::parallel ? parallel : reduction).push_back(i);
  int64_t iterations = 1;
  for (unsigned dim : parallel)
    iterations *= sizes[dim];
  kernel.threads = std::min<int64_t>(kThreads, llvm::alignTo(iterations, 32));
  kernel.blocks = llvm::divideCeil(iterations, kernel.threads);

  // The iteration of this thread, innermost dimension fastest.
  Value number = threadNumber();
  auto guard = scf::IfOp::create(
      b, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, arith::ConstantIndexOp::create(b, iterations)),
      /*withElseRegion=*/false);
  b.setInsertionPointToStart(guard.thenBlock());
  SmallVector<Value> dims(sizes.size());
  for (unsigned dim : llvm::reverse(parallel)) {
    Value size = arith::ConstantIndexOp::create(b, sizes[dim]);
    dims[dim] = arith::RemUIOp::create(b, number, size);
    number = arith::DivUIOp::create(b, number, size);
  }
  auto place = [&](OpOperand &operand) {
    SmallVector<Value> indices;
    AffineMap indexing = generic.getMatchingIndexingMap(&operand);
    for (AffineExpr expression : indexing.getResults())
      indices.push_back(affine::expandAffineExpr(b, b.getLoc(), expression, dims, {}));
    return indices;
  };
  Block &body = *generic.getBody();
  Value zero = arith::ConstantIndexOp::create(b, 0), one = arith::ConstantIndexOp::create(b, 1);
  // Maps of outputs have no dimension of a reduction: their places can be computed before its loops.
  for (unsigned dim : reduction)
    dims[dim] = zero;
  SmallVector<SmallVector<Value>> places;
  SmallVector<Value> carried;
  for (OpOperand &output : generic.getDpsInitsMutable()) {
    places.push_back(place(output));
    bool read = !reduction.empty() || !body.getArgument(output.getOperandNumber()).use_empty();
    auto type = cast<MemRefType>(output.get().getType()).getElementType();
    carried.push_back(read ? load(output.get(), places.back()) : LLVM::UndefOp::create(b, type).getResult());
  }
  SmallVector<scf::ForOp> loops;
  for (unsigned dim : reduction) {
    auto loop = scf::ForOp::create(b, zero, arith::ConstantIndexOp::create(b, sizes[dim]), one, carried);
    loops.push_back(loop);
    b.setInsertionPointToStart(loop.getBody());
    dims[dim] = loop.getInductionVar();
    carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  }
  for (OpOperand *input : generic.getDpsInputOperands())
    if (Value argument = body.getArgument(input->getOperandNumber()); !argument.use_empty())
      map.map(argument,
              isa<MemRefType>(input->get().getType()) ? load(input->get(), place(*input)) : map.lookup(input->get()));
  for (auto [output, value] : llvm::zip(generic.getDpsInitsMutable(), carried))
    map.map(body.getArgument(output.getOperandNumber()), value);
  clone(body, dims);
  SmallVector<Value> results =
      llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value v) { return map.lookup(v); });
  for (scf::ForOp loop : llvm::reverse(loops)) {
    scf::YieldOp::create(b, results);
    b.setInsertionPointAfter(loop);
    results.assign(loop.getResults().begin(), loop.getResults().end());
  }
  for (auto [output, value, indices] : llvm::zip(generic.getDpsInits(), results, places))
    store(value, output, indices);
  return success();
}

/// The innermost loop of a nest without anything after it, if each of its iterations writes, and reads of what is
/// written, only places whose last index is its number: they can run in any order.
scf::ForOp columnsOf(scf::ForOp outermost) {
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

LogicalResult KernelWriter::writeLoop(scf::ForOp loop) {
  scf::ForOp columns = columnsOf(loop);
  int64_t width = columns ? *getConstantIntValue(columns.getUpperBound()) : 1;
  kernel.threads = std::min<int64_t>(kThreads, llvm::alignTo(width, 32));
  kernel.blocks = llvm::divideCeil(width, kernel.threads);
  Value number = threadNumber();
  auto guard = scf::IfOp::create(
      b, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, arith::ConstantIndexOp::create(b, width)),
      /*withElseRegion=*/false);
  b.setInsertionPointToStart(guard.thenBlock());
  cloneOp(*loop, {});
  if (!columns)
    return success();
  // The loop over columns runs once, for the column of this thread.
  auto cloned = cast<scf::ForOp>(cast<BlockArgument>(map.lookup(columns.getInductionVar())).getOwner()->getParentOp());
  b.setInsertionPoint(cloned);
  cloned.setLowerBound(number);
  cloned.setUpperBound(arith::AddIOp::create(b, number, arith::ConstantIndexOp::create(b, 1)));
  return success();
}

FailureOr<Kernel> KernelWriter::run() {
  // Fills and copies are loops, too.
  Operation *original = op;
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    OpBuilder builder(op);
    op = linalg::makeMemRefCopyOp(builder, op->getLoc(), copy.getSource(), copy.getTarget());
  } else if (isa<linalg::LinalgOp>(op) && !isa<linalg::GenericOp>(op)) {
    OpBuilder builder(op);
    Operation *duplicate = builder.clone(*op);
    IRRewriter rewriter(builder);
    rewriter.setInsertionPoint(duplicate);
    FailureOr<linalg::GenericOp> generic = linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(duplicate));
    if (failed(generic))
      return op->emitError("no loops are known for it");
    op = *generic;
  }
  llvm::scope_exit drop([&] {
    if (op != original)
      op->erase();
  });
  if (failed(collectBuffers()))
    return failure();
  createFunction();
  if (failed(captureValues()))
    return failure();
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (failed(generic ? writeGeneric(generic) : writeLoop(cast<scf::ForOp>(op))))
    return failure();
  b.setInsertionPointToEnd(&function.getBody().back());
  LLVM::ReturnOp::create(b, ValueRange());
  // Buffers of captured values came later.
  SmallVector<Type> inputs(function.getBody().getArgumentTypes());
  function.setFunctionType(LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(op->getContext()), inputs));
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), b.getDenseI32ArrayAttr({int32_t(kernel.threads), 1, 1}));
  return std::move(kernel);
}

} // namespace

bool isKernelOp(Operation *op) {
  if (isa<linalg::LinalgOp, memref::CopyOp>(op))
    return true;
  if (!isa<scf::ForOp>(op))
    return false;
  return !op->walk([&](Operation *inner) {
              return isa<CallOpInterface, linalg::LinalgOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
            }).wasInterrupted();
}

FailureOr<Kernel> buildLoopKernel(Operation *op, ModuleOp kernels, StringRef name) {
  return KernelWriter(op, kernels, name).run();
}

} // namespace mlir::ppc::cuda
