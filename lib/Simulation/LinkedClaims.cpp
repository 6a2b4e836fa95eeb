#include "LinkedClaims.h"

using namespace mlir::ppc;

bool LinkedClaims::suffices() {
  asked.assign(inSet.size(), 0.0);
  for (const RateClaim &claim : claims)
    for (auto [index, amount] : claim.uses)
      asked[index] += claim.cap * amount;
  for (size_t i = 0; i < asked.size(); ++i)
    if (asked[i] > inSet[i])
      return false;
  return true;
}
