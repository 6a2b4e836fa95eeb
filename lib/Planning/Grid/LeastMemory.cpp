// The choice of a grid that needs least memory, whatever time it takes: what comes closest where nothing fits.
#include "lib/Planning/Grid/GridExpansion.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir::ppc;

LayerPrices GridExpander::Expansion::preparePrices(int64_t sliceCount) {
  slices = sliceCount;
  PricingContext context(request.model, request.job, request.cluster, layout, request.stack, slices);
  programs = expander.programsOf(context, slices);
  std::vector<Recompute> allowed = space.recomputes();
  messages = priceMessages(context);
  beside = timeBesideMessages(context);
  recompute = layout.recompute = allowed.empty() ? Recompute::None : allowed.back();
  for (auto &state : states)
    state->layout.recompute = recompute;
  return priceLayers(PricingContext(request.model, request.job, request.cluster, layout, request.stack, slices),
                     *programs);
}

double GridExpander::Expansion::boundMemory() {
  double least = infinity;
  if (entries.empty())
    return least;
  LayerPrices prices = preparePrices(1);
  const ParallelLayout *base = nullptr;
  for (auto &state : states)
    if (!base || !isCutLess(state->layout, *base)) {
      base = &state->layout;
      least = std::min(least, boundMemory(*state, prices));
    }
  return least;
}

void GridExpander::Expansion::findLeastMemory(Candidate &best) {
  for (int64_t sliceCount : {1, 2, 4, 8}) {
    if (llvm::none_of(entries, [&](const ScheduleEntry &entry) { return entry.schedule.shape.slices == sliceCount; }))
      continue;
    LayerPrices prices = preparePrices(sliceCount);
    for (auto &state : states) {
      if (boundMemory(*state, prices) > best.memory)
        continue;
      for (const ScheduleEntry &entry : entries) {
        if (entry.schedule.shape.slices != sliceCount)
          continue;
        llvm::ArrayRef<int64_t> cut = cutFor(layout.pp * entry.schedule.shape.chunks);
        setChoice(state->layout, entry, true);
        state->layout.recomputedLayers = space.constraints.isPinned(PlanKey::RecomputedLayers)
                                             ? space.constraints.pinned(PlanKey::RecomputedLayers)
                                             : -1;
        state->layout.stageRecomputedLayers.clear();
        if (space.constraints.stageRecomputedLayers.size() == cut.size())
          state->layout.stageRecomputedLayers = space.constraints.stageRecomputedLayers;
        std::vector<ChunkCost> chunks = priceChunks(state->context, prices, cut, entry.schedule.splitBackward);
        // What devices keep needs no order of actions, unless the order follows the durations.
        const PipelineProgram *program = isFitted(entry)
                                             ? programFor(entry, chunks)
                                             : expander.schedules.loads(*entry.schedule.kind, entry.schedule.shape);
        if (!program)
          continue;
        double peak = 0;
        for (size_t device = 0; device < program->chunks.size(); ++device)
          if (MemoryBreakdown memory = deviceMemory(state->context, chunks, *program, int64_t(device));
              fitsHost(request.cluster, memory))
            peak = std::max(peak, memory.total().value);
          else
            peak = infinity;
        setChoice(state->layout, entry, false);
        Candidate candidate{0, peak, state->layout};
        if ((!request.refuse || request.refuse(candidate.layout).empty()) && isBetter(candidate, best))
          best = std::move(candidate);
      }
    }
  }
}
