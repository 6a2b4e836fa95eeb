// Plans from and to YAML.
#include "ppc/Transforms/Plan/PlanFile.h"
#include "PlanInputs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Analysis/PlanCuts.h"
#include "ppc/Analysis/ProgramChain.h"
#include "ppc/Planning/Files/ChainPlanFile.h"
#include "ppc/Planning/Files/LayoutFile.h"
#include "ppc/Support/InputFile.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/YamlReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLTraits.h"

namespace {

// Reading does not keep the order of a map's keys (see orderAxes).
struct AxisSizes : std::vector<std::pair<std::string, int64_t>> {};
struct Axes : std::vector<std::string> {};
struct Cuts : std::vector<Axes> {};
struct Layers : std::vector<int64_t> {};
struct DimensionAxes : std::vector<std::pair<std::string, Axes>> {};
struct LayerChoices : std::vector<std::pair<std::string, std::string>> {};
struct ParameterAxes : std::vector<std::pair<std::string, Cuts>> {};

struct PlanText {
  AxisSizes grid;
  Layers stages;
  int64_t vp = 1;
  std::string schedule;
  int64_t microBatches = 0;
  DimensionAxes dimensions;
  ParameterAxes parameters;
  LayerChoices recompute; // layers to a mode, or to op names with commas between
  DimensionAxes activations;
  Axes update;
};

} // namespace

namespace llvm::yaml {

template <typename List> struct FlowTraits {
  static size_t size(IO &, List &list) { return list.size(); }
  static auto &element(IO &, List &list, size_t index) {
    if (index >= list.size())
      list.resize(index + 1);
    return list[index];
  }
  static const bool flow = true;
};
template <> struct SequenceTraits<Axes> : FlowTraits<Axes> {};
template <> struct SequenceTraits<Cuts> : FlowTraits<Cuts> {};
template <> struct SequenceTraits<Layers> : FlowTraits<Layers> {};

template <typename Map> struct OrderedMapTraits {
  static void inputOne(IO &io, StringRef key, Map &map) {
    map.emplace_back();
    map.back().first = key.str();
    io.mapRequired(map.back().first.c_str(), map.back().second);
  }
  static void output(IO &io, Map &map) {
    for (auto &[key, value] : map)
      io.mapRequired(key.c_str(), value);
  }
};
template <> struct CustomMappingTraits<AxisSizes> : OrderedMapTraits<AxisSizes> {};
template <> struct CustomMappingTraits<DimensionAxes> : OrderedMapTraits<DimensionAxes> {};
template <> struct CustomMappingTraits<ParameterAxes> : OrderedMapTraits<ParameterAxes> {};

template <> struct CustomMappingTraits<LayerChoices> : OrderedMapTraits<LayerChoices> {};

template <> struct MappingTraits<PlanText> {
  static void mapping(IO &io, PlanText &plan) {
    io.mapRequired("grid", plan.grid);
    io.mapRequired("stages", plan.stages);
    io.mapOptional("vp", plan.vp, int64_t(1));
    io.mapRequired("schedule", plan.schedule);
    io.mapRequired("micro_batches", plan.microBatches);
    io.mapOptional("dimensions", plan.dimensions);
    io.mapOptional("parameters", plan.parameters);
    if (!io.outputting() || !plan.recompute.empty())
      io.mapOptional("recompute", plan.recompute);
    if (!io.outputting() || !plan.activations.empty())
      io.mapOptional("activations", plan.activations);
    io.mapOptional("update", plan.update);
  }
};

} // namespace llvm::yaml

