// Capabilities of other training programs: one table, from which the search, pins, exports and the documentation take
// the layouts that a stack runs. It lists what can be started, at one named version; speeds belong to Stack
// (ppc/CostModel/Stack.h).
#ifndef PPC_PLANNING_TRAININGSOFTWARE_H
#define PPC_PLANNING_TRAININGSOFTWARE_H

#include "ppc/CostModel/Stack.h"
#include "ppc/Planning/PlanConstraints.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::ppc {

struct TrainingSoftware {
  llvm::StringLiteral name;    // name of the stack: "megatron-core"
  llvm::StringLiteral title;   // "Megatron-LM"
  llvm::StringLiteral version; // version that the table was read from
  /// Pipeline schedules; none: no pipeline parallelism.
  llvm::ArrayRef<llvm::StringLiteral> schedules = {};
  llvm::ArrayRef<int64_t> zero = {};            // ZeRO stages
  llvm::ArrayRef<int64_t> zeroInPipelines = {}; // subset of these with pipeline parallelism
  llvm::ArrayRef<ContextKind> contexts = {};    // none: no context parallelism
  llvm::ArrayRef<Recompute> recomputes = {};
  llvm::ArrayRef<Offload> offloads = {};
  llvm::ArrayRef<Precision> precisions = {};
  bool tensor = true; // tensor parallelism
  /// Heads that tensor parallelism (and Ulysses) shard evenly: query heads; key-value heads, too; these, or each copied
  /// to several ranks.
  enum class Heads { Query, KeyValue, KeyValueOrCopied } heads = Heads::KeyValue;
  /// Sequence parallelism with tensor parallelism.
  enum class Sequence { Never, Always, Optional } sequence = Sequence::Optional;
  bool experts = false; // expert parallelism
  enum class ExpertTensor { One, OneOrTensor, Any } expertTensor = ExpertTensor::One;
  bool expertsNeedSequence = false;         // experts with tensor parallelism need sequence parallelism
  llvm::ArrayRef<int64_t> sharedGroup = {}; // ZeRO stages that may be sharded over some of the data-parallel ranks
  bool unevenStages = false;                // stages of different numbers of layers
  bool partialRecompute = false;            // some layers of each stage, one number for all
  bool tiedInPipelines = true;              // an LM head tied to the embedding with pipeline parallelism
  bool tensorWithFullShards = true;         // tensor parallelism with ZeRO-3
  /// Ranks that are not shards are copies of one another and of nothing else: ZeRO 0 of several data-parallel ranks has
  /// no other degree of parallelism, and shard groups hold entire context-parallel groups.
  bool copiesAlone = false;
};

/// Entry of the stack's `software`, or of its name; null: for PPC itself or a file that names none, which nothing
/// limits.
const TrainingSoftware *softwareOf(const Stack &stack);
/// All of the table.
llvm::ArrayRef<TrainingSoftware> trainingSoftware();

/// Whether the software knows this value of the key, whatever the others are. Degrees: 1 is always known.
bool offers(const TrainingSoftware &software, PlanKey key, int64_t value);
/// The values of a key of words that it knows: "1f1b, interleaved".
std::string offeredText(const TrainingSoftware &software, PlanKey key);
/// The first part of a layout that the software cannot be asked for, with its value; empty: it can start it.
std::string lackingPart(const TrainingSoftware &software, const ModelShape &model, const ParallelLayout &layout);

/// Restricts the constraints to layouts that the software offers; pins that ask for more are errors that name it.
void limitToSoftware(const TrainingSoftware &software, PlanConstraints &constraints);

/// Prints the table as Markdown (docs/performance/sources.md).
void printTrainingSoftware(llvm::raw_ostream &out);

} // namespace mlir::ppc

#endif // PPC_PLANNING_TRAININGSOFTWARE_H
