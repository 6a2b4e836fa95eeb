// The same plan in the words of other training programs. Where those cannot say a part of it, a note says so.
#ifndef PPC_REPORTING_FRAMEWORKARGUMENTS_H
#define PPC_REPORTING_FRAMEWORKARGUMENTS_H

#include "ppc/Cluster/Cluster.h"
#include "ppc/CostModel/ParallelLayout.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace mlir::ppc {

struct FrameworkArguments {
  std::string text;
  std::vector<std::string> notes; // what is not said, or said differently; one sentence each
};

/// Command-line arguments of Megatron-LM's pretrain_gpt.py, one per line, with backslashes between them. `layout.stageLayers`
/// must be filled where layers are not spread evenly.
FrameworkArguments megatronArguments(const ModelShape &model, const TrainingJob &job, const ParallelLayout &layout);

/// torchtitan's TOML.
FrameworkArguments torchtitanConfig(const ModelShape &model, const TrainingJob &job, const ParallelLayout &layout);

} // namespace mlir::ppc

#endif // PPC_REPORTING_FRAMEWORKARGUMENTS_H
