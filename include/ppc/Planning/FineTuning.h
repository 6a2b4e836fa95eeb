// Fine-tuning, which starts from an existing model: the weights that change, the storage of frozen ones, sequence
// packing, and other models that take part in a step. It becomes switches of the stack and one change of the model, so
// that every formula and bound of the search sees the same problem.
#ifndef PPC_PLANNING_FINETUNING_H
#define PPC_PLANNING_FINETUNING_H

#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/CostModel/Stack.h"
#include "ppc/Planning/PlanConstraints.h"

namespace mlir::ppc {

/// Objective of a step: the next token; preferences between two sequences, against a frozen reference (DPO, arXiv
/// 2305.18290); rewards of groups of completions that the policy itself generates (GRPO, arXiv 2402.03300).
enum class Objective { NextToken, Dpo, Grpo };

struct FineTuning {
  int64_t adapterRank = 0;  // LoRA (arXiv 2106.09685): adapters of this rank for every matmul of the layers; 0: none
  int64_t baseBits = 16;    // bits of a frozen base weight of adapters: 16, 8, or 4 (QLoRA, arXiv 2305.14314)
  int64_t frozenLayers = 0; // the embedding and this many first layers are frozen; backward ends after them
  int64_t packedLength = 0; // tokens of a document, on average, where several fill a sequence; 0: one fills it
  Objective objective = Objective::NextToken;
  int64_t promptLength = 0; // tokens of a sequence that are not generated (GRPO)

  bool isAny() const {
    return adapterRank || baseBits != 16 || frozenLayers || packedLength || objective != Objective::NextToken;
  }
};

/// Errors: numbers that mean nothing for the model or the job, adapters with frozen layers, a stack whose programs
/// train every weight.
llvm::Error verifyTuning(const FineTuning &tuning, const ModelShape &model, const TrainingJob &job, const Stack &stack);

/// "LoRA of rank 16 on base weights of 4 bits, DPO"; empty: no fine-tuning.
std::string tuningText(const FineTuning &tuning);

/// Number of trained elements: of adapters, or of weights that are not frozen.
double trainedParameters(const FineTuning &tuning, const ModelShape &model);

/// Adapts the problem: state, gradients and weight gradients of trained weights, bytes of frozen weights, a reference
/// next to the policy, attention within documents. Frozen layers are spread evenly over all layers, which is right if
/// one device has all of them: pipelines are excluded then.
void applyTuning(const FineTuning &tuning, const TrainingJob &job, ModelShape &model, Stack &stack,
                 PlanConstraints &constraints);

} // namespace mlir::ppc

#endif // PPC_PLANNING_FINETUNING_H
