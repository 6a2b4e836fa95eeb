// The sharding rule as data: queries and printing.
#include "ppc/Sharding/ShardingRule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include "ppc/Sharding/Combiner.cpp.inc"

using namespace llvm;

namespace mlir::ppc {

std::optional<unsigned> ShardingRule::findFactor(StringRef name) const {
  for (auto [i, factor] : enumerate(factors))
    if (factor.name == name)
      return i;
  return std::nullopt;
}

bool ShardingRule::contains(const TensorFactors &tensor, unsigned factor) {
  return any_of(tensor, [&](const auto &dim) { return is_contained(dim, factor); });
}

void ShardingRule::print(raw_ostream &os) const {
  if (isNone()) {
    os << "none: " << noneReason;
    return;
  }
  auto printTensors = [&](ArrayRef<TensorFactors> tensors) {
    os << "(";
    interleaveComma(tensors, os, [&](const TensorFactors &tensor) {
      os << "[";
      interleaveComma(tensor, os, [&](const auto &dim) {
        interleave(dim, os, [&](unsigned f) { os << factors[f].name; }, "*");
        if (dim.empty())
          os << "1";
      });
      os << "]";
    });
    os << ")";
  };
  printTensors(operands);
  os << " -> ";
  printTensors(results);
  SmallVector<std::string> notes;
  for (auto [i, factor] : enumerate(factors)) {
    bool reduced = any_of(results, [&, i = i](const TensorFactors &result) { return !contains(result, i); });
    std::string note;
    if (factor.needsReplication)
      note = "replicated";
    else if (reduced)
      note = stringifyCombiner(factor.combiner).str();
    if (factor.positional && !factor.needsReplication)
      note += note.empty() ? "positional" : " positional";
    if (!note.empty())
      notes.push_back(factor.name + ": " + note);
  }
  if (!notes.empty())
    os << " {" << join(notes, ", ") << "}";
}

std::string ShardingRule::str() const {
  std::string text;
  raw_string_ostream os(text);
  print(os);
  return text;
}

} // namespace mlir::ppc
