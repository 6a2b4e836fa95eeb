// Routing of tokens to experts: queues and selections are loops that carry their tensors; ops that only read them are
// linalg.
#include "LoopNest.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ppc {
namespace {
using Carried = SmallVector<Value>;

/// Loops over all indices of `shape` that carry `initial`.
Carried carriedLoops(ScalarBuilder &b, ArrayRef<int64_t> shape, ValueRange initial,
                     function_ref<Carried(ScalarBuilder &, ValueRange index, ValueRange carried)> body) {
  SmallVector<Value> lower(shape.size(), b.index(0)), step(shape.size(), b.index(1)), upper;
  for (int64_t size : shape)
    upper.push_back(b.index(size));
  scf::LoopNest nest = scf::buildLoopNest(
      b, b.getLoc(), lower, upper, step, initial,
      [&](OpBuilder &nested, Location loc, ValueRange index, ValueRange carried) -> scf::ValueVector {
        ScalarBuilder s(loc, nested);
        Carried next = body(s, index, carried);
        return scf::ValueVector(next.begin(), next.end());
      });
  return Carried(nest.results.begin(), nest.results.end());
}

/// A loop-carried tensor starts in an allocation of its own: bufferization does not see through the loop that
/// writing to the destination of a result from the beginning would be right, and would refuse (a `tensor.empty` becomes
/// that destination).
Value carriedTensor(ScalarBuilder &b, ArrayRef<int64_t> shape, Type element) {
  return bufferization::AllocTensorOp::create(b, RankedTensorType::get(shape, element), ValueRange());
}
Value carriedZeros(ScalarBuilder &b, ArrayRef<int64_t> shape, Type element) {
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(element)));
  return linalg::FillOp::create(b, zero, carriedTensor(b, shape, element)).getResult(0);
}

Value extract(ScalarBuilder &s, Value tensor, ValueRange index) { return tensor::ExtractOp::create(s, tensor, index); }
Value insert(ScalarBuilder &s, Value scalar, Value tensor, ValueRange index) {
  return tensor::InsertOp::create(s, scalar, tensor, index);
}
SmallVector<Value> with(ValueRange index, Value last) {
  SmallVector<Value> result(index);
  result.push_back(last);
  return result;
}

/// The `count` largest elements of each row of `work`, one pass for each: their positions, and the elements of `source`
/// there.
std::pair<Value, Value> selectLargest(ScalarBuilder &b, Value work, Value source, int64_t count, Type indexType) {
  auto type = tensorType(work);
  int64_t length = type.getShape().back();
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = count;
  Type mark = b.getI8Type();
  Value taken = carriedZeros(b, type.getShape(), mark), values = carriedTensor(b, shape, type.getElementType());
  Value ids = carriedTensor(b, shape, indexType);
  Carried result = carriedLoops(
      b, shape, {taken, values, ids}, [&](ScalarBuilder &s, ValueRange index, ValueRange carried) -> Carried {
        ValueRange row = index.drop_back();
        Value lowest = s.number(type.getElementType(), kMinusInfinity), before = carried[0];
        Value zero = arith::ConstantOp::create(s, s.getI8IntegerAttr(0)),
              one = arith::ConstantOp::create(s, s.getI8IntegerAttr(1));
        auto best = scf::ForOp::create(
            s, s.index(0), s.index(length), s.index(1), ValueRange{lowest, s.index(0)},
            [&](OpBuilder &nested, Location loc, Value e, ValueRange so_far) {
              ScalarBuilder i(loc, nested);
              Value score =
                  i.select(i.equal(extract(i, before, with(row, e)), zero), extract(i, work, with(row, e)), lowest);
              Value larger = arith::CmpFOp::create(i, arith::CmpFPredicate::OGT, score, so_far[0]);
              scf::YieldOp::create(i, loc,
                                   ValueRange{i.select(larger, score, so_far[0]), i.select(larger, e, so_far[1])});
            });
        Value at = best.getResult(1), value = extract(s, source, with(row, at));
        return {insert(s, one, carried[0], with(row, at)), insert(s, value, carried[1], index),
                insert(s, arith::IndexCastOp::create(s, indexType, at), carried[2], index)};
      });
  return {result[1], result[2]};
}

