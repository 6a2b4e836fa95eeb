// Descriptor to calls.
#include "runtime/cuda/ProductPlan.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <numeric>

namespace ppcrt::cuda {
namespace {

// The matrix with these strides as columns, if it is.
bool asColumns(int64_t rows, int64_t columns, int64_t row, int64_t column, ColumnMatrix &matrix) {
  bool fits = (rows == 1 || row == 1) && (columns == 1 || column >= rows);
  if (fits)
    matrix = {rows, columns, columns == 1 ? rows : column, false, 0};
  return fits;
}

// An operand, which may also be read transposed.
bool asOperand(int64_t rows, int64_t columns, int64_t row, int64_t column, ColumnMatrix &matrix) {
  if (asColumns(rows, columns, row, column, matrix))
    return true;
  bool fits = asColumns(columns, rows, column, row, matrix);
  matrix.transposed = fits;
  return fits;
}

// Turns a dimension into a loop.
void loopOverRows(GemmProblem &p) {
  p.loops[p.loopCount++] = {p.m, p.aRow, 0, p.cRow};
  p.m = 1;
}
void loopOverColumns(GemmProblem &p) {
  p.loops[p.loopCount++] = {p.n, 0, p.bCol, p.cCol};
  p.n = 1;
}

void loopOverSums(GemmProblem &p) {
  p.loops[p.loopCount++] = {p.k, p.aCol, p.bRow, 0};
  p.k = 1;
}

int64_t powerOfTwoIn(int64_t bytes) { return bytes ? bytes & -bytes : int64_t(256); }

class Planner {
public:
  explicit Planner(const std::vector<int64_t> &descriptor) : problem(descriptor.data()) {}

  ProductPlan plan() {
    result.type = problem.type, result.result = problem.result, result.accumulates = problem.accumulate;
    if (isNothing())
      return result;
    problem.normalize();
    chooseMatrices();
    if (problem.result == DataType::BF16 && problem.sumLoops() > 0)
      throw InputError("sums over loops with results of bf16 would be rounded more than once");
    takeLoops();
    if (result.calls() > mostCalls)
      throw InputError(format("it would be more than %lld calls", (long long)mostCalls));
    align();
    return result;
  }

private:
  bool isNothing() {
    bool empty = problem.k == 0, none = problem.m == 0 || problem.n == 0;
    for (int i = 0; i < problem.loopCount; ++i) {
      empty |= problem.loops[i].size == 0 && problem.loops[i].c == 0;
      none |= problem.loops[i].size == 0 && problem.loops[i].c != 0;
    }
    result.isNothing = none || (empty && problem.accumulate);
    if (empty && !result.isNothing)
      throw InputError("it is a sum of nothing");
    return result.isNothing;
  }

  // Results in rows are those of the transposed problem in columns.
  void chooseMatrices() {
    GemmProblem &p = problem;
    if (!asColumns(p.m, p.n, p.cRow, p.cCol, result.out)) {
      result.exchanged = asColumns(p.n, p.m, p.cCol, p.cRow, result.out);
      if (result.exchanged)
        p = p.transposed();
      else
        loopOverRows(p);
    }
    ColumnMatrix ignored;
    if (!asOperand(p.m, p.k, p.aRow, p.aCol, ignored))
      loopOverRows(p);
    if (!asOperand(p.k, p.n, p.bRow, p.bCol, ignored))
      loopOverColumns(p);
    // Of a sum over what one operand lacks, each term is a product of its own.
    if (!asOperand(p.m, p.k, p.aRow, p.aCol, ignored) || !asOperand(p.k, p.n, p.bRow, p.bCol, ignored))
      loopOverSums(p);
    if (!asColumns(p.m, p.n, p.cRow, p.cCol, result.out) || !asOperand(p.m, p.k, p.aRow, p.aCol, result.left) ||
        !asOperand(p.k, p.n, p.bRow, p.bCol, result.right))
      throw InputError("its strides are none of a matrix");
  }

  void takeLoops() {
    GemmProblem::Loop *begin = problem.loops, *end = begin + problem.loopCount;
    GemmProblem::Loop *batch = nullptr;
    for (GemmProblem::Loop *loop = begin; loop != end; ++loop)
      if (loop->c != 0 && (!batch || loop->size > batch->size))
        batch = loop;
    if (batch) {
      result.batch = batch->size;
      result.left.batchStride = batch->a, result.right.batchStride = batch->b, result.out.batchStride = batch->c;
    }
    for (GemmProblem::Loop *loop = begin; loop != end; ++loop)
      if (loop != batch)
        (loop->c == 0 ? result.sums : result.repeats)
            .push_back({loop->size, loop->a * inBytes(), loop->b * inBytes(), loop->c * outBytes()});
  }

  void align() {
    result.leftAlignment = powerOfTwoIn(result.batch > 1 ? result.left.batchStride * inBytes() : 0);
    result.rightAlignment = powerOfTwoIn(result.batch > 1 ? result.right.batchStride * inBytes() : 0);
    result.outAlignment = powerOfTwoIn(result.batch > 1 ? result.out.batchStride * outBytes() : 0);
    for (const auto *loops : {&result.sums, &result.repeats})
      for (const ProductPlan::Loop &loop : *loops) {
        result.leftAlignment = std::min(result.leftAlignment, powerOfTwoIn(loop.left));
        result.rightAlignment = std::min(result.rightAlignment, powerOfTwoIn(loop.right));
        result.outAlignment = std::min(result.outAlignment, powerOfTwoIn(loop.out));
      }
  }

  int64_t inBytes() const { return info(problem.type).bytes; }
  int64_t outBytes() const { return info(problem.result).bytes; }

  GemmProblem problem;
  ProductPlan result{};
};

} // namespace

int64_t ProductPlan::calls() const {
  int64_t count = 1;
  for (const auto *loops : {&sums, &repeats})
    for (const Loop &loop : *loops)
      count *= std::min(loop.size, mostCalls + 1);
  return count;
}

ProductPlan planProduct(const std::vector<int64_t> &descriptor) { return Planner(descriptor).plan(); }

} // namespace ppcrt::cuda
