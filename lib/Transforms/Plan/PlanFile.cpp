// Plans from and to YAML.
#include "ppc/Transforms/Plan/PlanFile.h"
#include "PlanAttrSections.h"
#include "PlanInputs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Analysis/PlanCuts.h"
#include "ppc/Analysis/ProgramChain.h"
#include "ppc/Planning/Files/ChainPlanFile.h"
#include "ppc/Planning/Files/LayoutFile.h"
#include "ppc/Planning/Files/PlanSections.h"
#include "ppc/Support/InputFile.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/YamlReader.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::ppc {

static ArrayAttr axesAttr(Builder &builder, const PlanSections::Axes &axes) {
  SmallVector<StringRef> names(axes.begin(), axes.end());
  return builder.getStrArrayAttr(names);
}

llvm::Expected<PlanFileSections> planFileSections(StringRef path) {
  auto text = readInputFile(path, limits::yamlBytes);
  if (!text)
    return llvm::createStringError("cannot read plan file '" + path + "': " + llvm::toString(text.takeError()));
  llvm::Expected<YamlReader> file = YamlReader::fromText(path, (*text)->getBuffer());
  if (!file)
    return file.takeError();
  PlanFileSections sections{file->has("grid"), file->has("layout"), file->has("ops"), ""};
  if (std::optional<YamlReader> layout = file->mapping("layout"))
    sections.precision = layout->string("precision", "");
  return sections;
}

std::string withoutKind(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  if (size_t at = text.find(": error: "); at != std::string::npos)
    text.erase(at + 1, strlen(" error:"));
  return text;
}

/// The layout that a file says beside its grid may hold what the grid cannot.
static LogicalResult checkLayout(StringRef path, ModuleOp module, const TargetCapabilities &target) {
  Location loc = module.getLoc();
  PlanConstraints constraints;
  if (llvm::Error error = readLayoutFile(path, constraints, {/*isAlone=*/false, &target, precisionOf(module)}))
    return emitError(loc) << withoutKind(std::move(error));
  return success();
}

/// "full" stays what it is, "silu, mul" becomes a list.
static Attribute recomputeAttr(Builder &builder, StringRef text) {
  if (llvm::is_contained({"none", "selective", "full"}, text))
    return builder.getStringAttr(text);
  SmallVector<StringRef> names;
  text.split(names, ',');
  for (StringRef &name : names)
    name = name.trim();
  return builder.getStrArrayAttr(names);
}

static std::string recomputeText(Attribute choice) {
  if (auto mode = dyn_cast<StringAttr>(choice))
    return mode.str();
  return llvm::join(axisNames(cast<ArrayAttr>(choice)), ", ");
}

/// What is wrong with an op that a plan names among those to compute again. Collectives come with partitioning.
static std::string lackedOp(ModuleOp module, LayerRange layers, StringRef name) {
  auto [kind, place] = name.split('.');
  std::string full = ("ppc." + kind).str();
  std::optional<RegisteredOperationName> known = RegisteredOperationName::lookup(full, module.getContext());
  int64_t number = 0;
  if (!known || (name.contains('.') && (place.getAsInteger(10, number) || number < 0)))
    return ("there is no op '" + name + "'").str();
  if (module.getOps<func::FuncOp>().empty() ||
      llvm::is_contained({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "local_slice"}, kind))
    return "";
  llvm::DenseMap<int64_t, int64_t> count; // by layer
  module.walk([&](Operation *op) {
    auto layer = op->getAttrOfType<IntegerAttr>(attr::layer);
    if (layer && layers.contains(layer.getInt()) && op->getName().getStringRef() == full)
      ++count[layer.getInt()];
  });
  if (llvm::any_of(count, [&](auto &entry) { return entry.second > number; }))
    return "";
  return ("forward of these layers has no op '" + name + "'").str();
}

