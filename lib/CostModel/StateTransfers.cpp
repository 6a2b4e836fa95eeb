// What one rank of a compiled program moves once per step, and of gradients and parameters in each micro-batch: rows of
// the state that is held tensor by tensor (CompiledState.cpp).
#include "CompiledState.h"
#include "SequenceExchange.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;

/// Sums of single numbers in the update: the squared norm of all gradients, and the loss. Squares of tensors that are
/// cut alike are added up together, over all stages, and summed over what not all tensors are cut over; then the sums
/// of these kinds over the rest. A kind of one tensor has nothing to add up: it is summed where it is held, and crosses
/// stages in the sum of all kinds.
static std::vector<TransferRow> sumsOfNumbers(const PricingContext &context, int64_t device, const ModelState &model,
                                              const DeviceState &state) {
  const ParallelLayout &layout = context.layout;
  HeadCut cut = compiledHeads(context);
  const int64_t batches = layout.expertBatches(), sequences = layout.expertSequences();
  std::vector<TransferRow> rows;
  auto add = [&](const MemberSet &members, int64_t calls = 1) {
    if (members.size() > 1)
      rows.push_back({device, LedgerPhase::Update, TransferKind::AllReduce, members, 32, 1, calls});
  };
  auto over = [&](unsigned axes) {
    MemberSet members;
    if (axes & GroupAxis)
      members.add(cut.group, 1);
    if (axes & HeadAxis)
      members.add(cut.heads, cut.group);
    if (axes & RowAxis)
      members.add(layout.tpRows, layout.tensorColumns());
    if (axes & ExpertAxis)
      members.add(sequences, layout.tp);
    if (axes & DataAxis)
      members.add(layout.cp / sequences, layout.tp * sequences);
    if (axes & ExpertAxis)
      members.add(batches, layout.tp * layout.cp);
    if (axes & DataAxis)
      members.add(layout.shardRanks() / layout.ranksTogether(), layout.tp * layout.ranksTogether());
    return members;
  };
  unsigned common = axisSets - 1;
  int64_t sums = 0; // over stages
  bool isAnyAlone = false;
  for (auto [axes, count] : llvm::enumerate(model.allTensors))
    if (count > 0) {
      common &= axes;
      sums += count > 1;
      isAnyAlone |= count == 1;
    }
  for (auto [axes, count] : llvm::enumerate(model.allTensors))
    if (count > 1 || (count == 1 && state.sizes.tensorsCutOver[axes] > 0))
      add(over(axes & ~common));
  add(over(common));
  if (state.hasLoss)
    add(MemberSet(layout.dataRanks(), layout.tp));
  bool isWhole = state.copies > 1 && layout.pp == 2; // both devices hold all
  add(MemberSet(layout.pp, layout.dataRanks() * layout.tp), isWhole ? 1 : 1 + sums + isAnyAlone);
  return rows;
}

/// Of so many data-parallel ranks those that hold the same experts: that share a sequence and not experts, or neither.
static void addAlike(MemberSet &members, const ParallelLayout &layout, int64_t ranks) {
  const int64_t sequences = layout.expertSequences();
  members.add(layout.cp / sequences, layout.tp * sequences);
  members.add(ranks / layout.ranksTogether(), layout.tp * layout.ranksTogether());
}

/// The ranks of a sum that was planned.
static MemberSet membersOf(const ParallelLayout &layout, const HeadCut &cut, const SumMembers &sum) {
  MemberSet members;
  if (sum.tensor == int(Summed::Tensor))
    members.add(layout.tensorColumns(), 1);
  else if (sum.tensor == int(Summed::SharedHeads))
    members.add(cut.group, 1);
  else if (sum.tensor == int(Summed::Heads))
    members.add(cut.heads, cut.group);
  else if (sum.tensor == int(Summed::Depth))
    members.add(sequenceParts(layout), sequenceStride(layout));
  else if (sum.tensor == int(Summed::Columns))
    members.add(layout.tensorColumns() / sequenceParts(layout), 1);
  if (sum.sequence)
    members.add(layout.cp, layout.tp);
  int64_t sharing = sum.ofExperts ? layout.expertRanks() : 1, all = layout.shardRanks(),
          gradients = layout.gradientRanks(), inner = gradients > 1 ? gradients : all;
  if (sum.shards && sharing == 1)
    members.add(inner, layout.tp);
  else if (sum.shards)
    addAlike(members, layout, inner);
  if (sum.outer)
    members.add(all / inner, layout.tp * inner);
  if (sum.copies)
    members.add(layout.dataRanks() / layout.shardRanks(), layout.tp * layout.shardRanks());
  return members;
}

