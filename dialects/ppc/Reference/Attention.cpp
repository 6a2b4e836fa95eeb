// Values of attention and of its gradients, query by query.
#include "dialects/ppc/Reference/BlockSpan.h"
#include <cmath>

using namespace mlir;
using namespace mlir::ppc;

using Operands = ArrayRef<ReferenceTensor>;
using Context = const ReferenceContext &;
using Results = SmallVectorImpl<ReferenceTensor> &;

// One query of one head: q, out are [b, i, h, g, :], k, v are [b, j, h, :].
struct Query {
  int64_t b, i, h, g;
  int64_t first, end; // keys with first <= j < end are attended to
  int64_t position;   // the query's own among the keys
};

template <typename OpTy>
static void forEachQuery(OpTy op, const ReferenceTensor &q, const ReferenceTensor &k, Context context,
                         function_ref<void(Query)> body) {
  BlockSpan block(op.getQueries(), q.shape[1], context);
  int64_t hidden = k.shape[1] - block.extent; // keys in front of the first query
  forEachIndex(ArrayRef(q.shape).drop_back(), [&](ArrayRef<int64_t> at) {
    if (block.isPadding(at[1]))
      return;
    int64_t position = block.offset + at[1] + hidden, first = op.getWindow() ? position - *op.getWindow() + 1 : 0;
    body({at[0], at[1], at[2], at[3], std::max<int64_t>(0, first), op.getCausal() ? position + 1 : k.shape[1],
          position});
  });
}

// Inner product of the query's row of `q` with row j of `k`.
static double dot(const ReferenceTensor &q, const ReferenceTensor &k, Query at, int64_t j) {
  double sum = 0;
  for (int64_t d = 0; d < q.shape[4]; ++d)
    sum += q.at({at.b, at.i, at.h, at.g, d}) * k.at({at.b, j, at.h, d});
  return sum;
}

// `slopes`: null when there are none.
static double score(double scale, const ReferenceTensor &q, const ReferenceTensor &k, const ReferenceTensor *slopes,
                    Query at, int64_t j) {
  return scale * dot(q, k, at, j) + (slopes ? slopes->at({at.h, at.g}) * double(j - at.position) : 0);
}

LogicalResult AttentionOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &q = operands[0], &k = operands[1], &v = operands[2];
  const ReferenceTensor *slopes = getSlopes() ? &operands[3] : nullptr;
  double scale = getScale().convertToDouble();
  ReferenceTensor out = ReferenceTensor::zeros(getOut().getType()), lse = ReferenceTensor::zeros(getLse().getType());
  forEachQuery(*this, q, k, context, [&](Query at) {
    std::vector<double> scores;
    for (int64_t j = at.first; j < at.end; ++j)
      scores.push_back(score(scale, q, k, slopes, at, j));
    double max = *llvm::max_element(scores), sum = 0;
    for (double score : scores)
      sum += std::exp(score - max);
    double &rowLse = lse.at({at.b, at.i, at.h, at.g}) = max + std::log(sum);
    for (int64_t j = at.first; j < at.end; ++j)
      for (int64_t d = 0; d < v.shape[3]; ++d)
        out.at({at.b, at.i, at.h, at.g, d}) += std::exp(scores[j - at.first] - rowLse) * v.at({at.b, j, at.h, d});
  });
  results.push_back(std::move(out));
  results.push_back(std::move(lse));
  return success();
}

LogicalResult AttentionBackwardOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &q = operands[0], &k = operands[1], &v = operands[2], &out = operands[3], &lse = operands[4],
                        &dout = operands[5];
  const ReferenceTensor *slopes = getSlopes() ? &operands[6] : nullptr;
  double scale = getScale().convertToDouble();
  ReferenceTensor dq(q.shape), dk(k.shape), dv(v.shape);
  forEachQuery(*this, q, k, context, [&](Query at) {
    double delta = 0;
    for (int64_t d = 0; d < v.shape[3]; ++d)
      delta += dout.at({at.b, at.i, at.h, at.g, d}) * out.at({at.b, at.i, at.h, at.g, d});
    for (int64_t j = at.first; j < at.end; ++j) {
      double p = std::exp(score(scale, q, k, slopes, at, j) - lse.at({at.b, at.i, at.h, at.g}));
      double ds = p * (dot(dout, v, at, j) - delta);
      for (int64_t d = 0; d < q.shape[4]; ++d) {
        dq.at({at.b, at.i, at.h, at.g, d}) += scale * ds * k.at({at.b, j, at.h, d});
        dk.at({at.b, j, at.h, d}) += scale * ds * q.at({at.b, at.i, at.h, at.g, d});
      }
      for (int64_t d = 0; d < v.shape[3]; ++d)
        dv.at({at.b, j, at.h, d}) += p * dout.at({at.b, at.i, at.h, at.g, d});
    }
  });
  results.push_back(std::move(dq));
  results.push_back(std::move(dk));
  results.push_back(std::move(dv));
  return success();
}