/// What a plan can be checked against: the arguments of the one function, and its layers.
static PlannedProgram plannedProgram(ModuleOp module) {
  PlannedProgram program;
  program.lackedOp = [module](int64_t first, int64_t last, StringRef name) {
    return lackedOp(module, {first, last}, name);
  };
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() != 1)
    return program;
  func::FuncOp function = functions.front();
  function.walk([&](Operation *op) {
    if (auto dispatch = dyn_cast<DispatchOp>(op))
      program.hasQueues |= dispatch.getShardingRule().findFactor("c").has_value();
    if (auto layer = op->getAttrOfType<IntegerAttr>(attr::layer))
      program.lastLayer = std::max(program.lastLayer, layer.getInt());
  });
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    PlannedProgram::Argument &known = program.arguments.emplace_back();
    known.extents.assign(type.getShape().begin(), type.getShape().end());
    if (auto name = function.getArgAttrOfType<StringAttr>(number, attr::input)) {
      known.kind = PlannedProgram::Argument::Input;
      known.name = name.str();
    } else if (auto name = function.getArgAttrOfType<StringAttr>(number, attr::parameter)) {
      known.kind = PlannedProgram::Argument::Parameter;
      known.name = name.str();
    }
    auto dims = function.getArgAttrOfType<ArrayAttr>(number, attr::dims);
    if (dims && int64_t(dims.size()) == type.getRank())
      for (StringRef name : axisNames(dims))
        known.dimensions.push_back(name.str());
  }
  return program;
}

PlanAttr planAttr(const PlanSections &plan, function_ref<InFlightDiagnostic()> emitError, MLIRContext *context) {
  Builder builder(context);
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  SmallVector<AxisRole> roles;
  for (const PlanSections::Axis &axis : plan.grid) {
    names.push_back(builder.getStringAttr(axis.name));
    sizes.push_back(axis.size);
    roles.push_back(axis.role);
  }
  auto grid = GridAttr::getChecked(emitError, context, ArrayRef<StringAttr>(names), ArrayRef<int64_t>(sizes),
                                   ArrayRef<AxisRole>(roles));
  if (!grid)
    return {};
  auto dictionary = [&](const std::vector<PlanSections::DimensionCut> &cuts) {
    NamedAttrList entries;
    for (const PlanSections::DimensionCut &cut : cuts)
      entries.set(cut.dimension, axesAttr(builder, cut.axes));
    return entries.getDictionary(context);
  };
  NamedAttrList parameters, recompute;
  for (const PlanSections::ParameterCut &cut : plan.parameters) {
    auto dims = llvm::map_to_vector(cut.dimensions, [&](const auto &axes) { return axesAttr(builder, axes); });
    auto sharding = ShardingAttr::getChecked(emitError, context, ArrayRef<ArrayAttr>(dims), ArrayRef<StringAttr>(),
                                             ArrayRef<Combiner>());
    if (!sharding)
      return {};
    parameters.set(cut.parameter, sharding);
  }
  for (const PlanSections::RecomputedLayers &rule : plan.recompute)
    recompute.set(rule.layers, recomputeAttr(builder, rule.what));
  return PlanAttr::getChecked(
      emitError, context, grid, ArrayRef<int64_t>(plan.stages), plan.vp, builder.getStringAttr(plan.schedule),
      plan.microBatches, dictionary(plan.dimensions), parameters.getDictionary(context),
      recompute.getDictionary(context), dictionary(plan.activations), axesAttr(builder, plan.update), plan.overlap,
      axesAttr(builder, plan.gradients), axesAttr(builder, plan.storage),
      plan.offload == Offload::None ? StringAttr() : builder.getStringAttr(toString(plan.offload)), plan.rotate,
      plan.productPieces);
}

FailureOr<PlanAttr> readPlanFile(StringRef path, ModuleOp module, const TargetCapabilities &target) {
  Location loc = module.getLoc();
  llvm::Expected<PlanFileSections> sections = planFileSections(path);
  if (!sections)
    return emitError(loc) << withoutKind(sections.takeError());
  if (sections->layout && failed(checkLayout(path, module, target)))
    return failure();
  if (sections->layout && !sections->grid)
    return emitError(loc) << path << ": has a section 'layout:' and no 'grid:': ppc-search-plan reads it";
  llvm::Expected<YamlReader> file = YamlReader::fromFile(path);
  if (!file)
    return emitError(loc) << withoutKind(file.takeError());
  llvm::Expected<PlanSections> text = readPlanSections(std::move(*file), plannedProgram(module), target);
  if (!text)
    return emitError(loc) << withoutKind(text.takeError());
  PlanAttr plan = planAttr(*text, [&] { return emitError(loc) << path << ": "; }, loc.getContext());
  if (!plan)
    return failure();
  return plan;
}