std::vector<TransferRow> mlir::ppc::stateTransfers(const PricingContext &context, int64_t device,
                                                   const ModelState &model, const DeviceState &state) {
  const StateSizes &sizes = state.sizes;
  const ParallelLayout &layout = context.layout;
  std::vector<TransferRow> rows;
  MemberSet data(layout.dataRanks(), layout.tp), tensor(layout.tensorColumns(), 1),
      shards(layout.shardRanks(), layout.tp);
  MemberSet alike, shardsAlike;
  addAlike(alike, layout, layout.dataRanks());
  addAlike(shardsAlike, layout, layout.shardRanks());
  // Of them those that share parameters between uses, and, once per step, the others that share a copy of the state.
  const int64_t parameters = layout.parameterRanks();
  MemberSet stored(parameters, layout.tp), storedAlike, outer(layout.shardRanks() / parameters, layout.tp * parameters);
  if (parameters > 1)
    addAlike(storedAlike, layout, parameters);
  HeadCut cut = compiledHeads(context);
  auto add = [&](TransferKind kind, const MemberSet &members, double elements, int64_t calls = 1,
                 LedgerPhase phase = LedgerPhase::Update, int64_t bits = 32) {
    if (members.size() > 1 && elements > 0)
      rows.push_back({device, phase, kind, members, bits, int64_t(elements), calls});
  };
  MemberSet everyone = tensor, neighbours(cut.group, 1);
  everyone.add(layout.dataRanks(), layout.tp);
  neighbours.add(layout.dataRanks(), layout.tp);
  MemberSet others(cut.heads, cut.group);
  others.add(layout.dataRanks(), layout.tp);
  int64_t microBatches = layout.microBatches(context.job) / state.copies;
  auto addSums = [&](const GradientSums &sums, LedgerPhase phase, int64_t calls) {
    add(TransferKind::AllReduce, data, sums.reduced, calls, phase);
    add(TransferKind::AllReduce, everyone, sums.reducedOverTensor, calls, phase);
    add(TransferKind::AllReduce, neighbours, sums.reducedOverShared, calls, phase);
    add(TransferKind::AllReduce, others, sums.reducedOverHeads, calls, phase);
    add(TransferKind::AllReduce, tensor, sums.reducedInTensor, calls, phase);
    add(TransferKind::ReduceScatter, tensor, sums.scatteredInTensor, calls, phase);
    add(TransferKind::ReduceScatter, everyone, sums.scatteredOverTensor, calls, phase);
    add(TransferKind::AllGather, tensor, sums.gatheredInTensor, calls, phase);
    add(TransferKind::AllGather, everyone, sums.gatheredOverTensor, calls, phase);
    add(TransferKind::ReduceScatter, data, sums.scattered, calls, phase);
    add(TransferKind::AllGather, data, sums.gatheredOverData, calls, phase);
    add(TransferKind::AllReduce, alike, sums.reducedOfExperts, calls, phase);
    add(TransferKind::ReduceScatter, alike, sums.scatteredOfExperts, calls, phase);
    for (const PlannedSum &sum : sums.planned)
      add(sum.kind, membersOf(layout, cut, sum.members), sum.elements, calls, phase);
  };
  addSums(sizes.once, LedgerPhase::Update, 1);
  addSums(sizes.each, LedgerPhase::WeightGradient, microBatches);
  add(TransferKind::AllReduce, MemberSet(layout.dp, layout.tp * layout.cp), sizes.each.reducedBefore, microBatches,
      LedgerPhase::Backward);
  auto addGathers = [&](const MemberSet &all, const MemberSet &members, const ParameterGathers &gathers) {
    const MemberSet &once = parameters > 1 ? outer : all;
    auto gather = [&](const MemberSet &over, double elements, int64_t calls, LedgerPhase phase, int64_t bits) {
      add(TransferKind::AllGather, over, elements, calls, phase, bits);
    };
    gather(once, gathers.updated, 1, LedgerPhase::Update, 32);
    gather(once, gathers.rounded, 1, LedgerPhase::Prepare, 16);
    gather(members, gathers.readByUpdate, 1, LedgerPhase::Update, 32);
    gather(all, gathers.updatedByAll, 1, LedgerPhase::Update, 32);
    gather(all, gathers.roundedByAll, 1, LedgerPhase::Prepare, 16);
    gather(members, gathers.forward, microBatches, LedgerPhase::Forward, 32);
    gather(members, gathers.forwardRounded, microBatches, LedgerPhase::Forward, 16);
    gather(members, gathers.backward, microBatches, LedgerPhase::Backward, 32);
    gather(members, gathers.backwardRounded, microBatches, LedgerPhase::Backward, 16);
  };
  addGathers(shards, stored, sizes.gathers);
  addGathers(shardsAlike, storedAlike, sizes.gathersOfExperts);
  int64_t stride = layout.dataRanks() * layout.tp;
  add(TransferKind::AllReduce, MemberSet(2, stride * (layout.pp - 1)), state.tied); // the first and the last
  if (state.copies > 1) // of what each has summed over its ranks
    add(TransferKind::AllReduce, MemberSet(2, stride * std::abs(layout.pp - 1 - 2 * device)), sizes.states / 2);
  llvm::append_range(rows, sumsOfNumbers(context, device, model, state));
  return rows;
}
