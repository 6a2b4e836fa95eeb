// convert-linalg-to-scf: structured ops on buffers become loops over flat memory. Flat, because then dimensions that
// run through every buffer alike merge into one long loop; with sums in registers, because then LLVM vectorises them
// without having to prove that buffers do not overlap.
#include "ppc/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_LINALGTOSCFPASS
#include "ppc/Conversion/Passes.h.inc"

namespace {

/// One loop, or several that merged.
struct Loop {
  int64_t size = 1;
  bool reduction = false;
  SmallVector<int64_t> strides;   // in elements, one for each operand
  SmallVector<unsigned> original; // the op's loops in it
};

/// Strides of operand `index` along each loop, in elements, and the offset of its first element.
struct FlatAccess {
  int64_t start = 0;
  SmallVector<int64_t> strides;
};

FailureOr<FlatAccess> flatten(linalg::LinalgOp op, OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = cast<MemRefType>(operand.get().getType());
  if (!memref::isStaticShapeAndContiguousRowMajor(type))
    return op.emitOpError() << "needs row-major buffers without gaps, not " << type;
  unsigned loops = op.getNumLoops();
  auto position = [&](ArrayRef<int64_t> point) {
    SmallVector<int64_t> index = map.compose(point);
    int64_t flat = 0;
    for (auto [i, extent] : llvm::zip(index, type.getShape()))
      flat = flat * extent + i;
    return flat;
  };
  SmallVector<int64_t> point(loops, 0);
  FlatAccess access;
  access.start = position(point);
  for (unsigned loop = 0; loop < loops; ++loop) {
    point[loop] = 1;
    access.strides.push_back(position(point) - access.start);
    point[loop] = 0;
  }
  for (AffineExpr expr : map.getResults())
    if (!expr.isPureAffine() || expr.isFunctionOfSymbol(0) || expr.walk([](AffineExpr e) {
          return e.getKind() == AffineExprKind::Mod || e.getKind() == AffineExprKind::FloorDiv ||
                         e.getKind() == AffineExprKind::CeilDiv
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        }) == WalkResult::interrupt())
      return op.emitOpError() << "addresses operand " << operand.getOperandNumber()
                              << " in a way that is not linear in the loops";
  return access;
}

/// Orders and merges the loops.
SmallVector<Loop> planLoops(linalg::LinalgOp op, ArrayRef<FlatAccess> accesses) {
  SmallVector<Loop> parallel, reductions;
  for (auto [i, size] : llvm::enumerate(op.getStaticLoopRanges())) {
    Loop loop{size, op.getIteratorTypesArray()[i] == utils::IteratorType::reduction, {}, {unsigned(i)}};
    for (const FlatAccess &access : accesses)
      loop.strides.push_back(access.strides[i]);
    (loop.reduction ? reductions : parallel).push_back(loop);
  }
  auto jumps = [](const Loop &loop) {
    return llvm::count_if(loop.strides, [](int64_t s) { return s != 0 && s != 1; });
  };
  SmallVector<Loop> order = parallel;
  // Sums go innermost, into registers, unless a parallel loop runs along memory and the sum does not.
  auto best = std::min_element(parallel.begin(), parallel.end(),
                               [&](const Loop &a, const Loop &b) { return jumps(a) < jumps(b); });
  if (!reductions.empty() && best != parallel.end() && jumps(*best) < jumps(reductions.back())) {
    Loop inner = *best;
    order.erase(order.begin() + (best - parallel.begin()));
    llvm::append_range(order, reductions);
    order.push_back(inner);
  } else {
    llvm::append_range(order, reductions);
  }
  if (op.hasIndexSemantics())
    return order;
  SmallVector<Loop> merged;
  for (Loop &loop : order) {
    auto follows = [&](Loop &outer) {
      return outer.reduction == loop.reduction && llvm::all_of(llvm::zip(outer.strides, loop.strides), [&](auto pair) {
               return std::get<0>(pair) == std::get<1>(pair) * loop.size;
             });
    };
    if (!merged.empty() && follows(merged.back())) {
      merged.back().size *= loop.size;
      merged.back().strides = loop.strides;
      llvm::append_range(merged.back().original, loop.original);
    } else {
      merged.push_back(loop);
    }
  }
  return merged;
}

/// Partial sums of a vectorised loop, interleaved. LLVM would choose their number by the cost of an iteration, down
/// to address arithmetic: the same loop would round differently if its buffers had other offsets.
constexpr int32_t kInterleavedSums = 4;

/// Vectors of a loop over polynomials that are computed interleaved. Each step of a polynomial depends on the one
/// before, and a vector has more of them, with its rounding to bf16, than the processor looks ahead: LLVM counts the
/// operations of such a loop, not their latency, and would compute one vector at a time. Remaining elements are
/// computed one by one, so the loop has to be long.
constexpr int32_t kInterleavedPolynomials = 4;
constexpr int64_t kShortestInterleaved = 1024;

/// Whether the op computes functions that become polynomials.
bool computesPolynomials(linalg::LinalgOp op) {
  return llvm::any_of(op.getBlock()->without_terminator(),
                      [](Operation &inner) { return isa<math::ExpOp, math::LogOp, math::ErfOp>(inner); });
}

void interleave(scf::ForOp loop, int32_t count) {
  Builder b(loop.getContext());
  auto interleave = LLVM::LoopInterleaveAttr::get(b.getContext(), b.getI32IntegerAttr(count));
  loop->setAttr("llvm.loop_annotation", LLVM::LoopAnnotationAttr::get(b.getContext(), {}, {}, interleave, {}, {}, {},
                                                                      {}, {}, {}, {}, {}, {}, {}, {}, {}));
}

/// Emits the loops of one op.
class LoopEmitter {
public:
  LoopEmitter(linalg::LinalgOp op, SmallVector<FlatAccess> accesses)
      : op(op), accesses(std::move(accesses)), loops(planLoops(op, this->accesses)), b(op.getLoc(), op) {}

