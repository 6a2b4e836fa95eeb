// Builders of linalg.generic on tensors, in terms of the loops that each operand follows.
#ifndef PPC_LIB_CONVERSION_PPCTOLINALG_LOOPNEST_H
#define PPC_LIB_CONVERSION_PPCTOLINALG_LOOPNEST_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <limits>

namespace mlir::ppc {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// A tensor and how the loops address it.
struct Access {
  Value tensor;
  AffineMap map;
};

/// Emits scalar ops; knows their element type.
struct ScalarBuilder : ImplicitLocOpBuilder {
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value number(Type type, double value);
  Value index(int64_t value);
  Value add(Value a, Value b) { return arith::AddFOp::create(*this, a, b, arith::FastMathFlags::contract); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(*this, a, b, arith::FastMathFlags::contract); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(*this, a, b, arith::FastMathFlags::contract); }
  Value div(Value a, Value b) { return arith::DivFOp::create(*this, a, b); }
  /// a + b with additions of a reduction that may be reordered, so that it can be vectorised.
  Value accumulate(Value a, Value b);
  Value maximum(Value a, Value b) { return arith::MaximumFOp::create(*this, a, b); }
  /// The maximum of a row whose exponents are taken relative to it, in a form that is vectorised. It may lose a NaN:
  /// that shows in the exponents.
  Value largest(Value a, Value b) {
    return arith::MaxNumFOp::create(*this, a, b, arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
  }
  Value exp(Value x) { return math::ExpOp::create(*this, x); }
  Value log(Value x) { return math::LogOp::create(*this, x); }
  /// 1 / (1 + e^-x).
  Value sigmoid(Value x);
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(*this, condition, a, b); }
  /// a < b, a == b on index values.
  Value less(Value a, Value b) { return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, a, b); }
  Value equal(Value a, Value b) { return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, a, b); }
  Value loopIndex(int64_t loop) { return linalg::IndexOp::create(*this, loop); }
  /// An element of an index tensor as an index.
  Value toIndex(Value id) { return arith::IndexCastOp::create(*this, getIndexType(), id); }
  Value addIndex(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value subIndex(Value a, Value b) { return arith::SubIOp::create(*this, a, b); }
};

/// `value` in another floating-point type, rounded if that has fewer bits; integers stay.
Value convertFloat(ScalarBuilder &builder, Value value, Type type);

/// Given the elements of the inputs, then of the results so far, returns the results' new elements. Elements of
/// 16-bit types arrive as f32 (`sumType`), and the returned elements are rounded once, as they are stored.
using LoopBody = function_ref<SmallVector<Value>(ScalarBuilder &, ValueRange)>;

/// Emits one nest of loops; those in `reductions` combine, in the type of `outs`: not in one of 16 bits. Each of `outs`
/// is the initial value of one result.
SmallVector<Value> loopNest(ScalarBuilder &builder, ArrayRef<Access> ins, ArrayRef<Access> outs,
                            ArrayRef<int64_t> reductions, LoopBody body);

/// The result of `loopNest` with one result, without reductions, into a new tensor of `type` that follows all loops.
Value mapLoops(ScalarBuilder &builder, RankedTensorType type, ArrayRef<Access> ins,
               function_ref<Value(ScalarBuilder &, ValueRange)> body);

/// `x` in another floating-point type.
Value convertTensor(ScalarBuilder &builder, Value x, Type element);

/// An uninitialised tensor of `type`, and one full of `value`.
Value emptyTensor(ScalarBuilder &builder, RankedTensorType type);
Value filledTensor(ScalarBuilder &builder, RankedTensorType type, double value);

/// Maps over `loops` loops: all of them in order; the given ones.
AffineMap allLoops(ScalarBuilder &builder, int64_t loops);
AffineMap someLoops(ScalarBuilder &builder, int64_t loops, ArrayRef<int64_t> which);
/// The first `count` loops.
AffineMap firstLoops(ScalarBuilder &builder, int64_t loops, int64_t count);

/// Whether blocks of local size `local` may be together more than the dimension: without a plan (`ppc.plan`) they may.
bool hasPadding(Operation *op, BlockAttr block, int64_t local);
/// First global index of the block of a dimension of local size `local` that this rank holds.
Value blockStart(ScalarBuilder &builder, Operation *op, ArrayAttr axes, int64_t local);

/// Adds the patterns of one op family each.
void populateElementwise(RewritePatternSet &patterns);
void populateReduction(RewritePatternSet &patterns);
void populateIndexing(RewritePatternSet &patterns);
void populateLoss(RewritePatternSet &patterns);
void populateShape(RewritePatternSet &patterns);
void populateTraining(RewritePatternSet &patterns);
void populatePlacement(RewritePatternSet &patterns);
void populateCollective(RewritePatternSet &patterns);
void populateRouting(RewritePatternSet &patterns);

/// A pattern as a function: `convert(op, builder)` returns the values that replace the op's results.
template <typename OpTy> struct FunctionPattern : OpRewritePattern<OpTy> {
  using Convert = SmallVector<Value> (*)(OpTy, ScalarBuilder &);
  FunctionPattern(MLIRContext *context, Convert convert) : OpRewritePattern<OpTy>(context), convert(convert) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    ScalarBuilder builder(op.getLoc(), rewriter);
    rewriter.replaceOp(op, convert(op, builder));
    return success();
  }
  Convert convert;
};

template <typename OpTy>
void addPattern(RewritePatternSet &patterns, SmallVector<Value> (*convert)(OpTy, ScalarBuilder &)) {
  patterns.add<FunctionPattern<OpTy>>(patterns.getContext(), convert);
}

} // namespace mlir::ppc

#endif // PPC_LIB_CONVERSION_PPCTOLINALG_LOOPNEST_H
