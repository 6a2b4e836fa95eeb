// The end of a step: the evaluations and the updates of all stages together, and the contents of the buffers after
// them.
#include "StageCheck.h"

namespace mlir::ppc {

using namespace ppcrt;

/// The stages over which `op` reduces.
static SmallVector<int64_t> membersOf(AllReduceOp op, size_t stageCount) {
  if (op.getStages())
    return SmallVector<int64_t>(*op.getStages());
  return llvm::to_vector(llvm::seq<int64_t>(stageCount));
}

/// Performs the all-reduce that `stage` has reached, if all its members have reached it.
FailureOr<bool> StageCheck::reduceAcrossStages(std::vector<FunctionWalk> &walks, size_t stage) {
  AllReduceOp op = walks[stage].waitsAt();
  SmallVector<int64_t> members = membersOf(op, stages.size());
  if (!llvm::is_contained(members, int64_t(stage)))
    return walks[stage].error(op) << "is reached by a stage that is not among its stages", failure();
  for (int64_t member : members) {
    if (member < 0 || member >= int64_t(stages.size()))
      return walks[stage].error(op) << "names stage " << member << ", which does not exist", failure();
    AllReduceOp other = walks[member].waitsAt();
    if (!other || membersOf(other, stages.size()) != members || other.getAxes() != op.getAxes() ||
        other.getCombiner() != op.getCombiner() || other.getType() != op.getType())
      return false;
  }
  if (op.getCombiner() != Combiner::Sum || op.getAxes().size() != 1)
    return walks[stage].error(op) << "combines over stages by something else than a sum over \"pp\"", failure();
  SmallVector<Relation> parts;
  for (int64_t member : members) {
    const Known &known = walks[member].waiting();
    if (known.accumulator >= 0)
      return walks[member].error(walks[member].waitsAt()) << "uses a sum over micro-batches before it is complete",
             failure();
    parts.push_back(known.relation);
  }
  Derived sum = derivation.sumOf(std::move(parts));
  if (sum.failed())
    return walks[stage].error(op) << sum.error, failure();
  for (int64_t member : members)
    walks[member].resume(sum.results.front());
  return true;
}

LogicalResult StageCheck::finishStep(RoutineKind kind) {
  StringRef name = stringifyRoutineKind(kind);
  std::vector<FunctionWalk> walks;
  std::vector<Function *> functions;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    Function *found = functionOf(stage, kind);
    if (!found) {
      if (kind == RoutineKind::Evaluate && functions.empty() && stage + 1 < stages.size())
        continue;
      return kind == RoutineKind::Evaluate && functions.empty() ? success()
                                                                : LogicalResult(error(stage) << "has no " << name);
    }
    if (functions.size() < stage)
      return error(stage) << "has " << name << ", which another stage lacks";
    functions.push_back(found);
    walks.emplace_back(derivation, found->op, "stage " + std::to_string(stage) + ": ");
    if (failed(completeSums(stage)))
      return failure();
    for (auto [index, value] : llvm::enumerate(found->op.getArguments())) {
      FailureOr<Known> known = argument(stage, *found, index, -1);
      if (failed(known))
        return failure();
      walks.back().define(value, std::move(*known));
    }
  }
  for (FunctionWalk &walk : walks)
    if (failed(walk.run()))
      return failure();
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      if (!walks[stage].waitsAt())
        continue;
      FailureOr<bool> done = reduceAcrossStages(walks, stage);
      if (failed(done))
        return failure();
      progress |= *done;
      if (*done)
        for (FunctionWalk &walk : walks)
          if (failed(walk.run()))
            return failure();
    }
  }
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    if (walks[stage].waitsAt())
      return walks[stage].error(walks[stage].waitsAt()) << "never takes place: not all of its stages reach it";
    report->localOps += kind == RoutineKind::Update ? walks[stage].opCount : 0;
    for (auto [index, known] : llvm::enumerate(walks[stage].results()))
      if (failed(store(stage, *functions[stage], index, known, -1)))
        return failure();
  }
  return success();
}

LogicalResult StageCheck::checkLoss() {
  auto wanted = interface.outputs.find("loss");
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    Function *evaluate = functionOf(stage, RoutineKind::Evaluate);
    if (!evaluate || wanted == interface.outputs.end())
      continue;
    for (int64_t buffer : evaluate->results) {
      const Content &memory = stages[stage].contents[buffer].front();
      std::string problem = !memory.isSet || memory.isSum
                                ? "is not computed"
                                : compareOutput(wanted->second, memory.relation, ShardingAttr(),
                                                stages[stage].buffers[buffer].getTensorType(),
                                                /*needsZeroPadding=*/false, derivation.axes, derivation.terms);
      if (!problem.empty())
        return error(stage) << "the loss that evaluate leaves in " << describeBuffer(stage, buffer) << " " << problem;
    }
  }
  return success();
}

LogicalResult StageCheck::checkOutputs() {
  std::set<std::string> seen;
  bool valid = true;
  for (size_t stage = 0; stage < stages.size(); ++stage)
    for (auto [index, op] : llvm::enumerate(stages[stage].buffers)) {
      BufferOp buffer = op;
      BufferRole role = buffer.getRole();
      if (!llvm::is_contained({BufferRole::Metric, BufferRole::Parameter, BufferRole::Gradient, BufferRole::State},
                              role))
        continue; // stays inside of the step
      std::string name = buffer.describe();
      auto wanted = interface.outputs.find(name);
      if (wanted == interface.outputs.end()) {
        valid = false;
        error(stage) << describeBuffer(stage, index)
                     << " is declared to hold a value that is not a result of the logical program";
        continue;
      }
      const Content &memory = stages[stage].contents[index].front();
      std::string problem =
          !memory.isSet || memory.isSum
              ? "is not computed"
              : compareOutput(wanted->second, memory.relation, buffer.getShardingAttr(), buffer.getTensorType(),
                              role == BufferRole::Parameter || role == BufferRole::State, derivation.axes,
                              derivation.terms);
      if (!problem.empty()) {
        valid = false;
        error(stage) << name << " " << problem;
      }
      seen.insert(name);
      ++report->outputs;
    }
  for (auto &[name, wanted] : interface.outputs)
    if (!seen.count(name)) {
      valid = false;
      program.emitOpError() << name << " is in no buffer of any stage";
    }
  return success(valid);
}

LogicalResult StageCheck::run(EquivalenceReport &result) {
  report = &result;
  if (failed(read()) || failed(followActions(/*isBehind=*/false)))
    return failure();
  // Without an evaluation in the program, evaluate routines and the loss are checked in the step.
  bool evaluates = llvm::any_of(program.getDevices(), [](DeviceOp device) { return bool(device.getEvaluate()); });
  if ((last == RoutineKind::Evaluate || !evaluates) &&
      (failed(finishStep(RoutineKind::Evaluate)) || failed(checkLoss())))
    return failure();
  if (last == RoutineKind::Evaluate)
    return success();
  if (failed(finishStep(RoutineKind::Update)))
    return failure();
  for (Stage &stage : stages)
    ++stage.next;
  return failure(failed(followActions(/*isBehind=*/true)) || failed(checkOutputs()));
}

} // namespace mlir::ppc
