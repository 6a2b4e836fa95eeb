// The loops of every op of the model dialect but collectives, reshape, constants and masks, which have rules of their
// own.
#include "OpLoops.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ppc {

std::string loopLetters(int64_t count) {
  return std::string("abcdefghijklmnopqstuvwxABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@#&*+").substr(0, count);
}

namespace {

std::string letters(int64_t count) { return loopLetters(count); }
std::string letters(Value value) { return letters(tensorType(value).getRank()); }

/// Every operand and result has the loops of the first result; operands of rank 0 have none.
OpLoops pointwise(Operation *op, bool keepsZero) {
  OpLoops loops;
  std::string all = letters(op->getResult(0));
  for (Value operand : op->getOperands())
    loops.operands.push_back(letters(operand));
  loops.results.assign(op->getNumResults(), all);
  loops.keepsZero.assign(op->getNumResults(), keepsZero);
  return loops;
}

/// Linear in all operands together.
OpLoops linearTogether(Operation *op) {
  OpLoops loops = pointwise(op, true);
  loops.linear = llvm::to_vector<4>(llvm::seq<unsigned>(op->getNumOperands()));
  loops.jointly = true;
  return loops;
}

OpLoops linearIn(OpLoops loops, ArrayRef<unsigned> operands) {
  loops.linear.assign(operands.begin(), operands.end());
  return loops;
}

OpLoops matmulLoops(MatmulOp op) {
  OpLoops loops;
  loops.operands = {op.lhsLetters().str(), op.rhsLetters().str()};
  loops.results = {op.resultLetters().str()};
  for (char letter : loops.operands[0])
    if (loops.results[0].find(letter) == std::string::npos)
      loops.summed += letter;
  loops.keepsZero = {true};
  return linearIn(loops, {0, 1});
}

OpLoops reduceLoops(ReduceOp op) {
  OpLoops loops;
  std::string all = letters(op.getX()), kept;
  for (auto [dim, letter] : llvm::enumerate(all))
    (llvm::is_contained(op.getDims(), int64_t(dim)) ? loops.summed : kept) += letter;
  loops.operands = {all};
  loops.results = {kept};
  loops.keepsZero = {true};
  loops.combiner = op.getCombiner();
  return op.getCombiner() == Combiner::Sum ? linearIn(loops, {0}) : loops;
}

/// Row by row along the last dimension; `vectors` are the operands that have that dimension only.
OpLoops normalization(Operation *op, ArrayRef<unsigned> vectors, bool keepsZero) {
  OpLoops loops;
  std::string rows = letters(op->getOperand(0));
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    loops.operands.push_back(llvm::is_contained(vectors, i) ? rows.substr(rows.size() - 1) : rows);
  loops.results = {rows};
  loops.whole = rows.substr(rows.size() - 1);
  loops.keepsZero = {keepsZero};
  return loops;
}

/// Sums of rows that give a vector.
OpLoops normalizationWeight(Operation *op) {
  OpLoops loops = normalization(op, {}, true);
  std::string rows = loops.operands[0];
  loops.results = {rows.substr(rows.size() - 1)};
  loops.summed = rows.substr(0, rows.size() - 1);
  return linearIn(loops, {1});
}

// batch, query, kv head, group, head dim; key; value dim
const std::string kQuery = "bshgd", kKey = "bthd", kValue = "bthv", kOut = "bshgv", kRow = "bshg", kSlopes = "hg";

OpLoops attentionLoops(AttentionOp op) {
  OpLoops loops;
  loops.operands = {kQuery, kKey, kValue};
  if (op.getSlopes())
    loops.operands.push_back(kSlopes);
  loops.results = {kOut, kRow};
  loops.whole = "tdv"; // each query looks at all keys
  loops.indexed = 's'; // whose position decides which of them it sees
  loops.block = op.getQueries().value_or(BlockAttr());
  loops.indexedPaddingIsZero = true;
  loops.keepsZero = {false, false};
  return loops;
}

OpLoops attentionBackwardLoops(AttentionBackwardOp op) {
  OpLoops loops;
  loops.operands = {kQuery, kKey, kValue, kOut, kRow, kOut};
  if (op.getSlopes())
    loops.operands.push_back(kSlopes);
  loops.results = {kQuery, kKey, kValue};
  loops.whole = "tdv";
  loops.indexed = 's'; // each query adds to the gradients of the keys and values that it sees
  loops.block = op.getQueries().value_or(BlockAttr());
  loops.indexedPaddingIsZero = true;
  loops.summed = "g"; // the heads of a group share keys and values
  loops.keepsZero = {true, true, true};
  return loops;
}

OpLoops embeddingLoops(EmbeddingOp op) {
  OpLoops loops;
  std::string ids = letters(op.getIds());
  loops.operands = {"rz", ids};
  loops.results = {ids + "z"};
  loops.indexed = 'r';
  loops.block = op.getRows().value_or(BlockAttr());
  loops.keepsZero = {true};
  loops.losesZero = ids; // id 0, in the padding, is a row like any other
  return linearIn(loops, {0});
}

OpLoops embeddingBackwardLoops(EmbeddingBackwardOp op) {
  OpLoops loops;
  std::string ids = letters(op.getIds());
  loops.operands = {ids, ids + "z"};
  loops.results = {"rz"};
  loops.summed = ids;
  loops.indexed = 'r';
  loops.block = op.getRows().value_or(BlockAttr());
  loops.indexedPaddingIsZero = true; // no id points there
  loops.keepsZero = {true};
  return linearIn(loops, {1});
}

OpLoops classLoops(Operation *op, std::optional<BlockAttr> block) {
  OpLoops loops;
  std::string all = letters(op->getOperand(0));
  loops.operands.push_back(all);
  for (unsigned i = 1; i < op->getNumOperands(); ++i)
    loops.operands.push_back(all.substr(0, all.size() - 1));
  loops.results = {all.substr(0, all.size() - 1)};
  loops.indexed = all.back();
  loops.block = block.value_or(BlockAttr());
  loops.keepsZero = {false};
  return loops;
}

/// The op needs all of the last dimension of `scores`; `chosen` has the dimension of the chosen instead.
OpLoops topKLoops(TopKOp op) {
  OpLoops loops;
  std::string rows = letters(op.getScores()), chosen = rows;
  chosen.back() = 'y';
  loops.operands = {rows};
  if (op.getBias())
    loops.operands.push_back(rows.substr(rows.size() - 1));
  loops.results = {chosen, chosen};
  loops.whole = std::string("y") + rows.back();
  loops.keepsZero = {true, true};
  return loops;
}

OpLoops topKBackwardLoops(TopKBackwardOp op) {
  OpLoops loops;
  std::string rows = letters(op.getType().getRank()), chosen = rows;
  chosen.back() = 'y';
  loops.operands = {chosen, chosen};
  loops.results = {rows};
  loops.whole = rows.back();
  loops.summed = "y"; // each of the chosen adds to its element
  loops.keepsZero = {true};
  return linearIn(loops, {1});
}

// With fewer slots than tokens, the tokens fill the slots of their experts from one queue, so tokens, choices and
// slots stay together.
OpLoops routingLoops(Value slots, Value ids, std::vector<std::string> operands, std::string result,
                     std::optional<BlockAttr> experts, ArrayRef<unsigned> linear) {
  OpLoops loops;
  loops.whole = "skc";
  if (tensorType(slots).getDimSize(2) == tensorType(ids).getDimSize(1)) { // each token has its own
    loops.whole = "k";
    for (std::string &letters : operands)
      llvm::replace(letters, 'c', 's');
    llvm::replace(result, 'c', 's');
  }
  loops.operands.assign(operands.begin(), operands.end());
  loops.results = {result};
  loops.summed = llvm::is_contained(result, 'h') ? "" : "h";
  loops.indexed = 'e';
  loops.block = experts.value_or(BlockAttr());
  loops.keepsZero = {true};
  loops.indexedPaddingIsZero = llvm::is_contained(result, 'e'); // no token goes there
  return linearIn(loops, linear);
}

/// Parts of one dimension, each a loop of its own that cannot be sharded.
OpLoops partsLoops(Operation *op, int64_t dim) {
  OpLoops loops;
  auto name = [&](Value value, unsigned part) {
    std::string all = letters(value);
    all[dim] = char(-1 - int(part)); // not an einsum index
    loops.whole += all[dim];
    return all;
  };
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    loops.operands.push_back(name(operand, number));
  for (auto [number, result] : llvm::enumerate(op->getResults()))
    loops.results.push_back(name(result, op->getNumOperands() + number));
  loops.keepsZero.assign(op->getNumResults(), true);
  loops.linear = llvm::to_vector<4>(llvm::seq<unsigned>(op->getNumOperands()));
  loops.jointly = true;
  return loops;
}

OpLoops transposeLoops(TransposeOp op) {
  OpLoops loops;
  std::string from = letters(op.getX()), to;
  for (int64_t dim : op.getPermutation())
    to += from[dim];
  loops.operands = {from};
  loops.results = {to};
  loops.keepsZero = {true};
  return linearIn(loops, {0});
}

OpLoops broadcastLoops(BroadcastOp op) {
  OpLoops loops;
  std::string from = letters(op.getX()), to;
  size_t next = 0;
  for (int64_t dim = 0; dim < op.getType().getRank(); ++dim)
    to += llvm::is_contained(op.getDims(), dim) ? '?' : from[next++];
  loops.operands = {from};
  loops.results = {to};
  loops.keepsZero = {true};
  return linearIn(loops, {0});
}

} // namespace

