// The fastest plan that the pins leave and that compiled programs can run.
#include "PlanBuilder.h"
#include "PlanInputs.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Analysis/ModuleTarget.h"
#include "ppc/Analysis/ProgramChain.h"
#include "ppc/Planning/Files/ChainPlanFile.h"
#include "ppc/Planning/Files/LayoutFile.h"
#include "ppc/Planning/TargetLimits.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "ppc/Transforms/Plan/PlanFile.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SEARCHPLANPASS
#include "ppc/Transforms/Plan/Passes.h.inc"

namespace {

remark::RemarkOpts remarkOpts(StringRef name) { return remark::RemarkOpts::name(name).category("ppc-plan"); }

std::string summary(const Plan &plan) {
  return llvm::formatv("{0}: {1} per step, {2} per rank", toString(plan.layout), toString(plan.cost.stepTime),
                       toString(plan.cost.peakMemory));
}

struct SearchPlanPass : impl::SearchPlanPassBase<SearchPlanPass> {
  using SearchPlanPassBase::SearchPlanPassBase;
  SearchPlanPass(const SearchPlanPassOptions &options, ProgramRefusals refusals)
      : SearchPlanPassBase(options), refusals(std::move(refusals)) {}

  void runOnOperation() override {
    llvm::Expected<const TargetCapabilities *> found = findTargetCapabilities(target);
    if (!found) {
      getOperation().emitError() << llvm::toString(found.takeError());
      return signalPassFailure();
    }
    capabilities = *found;
    setModuleTarget(getOperation(), *capabilities);
    FailureOr<bool> byOp = isPlannedByOp();
    if (failed(byOp) || (*byOp && failed(searchOps())))
      return signalPassFailure();
    if (*byOp)
      return;
    FailureOr<ParallelLayout> layout = decide();
    if (failed(layout))
      return signalPassFailure();
    FailureOr<PlanAttr> plan = buildPlan(getOperation(), *layout, *capabilities);
    if (failed(plan) || failed(checkBatch(getOperation(), *plan)) || failed(checkSequence(getOperation(), *plan)))
      return signalPassFailure();
    getOperation()->setAttr(attr::plan, *plan);
  }

private:
  /// Whether the model is no transformer, or a file says how its ops are cut.
  FailureOr<bool> isPlannedByOp();
  LogicalResult searchOps();
  FailureOr<ParallelLayout> decide();
  llvm::Error readPins(PlanConstraints &constraints);
  void explain(const PlanSearchResult &result);
  LogicalResult reportInfeasible(const PlanSearchResult &result);