  void emit() {
    for (OpOperand &operand : op->getOpOperands())
      flat.push_back(asFlat(operand.get()));
    // A trailing run of reductions keeps its sums in registers.
    firstRegister = loops.size();
    while (firstRegister > 0 && loops[firstRegister - 1].reduction)
      --firstRegister;
    emitLoops(0, {});
    op->erase();
  }

private:
  Value asFlat(Value buffer) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    if (!type) // a scalar
      return buffer;
    if (type.getRank() == 1)
      return buffer;
    if (type.getRank() == 0)
      return memref::ExpandShapeOp::create(b, MemRefType::get({1}, type.getElementType()), buffer,
                                           ArrayRef<ReassociationIndices>{});
    ReassociationIndices all = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    return memref::CollapseShapeOp::create(b, buffer, ArrayRef<ReassociationIndices>{all});
  }

  /// Loop `depth` and all inside it. `carried` are the sums so far, when in registers; returns the new ones.
  SmallVector<Value> emitLoops(unsigned depth, SmallVector<Value> carried) {
    // Operands that are invariant in the loops from here on are read once. No element that is written here can alias
    // them: an operand that shares memory with a result follows the same loops.
    for (OpOperand *operand : op.getDpsInputOperands())
      if (depth == loopsThatMove(*operand))
        loaded[operand->getOperandNumber()] = load(*operand);
    bool opensRegisters = depth == firstRegister && firstRegister < loops.size();
    if (opensRegisters)
      for (OpOperand &out : op.getDpsInitsMutable())
        carried.push_back(load(out));
    if (depth == loops.size()) {
      SmallVector<Value> results = emitBody(carried);
      if (!carried.empty())
        return results;
      store(results);
      return {};
    }
    Value zero = arith::ConstantIndexOp::create(b, 0), one = arith::ConstantIndexOp::create(b, 1);
    auto loop = scf::ForOp::create(b, zero, arith::ConstantIndexOp::create(b, loops[depth].size), one, carried);
    bool innermost = depth + 1 == loops.size();
    if (innermost && !carried.empty()) // the order of a sum
      interleave(loop, kInterleavedSums);
    else if (innermost && loops[depth].size >= kShortestInterleaved && computesPolynomials(op))
      interleave(loop, kInterleavedPolynomials);
    induction.push_back(loop.getInductionVar());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> inner = emitLoops(depth + 1, llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
      if (!inner.empty())
        scf::YieldOp::create(b, inner);
    }
    induction.pop_back();
    SmallVector<Value> results = llvm::to_vector_of<Value>(loop.getResults());
    if (opensRegisters) {
      store(results);
      return {};
    }
    return results;
  }

  /// The number of outer loops up to the last one along which `operand` moves.
  unsigned loopsThatMove(OpOperand &operand) {
    unsigned count = loops.size();
    while (count > 0 && loops[count - 1].strides[operand.getOperandNumber()] == 0)
      --count;
    return count;
  }

