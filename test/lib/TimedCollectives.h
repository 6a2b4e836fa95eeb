// Results of a collective on full buffers for each member of its group, by the reference of `ppcrt`.
#ifndef PPC_TEST_LIB_TIMEDCOLLECTIVES_H
#define PPC_TEST_LIB_TIMEDCOLLECTIVES_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "ppc/Interpreter/Interpreter.h"

namespace mlir::ppc::test {

/// `operands` and `results` by member, in group order; each has a value for every buffer of the bucket. Buffers are
/// flat: blocks are runs of elements. A permute goes to the next member. `rounds`: sums are rounded to f32. "" or what
/// is wrong.
std::string evaluateBuckets(ppcrt::CollectiveKind kind, std::optional<ppcrt::ReductionKind> reduction,
                            ArrayRef<RankValues> operands, bool rounds, std::vector<RankValues> &results);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_TIMEDCOLLECTIVES_H