  const TargetCapabilities *capabilities = nullptr;
  ProgramRefusals refusals;
};

llvm::Error SearchPlanPass::readPins(PlanConstraints &constraints) {
  constraints.pin(PlanKey::Devices, ranks);
  for (auto [key, value] :
       {std::pair(PlanKey::Dp, dp.getValue()), std::pair(PlanKey::Tp, tp.getValue()),
        std::pair(PlanKey::Pp, pp.getValue()), std::pair(PlanKey::Vp, vp.getValue()),
        std::pair(PlanKey::Cp, cp.getValue()), std::pair(PlanKey::Ep, ep.getValue()),
        std::pair(PlanKey::TpRows, tpRows.getValue()), std::pair(PlanKey::TpDepth, tpDepth.getValue()),
        std::pair(PlanKey::GradientGroup, gradientGroup.getValue()),
        std::pair(PlanKey::ParameterGroup, parameterGroup.getValue()),
        std::pair(PlanKey::MicroBatch, microBatch.getValue())})
    if (value > 0)
      constraints.pin(key, value);
  if (!schedule.empty())
    if (llvm::Error error = constraints.pin("schedule", schedule))
      return error;
  if (!recompute.empty())
    if (llvm::Error error = constraints.pin("recompute", recompute))
      return error;
  if (!sequenceParallel.empty())
    if (llvm::Error error = constraints.pin("sp", sequenceParallel))
      return error;
  if (!context.empty())
    if (llvm::Error error = constraints.pin("context", context))
      return error;
  if (!offload.empty())
    if (llvm::Error error = constraints.pin("offload", offload))
      return error;
  if (zero >= 0)
    constraints.pin(PlanKey::Zero, zero);
  if (shardGroup)
    constraints.pin(PlanKey::ShardGroup, shardGroup);
  constraints.stageLayers.assign(layersPerStage.begin(), layersPerStage.end());
  if (!constraints.stageLayers.empty() && vp <= 1)
    constraints.pin(PlanKey::Pp, constraints.stageLayers.size());
  if (!planFile.empty())
    if (llvm::Error error =
            readLayoutFile(planFile, constraints, {/*isAlone=*/true, capabilities, precisionOf(getOperation())}))
      return error;
  if (std::string part = refusedPin(*capabilities, constraints, precisionOf(getOperation())); !part.empty())
    return llvm::createStringError("compiled programs cannot run " + part);
  limitToTarget(*capabilities, constraints);                    // what is refused anyway need not be looked at
  if (cp == 0 && !logicalDimension(getOperation(), "sequence")) // nothing to cut
    if (llvm::Error error = constraints.forbid("cp"))
      return error;
  if (sequenceParallel.empty() && !logicalDimension(getOperation(), "sequence")) // nothing to cut
    if (llvm::Error error = constraints.forbid("sp"))
      return error;
  return llvm::Error::success();
}

FailureOr<bool> SearchPlanPass::isPlannedByOp() {
  if (!planFile.empty()) {
    llvm::Expected<PlanFileSections> sections = planFileSections(planFile);
    if (!sections)
      return getOperation().emitError() << llvm::toString(sections.takeError());
    if (sections->ops)
      return true;
  }
  llvm::Expected<ModelShape> shape = modelShapeOf(getOperation());
  llvm::Expected<TrainingJob> job = trainingJobOf(getOperation());
  std::string reason = !shape ? llvm::toString(shape.takeError()) : "";
  if (!job)
    reason += (reason.empty() ? "" : "; ") + llvm::toString(job.takeError());
  if (!reason.empty())
    remark::missed(getOperation().getLoc(), remarkOpts("search"))
        << remark::reason("{0}", "the model is not a transformer, so the plan uses op-level sharding: " + reason);
  return !reason.empty();
}

LogicalResult SearchPlanPass::searchOps() {
  auto refuse = [&](llvm::Error error) { return getOperation().emitError() << withoutKind(std::move(error)); };
  if (ranks < 1)
    return getOperation().emitError() << "ranks is " << ranks.getValue() << ", expected at least 1";
  FailureOr<ProgramChain> program = readProgramChain(getOperation());
  if (failed(program))
    return failure();
  llvm::Expected<Cluster> machine = planMachine(cluster, ranks);
  if (!machine)
    return refuse(machine.takeError());
  llvm::Expected<Stack> stack = findStack(capabilities->stack);
  if (!stack)
    return refuse(stack.takeError());
  ChainRequest request{program->model, *machine, *stack};
  request.base.precision = program->precision;
  request.memoryLimit = Bytes(memory);
  request.target = capabilities;
  request.timeTolerance = indistinctTimes;
  program->model.refusals.addOf(refusals);
  request.refuse = [&](const ParallelLayout &layout) {
    std::string part = program->model.refusals.of(layout, program->model.batch);
    return part.empty() ? lackedAroundOps(*capabilities, layout) : part;
  };
  if (llvm::Error error = readPins(request.constraints))
    return refuse(std::move(error));
  if (!planFile.empty()) {
    llvm::Expected<OpCuts> cuts = readOpCuts(planFile, program->model, capabilities);
    if (!cuts)
      return refuse(cuts.takeError());
    request.cuts = std::move(*cuts);
  }
  llvm::Expected<ChainSearchResult> result = searchChainPlan(request);
  if (!result)
    return refuse(result.takeError());
  if (result->plans.empty())
    return getOperation().emitError() << "no plan for " << ranks.getValue() << " ranks: " << result->reason;
  const ChainPlan &best = result->plans.front();
  PlanAttr plan = makePlanAttr(*program, best);
  if (failed(checkBatch(getOperation(), plan)))
    return failure();
  getOperation()->setAttr(attr::plan, plan);
  writeFactors(*program, best.cuts(), best.layout.dp > 1 ? ArrayRef<StringRef>{"dp"} : ArrayRef<StringRef>());
  auto describe = [](const ChainPlan &plan) {
    std::string axes = axesText(plan.axes);
    return llvm::formatv("{0}{1}: {2} per step, {3} per rank", toString(plan.layout), axes.empty() ? "" : ", " + axes,
                         toString(plan.cost.stepTime), toString(plan.cost.peakMemory))
        .str();
  };
  remark::passed(getOperation().getLoc(), remarkOpts("plan"))
      << describe(best) << remark::metric("StepTime", best.cost.stepTime.value)
      << remark::metric("LowerBound", result->lowerBound.value);
  if (result->plans.size() > 1)
    remark::analysis(getOperation().getLoc(), remarkOpts("runner-up")) << describe(result->plans[1]);
  for (const std::string &note : result->notes)
    remark::analysis(getOperation().getLoc(), remarkOpts("note")) << note;
  return success();
}

FailureOr<ParallelLayout> SearchPlanPass::decide() {
  if (ranks < 1)
    return getOperation().emitError() << "ranks is " << ranks.getValue() << ", expected at least 1";
  llvm::Expected<PlanInputs> inputs = planInputs(getOperation(), cluster, ranks, *capabilities);
  if (!inputs)
    return getOperation().emitError() << llvm::toString(inputs.takeError());
  PlanRequest request = inputs->request();
  request.memoryLimit = Bytes(memory);
  request.timeTolerance = indistinctTimes;
  request.refuse = [&, byTarget = request.refuse](const ParallelLayout &layout) {
    std::string part = refusals.of(layout, request.job.globalBatch);
    return part.empty() ? byTarget(layout) : part;
  };
  if (llvm::Error error = readPins(request.constraints))
    return getOperation().emitError() << withoutKind(std::move(error));
  llvm::Expected<PlanSearchResult> result = searchPlan(request);
  if (!result)
    return getOperation().emitError() << llvm::toString(result.takeError());
  if (result->plans.empty())
    return reportInfeasible(*result);
  explain(*result);
  ParallelLayout best = result->plans.front().layout;
  if (best.pp == 1) // its one stage holds all layers
    best.schedule = "1f1b", best.stageLayers.clear();
  return best;
}

LogicalResult SearchPlanPass::reportInfeasible(const PlanSearchResult &result) {
  InFlightDiagnostic error = getOperation().emitError("no plan for ") << ranks.getValue() << " ranks: ";
  if (!result.infeasibility)
    return error << "the search was stopped before it found one";
  const Infeasibility &why = *result.infeasibility;
  error << why.reason;
  for (const PlanRelaxation &other : ArrayRef(why.relaxations).take_front(1))
    error << "; with " << toString(other.key).str() << " " << other.to << " instead of " << other.from
          << " it is possible: " << summary(other.plan);
  return error;
}

void SearchPlanPass::explain(const PlanSearchResult &result) {
  Location loc = getOperation().getLoc();
  const Plan &best = result.plans.front();
  remark::passed(loc, remarkOpts("plan")) << summary(best) << remark::metric("StepTime", best.cost.stepTime.value)
                                          << remark::metric("LowerBound", result.lowerBound.value);
  if (result.plans.size() > 1)
    remark::analysis(loc, remarkOpts("runner-up")) << summary(result.plans[1]);
  for (const PlanAlternative &alternative : result.alternatives) {
    if (!llvm::is_contained({PlanKey::Dp, PlanKey::Tp, PlanKey::Pp, PlanKey::MicroBatch, PlanKey::Schedule,
                             PlanKey::Recompute, PlanKey::SequenceParallel, PlanKey::Zero, PlanKey::Cp, PlanKey::Ep,
                             PlanKey::TpRows},
                            alternative.key))
      continue; // nothing to decide
    std::string decision = (toString(alternative.key) + " " + alternative.chosen).str();
    if (alternative.plan)
      remark::analysis(loc, remarkOpts("decision"))
          << llvm::formatv("{0}: with {1} instead, {2}", decision, alternative.other, summary(*alternative.plan)).str();
    else
      remark::analysis(loc, remarkOpts("decision")) << decision + ": " + alternative.reason;
  }
  for (const std::string &note : result.notes)
    remark::analysis(loc, remarkOpts("note")) << note;
}

} // namespace

std::unique_ptr<Pass> createSearchPlanPass(const SearchPlanPassOptions &options, ProgramRefusals refusals) {
  return std::make_unique<SearchPlanPass>(options, std::move(refusals));
}

} // namespace mlir::ppc