namespace mlir::ppc {

static ArrayAttr axesAttr(Builder &builder, const Axes &axes) {
  SmallVector<StringRef> names(axes.begin(), axes.end());
  return builder.getStrArrayAttr(names);
}

/// Whether a line begins the section of that name at the top of the file.
static bool beginsSection(StringRef line, StringRef name) {
  return line.consume_front(name) && line.ltrim().starts_with(":");
}

/// Blanks the lines of the sections `layout:`, which says the plan in ppc-plan's terms, and `ops:`.
static std::string withoutLayout(StringRef text) {
  std::string rest;
  bool inside = false;
  while (!text.empty()) {
    auto [line, tail] = text.split('\n');
    text = tail;
    if (!line.empty() && line.front() != ' ' && line.front() != '#')
      inside = beginsSection(line, "layout") || beginsSection(line, "ops");
    rest += inside ? "\n" : (line + "\n").str();
  }
  return rest;
}

llvm::Expected<PlanFileSections> planFileSections(StringRef path) {
  auto file = readInputFile(path, limits::yamlBytes);
  if (!file)
    return llvm::createStringError("cannot read plan file '" + path + "': " + llvm::toString(file.takeError()));
  PlanFileSections sections;
  for (StringRef text = (*file)->getBuffer(); !text.empty();) {
    auto [line, tail] = text.split('\n');
    text = tail;
    sections.grid |= beginsSection(line, "grid");
    sections.layout |= beginsSection(line, "layout");
    sections.ops |= beginsSection(line, "ops");
  }
  return sections;
}

/// The layout that a file says beside its grid may hold what the grid cannot.
static LogicalResult checkLayout(StringRef path, ModuleOp module) {
  Location loc = module.getLoc();
  PlanConstraints constraints;
  if (llvm::Error error = readLayoutFile(path, constraints, /*isAlone=*/false))
    return emitError(loc) << llvm::toString(std::move(error));
  if (std::string part = refusedPin(constraints, precisionOf(module)); !part.empty())
    return emitError(loc) << path << ": compiled programs cannot run " << part;
  return success();
}

/// Puts the axes in the order of the file: ranks are numbered by it, the last axis innermost.
static llvm::Error orderAxes(YamlReader &file, AxisSizes &grid) {
  std::optional<YamlReader> axes = file.mapping("grid");
  if (!axes)
    return file.takeError();
  std::vector<std::string> names = axes->keys();
  auto place = [&](const auto &axis) { return llvm::find(names, axis.first) - names.begin(); };
  llvm::sort(grid, [&](const auto &a, const auto &b) { return place(a) < place(b); });
  return llvm::Error::success();
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

FailureOr<PlanAttr> readPlanFile(StringRef path, ModuleOp module) {
  Location loc = module.getLoc();
  llvm::Expected<PlanFileSections> sections = planFileSections(path);
  if (!sections)
    return emitError(loc) << llvm::toString(sections.takeError());
  if (sections->layout && failed(checkLayout(path, module)))
    return failure();
  if (sections->layout && !sections->grid)
    return emitError(loc) << path << ": has a section 'layout:' and no 'grid:': ppc-search-plan reads it";
  auto file = readInputFile(path, limits::yamlBytes);
  if (!file)
    return emitError(loc) << "cannot read plan file '" << path << "': " << llvm::toString(file.takeError());
  std::string problems;
  auto collect = [](const llvm::SMDiagnostic &diagnostic, void *text) {
    llvm::raw_string_ostream os(*static_cast<std::string *>(text));
    os << (os.str().empty() ? "" : "; ") << diagnostic.getLineNo() << ":" << diagnostic.getColumnNo() + 1 << ": "
       << diagnostic.getMessage();
  };
  std::string body = withoutLayout((*file)->getBuffer());
  // This reader comes first: the other one follows lists in lists to the end of the stack.
  llvm::Expected<YamlReader> reader = YamlReader::fromText(path, body);
  if (!reader)
    return emitError(loc) << llvm::toString(reader.takeError());
  llvm::yaml::Input input(body, nullptr, collect, &problems);
  PlanText text;
  input >> text;
  if (input.error())
    return emitError(loc) << path << ":" << (problems.empty() ? " is no plan: the file is empty" : problems);
  if (llvm::Error error = orderAxes(*reader, text.grid))
    return emitError(loc) << llvm::toString(std::move(error));

  MLIRContext *context = loc.getContext();
  Builder builder(context);
  auto checked = [&] { return emitError(loc) << path << ": "; };
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (auto &[name, size] : text.grid) {
    names.push_back(builder.getStringAttr(name));
    sizes.push_back(size);
  }
  auto grid = GridAttr::getChecked(checked, context, ArrayRef<StringAttr>(names), ArrayRef<int64_t>(sizes));
  if (!grid)
    return failure();
  SmallVector<NamedAttribute> dimensions, parameters;
  for (auto &[name, axes] : text.dimensions)
    dimensions.push_back(builder.getNamedAttr(name, axesAttr(builder, axes)));
  for (auto &[name, axes] : text.activations)
    dimensions.push_back(builder.getNamedAttr(kActivationPrefix.str() + name, axesAttr(builder, axes)));
  if (!text.update.empty())
    dimensions.push_back(builder.getNamedAttr(kUpdateName, axesAttr(builder, text.update)));
  for (auto &[name, dims] : text.parameters) {
    SmallVector<ArrayAttr> cut;
    for (const Axes &axes : dims) {
      for (const std::string &axis : axes)
        if (!grid.has(axis))
          return emitError(loc) << path << ": parameter '" << name << "' is cut over axis '" << axis
                                << "', which the grid does not have";
      cut.push_back(axesAttr(builder, axes));
    }
    auto sharding = ShardingAttr::getChecked(checked, context, ArrayRef<ArrayAttr>(cut), ArrayRef<StringAttr>(),
                                             ArrayRef<Combiner>());
    if (!sharding)
      return failure();
    parameters.push_back(builder.getNamedAttr(name, sharding));
  }
  SmallVector<NamedAttribute> recompute;
  for (auto &[layers, choice] : text.recompute)
    recompute.push_back(builder.getNamedAttr(layers, recomputeAttr(builder, choice)));
  auto plan = PlanAttr::getChecked(checked, context, grid, ArrayRef<int64_t>(text.stages), text.vp,
                                   builder.getStringAttr(text.schedule), text.microBatches,
                                   builder.getDictionaryAttr(dimensions), builder.getDictionaryAttr(parameters),
                                   recompute.empty() ? DictionaryAttr() : builder.getDictionaryAttr(recompute));
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

std::string planText(PlanAttr plan) {
  PlanText text;
  auto copyAxes = [](ArrayAttr axes) {
    Axes names;
    for (StringRef axis : axisNames(axes))
      names.push_back(axis.str());
    return names;
  };
  for (auto [name, size] : llvm::zip(plan.getGrid().getNames(), plan.getGrid().getSizes()))
    text.grid.emplace_back(name.str(), size);
  text.stages.assign(plan.getStages().begin(), plan.getStages().end());
  text.vp = plan.getVp();
  text.schedule = plan.getSchedule().str();
  text.microBatches = plan.getMicroBatches();
  auto copyDimensions = [&](DictionaryAttr from, DimensionAxes &to) {
    for (NamedAttribute dimension : from)
      to.emplace_back(dimension.getName().str(), copyAxes(cast<ArrayAttr>(dimension.getValue())));
  };
  copyDimensions(argumentCuts(plan), text.dimensions);
  copyDimensions(activationCuts(plan), text.activations);
  text.update = copyAxes(updateCuts(plan));
  for (NamedAttribute parameter : plan.getParameters()) {
    Cuts dims;
    for (ArrayAttr axes : cast<ShardingAttr>(parameter.getValue()).getDims())
      dims.push_back(copyAxes(axes));
    text.parameters.emplace_back(parameter.getName().str(), dims);
  }
  if (plan.getRecompute())
    for (NamedAttribute rule : plan.getRecompute())
      text.recompute.emplace_back(rule.getName().str(), recomputeText(rule.getValue()));
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::yaml::Output output(os);
  output << text;
  // The document markers say nothing.
  StringRef body = result;
  body.consume_front("---\n");
  body.consume_back("...\n");
  return body.rtrim().str() + "\n";
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

LogicalResult readOpCuts(StringRef path, ModuleOp module, PlanAttr plan) {
  llvm::Expected<PlanFileSections> sections = planFileSections(path);
  if (!sections)
    return module.emitError() << llvm::toString(sections.takeError());
  if (!sections->ops)
    return success();
  FailureOr<ProgramChain> program = readProgramChain(module);
  if (failed(program))
    return failure();
  llvm::Expected<OpCuts> cuts = mlir::ppc::readOpCuts(path, program->model);
  if (!cuts)
    return module.emitError() << llvm::toString(cuts.takeError());
  if (std::string part = notRunnable(program->model, *cuts); !part.empty())
    return module.emitError() << path << ": compiled programs cannot run " << part;
  GridAttr grid = plan.getGrid();
  int64_t dp = 1, product = 1;
  for (auto [name, size] : llvm::zip(grid.getNames(), grid.getSizes()))
    (name.getValue() == "dp" ? dp : product) *= size;
  for (const LayoutAxis &axis : cuts->axes) {
    StringAttr name = StringAttr::get(module.getContext(), axis.name);
    if (!grid.has(name) || grid.size(name) != axis.size)
      return module.emitError() << path << ": section 'ops:' has an axis '" << axis.name << "' of " << axis.size
                                << ", which the grid does not have";
    product /= axis.size;
  }
  if (product != 1)
    return module.emitError() << path << ": section 'ops:' does not name all axes of the grid but dp";
  writeFactors(*program, *cuts, dp);
  return success();
}

} // namespace mlir::ppc
