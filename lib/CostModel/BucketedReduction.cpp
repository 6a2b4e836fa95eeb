// What programs of PPC leave of the reduction of gradients behind the last backward: the compiler's own choice of
// buckets (ppc-overlap-reductions), over layers whose times and gradients are even within a chunk.
#include "ppc/CostModel/StepParts.h"
#include "ppc/Scheduling/ReductionBuckets.h"

#include <algorithm>

using namespace mlir::ppc;

namespace {

/// From the end of the device's work backwards: pieces of gradients, and how long before the end each is finished.
class LastBackward {
public:
  LastBackward(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks) : context(context), chunks(chunks) {}

  /// The chunk whose last backward comes before those added so far. `runs`: backwards of it that follow the last one of
  /// the chunk before it.
  void add(int64_t stage, double runs);
  std::vector<ReductionPiece> pieces() const;
  Seconds span() const { return behind; }

private:
  void put(double parameters) {
    if (parameters > 0)
      reversed.push_back({behind, Bytes(parameters * context.stack.gradientReduceBytes)});
  }

  const PricingContext &context;
  llvm::ArrayRef<ChunkCost> chunks;
  std::vector<ReductionPiece> reversed; // `ready`: before the end
  Seconds behind;
};

} // namespace

void LastBackward::add(int64_t stage, double runs) {
  const ChunkCost &chunk = chunks[stage];
  const ModelShape &model = context.model;
  double table = context.paddedVocabulary() * double(model.hidden) / double(context.layout.tp);
  bool first = chunk.count[int(LayerKind::Embedding)] > 0, last = chunk.count[int(LayerKind::Head)] > 0;
  int64_t layers = 0;
  for (int kind = int(LayerKind::Dense); kind < int(LayerKind::Head); ++kind)
    layers += chunk.count[kind];
  double embedding = first ? std::min(table, chunk.parameters) : 0;
  double head = last && !(first && model.tiedEmbeddings) ? std::min(table, chunk.parameters - embedding) : 0;
  double perLayer = (chunk.parameters - embedding - head) / double(std::max<int64_t>(1, layers));
  // Where weight gradients run by themselves, they finish the gradients.
  Seconds all = chunk.durations.weightGradient.value > 0 ? chunk.durations.weightGradient : chunk.durations.backward;
  double computed = perLayer * double(layers) + (last ? table : 0); // the head computes its products, tied or not
  Seconds perParameter = computed > 0 ? all / computed : Seconds(0), begin = behind;
  put(embedding);
  // Towards the end single layers, as the smallest buckets come last; ahead of those a quarter of what follows.
  for (int64_t done = 0; done < layers;) {
    int64_t group = std::min(layers - done, std::max<int64_t>(1, done / 4));
    put(perLayer * double(group));
    done += group;
    behind += perParameter * (perLayer * double(group));
  }
  put(head);
  behind = begin + runs * all;
}

std::vector<ReductionPiece> LastBackward::pieces() const {
  std::vector<ReductionPiece> result(reversed.rbegin(), reversed.rend());
  for (ReductionPiece &piece : result)
    piece.ready = behind - piece.ready;
  return result;
}

Seconds mlir::ppc::leftBehindBackward(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                                      const PipelineProgram &program, int64_t device, Seconds reduction) {
  const ParallelLayout &layout = context.layout;
  // Sums that every micro-batch makes are no buckets; two copies add theirs up afterwards; where micro-batches exchange
  // tokens over the same ranks the group is busy.
  if (layout.zero >= 3 || context.reducesEveryMicroBatch() || program.replicaCount > 1 || layout.ep > 1 ||
      layout.dataRanks() == 1 || !context.isTransformer || reduction.value <= 0)
    return reduction;
  std::vector<int64_t> stages;
  for (const PipelineChunk &chunk : program.chunks[device])
    stages.push_back(chunk.stage);
  std::sort(stages.begin(), stages.end());
  double follow = layout.schedule == "breadth-first" ? double(program.shape.microBatches)
                  : layout.schedule == "interleaved" ? double(std::min(layout.pp, program.shape.microBatches))
                                                     : 1;
  LastBackward backward(context, chunks);
  for (int64_t stage : stages)
    backward.add(stage, stages.size() > 1 ? follow : 1);
  std::vector<ReductionPiece> pieces = backward.pieces();
  if (pieces.empty())
    return reduction;
  Bytes bytes;
  for (const ReductionPiece &piece : pieces)
    bytes += piece.bytes;
  CollectiveKind kind = layout.zero >= 1 ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
  GroupPlacement group = placeGroup(context.cluster.levels(), layout.tp, layout.dataRanks());
  auto time = [&](Bytes part) { return collectiveTime(context.cluster, kind, part, group); };
  Seconds all = time(bytes);
  ReductionBuckets chosen = chooseReductionBuckets(pieces, time, 0.01 * all);
  Seconds left = std::max(Seconds(0), chosen.end - backward.span());
  if (left >= 0.99 * all)
    return reduction;
  // What is hidden takes multiprocessors from backward.
  return std::min(reduction, left + context.device().communicationShare * (all - left));
}