/// `choice` with minus infinity in all but the best groups of each row.
Value keepBestGroups(ScalarBuilder &b, Value choice, int64_t groups, int64_t chosen) {
  auto type = tensorType(choice);
  int64_t rank = type.getRank(), size = type.getShape().back() / groups;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = groups;
  // The sum of the two largest of each group.
  Value sums = carriedLoops(
      b, shape, carriedZeros(b, shape, type.getElementType()),
      [&](ScalarBuilder &s, ValueRange index, ValueRange carried) -> Carried {
        Value lowest = s.number(type.getElementType(), kMinusInfinity),
              first = arith::MulIOp::create(s, index.back(), s.index(size));
        auto two = scf::ForOp::create(
            s, s.index(0), s.index(size), s.index(1), ValueRange{lowest, lowest},
            [&](OpBuilder &nested, Location loc, Value e, ValueRange so_far) {
              ScalarBuilder i(loc, nested);
              Value score = extract(i, choice, with(index.drop_back(), i.addIndex(first, e)));
              Value larger = arith::CmpFOp::create(i, arith::CmpFPredicate::OGT, score, so_far[0]);
              Value second = i.maximum(so_far[1], score);
              scf::YieldOp::create(i, loc,
                                   ValueRange{i.select(larger, score, so_far[0]), i.select(larger, so_far[0], second)});
            });
        Value sum = size > 1 ? s.add(two.getResult(0), two.getResult(1)) : two.getResult(0);
        return {insert(s, sum, carried[0], index)};
      })[0];
  Value best = selectLargest(b, sums, sums, chosen, b.getI32Type()).second;
  SmallVector<int64_t> picks(shape);
  picks.back() = chosen;
  Value kept = carriedLoops(b, picks, carriedZeros(b, shape, b.getI8Type()),
                            [&](ScalarBuilder &s, ValueRange index, ValueRange carried) -> Carried {
                              Value group = s.toIndex(extract(s, best, index)),
                                    one = arith::ConstantOp::create(s, s.getI8IntegerAttr(1));
                              return {insert(s, one, carried[0], with(index.drop_back(), group))};
                            })[0];
  return mapLoops(b, type, Access{choice, allLoops(b, rank)}, [&](ScalarBuilder &s, ValueRange v) {
    SmallVector<Value> index;
    for (int64_t dim = 0; dim + 1 < rank; ++dim)
      index.push_back(s.loopIndex(dim));
    index.push_back(arith::DivUIOp::create(s, s.loopIndex(rank - 1), s.index(size)));
    Value zero = arith::ConstantOp::create(s, s.getI8IntegerAttr(0));
    return s.select(s.equal(extract(s, kept, index), zero), s.number(v[0].getType(), kMinusInfinity), v[0]);
  });
}

SmallVector<Value> topK(TopKOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getScores());
  int64_t rank = type.getRank(), k = tensorType(op.getIds()).getShape().back();
  Value choice = op.getScores();
  if (op.getBias())
    choice = mapLoops(b, type, {{choice, allLoops(b, rank)}, {op.getBias(), someLoops(b, rank, {rank - 1})}},
                      [](ScalarBuilder &s, ValueRange v) { return s.add(v[0], v[1]); });
  if (op.getGroupsPerRow() < op.getGroups())
    choice = keepBestGroups(b, choice, op.getGroups(), op.getGroupsPerRow());
  auto [values, ids] = selectLargest(b, choice, op.getScores(), k, tensorType(op.getIds()).getElementType());
  return {values, ids};
}

SmallVector<Value> topKBackward(TopKBackwardOp op, ScalarBuilder &b) {
  return carriedLoops(b, tensorType(op.getIds()).getShape(),
                      carriedZeros(b, op.getType().getShape(), op.getType().getElementType()),
                      [&](ScalarBuilder &s, ValueRange index, ValueRange carried) -> Carried {
                        SmallVector<Value> to = with(index.drop_back(), s.toIndex(extract(s, op.getIds(), index)));
                        Value sum = s.add(extract(s, carried[0], to), extract(s, op.getDvalues(), index));
                        return {insert(s, sum, carried[0], to)};
                      });
}

/// The experts that an op holds, and the slot of each choice [batch, token, k].
struct Queues {
  Value ids, start, places;
  int64_t local, capacity;
  bool isOwnSlot; // each token has its own

