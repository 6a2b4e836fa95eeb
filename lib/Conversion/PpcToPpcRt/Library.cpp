// Matmuls as one library call: which indices of the einsum are m, n and k, and which are loops around the call.
#include "Patterns.h"

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <array>

namespace mlir::ppc {
namespace {

/// Some loops of the matmul that run through memory as one, with the strides in elements of A, B and C (0: not
/// indexed).
struct Run {
  int64_t size = 1;
  std::array<int64_t, 3> strides = {0, 0, 0};

  /// Whether this run followed, within each step, by all of `inner` is one run again.
  bool merges(const Run &inner) const {
    for (int i = 0; i < 3; ++i)
      if (strides[i] != inner.size * inner.strides[i])
        return false;
    return true;
  }
};

enum Kind { batch, row, column, summed };

/// A matmul without its buffers.
struct Product {
  SmallVector<Run> runs[4]; // by kind

  Product(StringRef a, StringRef b, StringRef c, ArrayRef<int64_t> aShape, ArrayRef<int64_t> bShape,
          ArrayRef<int64_t> cShape) {
    // Indices in the order of C, then those summed over in the order of A: merging looks at neighbours only.
    std::string letters = c.str();
    for (char letter : a)
      if (!c.contains(letter))
        letters += letter;
    for (char letter : letters) {
      Run run;
      auto look = [&](int tensor, StringRef names, ArrayRef<int64_t> shape) {
        size_t dim = names.find(letter);
        if (dim == StringRef::npos)
          return false;
        run.size = shape[dim];
        run.strides[tensor] = 1;
        for (int64_t inner : shape.drop_front(dim + 1))
          run.strides[tensor] *= inner;
        return true;
      };
      bool inA = look(0, a, aShape), inB = look(1, b, bShape), inC = look(2, c, cShape);
      Kind kind = !inC ? summed : inA && inB ? batch : inA ? row : column;
      if (run.size == 1)
        continue;
      if (!runs[kind].empty() && runs[kind].back().merges(run)) {
        runs[kind].back().size *= run.size;
        runs[kind].back().strides = run.strides;
      } else {
        runs[kind].push_back(run);
      }
    }
  }

  /// Takes out the run that the library call works on: the largest, long ones with a unit stride first.
  Run takeLargest(Kind kind) {
    auto score = [](const Run &run) {
      return std::pair(run.size * (llvm::is_contained(run.strides, 1) ? 4 : 1), run.size);
    };
    auto best = std::max_element(runs[kind].begin(), runs[kind].end(),
                                 [&](const Run &x, const Run &y) { return score(x) < score(y); });
    if (best == runs[kind].end())
      return {};
    Run run = *best;
    runs[kind].erase(best);
    return run;
  }
};

struct MatmulPattern : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    auto type = tensorType(op.getResult());
    Type element = tensorType(op.getLhs()).getElementType();
    if (!element.isF32() && !element.isF64() && !element.isBF16())
      return op.emitOpError() << "cannot run on the host in " << element << "; f32, f64 and bf16 can";
    Value a = op.getLhs(), b = op.getRhs();
    StringRef aLetters = op.lhsLetters(), bLetters = op.rhsLetters(), cLetters = op.resultLetters();
    // The library is fastest when the columns of C are contiguous: the operand that has C's last index becomes the
    // right one.
    if (!cLetters.empty() && aLetters.contains(cLetters.back()) && !bLetters.contains(cLetters.back())) {
      std::swap(a, b);
      std::swap(aLetters, bLetters);
    }
    Product product(aLetters, bLetters, cLetters, tensorType(a).getShape(), tensorType(b).getShape(), type.getShape());
    Run m = product.takeLargest(row), n = product.takeLargest(column), k = product.takeLargest(summed);
    SmallVector<int64_t> loops;
    for (Kind kind : {batch, row, column, summed}) // loops that sum over one part of C are innermost
      for (const Run &run : product.runs[kind])
        loops.append({run.size, run.strides[0], run.strides[1], run.strides[2]});
    if (loops.size() > 8 * 4)
      return op.emitOpError() << "has " << loops.size() / 4 << " loops around a matmul; the runtime takes 8";
    // An empty sum is zero, which the call knows too when a size is 0.
    Value out = tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(), type.getElementType());
    int64_t sizes[] = {m.size, n.size, k.size};
    int64_t strides[] = {m.strides[0], k.strides[0], k.strides[1], n.strides[1], m.strides[2], n.strides[2]};
    rewriter.replaceOpWithNewOp<ppcrt::GemmOp>(op, type, a, b, out, rewriter.getDenseI64ArrayAttr(sizes),
                                               rewriter.getDenseI64ArrayAttr(strides),
                                               rewriter.getDenseI64ArrayAttr(loops), UnitAttr());
    return success();
  }
};

} // namespace

void populateLibrary(RewritePatternSet &patterns) { patterns.add<MatmulPattern>(patterns.getContext()); }

} // namespace mlir::ppc
