// The bodies of kernels -> LLVM and NVVM dialects.
#include "ppc/Target/Cuda/Writer/Ptx.h"

#include "lib/Target/Cuda/Writer/Exponentials.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::ppc::cuda {
namespace {

/// Arithmetic in f64 on one value.
class Doubles {
public:
  explicit Doubles(ImplicitLocOpBuilder &b) : b(b) {}
  Value number(double value) { return arith::ConstantOp::create(b, b.getF64FloatAttr(value)); }
  Value integer(int64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value multiply(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value bits(Value x) { return arith::BitcastOp::create(b, b.getI64Type(), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, b.getF64Type(), x); }
  /// c[0] + x (c[1] + x (...)).
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(coefficient));
    return sum;
  }
  /// log2 of a normal positive number: exponent + 2/ln 2 (s + s^3/3 + ...) with s = (m - 1)/(m + 1), m within a factor
  /// sqrt(2) of 1. Terms up to s^19 leave 1e-16.
  Value log2(Value x) {
    Value raw = bits(x);
    Value half = integer(0x3fe6a09e667f3bcd); // of sqrt(1/2)
    Value shifted = arith::SubIOp::create(b, raw, half);
    Value exponent = arith::ShRSIOp::create(b, shifted, integer(52));
    Value mantissa = fromBits(arith::SubIOp::create(b, raw, arith::ShLIOp::create(b, exponent, integer(52))));
    Value s = arith::DivFOp::create(b, arith::SubFOp::create(b, mantissa, number(1)), add(mantissa, number(1)));
    SmallVector<double> odd;
    for (int term = 1; term <= 19; term += 2)
      odd.push_back(2 / (term * 0.69314718055994530942));
    Value series = multiply(s, polynomial(multiply(s, s), odd));
    return add(arith::SIToFPOp::create(b, b.getF64Type(), exponent), series);
  }
  /// 2^x: of its nearest whole number as exponent, of the rest as the series of e^(x ln 2) up to the 13th power.
  /// Between 2^-1000 and 2^1000; what lies outside is far outside of f32.
  Value exp2(Value x) {
    x = arith::MinNumFOp::create(b, arith::MaxNumFOp::create(b, x, number(-1000)), number(1000));
    Value whole = math::RoundEvenOp::create(b, x);
    Value rest = arith::SubFOp::create(b, x, whole);
    SmallVector<double> terms{1};
    for (int power = 1; power <= 13; ++power)
      terms.push_back(terms.back() * 0.69314718055994530942 / power);
    Value exponent = arith::FPToSIOp::create(b, b.getI64Type(), whole);
    Value scale = fromBits(arith::ShLIOp::create(b, arith::AddIOp::create(b, exponent, integer(1023)), integer(52)));
    return multiply(polynomial(rest, terms), scale);
  }

private:
  ImplicitLocOpBuilder &b;
};

/// x^y = 2^(y log2 x), in f64: the error of the logarithm is multiplied by y. For x > 0; 0^y is 0 or 1. A negative x,
/// which no op of a model raises to a power, gives NaN.
struct ExpandPower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    bool single = op.getType().isF32();
    if (!single && !op.getType().isF64())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Doubles d(b);
    auto wide = [&](Value x) { return single ? arith::ExtFOp::create(b, b.getF64Type(), x).getResult() : x; };
    Value x = wide(op.getLhs()), y = wide(op.getRhs()), power = d.exp2(d.multiply(y, d.log2(x)));
    auto is = [&](arith::CmpFPredicate predicate, Value value) {
      return arith::CmpFOp::create(b, predicate, value, d.number(0)).getResult();
    };
    Value ofZero = arith::SelectOp::create(b, is(arith::CmpFPredicate::OEQ, y), d.number(1), d.number(0));
    power = arith::SelectOp::create(b, is(arith::CmpFPredicate::OEQ, x), ofZero, power);
    Value nan = d.number(std::numeric_limits<double>::quiet_NaN());
    power = arith::SelectOp::create(b, is(arith::CmpFPredicate::OLT, x), nan, power);
    rewriter.replaceOp(op, single ? arith::TruncFOp::create(b, b.getF32Type(), power).getResult() : power);
    return success();
  }
};

struct ExpandExponential : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, exponential(b, op.getOperand()));
    return success();
  }
};

/// Within two units in the last place, for all numbers, and without the branch that correct rounding needs.
struct ExpandDivision : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    FloatAttr divisor;
    if (!op.getType().isF32() || (matchPattern(op.getRhs(), m_Constant(&divisor)) &&
                                  divisor.getValue().getExactLog2Abs() != INT_MIN)) // a product
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr("llvm.nvvm.div.full"), op.getOperands()));
    return success();
  }
};

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)
  StringRef getArgument() const override { return "ppc-cuda-expand-math"; }
  void runOnOperation() override {
    expandExponentials(getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandPower, ExpandExponential, ExpandDivision>(&getContext());
    // What the machine has stays: square roots, and what is one instruction.
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({math::LogOp::getOperationName(), math::Log1pOp::getOperationName(),
                                 math::ExpM1Op::getOperationName(), math::TanhOp::getOperationName(),
                                 math::ErfOp::getOperationName(), math::SinOp::getOperationName(),
                                 math::CosOp::getOperationName()},
                                name);
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    // LLVM would abort where the machine has nothing for a function.
    getOperation().walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) &&
          !isa<math::SqrtOp, math::AbsFOp, math::FmaOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp,
               math::CopySignOp>(op)) {
        op->emitError() << "no instructions are known for it on " << op->getResult(0).getType();
        signalPassFailure();
      }
    });
  }
};

} // namespace

void buildLowerKernels(OpPassManager &pm) {
  pm.addPass(std::make_unique<ExpandMathPass>());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace mlir::ppc::cuda