  template <typename OpTy>
  Queues(ScalarBuilder &b, OpTy op, RankedTensorType slots)
      : ids(op.getIds()), local(slots.getDimSize(1)), capacity(slots.getDimSize(2)),
        isOwnSlot(slots.getDimSize(2) == tensorType(op.getIds()).getDimSize(1)) {
    auto type = tensorType(ids);
    auto block = op.getExperts();
    start = block ? blockStart(b, op, block->getAxes(), local) : b.index(0);
    int64_t experts = block ? block->getExtent() : local;
    if (isOwnSlot) {
      places = mapLoops(b, RankedTensorType::get(type.getShape(), b.getI32Type()), {{ids, allLoops(b, 3)}},
                        [](ScalarBuilder &s, ValueRange) -> Value {
                          return arith::IndexCastOp::create(s, s.getI32Type(), s.loopIndex(1));
                        });
      return;
    }
    Value taken = carriedZeros(b, {type.getDimSize(0), experts}, b.getI32Type());
    places = carriedLoops(b, type.getShape(), {taken, carriedZeros(b, type.getShape(), b.getI32Type())},
                          [&](ScalarBuilder &s, ValueRange index, ValueRange carried) -> Carried {
                            SmallVector<Value> queue = {index[0], s.toIndex(extract(s, ids, index))};
                            Value place = extract(s, carried[0], queue),
                                  one = arith::ConstantOp::create(s, s.getI32IntegerAttr(1));
                            return {insert(s, arith::AddIOp::create(s, place, one), carried[0], queue),
                                    insert(s, place, carried[1], index)};
                          })[1];
  }

  /// Whether a choice has a slot here, and its expert and slot, 0 and 0 otherwise.
  std::array<Value, 3> slotOf(ScalarBuilder &s, Value id, Value place) const {
    Value expert = s.subIndex(s.toIndex(id), start), slot = s.toIndex(place);
    Value here = arith::CmpIOp::create(s, arith::CmpIPredicate::ult, expert, s.index(local));
    Value valid = arith::AndIOp::create(s, here, s.less(slot, s.index(capacity)));
    return {valid, s.select(valid, expert, s.index(0)), s.select(valid, slot, s.index(0))};
  }
};

/// Appends `tensor` [batch, token, k], one operand per choice (k in all), to the inputs of a loop nest over batch,
/// token and others.
void addChoices(ScalarBuilder &b, SmallVector<Access> &ins, Value tensor, int64_t loops) {
  for (int64_t choice = 0; choice < tensorType(tensor).getDimSize(2); ++choice)
    ins.push_back(
        {tensor,
         AffineMap::get(loops, 0, {b.getAffineDimExpr(0), b.getAffineDimExpr(1), b.getAffineConstantExpr(choice)},
                        b.getContext())});
}

/// Dispatch where each token has the slot of its own number: every element of the slots is written once, with the
/// token's or with zero. Loops: batch, token, expert, hidden, so that a token is read once for all experts.
SmallVector<Value> dispatchToOwnSlots(DispatchOp op, ScalarBuilder &b, const Queues &queues) {
  auto choices = unsigned(tensorType(op.getIds()).getDimSize(2));
  SmallVector<Access> ins = {{op.getX(), someLoops(b, 4, {0, 1, 3})}};
  addChoices(b, ins, op.getIds(), 4);
  if (op.getWeights())
    addChoices(b, ins, op.getWeights(), 4);
  return loopNest(b, ins, Access{emptyTensor(b, op.getType()), someLoops(b, 4, {0, 2, 1, 3})}, {},
                  [&](ScalarBuilder &s, ValueRange v) {
                    ValueRange ids = v.slice(1, choices), weights = v.slice(1 + choices, op.getWeights() ? choices : 0);
                    Value expert = s.addIndex(s.loopIndex(2), queues.start), has, weight;
                    expert = arith::IndexCastOp::create(s, ids[0].getType(), expert);
                    for (unsigned choice = 0; choice < choices; ++choice) {
                      Value isIt = s.equal(ids[choice], expert);
                      has = has ? arith::OrIOp::create(s, has, isIt).getResult() : isIt;
                      if (op.getWeights())
                        weight = weight ? s.select(isIt, weights[choice], weight) : weights[choice];
                    }
                    Value token = weight ? s.mul(weight, v[0]) : v[0];
                    return SmallVector<Value>{s.select(has, token, s.number(token.getType(), 0))};
                  });
}

