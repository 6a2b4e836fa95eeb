// The runtime's C ABI for ranks that are threads: the least that generated code needs to be tested.
#ifndef PPC_TEST_LIB_HOSTRUNTIME_H
#define PPC_TEST_LIB_HOSTRUNTIME_H

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mlir::ppc::test {

/// A number of 16 bits, rounded to nearest even.
struct Bf16 {
  Bf16() = default;
  explicit Bf16(double value);
  operator double() const;
  uint16_t bits = 0;
};

/// Name and address of each function that compiled code may call.
std::vector<std::pair<std::string, void *>> hostRuntimeFunctions();

/// State of a rank, passed to compiled code.
struct HostRank;

/// Runs `body(number, rank)` on `ranks` threads that form the one group of all collectives. Several may run at once.
void runRanks(int ranks, const std::function<void(int, HostRank *)> &body);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_HOSTRUNTIME_H
