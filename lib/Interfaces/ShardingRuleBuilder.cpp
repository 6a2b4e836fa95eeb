// Builds sharding rules the way people write einsums.
#include "ppc/Interfaces/ShardingRuleBuilder.h"
#include "mlir/IR/BuiltinTypes.h"
#include "ppc/Support/Limits.h"

namespace mlir::ppc {

SmallVector<StringRef> dimensionNames(int64_t rank) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int64_t i = 0; i < limits::dimensions; ++i)
      all.push_back("d" + std::to_string(i));
    return all;
  }();
  assert(rank <= int64_t(names.size()) && "a tensor has at most limits::dimensions");
  return SmallVector<StringRef>(names.begin(), names.begin() + rank);
}

ShardingRuleBuilder::ShardingRuleBuilder(Operation *op) : op(op) {
  rule.operands.resize(op->getNumOperands());
  rule.results.resize(op->getNumResults());
  rule.keepsZeroPadding.assign(op->getNumResults(), false);
  // Operands that the builder does not mention have dimensions without factors.
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      rule.operands[i].resize(type.getRank());
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      rule.results[i].resize(type.getRank());
}

unsigned ShardingRuleBuilder::factor(StringRef name, int64_t size) {
  if (std::optional<unsigned> found = rule.findFactor(name)) {
    rule.factors[*found].size = std::max(rule.factors[*found].size, size);
    return *found;
  }
  Factor factor;
  factor.name = name.str();
  factor.size = size;
  rule.factors.push_back(std::move(factor));
  return rule.factors.size() - 1;
}

TensorFactors ShardingRuleBuilder::factorsOf(Type type, ArrayRef<StringRef> names) {
  auto tensor = cast<RankedTensorType>(type);
  assert(tensor.getRank() == int64_t(names.size()) && "one name per dimension");
  TensorFactors factors;
  for (auto [name, size] : llvm::zip(names, tensor.getShape()))
    factors.push_back({factor(name, size)});
  return factors;
}

ShardingRuleBuilder &ShardingRuleBuilder::operand(unsigned number, ArrayRef<StringRef> names) {
  rule.operands[number] = factorsOf(op->getOperand(number).getType(), names);
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::result(unsigned number, ArrayRef<StringRef> names) {
  rule.results[number] = factorsOf(op->getResult(number).getType(), names);
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::pointwise() {
  int64_t rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  SmallVector<StringRef> names = dimensionNames(rank);
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (cast<RankedTensorType>(op->getOperand(i).getType()).getRank() == rank)
      operand(i, names);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    result(i, names);
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::replicate(StringRef name) {
  rule.factors[*rule.findFactor(name)].needsReplication = true;
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::positional(StringRef name) {
  rule.factors[*rule.findFactor(name)].positional = true;
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::combine(StringRef name, Combiner combiner) {
  rule.factors[*rule.findFactor(name)].combiner = combiner;
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::linear(Linearity linearity, ArrayRef<unsigned> operands) {
  rule.linearity = linearity;
  rule.linearOperands.assign(operands.begin(), operands.end());
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::keepsZeroPadding(unsigned result, bool keeps) {
  rule.keepsZeroPadding[result] = keeps;
  return *this;
}

} // namespace mlir::ppc
