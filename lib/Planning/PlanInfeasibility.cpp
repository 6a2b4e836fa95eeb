#include "PlanInfeasibility.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

Infeasibility mlir::ppc::explainShape(const PlanRequest &request, int64_t devices) {
  Infeasibility result;
  result.limit = Infeasibility::Limit::Shape;
  result.reason = llvm::formatv("no layout of {0} or fewer devices divides {1} layers, {2} heads and {3} sequences per step under the pins",
                                devices, request.model.layers, request.model.heads, request.job.globalBatch).str();
  return result;
}

Infeasibility mlir::ppc::explainInfeasible(const PlanRequest &request, SearchEngine &engine, const BoundedSpace &bounded, Bytes limit,
                                           const SearchOutcome &outcome) {
  Infeasibility result;
  result.limit = outcome.counts.memory ? Infeasibility::Limit::Memory : Infeasibility::Limit::Capability;
  result.available = limit;
  result.reason = outcome.counts.memory ? "every layout needs more memory than a device has" : "no layout can be run";
  return result;
}
