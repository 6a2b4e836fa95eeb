// The runtime's C ABI for ranks that are threads: the least that generated code needs to be tested.
#ifndef PPC_TEST_LIB_HOSTRUNTIME_H
#define PPC_TEST_LIB_HOSTRUNTIME_H

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mlir::ppc::test {

/// Name and address of each function that compiled code may call.
std::vector<std::pair<std::string, void *>> hostRuntimeFunctions();

/// Runs `body(rank)` on `ranks` threads that form the one group of all collectives.
void runRanks(int ranks, const std::function<void(int)> &body);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_HOSTRUNTIME_H
