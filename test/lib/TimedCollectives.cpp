// Collectives on flat buffers.
#include "TimedCollectives.h"
#include "llvm/ADT/Sequence.h"

namespace mlir::ppc::test {

using namespace ppcrt;

/// All members' buffers together, element by element, in group order.
static ReferenceTensor reduce(ReductionKind kind, ArrayRef<const ReferenceTensor *> parts, bool rounds) {
  ReferenceTensor result = *parts.front();
  for (const ReferenceTensor *part : parts.drop_front())
    for (auto [a, b] : llvm::zip_equal(result.data, part->data)) {
      a = kind == ReductionKind::Sum ? a + b : a != a || b != b ? a + b : std::max(a, b);
      if (rounds)
        a = float(a);
    }
  return result;
}

/// Result of member `self` for one buffer of the bucket.
static ReferenceTensor evaluateOne(CollectiveKind kind, std::optional<ReductionKind> reduction,
                                   ArrayRef<const ReferenceTensor *> parts, size_t self, bool rounds) {
  size_t count = parts.size(), size = parts[self]->data.size(), block = size / count;
  ReferenceTensor result;
  auto append = [&](const ReferenceTensor &from, size_t begin, size_t length) {
    result.data.insert(result.data.end(), from.data.begin() + begin, from.data.begin() + begin + length);
  };
  switch (kind) {
  case CollectiveKind::AllReduce:
    return reduce(*reduction, parts, rounds);
  case CollectiveKind::ReduceScatter:
    append(reduce(*reduction, parts, rounds), self * block, block);
    return result;
  case CollectiveKind::AllGather:
    for (const ReferenceTensor *part : parts)
      append(*part, 0, size);
    return result;
  case CollectiveKind::AllToAll:
    for (const ReferenceTensor *part : parts)
      append(*part, self * block, block);
    return result;
  case CollectiveKind::Permute:
    return *parts[(self + count - 1) % count];
  case CollectiveKind::RaggedAllToAll:
    break; // refused where the program is read
  }
  return result;
}

std::string evaluateBuckets(CollectiveKind kind, std::optional<ReductionKind> reduction, ArrayRef<RankValues> operands,
                            bool rounds, std::vector<RankValues> &results) {
  for (size_t buffer = 0; buffer < operands.front().size(); ++buffer) {
    auto parts =
        llvm::map_to_vector(operands, [&](const RankValues &own) -> const ReferenceTensor * { return &own[buffer]; });
    for (const ReferenceTensor *part : parts)
      if (part->size() != parts.front()->size())
        return "meets a buffer of another size";
    for (size_t self = 0; self < operands.size(); ++self)
      results[self].push_back(evaluateOne(kind, reduction, parts, self, rounds));
  }
  return "";
}

} // namespace mlir::ppc::test
