// What the choices of a grid cannot beat: by work, by filling and draining the pipeline, by memory.
#include "lib/Planning/Grid/GridExpansion.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

std::vector<ChunkCost> GridExpander::Expansion::priceKept(const LayerPrices &prices, llvm::ArrayRef<int64_t> cut,
                                                          bool splitBackward) const {
  std::vector<ChunkCost> chunks;
  chunks.reserve(cut.size());
  bool alike = !request.model.moe && !request.model.slidingWindow;
  for (const ChunkLayers &chunk : listChunks(cut))
    if (alike && chunks.size() > 1 && !chunk.isLast && chunk.layers == cut[chunks.size() - 1])
      chunks.push_back(ChunkCost(chunks.back()));
    else
      chunks.push_back(priceChunk(request.model, prices, chunk, 0, beside, splitBackward));
  return chunks;
}

/// Where devices alternate (PipelineScheduleKind::alternates): a device waits for the first backward to come back,
/// alternates, and waits for the last one. `fill`, `drain`: of a slice, before each stage and in all.
static double boundAlternating(const PipelineShape &shape, llvm::ArrayRef<ChunkCost> chunks,
                               llvm::ArrayRef<double> fill, llvm::ArrayRef<double> drain, double aside) {
  double bound = 0, share = 1 / double(shape.slices);
  int64_t units = shape.microBatches * shape.slices;
  for (int64_t stage = 0; stage < shape.devices; ++stage) {
    int64_t inFlight = shape.devices - 1 - stage + shape.slices;
    if (inFlight > units)
      continue;
    double forward = share * chunks[stage].durations.forward.value,
           backward = share * chunks[stage].durations.pairedBackward().value;
    // To the last stage and back; a slice of the stage itself is in both.
    double way = fill.back() - fill[stage] - forward + drain.back() - drain[stage] - backward;
    bound = std::max(bound, aside * (fill[stage] + drain[stage]) + 2 * way +
                                double(units - inFlight + shape.slices) * (forward + backward));
  }
  return bound;
}

/// A device waits for the forwards before its first stage, then does all its work, and the backwards before that stage
/// follow its last one. Where no device waits for the others between steps, what is before and behind overlaps other
/// steps. And where forward i + n waits for micro-batch i to come back, (M - 1) / n + 1 micro-batches go that way one
/// after the other.
double GridExpander::Expansion::boundPipeline(const ScheduleEntry &entry, llvm::ArrayRef<ChunkCost> chunks) const {
  const PipelineShape &shape = entry.schedule.shape;
  double microBatches = double(shape.microBatches), share = 1 / double(shape.slices), sum = 0, through = 0;
  for (const ChunkCost &chunk : chunks) {
    through += chainOf(chunk.durations);
    sum += chainOf(chunk.durations) + chunk.durations.pairedWeightGradient().value;
  }
  double bound = std::max(sum * microBatches / double(shape.devices), share * through);
  double aside = request.stack.validatesUpdateAfterwards ? 0 : 1;
  double perReplica = microBatches / double(entry.placement->replicas);
  llvm::SmallVector<double, 64> fill(chunks.size() + 1, 0), drain(chunks.size() + 1, 0);
  auto hopsFrom = [&](size_t stage) { return stage + 1 < chunks.size() && entry.placement->hops[stage]; };
  for (size_t stage = 0; stage < chunks.size(); ++stage) {
    bool hop = hopsFrom(stage);
    fill[stage + 1] =
        fill[stage] + share * (chunks[stage].durations.forward.value + (hop ? messages.forward.value : 0));
    drain[stage + 1] =
        drain[stage] + share * (chunks[stage].durations.pairedBackward().value + (hop ? messages.backward.value : 0));
  }
  for (llvm::ArrayRef<PipelineChunk> held : entry.placement->chunks) {
    double chain = 0, weights = 0;
    for (const PipelineChunk &chunk : held) {
      chain += chainOf(chunks[chunk.stage].durations);
      weights += chunks[chunk.stage].durations.pairedWeightGradient().value;
    }
    double first = aside * fill[held.front().stage], last = aside * drain[held.front().stage];
    // Weight gradients may wait until the backwards have left.
    bound = std::max({bound, first + perReplica * (chain + weights), first + last + perReplica * chain});
  }
  if (entry.schedule.kind->alternates)
    bound = std::max(bound, boundAlternating(shape, chunks, fill, drain, aside));
  for (const OrderLimit &limit : entry.placement->limits) {
    double message = limit.toBackward || !hopsFrom(limit.to) ? 0 : messages.forward.value;
    double way = limit.toBackward ? fill.back() - fill[limit.from] + drain.back() - drain[limit.to]
                                  : fill[limit.to + 1] - fill[limit.from] - message;
    double behind = limit.toBackward ? drain[limit.to] : fill.back() - fill[limit.to + 1] + message + drain.back();
    double rounds = double((shape.microBatches / entry.placement->replicas - 1) / limit.ahead + 1);
    bound = std::max(bound, aside * (fill[limit.from] + behind) + rounds * way);
  }
  return slack * bound;
}

