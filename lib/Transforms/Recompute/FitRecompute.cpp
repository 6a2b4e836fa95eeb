// The cheapest values not to keep, until each stage keeps little enough.
#include "LayerRecompute.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Transforms/Recompute/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace mlir::ppc {
#define GEN_PASS_DEF_FITRECOMPUTEPASS
#include "ppc/Transforms/Recompute/Passes.h.inc"

namespace {

struct LayerPlan {
  int64_t number = 0;
  LayerGraph layer;
  const RecomputeFrontier *frontier = nullptr;
};

/// The layers of one stage, in order.
using StageLayers = std::vector<LayerPlan>;

/// Frontiers of layers, once for those that are alike.
class Frontiers {
public:
  const RecomputeFrontier *of(const RecomputeGraph &graph) {
    for (const auto &[known, frontier] : all)
      if (known == graph)
        return frontier.get();
    return all.emplace_back(graph, std::make_unique<RecomputeFrontier>(findFrontier(graph, kCuts))).second.get();
  }

private:
  static constexpr int64_t kCuts = 2000; ///< a few hundred of them take the time of one pass over a layer
  std::vector<std::pair<RecomputeGraph, std::unique_ptr<RecomputeFrontier>>> all;
};

struct FitRecomputePass : impl::FitRecomputePassBase<FitRecomputePass> {
  using FitRecomputePassBase::FitRecomputePassBase;

  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan);
    if (!plan) {
      getOperation().emitError("has no ppc.plan: run ppc-search-plan or ppc-make-plan first");
      return signalPassFailure();
    }
    if (save.empty())
      return;
    if (save.size() != plan.getStages().size()) {
      getOperation().emitError() << "save names " << save.size() << " stages, the plan has " << plan.getStages().size();
      return signalPassFailure();
    }
    std::vector<StageLayers> stages(save.size());
    Frontiers frontiers;
    getOperation().walk([&](AccumulateOp accumulate) { collect(accumulate, frontiers, stages); });
    std::map<int64_t, ArrayAttr> choices;
    for (auto [number, stage] : llvm::enumerate(stages)) {
      if (save[number] <= 0)
        continue;
      std::vector<const RecomputeFrontier *> layers;
      for (const LayerPlan &plan : stage)
        layers.push_back(plan.frontier);
      StageChoice chosen = chooseForStage(layers, save[number], kSums);
      int64_t ops = 0;
      for (auto [plan, choice] : llvm::zip_equal(stage, chosen.choices))
        ops += mark(plan, plan.frontier->choices[choice], choices);
      report(number, ops, chosen);
    }
    setPlan(plan, choices);
  }

private:
  static constexpr size_t kSums = 4096;

  void collect(AccumulateOp accumulate, Frontiers &frontiers, std::vector<StageLayers> &stages) {
    std::map<std::pair<int64_t, int64_t>, SmallVector<Operation *>> layers;
    for (Operation &op : accumulate.getBody().front().without_terminator()) {
      auto layer = op.getAttrOfType<IntegerAttr>(attr::layer), stage = op.getAttrOfType<IntegerAttr>(attr::stage);
      if (layer && stage && stage.getInt() >= 0 && stage.getInt() < int64_t(stages.size()))
        layers[{stage.getInt(), layer.getInt()}].push_back(&op);
    }
    for (auto &[place, ops] : layers) {
      LayerPlan plan{place.second, layerGraph(ops, machineBalance), nullptr};
      plan.frontier = frontiers.of(plan.layer.graph);
      stages[place.first].push_back(std::move(plan));
    }
  }

  /// Returns the number of marked ops.
  int64_t mark(const LayerPlan &plan, const RecomputeChoice &choice, std::map<int64_t, ArrayAttr> &choices) {
    Builder builder(&getContext());
    llvm::SetVector<Attribute> names;
    for (auto [number, op] : llvm::enumerate(plan.layer.ops))
      if (choice.again[number] && !plan.layer.graph.ops[number].isForced) {
        names.insert(builder.getStringAttr(nameInLayer(op)));
        op->setAttr(attr::recompute, builder.getUnitAttr());
      }
    int64_t count = names.size();
    if (count)
      choices[plan.number] = builder.getArrayAttr(names.takeVector());
    return count;
  }

  void report(int64_t stage, int64_t ops, const StageChoice &chosen) {
    remark::RemarkOpts options = remark::RemarkOpts::name("recompute").category("ppc-recompute");
    if (chosen.saved < save[stage])
      remark::missed(getOperation().getLoc(), options)
          << remark::reason("stage {0} must save {1} bytes less per micro-batch; full recomputation frees {2}", stage,
                            save[stage], chosen.saved);
    if (!chosen.saved)
      return;
    std::string distance = chosen.isLeast
                               ? "; no other choice that saves as much takes less time"
                               : llvm::formatv("; any choice that saves as much takes at least {0:f1} % of its time",
                                               100 * chosen.bound / std::max(chosen.cost, 1.0))
                                     .str();
    remark::passed(getOperation().getLoc(), options)
        << llvm::formatv("stage {0} recomputes the results of {1} ops and saves {2} bytes less per micro-batch{3}",
                         stage, ops, chosen.saved, distance)
               .str();
  }

  /// Adds the choices to the plan, equal neighbours as one range. A layer that the plan speaks of already has its wish
  /// extended.
  void setPlan(PlanAttr plan, const std::map<int64_t, ArrayAttr> &choices) {
    Builder builder(&getContext());
    NamedAttrList rules(plan.getRecompute() ? plan.getRecompute() : builder.getDictionaryAttr({}));
    for (auto it = choices.begin(); it != choices.end();) {
      int64_t first = it->first, last = first;
      ArrayAttr choice = it->second;
      for (++it; it != choices.end() && it->first == last + 1 && it->second == choice; ++it)
        ++last;
      std::string name = first == last ? std::to_string(first) : llvm::formatv("{0}-{1}", first, last).str();
      if (auto old = dyn_cast_or_null<ArrayAttr>(rules.get(name))) {
        llvm::SetVector<Attribute> both(old.begin(), old.end());
        both.insert(choice.begin(), choice.end());
        choice = builder.getArrayAttr(both.takeVector());
      } else if (rules.get(name)) {
        continue; // fully recomputed already
      }
      rules.set(name, choice);
    }
    getOperation()->setAttr(attr::plan, plan.withRecompute(rules.getDictionary(&getContext())));
  }
};

} // namespace
} // namespace mlir::ppc
