// Values of routing.
#include "dialects/ppc/Reference/BlockSpan.h"
#include <limits>

using namespace mlir;
using namespace mlir::ppc;

using Operands = ArrayRef<ReferenceTensor>;
using Context = const ReferenceContext &;
using Results = SmallVectorImpl<ReferenceTensor> &;

static constexpr double neverChosen = -std::numeric_limits<double>::infinity();

// Positions of the `count` largest elements, largest first, the first of equal ones first.
static SmallVector<int64_t> largest(ArrayRef<double> row, int64_t count) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, row.size()));
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return row[a] > row[b]; });
  order.truncate(count);
  return order;
}

// Makes the elements of all but the best groups minus infinity.
static void keepBestGroups(MutableArrayRef<double> row, int64_t groups, int64_t chosen) {
  int64_t size = row.size() / groups;
  SmallVector<double> sums;
  for (int64_t group = 0; group < groups; ++group) {
    double sum = 0;
    ArrayRef<double> members = ArrayRef<double>(row).slice(group * size, size);
    for (int64_t at : largest(members, std::min<int64_t>(2, size)))
      sum += members[at];
    sums.push_back(sum);
  }
  SmallVector<int64_t> best = largest(sums, chosen);
  for (int64_t i = 0; i < int64_t(row.size()); ++i)
    if (!llvm::is_contained(best, i / size))
      row[i] = neverChosen;
}

LogicalResult TopKOp::evaluate(Operands operands, Context, Results results) {
  const ReferenceTensor &scores = operands[0];
  ReferenceTensor values = ReferenceTensor::zeros(getValues().getType()),
                  ids = ReferenceTensor::zeros(getIds().getType());
  int64_t length = scores.shape.back(), k = ids.shape.back();
  for (int64_t row = 0; row < scores.size() / length; ++row) {
    SmallVector<double> choice(scores.data.begin() + row * length, scores.data.begin() + (row + 1) * length);
    for (int64_t e = 0; getBias() && e < length; ++e)
      choice[e] += operands[1].data[e];
    if (getGroupsPerRow() < getGroups())
      keepBestGroups(choice, getGroups(), getGroupsPerRow());
    for (auto [j, e] : llvm::enumerate(largest(choice, k))) {
      values.data[row * k + j] = scores.data[row * length + e];
      ids.data[row * k + j] = double(e);
    }
  }
  results.push_back(std::move(values));
  results.push_back(std::move(ids));
  return success();
}

LogicalResult TopKBackwardOp::evaluate(Operands operands, Context, Results results) {
  const ReferenceTensor &ids = operands[0], &dvalues = operands[1];
  ReferenceTensor dscores = ReferenceTensor::zeros(getType());
  int64_t length = dscores.shape.back(), k = ids.shape.back();
  for (int64_t i = 0; i < ids.size(); ++i) {
    if (!(ids.data[i] >= 0 && ids.data[i] < length))
      return emitOpError() << "index " << indexText(ids.data[i]) << " is outside a row of " << length;
    dscores.data[i / k * length + int64_t(ids.data[i])] += dvalues.data[i];
  }
  results.push_back(std::move(dscores));
  return success();
}

// Calls `body` with each choice (batch, token, j) and its local expert and slot, if it has a slot in this block.
static LogicalResult forEachSlot(Operation *op, const ReferenceTensor &ids, ArrayRef<int64_t> slots, BlockSpan experts,
                                 function_ref<void(ArrayRef<int64_t> choice, int64_t expert, int64_t slot)> body) {
  std::vector<int64_t> taken(ids.shape[0] * experts.extent);
  bool valid = true;
  forEachIndex(ids.shape, [&](ArrayRef<int64_t> choice) {
    double id = ids.at(choice);
    if (!(id >= 0 && id < experts.extent)) {
      valid = false;
      return;
    }
    bool ownSlot = slots[2] == ids.shape[1];
    int64_t slot = ownSlot ? choice[1] : taken[choice[0] * experts.extent + int64_t(id)]++;
    int64_t expert = int64_t(id) - experts.offset;
    if (slot < slots[2] && expert >= 0 && expert < slots[1])
      body(choice, expert, slot);
  });
  return valid ? success() : op->emitOpError() << "an id names none of the " << experts.extent << " experts";
}

LogicalResult DispatchOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &x = operands[0], &ids = operands[1];
  ReferenceTensor slots = ReferenceTensor::zeros(getType());
  BlockSpan experts(getExperts(), slots.shape[1], context);
  LogicalResult result =
      forEachSlot(*this, ids, slots.shape, experts, [&](ArrayRef<int64_t> at, int64_t expert, int64_t slot) {
        double weight = getWeights() ? operands[2].at(at) : 1;
        for (int64_t h = 0; h < x.shape[2]; ++h)
          slots.at({at[0], expert, slot, h}) = weight * x.at({at[0], at[1], h});
      });
  results.push_back(std::move(slots));
  return result;
}

LogicalResult CombineOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &slots = operands[0], &ids = operands[1];
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  BlockSpan experts(getExperts(), slots.shape[1], context);
  LogicalResult result =
      forEachSlot(*this, ids, slots.shape, experts, [&](ArrayRef<int64_t> at, int64_t expert, int64_t slot) {
        double weight = getWeights() ? operands[2].at(at) : 1;
        for (int64_t h = 0; h < y.shape[2]; ++h)
          y.at({at[0], at[1], h}) += weight * slots.at({at[0], expert, slot, h});
      });
  results.push_back(std::move(y));
  return result;
}

LogicalResult RoutingWeightsGradientOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &slots = operands[0], &ids = operands[1], &x = operands[2];
  ReferenceTensor dweights = ReferenceTensor::zeros(getType());
  BlockSpan experts(getExperts(), slots.shape[1], context);
  LogicalResult result =
      forEachSlot(*this, ids, slots.shape, experts, [&](ArrayRef<int64_t> at, int64_t expert, int64_t slot) {
        for (int64_t h = 0; h < x.shape[2]; ++h)
          dweights.at(at) += slots.at({at[0], expert, slot, h}) * x.at({at[0], at[1], h});
      });
  results.push_back(std::move(dweights));
  return result;
}
