#include "Exponentials.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace mlir::ppc::cuda {
namespace {

constexpr double log2OfE = 1.44269504088896340736;
/// From so many exponentials on it pays to multiply what they share first.
constexpr int64_t fewestSharing = 4;

Value number(ImplicitLocOpBuilder &b, double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
}

Value intrinsic(ImplicitLocOpBuilder &b, StringRef name, Value operand) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr(name), operand).getResult(0);
}

bool isExponentialOf(Operation *user, Value value) {
  auto power = dyn_cast<math::ExpOp>(user);
  return power && power.getOperand() == value;
}

class ExponentialExpansion {
public:
  explicit ExponentialExpansion(ModuleOp kernels) {
    kernels.walk([&](Operation *op) {
      if (!op->getNumResults() || !op->getResult(0).getType().isF32())
        return;
      if (auto division = dyn_cast<arith::DivFOp>(op); division && isOneAndMore(division.getRhs()))
        divisions.push_back(division);
      auto power = dyn_cast<math::ExpOp>(op);
      if (!power)
        return;
      if (auto difference = power.getOperand().getDefiningOp<arith::SubFOp>();
          difference && sharing(difference.getRhs()) >= fewestSharing)
        differences.push_back(power);
      else if (isRounded(power))
        rounded.push_back(power);
    });
  }

  void run() {
    for (arith::DivFOp division : divisions) {
      ImplicitLocOpBuilder b(division.getLoc(), division);
      Value reciprocal = intrinsic(b, "llvm.nvvm.rcp.approx.ftz.f", division.getRhs());
      replace(division, arith::MulFOp::create(b, division.getLhs(), reciprocal));
    }
    for (math::ExpOp power : rounded) {
      ImplicitLocOpBuilder b(power.getLoc(), power);
      replace(power, powerOfTwo(b, arith::MulFOp::create(b, power.getOperand(), number(b, log2OfE))));
    }
    for (math::ExpOp power : differences) {
      auto difference = power.getOperand().getDefiningOp<arith::SubFOp>();
      ImplicitLocOpBuilder b(power.getLoc(), power);
      Value minus = scaled(difference.getRhs());
      replace(power, powerOfTwo(b, math::FmaOp::create(b, difference.getLhs(), number(b, log2OfE), minus)));
      if (difference->use_empty())
        difference->erase();
    }
  }

private:
  static void replace(Operation *op, Value by) {
    op->getResult(0).replaceAllUsesWith(by);
    op->erase();
  }

  /// 1 + e^x, or with another constant of at least 1.
  static bool isOneAndMore(Value value) {
    auto sum = value.getDefiningOp<arith::AddFOp>();
    FloatAttr constant;
    if (!sum)
      return false;
    for (auto [one, other] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())})
      if (one.getDefiningOp<math::ExpOp>() && matchPattern(other, m_Constant(&constant)) &&
          constant.getValue().convertToDouble() >= 1)
        return true;
    return false;
  }

  /// How many exponentials are of differences from `value`.
  int64_t sharing(Value value) {
    auto [known, isNew] = sharers.try_emplace(value, 0);
    if (isNew)
      known->second = llvm::count_if(value.getUsers(), [&](Operation *user) {
        auto difference = dyn_cast<arith::SubFOp>(user);
        return difference && difference.getRhs() == value &&
               llvm::any_of(difference->getUsers(),
                            [&](Operation *power) { return isExponentialOf(power, difference); });
      });
    return known->second;
  }

  /// Whether all that is computed with a value is rounded to 16 bits.
  static bool isRounded(Value value) {
    return llvm::all_of(value.getUsers(), [](Operation *user) {
      if (auto truncation = dyn_cast<arith::TruncFOp>(user))
        return truncation.getType().getIntOrFloatBitWidth() <= 16;
      return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::SelectOp,
                 math::FmaOp>(user) &&
             isRounded(user->getResult(0));
    });
  }

  /// -y log2 e, computed once, where y is.
  Value scaled(Value value) {
    Value &known = products[value];
    if (!known) {
      ImplicitLocOpBuilder b(value.getLoc(), value.getContext());
      b.setInsertionPointAfterValue(value);
      known = arith::MulFOp::create(b, value, number(b, -log2OfE));
    }
    return known;
  }

  SmallVector<arith::DivFOp> divisions;
  SmallVector<math::ExpOp> rounded, differences;
  llvm::DenseMap<Value, int64_t> sharers;
  llvm::DenseMap<Value, Value> products;
};

} // namespace

Value powerOfTwo(ImplicitLocOpBuilder &b, Value x) { return intrinsic(b, "llvm.nvvm.ex2.approx.ftz.f32", x); }

Value exponential(ImplicitLocOpBuilder &b, Value x) {
  Value first = number(b, log2OfE), product = arith::MulFOp::create(b, x, first);
  Value lost = math::FmaOp::create(b, x, first, arith::NegFOp::create(b, product));
  lost = math::FmaOp::create(b, x, number(b, log2OfE - double(float(log2OfE))), lost);
  Value factor = math::FmaOp::create(b, lost, number(b, 0.69314718), number(b, 1));
  factor = arith::MaxNumFOp::create(b, factor, number(b, 0.5));
  return arith::MulFOp::create(b, powerOfTwo(b, product), factor);
}

void expandExponentials(ModuleOp kernels) { ExponentialExpansion(kernels).run(); }

} // namespace mlir::ppc::cuda
