// Facts of a model that need no search: parameters, FLOPs, bytes of state and of activations, time for a token budget
// (ppc-plan --describe).
#ifndef PPC_REPORTING_MODELDESCRIPTION_H
#define PPC_REPORTING_MODELDESCRIPTION_H

#include "ppc/CostModel/LayerProgram.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::ppc {

/// Activations kept from forward to backward by one layer of one kind for one micro-batch on one rank.
struct LayerActivations {
  std::string kind; // "layer", "expert layer", "embedding", "head"
  int64_t count = 0;
  double parameters = 0; // on this rank
  Bytes none, selective, full;
};

/// Cost of training on `tokens` on `devices` at `mfu` of the peak.
struct TokenBudget {
  double tokens = 0;
  double devices = 0;
  double mfu = 0;
  FlopsPerSecond peak;     // peak of one device
  double pricePerHour = 0; // dollars per device and hour; 0: not given
  bool predicted = false;  // the MFU is the planner's, not the user's
};

struct ModelDescription {
  ModelShape model;
  TrainingJob job;
  ParallelLayout layout;
  ParameterCounts parameters;
  double flopsPerToken = 0; // forward and backward, PaLM's count
  TokenFlops forward;       // FLOPs that a device computes, with causal attention
  Bytes weights, gradients, master, moments;
  std::vector<LayerActivations> activations;
  std::optional<TokenBudget> budget;

  double modelFlops() const { return flopsPerToken * (budget ? budget->tokens : 0); }
  /// Device-hours of the budget: FLOPs / (MFU x peak) / 3600.
  double deviceHours() const;
};

/// Describes a model. The context's `layout` shards the activations; degrees of 1 give the full model's.
ModelDescription describeModel(const PricingContext &context);

void printDescription(const ModelDescription &description, llvm::raw_ostream &out);
llvm::json::Value toJson(const ModelDescription &description);

} // namespace mlir::ppc

#endif // PPC_REPORTING_MODELDESCRIPTION_H