/// As above for one stage per device: x >= s (c_0 + ... + c_(d-1)) + M c_d for every device d, with c the chain of a
/// micro-batch and s the share of a slice. The sum C of all c is largest when all hold with equality, which gives
/// x >= s C / (1 - (1 - s/M)^p).
double GridExpander::Expansion::boundAnyCut(const ScheduleEntry &entry, llvm::ArrayRef<ChunkCost> chunks) const {
  double microBatches = double(entry.schedule.shape.microBatches), share = 1 / double(entry.schedule.shape.slices),
         chain = 0, all = 0;
  for (const ChunkCost &chunk : chunks) {
    chain += chainOf(chunk.durations);
    all += chainOf(chunk.durations) + chunk.durations.pairedWeightGradient().value;
  }
  if (request.stack.validatesUpdateAfterwards)
    return slack * all * microBatches / double(layout.pp);
  double filled = share * chain / (1 - std::pow(1 - share / microBatches, double(layout.pp)));
  // As in floorOf.
  if (alternatesEverywhere(entry.schedule))
    filled = std::max(filled, (chain * (microBatches + share * double(layout.pp - 1)) / double(layout.pp)) +
                                  share * double(layout.pp - 1) * (messages.forward + messages.backward).value);
  return slack * std::max(filled, all * microBatches / double(layout.pp));
}

/// What each device keeps at least, whatever the schedule's order, in a step that takes `latest`. A micro-batch stays
/// on a stage for no less than its chain from there on, c_d + ... + c_(p-1); so on average, M (c_d + ...) / latest of
/// them do (Little), and the worst moment is no less than the average. `anyCut`: no device's chain takes more than
/// latest / M, so all from device d on take no less than c_0 + ... + c_(p-1) - d latest / M.
const PipelineProgram &GridExpander::Expansion::leastLoads(const ScheduleEntry &entry, llvm::ArrayRef<int64_t> cut,
                                                           const LayerPrices &prices, double latest, bool anyCut) {
  PipelineProgram &program = expander.loads[entry.placement][anyCut];
  size_t stages = cut.size();
  std::vector<ChunkCost> chunks = priceKept(prices, cut, entry.schedule.splitBackward);
  std::vector<double> behind(stages + 1, 0);
  for (size_t stage = stages; stage-- > 0;)
    behind[stage] = behind[stage + 1] + chainOf(chunks[stage].durations);
  double perTime = slack * double(entry.schedule.shape.microBatches) / double(entry.schedule.shape.slices) / latest;
  program.stageCount = int64_t(stages);
  program.chunks.resize(entry.placement->chunks.size());
  program.moments.resize(program.chunks.size());
  for (size_t device = 0; device < program.chunks.size(); ++device) {
    program.chunks[device].clear();
    program.moments[device].assign(1, PipelineProgram::Moment());
    for (const PipelineChunk &chunk : entry.placement->chunks[device]) {
      program.chunks[device].push_back(chunk);
      double load = anyCut ? perTime * behind[0] - double(device)
                           : perTime * behind[chunk.stage] / double(entry.placement->replicas);
      program.moments[device][0].push_back({std::max(0.0, load), 0});
    }
  }
  return program;
}
