// Seed of the random cases of a test. The suite uses the same one each time; commands that look for more cases set it.
#ifndef PPC_TEST_UNIT_SUPPORT_TESTSEED_H
#define PPC_TEST_UNIT_SUPPORT_TESTSEED_H

#include <cstdint>
#include <cstdlib>

namespace mlir::ppc {

/// PPC_TEST_SEED, or 1 without it.
inline uint64_t testSeed() {
  const char *given = std::getenv("PPC_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

} // namespace mlir::ppc

#endif // PPC_TEST_UNIT_SUPPORT_TESTSEED_H
