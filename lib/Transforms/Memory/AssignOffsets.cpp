// ppc-assign-offsets: allocations become offsets in one scratch buffer per function, callees first, so that a call's
// scratch is one live range of its caller and nothing is allocated at run time.
#include "ppc/Transforms/Memory/OffsetAllocator.h"
#include "ppc/Transforms/Memory/Passes.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_ASSIGNOFFSETSPASS
#include "ppc/Transforms/Memory/Passes.h.inc"

namespace {
/// A user of scratch memory: the result of an allocation, or the scratch of a call.
struct Need {
  Operation *op;
  LiveBuffer buffer;
};

FailureOr<int64_t> sizeInBytes(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() || !type.getElementType().isIntOrFloat())
    return alloc.emitOpError() << "of type " << type << " has no size known at compile time";
  return type.getNumElements() * int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

/// The callee of a call of either kind; null for other ops.
FlatSymbolRefAttr calleeOf(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCalleeAttr();
  if (auto call = dyn_cast<ppcrt::CallOp>(op))
    return call.getCalleeAttr();
  return {};
}

/// The last top-level op of `block` that uses `root` or a view of it.
FailureOr<Operation *> lastUser(Value root, Block &block) {
  Operation *last = root.getDefiningOp();
  SmallVector<Value> aliases{root};
  while (!aliases.empty()) {
    Value value = aliases.pop_back_val();
    for (Operation *user : value.getUsers()) {
      Operation *top = block.findAncestorOpInBlock(*user);
      if (last->isBeforeInBlock(top))
        last = top;
      for (Value result : user->getResults())
        if (isa<BaseMemRefType>(result.getType())) {
          if (!isa<ViewLikeOpInterface>(user) && !isa<memref::AllocOp>(user))
            return user->emitOpError("forwards a buffer in a way that its live range cannot be followed");
          aliases.push_back(result);
        }
    }
  }
  return last;
}

/// Removes results that are arguments. Entries are public, and upstream's drop-equivalent-buffer-results leaves
/// public functions alone; no op in the module calls them.
void dropReturnedArguments(func::FuncOp function) {
  if (!ppcrt::routineKindOf(function) || function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return;
  Operation *terminator = function.front().getTerminator();
  llvm::BitVector returned(function.getNumResults());
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (isa<BlockArgument>(value))
      returned.set(i);
  terminator->eraseOperands(returned);
  (void)function.eraseResults(returned);
}

struct AssignOffsetsPass : impl::AssignOffsetsPassBase<AssignOffsetsPass> {
  DenseMap<StringAttr, func::FuncOp> functions;
  DenseMap<Operation *, int64_t> scratch; // bytes of each function that is done

  void runOnOperation() override {
    functions.clear();
    scratch.clear();
    for (auto function : getOperation().getOps<func::FuncOp>())
      functions[function.getSymNameAttr()] = function;
    for (auto function : getOperation().getOps<func::FuncOp>())
      dropReturnedArguments(function);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(assign(function, 0)))
        return signalPassFailure();
  }

  /// Done once per function; callees first.
  LogicalResult assign(func::FuncOp function, unsigned depth) {
    if (function.isExternal() || scratch.contains(function))
      return success();
    if (!llvm::hasSingleElement(function.getBody()) || function.getNumResults() != 0)
      return function.emitOpError("has results or several blocks; offsets need bufferized code of one block");
    if (depth > 64)
      return function.emitOpError("is called recursively; its scratch has no fixed size");
    FailureOr<SmallVector<Need>> needs = collect(function, depth);
    if (failed(needs))
      return failure();
    SmallVector<LiveBuffer> buffers = llvm::map_to_vector(*needs, [](const Need &need) { return need.buffer; });
    int64_t bytes = assignOffsets(buffers);
    if (auto overlap = findOverlap(buffers))
      return (*needs)[overlap->first].op->emitOpError("overlaps another live buffer; please report this");
    scratch[function] = bytes;
    if (auto remark = remark::analysis(function.getLoc(), remark::RemarkOpts::name("scratch").category("ppc-offsets"));
        remark && bytes) {
      int64_t live = liveBytesAtPeak(buffers);
      remark << llvm::formatv("@{0}: {1} bytes, of which {2} are in use at one time: {3:f2} % more",
                              function.getSymName(), bytes, live, 100 * (double(bytes) / double(live) - 1))
                    .str();
    }
    if (bytes == 0 && !ppcrt::routineKindOf(function))
      return success();
    auto type = MemRefType::get({bytes}, IntegerType::get(&getContext(), 8));
    if (failed(function.insertArgument(function.getNumArguments(), type, {}, function.getLoc())))
      return failure();
    Value base = function.getArguments().back();
    for (auto [need, buffer] : llvm::zip(*needs, buffers))
      place(need.op, buffer, base);
    return success();
  }

  FailureOr<SmallVector<Need>> collect(func::FuncOp function, unsigned depth) {
    SmallVector<Need> needs;
    Block &block = function.front();
    DenseMap<Operation *, int64_t> position;
    for (auto [i, op] : llvm::enumerate(block))
      position[&op] = i;
    WalkResult walk = function.walk([&](Operation *op) -> WalkResult {
      if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
        if (alloc->getParentOfType<scf::ExecuteRegionOp>()) // in registers
          return WalkResult::advance();
        if (alloc->getBlock() != &block)
          return alloc.emitOpError("is in a region; scratch is assigned to the function's own block only");
        FailureOr<int64_t> bytes = sizeInBytes(alloc);
        FailureOr<Operation *> last = lastUser(alloc, block);
        if (failed(bytes) || failed(last))
          return WalkResult::interrupt();
        needs.push_back({op, {*bytes, position[op], position[*last], 0}});
      } else if (FlatSymbolRefAttr symbol = calleeOf(op)) {
        auto callee = functions.lookup(symbol.getAttr());
        if (!callee || callee.isExternal())
          return WalkResult::advance();
        if (op->getBlock() != &block)
          return op->emitOpError("is in a region; scratch is assigned to the function's own block only");
        if (failed(assign(callee, depth + 1)))
          return WalkResult::interrupt();
        if (scratch[callee] > 0)
          needs.push_back({op, {scratch[callee], position[op], position[op], 0}});
      } else if (isa<memref::AllocaOp>(op)) {
        return op->emitOpError("allocates on the stack");
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
    return needs;
  }

  void place(Operation *op, const LiveBuffer &buffer, Value base) {
    OpBuilder builder(op);
    Value offset = arith::ConstantIndexOp::create(builder, op->getLoc(), buffer.offset);
    bool isCall = bool(calleeOf(op));
    auto viewType = isCall ? MemRefType::get({buffer.bytes}, builder.getI8Type()) : cast<memref::AllocOp>(op).getType();
    Value view = memref::ViewOp::create(builder, op->getLoc(), viewType, base, offset, ValueRange());
    if (isCall) {
      op->insertOperands(op->getNumOperands(), view);
      return;
    }
    op->getResult(0).replaceAllUsesWith(view);
    op->erase();
  }
};
} // namespace
} // namespace mlir::ppc
