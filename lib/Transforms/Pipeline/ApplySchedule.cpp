// Turns the plan's schedule into the action list of each stage.
#include "dialects/ppc/Ppc.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Scheduling/ScheduleVerifier.h"
#include "ppc/Transforms/Pipeline/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_APPLYSCHEDULEPASS
#include "ppc/Transforms/Pipeline/Passes.h.inc"

namespace {

/// The actions of one stage, messages included, as attributes.
SmallVector<Attribute> stageActions(DictionaryAttr stage, ArrayRef<PipelineAction> actions) {
  Builder builder(stage.getContext());
  auto functions = stage.getAs<DictionaryAttr>("functions");
  SmallVector<Attribute> list;
  auto add = [&](StringRef what, int64_t microBatch, DictionaryAttr message) {
    SmallVector<NamedAttribute> fields = {builder.getNamedAttr("do", builder.getStringAttr(what)),
                                          builder.getNamedAttr("micro_batch", builder.getI64IntegerAttr(microBatch))};
    if (message)
      for (StringRef key : {"buffer", "stage", "tag"})
        fields.push_back(builder.getNamedAttr(key, message.get(key)));
    list.push_back(builder.getDictionaryAttr(fields));
  };
  auto addMessages = [&](StringRef what, StringRef list, StringRef when, StringRef action, int64_t microBatch) {
    for (auto message : stage.getAs<ArrayAttr>(list).getAsRange<DictionaryAttr>())
      if (message.getAs<StringAttr>(when) == action)
        add(what, microBatch, message);
  };
  for (const PipelineAction &action : actions) {
    StringRef name = toString(action.kind);
    addMessages("receive", "receives", "before", name, action.microBatch);
    if (functions.contains(name))
      add(name, action.microBatch, {});
    addMessages("send", "sends", "after", name, action.microBatch);
  }
  return list;
}

struct ApplySchedulePass : impl::ApplySchedulePassBase<ApplySchedulePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan = module->getAttrOfType<PlanAttr>(attr::plan);
    auto stages = module->getAttrOfType<ArrayAttr>("ppc.stages");
    auto fail = [&](const Twine &message) {
      module.emitError() << message;
      signalPassFailure();
    };
    if (!plan || !stages)
      return fail("expected a module with ppc.plan and ppc.stages: run ppc-split-stages first");
    if (stages.size() != plan.getStages().size())
      return fail("ppc.stages has " + Twine(stages.size()) + " entries, but the plan has " + Twine(plan.getStages().size()) + " stages");
    for (auto [number, entry] : llvm::enumerate(stages)) {
      auto stage = dyn_cast<DictionaryAttr>(entry);
      if (!stage || !stage.getAs<DictionaryAttr>("functions") || !stage.getAs<ArrayAttr>("sends") || !stage.getAs<ArrayAttr>("receives"))
        return fail("stage " + Twine(number) + " in ppc.stages lacks functions, sends or receives: run ppc-split-stages first");
    }
    llvm::Expected<PipelineSchedule> schedule =
        makePipelineSchedule(plan.getSchedule().getValue(), stages.size(), plan.getMicroBatches());
    if (!schedule)
      return fail(llvm::toString(schedule.takeError()));
    std::vector<int64_t> slots = slotsPerStage(*schedule);
    if (llvm::Error error = verifySchedule(*schedule, slots))
      return fail(llvm::toString(std::move(error)));

    Builder builder(&getContext());
    SmallVector<Attribute> scheduled;
    for (auto [number, stage] : llvm::enumerate(stages.getAsRange<DictionaryAttr>())) {
      NamedAttrList fields(stage);
      fields.set("slots", builder.getI64IntegerAttr(slots[number]));
      fields.set("actions", builder.getArrayAttr(stageActions(stage, schedule->devices[number])));
      scheduled.push_back(fields.getDictionary(&getContext()));
    }
    module->setAttr("ppc.stages", builder.getArrayAttr(scheduled));
  }
};

} // namespace
} // namespace mlir::ppc