std::string predictionText(DictionaryAttr prediction) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "# predicted for " << prediction.getAs<StringAttr>("layout").getValue() << " on "
     << prediction.getAs<StringAttr>("machine").getValue()
     << (prediction.contains("unmeasured") ? ", which was not measured (see ppc-bench)" : "") << ":\n#   step  "
     << toString(Seconds(prediction.getAs<FloatAttr>("step_time_s").getValueAsDouble())) << "\n";
  for (auto [stage, bytes] : llvm::enumerate(prediction.getAs<DenseI64ArrayAttr>("memory_bytes").asArrayRef()))
    os << "#   memory of a rank of stage " << stage << "  " << toString(Bytes(double(bytes))) << "\n";
  return text;
}

PlanSections planSections(PlanAttr plan) {
  PlanSections text;
  auto namesOf = [](ArrayAttr axes) {
    PlanSections::Axes names;
    for (StringRef axis : axisNames(axes))
      names.push_back(axis.str());
    return names;
  };
  GridAttr grid = plan.getGrid();
  for (auto [name, size, role] : llvm::zip(grid.getNames(), grid.getSizes(), grid.getRoles()))
    text.grid.push_back({name.str(), size, role});
  text.stages.assign(plan.getStages().begin(), plan.getStages().end());
  text.vp = plan.getVp();
  text.schedule = plan.getSchedule().str();
  text.microBatches = plan.getMicroBatches();
  auto cutsOf = [&](DictionaryAttr from) {
    std::vector<PlanSections::DimensionCut> cuts;
    for (NamedAttribute entry : from)
      cuts.push_back({entry.getName().str(), namesOf(cast<ArrayAttr>(entry.getValue()))});
    return cuts;
  };
  text.dimensions = cutsOf(plan.getDimensions());
  text.activations = cutsOf(activationCuts(plan));
  text.update = namesOf(updateCuts(plan));
  if (plan.getGradients())
    text.gradients = namesOf(plan.getGradients());
  if (plan.getStorage())
    text.storage = namesOf(plan.getStorage());
  text.overlap = plan.overlaps();
  text.rotate = plan.rotates();
  text.productPieces = plan.pieces();
  if (plan.getOffload())
    text.offload = parseOffload(plan.getOffload().getValue()).value_or(Offload::None);
  for (NamedAttribute parameter : plan.getParameters()) {
    PlanSections::ParameterCut &cut = text.parameters.emplace_back();
    cut.parameter = parameter.getName().str();
    for (ArrayAttr axes : cast<ShardingAttr>(parameter.getValue()).getDims())
      cut.dimensions.push_back(namesOf(axes));
  }
  if (plan.getRecompute())
    for (NamedAttribute rule : plan.getRecompute())
      text.recompute.push_back({rule.getName().str(), recomputeText(rule.getValue())});
  return text;
}

std::string planText(PlanAttr plan) {
  std::string text;
  llvm::raw_string_ostream out(text);
  writePlanSections(planSections(plan), out);
  return text;
}

std::string opCutsText(ModuleOp module, PlanAttr plan) {
  bool any = false, differentiated = false;
  module.walk([&](Operation *op) {
    any |= op->hasAttr(attr::factors);
    differentiated |= op->hasAttr(attr::part);
  });
  if (!any || differentiated)
    return "";
  FailureOr<ProgramChain> program = readProgramChain(module);
  if (failed(program))
    return "";
  FailureOr<OpCuts> cuts = readFactors(*program, plan);
  std::string text;
  llvm::raw_string_ostream out(text);
  if (succeeded(cuts) && !cuts->empty())
    writeOpCuts(program->model, *cuts, out);
  return text;
}

LogicalResult readOpCuts(StringRef path, ModuleOp module, PlanAttr plan, const TargetCapabilities &target) {
  llvm::Expected<PlanFileSections> sections = planFileSections(path);
  if (!sections)
    return module.emitError() << withoutKind(sections.takeError());
  if (!sections->ops)
    return success();
  FailureOr<ProgramChain> program = readProgramChain(module);
  if (failed(program))
    return failure();
  llvm::Expected<OpCuts> cuts = mlir::ppc::readOpCuts(path, program->model, &target);
  if (!cuts)
    return module.emitError() << withoutKind(cuts.takeError());
  GridAttr grid = plan.getGrid();
  SmallVector<StringRef> dataAxes;
  for (auto [name, size, role] : llvm::zip(grid.getNames(), grid.getSizes(), grid.getRoles()))
    if (role == AxisRole::Data && size > 1)
      dataAxes.push_back(name);
  writeFactors(*program, *cuts, dataAxes);
  return success();
}

} // namespace mlir::ppc
