// ppc-rotate-products: matmuls of parameters whose blocks circulate on the ring of the ranks (rotated tensor
// parallelism, arXiv 2311.01635). In step s rank r has block (r - s) mod k.
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "ppc/Conversion/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_ROTATEPRODUCTSPASS
#include "ppc/Conversion/Passes.h.inc"

namespace {

class Rotation {
public:
  explicit Rotation(AllGatherOp gather)
      : gather(gather), product(cast<MatmulOp>(*gather->user_begin())), b(product.getLoc(), product) {
    block = tensorType(gather.getX()).getDimSize(gather.getDim());
    ranks = gather.getType().getDimSize(gather.getDim()) / block;
    isLeft = product.getLhs() == gather.getY();
    letter = (isLeft ? product.lhsLetters() : product.rhsLetters())[gather.getDim()];
  }

  void write() {
    group = ppcrt::findOrAddGroup(product->getParentOfType<ModuleOp>(), gather.getAxes());
    coordinate = ppcrt::CoordinateOp::create(b, b.getIndexType(), group);
    bool isColumn = product.resultLetters().contains(letter);
    Value own = gather.getX(), result;
    for (int64_t step = 0; step < ranks; ++step) {
      Value next = step + 1 < ranks ? passOn(own) : Value();
      result = isColumn ? put(multiply(own, otherOperand()), result, step) : add(multiply(own, slice(step)), result);
      own = next;
    }
    product.replaceAllUsesWith(isColumn ? join(result) : result);
    product.erase();
    gather.erase();
  }

private:
  using Builder = ImplicitLocOpBuilder;

  Value index(Builder &at, int64_t value) { return arith::ConstantIndexOp::create(at, value); }
  Value empty(RankedTensorType type) { return tensor::EmptyOp::create(b, type.getShape(), type.getElementType()); }

  /// A tensor whose elements are computed from where they are.
  Value fill(RankedTensorType type, function_ref<Value(Builder &, SmallVector<Value>)> element) {
    int64_t rank = type.getRank();
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    auto body = [&](OpBuilder &inner, Location loc, ValueRange) {
      Builder at(loc, inner);
      SmallVector<Value> position;
      for (int64_t dim = 0; dim < rank; ++dim)
        position.push_back(linalg::IndexOp::create(at, dim));
      linalg::YieldOp::create(at, element(at, position));
    };
    return linalg::GenericOp::create(b, TypeRange{type}, ValueRange{}, ValueRange{empty(type)},
                                     ArrayRef<AffineMap>{b.getMultiDimIdentityMap(rank)}, loops, body)
        .getResult(0);
  }

  Value otherOperand() { return isLeft ? product.getRhs() : product.getLhs(); }

  Value passOn(Value own) {
    auto type = tensorType(own);
    return ppcrt::PermuteOp::create(b, type, group.getValue(), 1, own, empty(type)).getResult()[0];
  }

  Value multiply(Value own, Value other) {
    return MatmulOp::create(b, product.getSpec(), isLeft ? own : other, isLeft ? other : own,
                            tensorType(product.getResult()).getElementType());
  }

  /// The number of the block that this rank has in that step.
  Value blockOf(int64_t step) {
    Value number = arith::AddIOp::create(b, coordinate, index(b, ranks - step));
    return arith::RemUIOp::create(b, number, index(b, ranks));
  }

  /// The part of the other operand that the block of that step is multiplied with.
  Value slice(int64_t step) {
    Value other = otherOperand();
    auto type = tensorType(other);
    int64_t dim = (isLeft ? product.rhsLetters() : product.lhsLetters()).find(letter);
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = block;
    Value start = arith::MulIOp::create(b, blockOf(step), index(b, block));
    return fill(withShape(type, shape), [&](Builder &at, SmallVector<Value> position) -> Value {
      position[dim] = arith::AddIOp::create(at, start, position[dim]);
      return tensor::ExtractOp::create(at, other, position);
    });
  }

  /// The sum, stored in the buffer of the previous sum: only one partial sum is live at a time.
  Value add(Value part, Value sum) {
    if (!sum)
      return part;
    Value next = AddOp::create(b, sum, part);
    return bufferization::MaterializeInDestinationOp::create(b, next.getType(), next, sum).getResult();
  }

  /// The block of the result of that step, in its place among those of all steps [k, ...].
  Value put(Value part, Value blocks, int64_t step) {
    auto type = tensorType(part);
    SmallVector<int64_t> shape{ranks};
    llvm::append_range(shape, type.getShape());
    if (!blocks)
      blocks = empty(withShape(type, shape));
    SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)), strides(shape.size(), b.getIndexAttr(1)), sizes;
    offsets[0] = b.getIndexAttr(step);
    shape[0] = 1;
    for (int64_t size : shape)
      sizes.push_back(b.getIndexAttr(size));
    return tensor::InsertSliceOp::create(b, part, blocks, offsets, sizes, strides);
  }

  /// The result, of which block n came in step (r - n) mod k.
  Value join(Value blocks) {
    int64_t dim = product.resultLetters().find(letter);
    Value last = arith::AddIOp::create(b, coordinate, index(b, ranks));
    return fill(tensorType(product.getResult()), [&](Builder &at, SmallVector<Value> position) -> Value {
      Value size = index(at, block), number = arith::DivUIOp::create(at, position[dim], size);
      position[dim] = arith::RemUIOp::create(at, position[dim], size);
      Value step = arith::RemUIOp::create(at, arith::SubIOp::create(at, last, number), index(at, ranks));
      position.insert(position.begin(), step);
      return tensor::ExtractOp::create(at, blocks, position);
    });
  }

  AllGatherOp gather;
  MatmulOp product;
  ImplicitLocOpBuilder b;
  int64_t block, ranks;
  bool isLeft;
  char letter;
  FlatSymbolRefAttr group;
  Value coordinate;
};

struct RotateProductsPass : impl::RotateProductsPassBase<RotateProductsPass> {
  void runOnOperation() override {
    SmallVector<AllGatherOp> rotated;
    getOperation()->walk([&](AllGatherOp gather) {
      if (gather.getRotated())
        rotated.push_back(gather);
    });
    for (AllGatherOp gather : rotated)
      Rotation(gather).write();
  }
};

} // namespace
} // namespace mlir::ppc