  Value position(OpOperand &operand) {
    const FlatAccess &access = accesses[operand.getOperandNumber()];
    Value sum;
    for (auto [loop, index] : llvm::zip(loops, induction)) {
      int64_t stride = loop.strides[operand.getOperandNumber()];
      if (stride == 0)
        continue;
      Value term =
          stride == 1 ? index : Value(arith::MulIOp::create(b, index, arith::ConstantIndexOp::create(b, stride)));
      sum = sum ? Value(arith::AddIOp::create(b, sum, term)) : term;
    }
    if (!sum || access.start != 0) {
      Value start = arith::ConstantIndexOp::create(b, access.start);
      sum = sum ? Value(arith::AddIOp::create(b, sum, start)) : start;
    }
    return sum;
  }

  Value load(OpOperand &operand) {
    Value buffer = flat[operand.getOperandNumber()];
    if (!isa<MemRefType>(buffer.getType()))
      return buffer;
    return memref::LoadOp::create(b, buffer, position(operand));
  }

  void store(ArrayRef<Value> results) {
    for (auto [value, out] : llvm::zip(results, op.getDpsInitsMutable()))
      memref::StoreOp::create(b, value, flat[out.getOperandNumber()], position(out));
  }

  SmallVector<Value> emitBody(ArrayRef<Value> carried) {
    Block &body = op->getRegion(0).front();
    IRMapping mapping;
    unsigned ins = op.getNumDpsInputs();
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned i = operand.getOperandNumber();
      if (i >= ins && !carried.empty())
        mapping.map(body.getArgument(i), carried[i - ins]);
      else if (i < ins)
        mapping.map(body.getArgument(i), loaded[i]);
      else if (!body.getArgument(i).use_empty())
        mapping.map(body.getArgument(i), load(operand));
    }
    for (Operation &inner : body.without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner)) // loops did not merge
        for (auto [loop, value] : llvm::zip(loops, induction))
          if (loop.original.front() == index.getDim())
            mapping.map(index.getResult(), value);
      if (!isa<linalg::IndexOp>(inner))
        b.clone(inner, mapping);
    }
    return llvm::map_to_vector(body.getTerminator()->getOperands(),
                               [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  linalg::LinalgOp op;
  SmallVector<FlatAccess> accesses;
  SmallVector<Loop> loops;
  ImplicitLocOpBuilder b;
  SmallVector<Value> flat, induction;
  DenseMap<unsigned, Value> loaded; // elements of inputs, by operand number
  unsigned firstRegister = 0;
};

/// f32 to bf16, to nearest even, with shifts of 16 bits. NaNs are preserved by a mask that is added to the bits:
/// LLVM would move a select after the extraction of the upper half, and select between halves of a vector one by one.
struct RoundToBf16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!op.getIn().getType().isF32() || !op.getType().isBF16())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto constant = [&](int32_t value) -> Value { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); };
    Value bits = arith::BitcastOp::create(b, b.getI32Type(), op.getIn());
    Value last = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits, constant(16)), constant(1));
    Value rounded = arith::AddIOp::create(b, bits, arith::AddIOp::create(b, last, constant(0x7fff)));
    Value isNaN = arith::ExtSIOp::create(b, b.getI32Type(),
                                         arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, op.getIn(), op.getIn()));
    Value chosen = arith::OrIOp::create(b, rounded, arith::AndIOp::create(b, isNaN, constant(0x7fc00000)));
    Value half = arith::TruncIOp::create(b, b.getI16Type(), arith::ShRUIOp::create(b, chosen, constant(16)));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), half);
    return success();
  }
};

struct LinalgToSCFPass : impl::LinalgToSCFPassBase<LinalgToSCFPass> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops) {
      if (!op.hasPureBufferSemantics()) {
        op.emitOpError("works on tensors; loops need buffers");
        return signalPassFailure();
      }
      SmallVector<FlatAccess> accesses;
      for (OpOperand &operand : op->getOpOperands()) {
        if (!isa<MemRefType>(operand.get().getType())) {
          accesses.push_back({0, SmallVector<int64_t>(op.getNumLoops(), 0)});
          continue;
        }
        FailureOr<FlatAccess> access = flatten(op, operand);
        if (failed(access))
          return signalPassFailure();
        accesses.push_back(*access);
      }
      LoopEmitter(op, std::move(accesses)).emit();
    }
    RewritePatternSet patterns(&getContext());
    const StringRef approximated[] = {math::ExpOp::getOperationName(), math::LogOp::getOperationName(),
                                      math::ErfOp::getOperationName()};
    populateMathPolynomialApproximationPatterns(patterns,
                                                [&](StringRef name) { return llvm::is_contained(approximated, name); });
    // By shifts of 16 bits: equal on every machine, and vectorised on those without an instruction for it.
    patterns.add<RoundToBf16>(&getContext(), /*benefit=*/2);
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace mlir::ppc
