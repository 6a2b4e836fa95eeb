// How tasks that want more of some resources than there is share them.
#ifndef PPC_LIB_SIMULATION_FAIRRATES_H
#define PPC_LIB_SIMULATION_FAIRRATES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::ppc {

/// One task of a set that competes; `uses` are (index of a resource of the set, amount at rate 1).
struct RateClaim {
  double cap = 1; // the most it can run at
  llvm::SmallVector<std::pair<int32_t, double>, 4> uses;
  double rate = 0; // result
};

/// Max-min fair on each resource: tasks that want less than an even part keep what they want, the others get even parts
/// of the rest. No rate exceeds a capacity or a cap, and a task below its cap uses a fully used resource.
void shareFairly(llvm::MutableArrayRef<RateClaim> claims, llvm::ArrayRef<double> capacities);

} // namespace mlir::ppc

#endif // PPC_LIB_SIMULATION_FAIRRATES_H