std::optional<OpLoops> loopsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<OpLoops>>(op)
      .Case<AddOp, SubOp, SumOp, NegOp, ScaleOp>([](auto op) { return linearTogether(op); })
      .Case([](MulOp op) { return linearIn(pointwise(op, true), {0, 1}); })
      .Case<DivOp>([](auto op) { return linearIn(pointwise(op, false), {0}); }) // 0 / 0 in the padding
      .Case<SiluBackwardOp, GeluBackwardOp>([](auto op) { return linearIn(pointwise(op, true), {1}); })
      .Case([](ConvertOp op) { return op.widens() ? linearTogether(op) : pointwise(op, true); })
      .Case<SqrtOp, SiluOp, GeluOp, ClipScaleOp>([](auto op) { return pointwise(op, true); })
      .Case<ExpOp, LogOp, RsqrtOp, SigmoidOp>([](auto op) { return pointwise(op, false); })
      .Case([](MatmulOp op) { return matmulLoops(op); })
      .Case([](ReduceOp op) { return reduceLoops(op); })
      .Case([](SoftmaxOp op) { return normalization(op, {}, false); })
      .Case([](SoftmaxBackwardOp op) { return linearIn(normalization(op, {}, true), {1}); })
      .Case([](RmsNormOp op) { return normalization(op, {1}, true); })
      .Case([](LayerNormOp op) { return normalization(op, {1, 2}, false); })
      .Case<RmsNormInputGradientOp, LayerNormInputGradientOp>(
          [](auto op) { return linearIn(normalization(op, {1}, true), {2}); })
      .Case<RmsNormWeightGradientOp, LayerNormWeightGradientOp>([](auto op) { return normalizationWeight(op); })
      .Case([](AttentionOp op) { return attentionLoops(op); })
      .Case([](AttentionBackwardOp op) { return attentionBackwardLoops(op); })
      .Case([](EmbeddingOp op) { return embeddingLoops(op); })
      .Case([](EmbeddingBackwardOp op) { return embeddingBackwardLoops(op); })
      .Case([](RotaryOp op) {
        OpLoops loops = linearIn(pointwise(op, true), {0});
        loops.whole = loops.results[0].back(); // the pairs of a head
        loops.indexed = loops.results[0][1];   // positions
        loops.block = op.getPositions().value_or(BlockAttr());
        loops.indexedPaddingIsZero = true;
        return loops;
      })
      .Case([](PickOp op) { return linearIn(classLoops(op, op.getClasses()), {0}); })
      .Case([](LogSumExpOp op) {
        OpLoops loops = classLoops(op, op.getClasses());
        loops.combiner = Combiner::LogSumExp;
        return loops;
      })
      .Case([](CrossEntropyBackwardOp op) {
        OpLoops loops = classLoops(op, op.getClasses());
        loops.results = {loops.operands[0]};
        loops.indexedPaddingIsZero = true;
        loops.keepsZero = {false};
        return linearIn(loops, {3});
      })
      .Case([](TopKOp op) { return topKLoops(op); })
      .Case([](TopKBackwardOp op) { return topKBackwardLoops(op); })
      .Case([](DispatchOp op) {
        if (op.getWeights())
          return routingLoops(op.getSlots(), op.getIds(), {"bsh", "bsk", "bsk"}, "bech", op.getExperts(), {0, 2});
        return routingLoops(op.getSlots(), op.getIds(), {"bsh", "bsk"}, "bech", op.getExperts(), {0});
      })
      .Case([](CombineOp op) {
        if (op.getWeights())
          return routingLoops(op.getSlots(), op.getIds(), {"bech", "bsk", "bsk"}, "bsh", op.getExperts(), {0, 2});
        return routingLoops(op.getSlots(), op.getIds(), {"bech", "bsk"}, "bsh", op.getExperts(), {0});
      })
      .Case([](RoutingWeightsGradientOp op) {
        return routingLoops(op.getSlots(), op.getIds(), {"bech", "bsk", "bsh"}, "bsk", op.getExperts(), {0, 2});
      })
      .Case([](SplitOp op) { return partsLoops(op, op.getDim()); })
      .Case([](ConcatOp op) { return partsLoops(op, op.getDim()); })
      .Case([](TransposeOp op) { return transposeLoops(op); })
      .Case([](BroadcastOp op) { return broadcastLoops(op); })
      .Case([](AdamwOp op) { return pointwise(op, true); })
      .Case([](SquaredNormOp op) {
        OpLoops loops;
        loops.operands = {loops.summed = letters(op.getX())};
        loops.results = {""};
        loops.keepsZero = {true};
        return loops;
      })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace mlir::ppc
