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
  std::vector<RecomputeStep> steps;
  size_t taken = 0;
};

/// The layers of one stage, in order.
using StageLayers = std::vector<LayerPlan>;

/// Takes steps of all layers, the one that saves most bytes per second first. Returns what was saved.
int64_t takeSteps(StageLayers &layers, int64_t wanted) {
  int64_t saved = 0;
  while (saved < wanted) {
    LayerPlan *best = nullptr;
    for (LayerPlan &plan : layers)
      if (plan.taken < plan.steps.size() && (!best || plan.steps[plan.taken].rate() > best->steps[best->taken].rate()))
        best = &plan;
    if (!best)
      break;
    saved += best->steps[best->taken++].bytes;
  }
  return saved;
}

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
    getOperation().walk([&](AccumulateOp accumulate) { collect(accumulate, stages); });
    std::map<int64_t, ArrayAttr> choices;
    for (auto [number, stage] : llvm::enumerate(stages)) {
      report(number, takeSteps(stage, save[number]), stage);
      for (LayerPlan &layer : stage)
        mark(layer, choices);
    }
    setPlan(plan, choices);
  }

private:
  void collect(AccumulateOp accumulate, std::vector<StageLayers> &stages) {
    std::map<std::pair<int64_t, int64_t>, SmallVector<Operation *>> layers;
    for (Operation &op : accumulate.getBody().front().without_terminator()) {
      auto layer = op.getAttrOfType<IntegerAttr>(attr::layer), stage = op.getAttrOfType<IntegerAttr>(attr::stage);
      if (layer && stage && stage.getInt() >= 0 && stage.getInt() < int64_t(stages.size()))
        layers[{stage.getInt(), layer.getInt()}].push_back(&op);
    }
    for (auto &[place, ops] : layers) {
      LayerPlan plan{place.second, LayerRecompute(ops, machineBalance).steps(), 0};
      if (!plan.steps.empty())
        stages[place.first].push_back(std::move(plan));
    }
  }

  void mark(const LayerPlan &layer, std::map<int64_t, ArrayAttr> &choices) {
    Builder builder(&getContext());
    llvm::SetVector<Attribute> names;
    for (const RecomputeStep &step : ArrayRef(layer.steps).take_front(layer.taken))
      for (Operation *op : step.ops) {
        names.insert(builder.getStringAttr(nameInLayer(op)));
        op->setAttr(attr::recompute, builder.getUnitAttr());
      }
    if (!names.empty())
      choices[layer.number] = builder.getArrayAttr(names.takeVector());
  }

  void report(int64_t stage, int64_t saved, const StageLayers &layers) {
    remark::RemarkOpts options = remark::RemarkOpts::name("recompute").category("ppc-recompute");
    if (saved < save[stage])
      remark::missed(getOperation().getLoc(), options)
          << remark::reason("stage {0} is to keep {1} bytes less per micro-batch; computing all it can again saves {2}",
                            stage, save[stage], saved);
    if (!saved)
      return;
    size_t values = 0;
    for (const LayerPlan &layer : layers)
      for (const RecomputeStep &step : ArrayRef(layer.steps).take_front(layer.taken))
        values += step.ops.size();
    remark::passed(getOperation().getLoc(), options)
        << llvm::formatv("stage {0} computes the results of {1} ops again and keeps {2} bytes less per micro-batch",
                         stage, values, saved)
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
        continue; // wholly computed again already
      }
      rules.set(name, choice);
    }
    getOperation()->setAttr(attr::plan, plan.withRecompute(rules.getDictionary(&getContext())));
  }
};

} // namespace
} // namespace mlir::ppc