SmallVector<Value> dispatch(DispatchOp op, ScalarBuilder &b) {
  Queues queues(b, op, op.getType());
  if (queues.isOwnSlot)
    return dispatchToOwnSlots(op, b, queues);
  return carriedLoops(
      b, tensorType(op.getIds()).getShape(), carriedZeros(b, op.getType().getShape(), op.getType().getElementType()),
      [&](ScalarBuilder &s, ValueRange index, ValueRange carried) -> Carried {
        auto [valid, expert, slot] = queues.slotOf(s, extract(s, op.getIds(), index), extract(s, queues.places, index));
        Value weight = op.getWeights() ? extract(s, op.getWeights(), index) : Value();
        Value width = s.index(tensorType(op.getX()).getDimSize(2)), has = valid, e = expert, p = slot;
        auto row = scf::ForOp::create(s, s.index(0), width, s.index(1), carried,
                                      [&](OpBuilder &nested, Location loc, Value h, ValueRange slots) {
                                        ScalarBuilder i(loc, nested);
                                        SmallVector<Value> to = {index[0], e, p, h};
                                        Value x = extract(i, op.getX(), {index[0], index[1], h});
                                        x = i.select(has, weight ? i.mul(weight, x) : x, extract(i, slots[0], to));
                                        scf::YieldOp::create(i, loc, insert(i, x, slots[0], to));
                                      });
        return {row.getResult(0)};
      });
}

SmallVector<Value> combine(CombineOp op, ScalarBuilder &b) {
  Queues queues(b, op, tensorType(op.getSlots()));
  // Loops: batch, token, hidden. The choices of a token are few, and added at once: nothing is read of the result.
  auto choices = unsigned(tensorType(op.getIds()).getDimSize(2));
  SmallVector<Access> ins;
  addChoices(b, ins, op.getIds(), 3);
  addChoices(b, ins, queues.places, 3);
  if (op.getWeights())
    addChoices(b, ins, op.getWeights(), 3);
  return loopNest(b, ins, Access{emptyTensor(b, op.getType()), allLoops(b, 3)}, {},
                  [&](ScalarBuilder &s, ValueRange v) {
                    Value sum;
                    for (unsigned choice = 0; choice < choices; ++choice) {
                      auto [valid, expert, slot] = queues.slotOf(s, v[choice], v[choices + choice]);
                      Value element = extract(s, op.getSlots(), {s.loopIndex(0), expert, slot, s.loopIndex(2)});
                      element = convertFloat(s, element, sumType(element.getType()));
                      element = op.getWeights() ? s.mul(v[2 * choices + choice], element) : element;
                      element = s.select(valid, element, s.number(element.getType(), 0));
                      sum = sum ? s.add(sum, element) : element;
                    }
                    return SmallVector<Value>{sum};
                  });
}

SmallVector<Value> weightsGradient(RoutingWeightsGradientOp op, ScalarBuilder &b) {
  Queues queues(b, op, tensorType(op.getSlots()));
  // Loops: batch, token, choice, hidden.
  AffineMap choice = firstLoops(b, 4, 3);
  return loopNest(b, {{op.getIds(), choice}, {queues.places, choice}, {op.getX(), someLoops(b, 4, {0, 1, 3})}},
                  Access{filledTensor(b, op.getType(), 0), choice}, {3}, [&](ScalarBuilder &s, ValueRange v) {
                    auto [valid, expert, slot] = queues.slotOf(s, v[0], v[1]);
                    Value element = extract(s, op.getSlots(), {s.loopIndex(0), expert, slot, s.loopIndex(3)});
                    Value product = s.select(valid, s.mul(element, v[2]), s.number(element.getType(), 0));
                    return SmallVector<Value>{s.accumulate(v.back(), product)};
                  });
}

} // namespace

void populateRouting(RewritePatternSet &patterns) {
  addPattern<TopKOp>(patterns, topK);
  addPattern<TopKBackwardOp>(patterns, topKBackward);
  addPattern<DispatchOp>(patterns, dispatch);
  addPattern<CombineOp>(patterns, combine);
  addPattern<RoutingWeightsGradientOp>(patterns, weightsGradient);
}

} // namespace mlir::ppc
