// Walks the logical program first, then the programs of the ranks.
#include "ppc/Equivalence/EquivalenceChecker.h"
#include "StageCheck.h"

namespace mlir::ppc {
namespace {

/// Gives every value of a logical function its term.
LogicalResult readLogical(func::FuncOp function, TermTable &terms, StepInterface &interface) {
  Derivation derivation(terms, RankAxes{}, /*isLogical=*/true);
  FunctionWalk walk(derivation, function, "in the logical program: ");
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      return function.emitOpError() << "has an argument that is not a tensor";
    std::string name = nameOfArgument(function, argument.getArgNumber());
    Named named{terms.argument(name, type), type,
                function.getArgAttrOfType<InitAttr>(argument.getArgNumber(), attr::init)};
    if (!interface.inputs.try_emplace(name, named).second)
      return function.emitOpError() << "has two arguments that are " << name;
    Relation relation;
    relation.term = named.term;
    relation.cuts.resize(type.getRank());
    walk.define(argument, Known(relation));
  }
  interface.microBatches = 0;
  function.walk([&](AccumulateOp op) {
    interface.microBatches = op.getMicroBatches();
    for (auto [input, argument] : llvm::zip(op.getInputs(), op.getBody().getArguments()))
      if (auto whole = dyn_cast<BlockArgument>(input); whole && whole.getOwner() == &function.front()) {
        std::string name = nameOfArgument(function, whole.getArgNumber());
        RankedTensorType type = tensorType(argument);
        interface.microBatch.insert(
            {name,
             {microBatchTerm(terms, interface.inputs.find(name)->second.term, op.getMicroBatches(), type), type, {}}});
      }
  });
  if (failed(walk.run()))
    return failure();
  if (walk.waitsAt())
    return walk.error(walk.waitsAt()) << "is not an op of a logical program";
  for (auto [number, known] : llvm::enumerate(walk.results()))
    interface.outputs.insert({nameOfResult(function, number),
                              {known.relation.term, cast<RankedTensorType>(function.getResultTypes()[number]), {}}});
  return success();
}

template <typename T> std::string textOf(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// A step of all devices, and the evaluation where there is one.
LogicalResult checkProgram(ppcrt::ProgramOp program, Derivation &derivation, const StepInterface &interface,
                           EquivalenceReport &report) {
  if (failed(StageCheck(program, derivation, interface, ppcrt::RoutineKind::Update).run(report)))
    return failure();
  if (llvm::none_of(program.getDevices(), [](ppcrt::DeviceOp device) { return bool(device.getEvaluate()); }))
    return success();
  EquivalenceReport again; // discarded: the step was counted already
  return StageCheck(program, derivation, interface, ppcrt::RoutineKind::Evaluate).run(again);
}

/// The program of one rank as one function.
LogicalResult checkFunction(func::FuncOp function, Derivation &derivation, const StepInterface &interface,
                            EquivalenceReport &report) {
  FunctionWalk walk(derivation, function);
  auto typeOf = [&](Attribute attribute, Type local) {
    auto stated = dyn_cast_or_null<TypeAttr>(attribute);
    return stated ? dyn_cast<RankedTensorType>(stated.getValue()) : dyn_cast<RankedTensorType>(local);
  };
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    std::string name = nameOfArgument(function, number);
    auto sharding = function.getArgAttrOfType<ShardingAttr>(number, attr::sharding);
    RankedTensorType type = typeOf(function.getArgAttr(number, attr::logicalType), argument.getType());
    auto found = interface.inputs.find(name);
    if (found == interface.inputs.end() || found->second.type != type)
      return function.emitOpError() << "takes " << name << " as a block of " << type
                                    << ", which the logical program does not take";
    FailureOr<Relation> relation = derivation.axes.declared(found->second.term, type, sharding);
    if (failed(relation) || (sharding ? sharding.localType(type, derivation.axes.grid) : type) != argument.getType())
      return function.emitOpError() << "takes " << name << " as " << argument.getType() << ", which is not a block of "
                                    << type << " as it is declared";
    if (auto init = function.getArgAttrOfType<InitAttr>(number, attr::init); !beginAlike(init, found->second.init))
      return function.emitOpError() << "initialises " << name << " as " << describeInit(init)
                                    << ", the logical program as " << describeInit(found->second.init);
    walk.define(argument, Known(*relation));
  }
  if (failed(walk.run()))
    return failure();
  if (walk.waitsAt())
    return walk.error(walk.waitsAt()) << "reduces over stages, but there is one program";
  report.localOps += walk.opCount;
  bool valid = true;
  for (auto [number, known] : llvm::enumerate(walk.results())) {
    std::string name = nameOfResult(function, number);
    auto wanted = interface.outputs.find(name);
    auto sharding = function.getResultAttrOfType<ShardingAttr>(number, attr::sharding);
    RankedTensorType type =
        typeOf(function.getResultAttr(number, attr::logicalType), function.getResultTypes()[number]);
    std::string problem;
    if (wanted == interface.outputs.end())
      problem = "is not made by the logical program";
    else if (sharding && type != wanted->second.type)
      problem = "is declared as a block of " + textOf(type) + ", but the logical program makes " +
                textOf(wanted->second.type);
    else
      problem = compareOutput(wanted->second, known.relation, sharding,
                              cast<RankedTensorType>(function.getResultTypes()[number]), /*needsZeroPadding=*/true,
                              derivation.axes, derivation.terms);
    if (!problem.empty()) {
      valid = false;
      function.emitOpError() << name << " " << problem;
    }
    ++report.outputs;
  }
  if (function.getNumResults() != interface.outputs.size())
    return function.emitOpError() << "has " << function.getNumResults() << " results, the logical program "
                                  << interface.outputs.size();
  return success(valid);
}

} // namespace

FailureOr<EquivalenceReport> checkEquivalence(ModuleOp logical, ModuleOp partitioned) {
  EquivalenceReport report;
  auto plan = partitioned->getAttrOfType<PlanAttr>(attr::plan);
  if (!plan)
    return partitioned.emitError("has no ppc.plan, so the mesh of its ranks is not known"), failure();
  ppcrt::ProgramOp program = ppcrt::findProgram(partitioned);
  bool hasStages = bool(program), any = false;
  for (auto function : logical.getOps<func::FuncOp>()) {
    if (function.isExternal() || (hasStages && function.getSymName() != "step"))
      continue;
    func::FuncOp local = partitioned.lookupSymbol<func::FuncOp>(function.getSymName());
    if (!hasStages && !local)
      return partitioned.emitError() << "has no function @" << function.getSymName()
                                     << ", which the logical program has",
             failure();
    if (!function.getBody().hasOneBlock() || (local && (local.isExternal() || !local.getBody().hasOneBlock())))
      return function.emitOpError() << "must have one block, here and in the program of the ranks", failure();
    TermTable terms;
    StepInterface interface;
    if (failed(readLogical(function, terms, interface)))
      return failure();
    report.logicalValues += terms.size();
    Derivation derivation(terms, RankAxes{plan.getGrid()}, /*isLogical=*/false);
    if (hasStages ? failed(checkProgram(program, derivation, interface, report))
                  : failed(checkFunction(local, derivation, interface, report)))
      return failure();
    any = true;
  }
  if (!any)
    return logical.emitError("has no function to compare with"), failure();
  if (failed(checkDeclarations(logical, partitioned)))
    return failure();
  return report;
}

} // namespace mlir::ppc
