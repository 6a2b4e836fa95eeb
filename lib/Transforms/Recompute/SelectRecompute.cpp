// The plan's choice of what backward computes again, as marks on ops.
#include "LayerRecompute.h"
#include "ppc/Transforms/Recompute/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SELECTRECOMPUTEPASS
#include "ppc/Transforms/Recompute/Passes.h.inc"

namespace {

std::optional<int64_t> layerOf(Operation *op) {
  auto layer = op->getAttrOfType<IntegerAttr>(attr::layer);
  return layer ? std::optional(layer.getInt()) : std::nullopt;
}

/// Whether the choice for a layer (verified by PlanAttr) covers an op.
bool covers(Attribute choice, Operation *op) {
  if (auto mode = dyn_cast<StringAttr>(choice))
    return mode.getValue() == "full" || (mode.getValue() == "selective" && isa<AttentionOp>(op));
  StringRef kind = op->getName().stripDialect();
  std::string name = nameInLayer(op);
  return llvm::any_of(cast<ArrayAttr>(choice), [&](Attribute one) {
    StringRef text = cast<StringAttr>(one).getValue();
    return text == kind || text == name;
  });
}

struct SelectRecomputePass : impl::SelectRecomputePassBase<SelectRecomputePass> {
  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan);
    if (!plan) {
      getOperation().emitError("has no ppc.plan: run ppc-search-plan or ppc-make-plan first");
      return signalPassFailure();
    }
    if (!plan.getRecompute())
      return;
    SmallVector<std::pair<LayerRange, Attribute>> rules;
    for (NamedAttribute rule : plan.getRecompute())
      rules.push_back({*parseLayerRange(rule.getName()), rule.getValue()});
    int64_t last = 0;
    getOperation().walk([&](AccumulateOp accumulate) {
      for (Operation &op : accumulate.getBody().front().without_terminator()) {
        std::optional<int64_t> layer = layerOf(&op);
        last = std::max(last, layer.value_or(0));
        if (!layer || !canRecompute(&op))
          continue;
        for (auto &[range, choice] : rules)
          if (range.contains(*layer) && covers(choice, &op))
            op.setAttr(attr::recompute, UnitAttr::get(&getContext()));
      }
    });
    for (auto &[range, choice] : rules)
      if (range.first > last) {
        getOperation().emitError() << "the plan recomputes layers " << range.first << " to " << range.last
                                   << ", the model's last layer is " << last;
        return signalPassFailure();
      }
  }
};

} // namespace
} // namespace mlir::ppc
