#include "lib/Planning/Files/PlanChecker.h"

#include "ppc/Support/Limits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir::ppc;
using Argument = PlannedProgram::Argument;

/// Dimensions that presets cut (`--tp` and its like) whether a model has them or not.
static constexpr llvm::StringLiteral presetDimensions[] = {"batch",      "sequence", "ffn",     "kv_heads",
                                                           "head_group", "vocab",    "experts", "expert_ffn"};

const PlanSections::Axes *PlanChecker::cutOf(llvm::StringRef dimension) const {
  for (const PlanSections::DimensionCut &cut : plan.dimensions)
    if (cut.dimension == dimension)
      return &cut.axes;
  return nullptr;
}

int64_t PlanChecker::product(const PlanSections::Axes &axes) const {
  int64_t parts = 1;
  for (const PlanSections::Axis &axis : plan.grid)
    if (llvm::is_contained(axes, axis.name))
      parts *= axis.size;
  return parts;
}

void PlanChecker::checkPipeline() {
  int64_t stages = int64_t(plan.stages.size());
  if (stages % plan.vp)
    return file.fail("vp",
                     llvm::formatv("vp is {0}, which does not divide the plan's {1} stages", plan.vp, stages).str());
  if (program.lastLayer >= 0 && plan.stages.back() > program.lastLayer)
    return file.fail("stages", llvm::formatv("the last stage starts at layer {0} but the model's last layer is {1} "
                                             "(embedding and LM head are layers too)",
                                             plan.stages.back(), program.lastLayer)
                                   .str());
  if (program.lastLayer < 0 && !program.arguments.empty() && stages > 1)
    return file.fail("stages", "the ops of the model have no ppc.layer, so they cannot be partitioned into stages");
  int64_t ranks = stages / plan.vp;
  for (const PlanSections::Axis &axis : plan.grid)
    ranks *= axis.size;
  if (ranks > limits::ranks)
    return file.fail(
        "grid", llvm::formatv("grid and stages make {0} ranks, programs have at most {1}", ranks, limits::ranks).str());
  llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(plan.schedule);
  if (!kind)
    return file.fail("schedule", llvm::toString(kind.takeError()));
  if (llvm::StringRef lacked = lackedBy(target, **kind); !lacked.empty())
    return file.fail("schedule", "compiled programs cannot run schedule " + plan.schedule + ", which needs " + lacked);
  if (llvm::Error error = checkPipelineShape(**kind, {stages / plan.vp, plan.microBatches, plan.vp}))
    return file.fail("schedule", llvm::toString(std::move(error)));
}

void PlanChecker::checkNames(llvm::StringRef section, const std::vector<PlanSections::DimensionCut> &cuts,
                             bool ofInputs) {
  std::optional<YamlReader> reader = file.mapping(section);
  if (!reader || program.arguments.empty())
    return;
  std::vector<std::string> known;
  for (const Argument &argument : program.arguments)
    for (const std::string &name : argument.dimensions)
      if ((!ofInputs || argument.kind == Argument::Input) && !llvm::is_contained(known, name))
        known.push_back(name);
  for (const PlanSections::DimensionCut &cut : cuts) {
    if (ofInputs && isHeads(cut.dimension)) // checkExchange
      continue;
    bool isPreset = !ofInputs && llvm::is_contained(presetDimensions, cut.dimension);
    if (!isPreset && !llvm::is_contained(known, cut.dimension))
      return reader->fail(cut.dimension, (ofInputs ? "no input of the model" : "no argument of the model") +
                                             llvm::Twine(" has a dimension of that name; known are ") +
                                             llvm::join(known, ", "));
    if (ofInputs)
      for (const Argument &argument : program.arguments)
        if (argument.kind == Argument::Input)
          for (auto [place, name] : llvm::enumerate(argument.dimensions))
            if (name == cut.dimension)
              checkParts(*reader, cut.dimension, cut.axes, argument, place);
  }
}

void PlanChecker::checkParts(YamlReader &section, llvm::StringRef key, const PlanSections::Axes &axes,
                             const Argument &argument, size_t dimension) {
  int64_t parts = product(axes), extent = argument.extents[dimension];
  if (parts > extent)
    section.fail(
        key, llvm::formatv("dimension {0} of '{1}' has {2} elements and cannot be sharded into {3} parts: use fewer "
                           "parallel ranks along it",
                           dimension, argument.name, extent, parts)
                 .str());
}

/// What the loss is averaged by is the same for all tokens, and the padding of parts of unequal size differs from it:
/// only where the classes of the loss are cut over the same ranks are such values never cut along the sequence.
void PlanChecker::checkUnevenActivations() {
  std::optional<YamlReader> reader = file.mapping("activations");
  for (const PlanSections::DimensionCut &cut : plan.activations)
    for (const Argument &argument : program.arguments)
      for (auto [place, name] : llvm::enumerate(argument.dimensions)) {
        if (argument.kind != Argument::Input || name != cut.dimension)
          continue;
        const PlanSections::Axes *outer = cutOf(name);
        int64_t blocks = outer ? product(*outer) : 1;
        if (blocks > 1 && argument.extents[place] % (blocks * product(cut.axes)))
          return reader->fail(cut.dimension,
                              llvm::formatv("the blocks of its {0} elements in {1} parts are not a multiple "
                                            "of {2} parts: blocks of blocks are not padded",
                                            argument.extents[place], blocks, product(cut.axes))
                                  .str());
        if (argument.extents[place] % product(cut.axes) == 0)
          continue;
        const PlanSections::Axes *classes = cutOf("vocab");
        if (!classes || !llvm::all_of(cut.axes, [&](auto &axis) { return llvm::is_contained(*classes, axis); }))
          return reader->fail(
              cut.dimension, llvm::formatv("its {0} elements are not a multiple of {1} parts, over axes that do not "
                                           "shard 'vocab': shard that, too, or use a number of ranks that divides them",
                                           argument.extents[place], product(cut.axes))
                                 .str());
      }
}

/// Heads inside attention are cut over the axes that cut the sequence outside, by one of their dimensions.
void PlanChecker::checkExchange() {
  std::optional<YamlReader> reader = file.mapping("activations");
  const PlanSections::Axes *sequence = cutOf("sequence");
  std::string said;
  for (const PlanSections::DimensionCut &cut : plan.activations) {
    if (!isHeads(cut.dimension))
      continue;
    if (!said.empty())
      return reader->fail(cut.dimension,
                          "attention already reshards from the sequence to '" + said + "': leave one of the two out");
    said = cut.dimension;
    if (!sequence || *sequence != cut.axes)
      return reader->fail(cut.dimension, "attention reshards from the sequence to heads: expected the axes "
                                         "that 'dimensions:' gives 'sequence'" +
                                             (sequence ? ", [ " + llvm::join(*sequence, ", ") + " ]"
                                                       : std::string(", which is not sharded")));
    const PlanSections::Axes *outer = cutOf(cut.dimension);
    int64_t parts = (outer ? product(*outer) : 1) * product(cut.axes);
    for (const Argument &argument : program.arguments)
      for (auto [place, name] : llvm::enumerate(argument.dimensions))
        if (name == cut.dimension && argument.extents[place] % parts)
          return reader->fail(cut.dimension,
                              llvm::formatv("its {0} elements are not a multiple of {1} parts: heads of an "
                                            "all-to-all are not padded",
                                            argument.extents[place], parts)
                                  .str());
  }
}

void PlanChecker::checkParameters() {
  std::optional<YamlReader> reader = file.mapping("parameters");
  if (!reader || program.arguments.empty())
    return;
  for (const PlanSections::ParameterCut &cut : plan.parameters) {
    auto argument = llvm::find_if(program.arguments, [&](const Argument &each) {
      return each.kind == Argument::Parameter && each.name == cut.parameter;
    });
    if (argument == program.arguments.end())
      return reader->fail(cut.parameter, "the model has no parameter of that name");
    if (argument->extents.size() != cut.dimensions.size())
      return reader->fail(cut.parameter,
                          llvm::formatv("expected a list of axes for each of its {0} dimensions, found {1}",
                                        argument->extents.size(), cut.dimensions.size())
                              .str());
    for (auto [dimension, axes] : llvm::enumerate(cut.dimensions))
      checkParts(*reader, cut.parameter, axes, *argument, dimension);
  }
}

void PlanChecker::checkArgument(const Argument &argument) {
  bool isException = llvm::any_of(plan.parameters, [&](const auto &cut) { return cut.parameter == argument.name; });
  std::optional<YamlReader> reader = file.mapping("dimensions");
  if (!reader || argument.kind == Argument::Other || (argument.kind == Argument::Parameter && isException))
    return;
  std::map<std::string, std::string> usedBy;
  for (auto [place, name] : llvm::enumerate(argument.dimensions)) {
    const PlanSections::Axes *axes = cutOf(name);
    if (!axes)
      continue;
    for (const std::string &axis : *axes) {
      auto [it, isNew] = usedBy.try_emplace(axis, name);
      if (!isNew && product({axis}) > 1) // an axis of one rank cuts nothing
        return reader->fail(name,
                            llvm::formatv("the plan shards both dimensions '{0}' and '{1}' of '{2}' over axis '{3}': "
                                          "shard one of them over another axis",
                                          it->second, name, argument.name, axis)
                                .str());
    }
    checkParts(*reader, name, *axes, argument, place);
    if (argument.kind == Argument::Input && name != "batch" && argument.extents[place] % product(*axes))
      return reader->fail(name,
                          llvm::formatv("the {0} elements of input '{1}' along it are not a multiple of {2} parts: "
                                        "inputs are not padded",
                                        argument.extents[place], argument.name, product(*axes))
                              .str());
  }
}

void PlanChecker::checkBatch() {
  const PlanSections::Axes *sequence = cutOf("sequence");
  if (sequence && product(*sequence) > 1 && program.hasQueues)
    if (std::optional<YamlReader> dimensions = file.mapping("dimensions"))
      return dimensions->fail("sequence",
                              "compiled programs cannot shard sequences of models with experts that drop tokens: "
                              "the tokens of a sequence wait for their experts in one queue");
  const PlanSections::Axes *axes = cutOf("batch");
  int64_t parts = axes ? product(*axes) : 1;
  for (const Argument &argument : program.arguments)
    for (auto [place, name] : llvm::enumerate(argument.dimensions))
      if (argument.kind == Argument::Input && name == "batch" && argument.extents[place] % (parts * plan.microBatches))
        return file.fail("micro_batches",
                         llvm::formatv("global batch of {0} sequences cannot be split into {1} micro-batches for {2} "
                                       "data-parallel ranks: it must be a multiple of {3}",
                                       argument.extents[place], plan.microBatches, parts, parts * plan.microBatches)
                             .str());
}

bool PlanChecker::isUsed(llvm::StringRef axis) {
  auto has = [&](const PlanSections::Axes &axes) { return llvm::is_contained(axes, axis); };
  auto exists = [&](llvm::StringRef dimension) {
    return program.arguments.empty() || llvm::any_of(program.arguments, [&](const Argument &argument) {
             return llvm::is_contained(argument.dimensions, dimension);
           });
  };
  if (std::optional<YamlReader> ops = file.mapping("ops"))
    if (std::optional<YamlReader> axes = ops->mapping("axes"); axes && axes->has(axis))
      for (const std::string &layer : ops->keys()) // axes that no op is cut over cut nothing
        if (layer != "axes")
          if (std::optional<YamlReader> cuts = ops->mapping(layer); cuts && !cuts->keys().empty())
            return true;
  return has(plan.update) ||
         llvm::any_of(plan.dimensions, [&](const auto &cut) { return has(cut.axes) && exists(cut.dimension); }) ||
         llvm::any_of(plan.activations, [&](const auto &cut) { return has(cut.axes); }) ||
         llvm::any_of(plan.parameters, [&](const auto &cut) { return llvm::any_of(cut.dimensions, has); });
}

void PlanChecker::checkRoles() {
  std::optional<YamlReader> grid = file.mapping("grid"), roles = file.mapping("roles");
  if (roles)
    for (const std::string &name : roles->keys()) {
      auto axis = llvm::find_if(plan.grid, [&](const auto &known) { return known.name == name; });
      if (axis == plan.grid.end())
        return roles->fail(name, "the mesh has no axis of that name");
      std::optional<AxisRole> role = parseAxisRole(roles->string(name));
      if (!role || *role == AxisRole::Stage)
        return roles->fail(name, "expected data, tensor, context, expert or replica");
      axis->role = *role;
    }
  const PlanSections::Axes *batch = cutOf("batch");
  for (PlanSections::Axis &axis : plan.grid) {
    bool cutsBatch = batch && llvm::is_contained(*batch, axis.name), isTold = roles && roles->has(axis.name);
    YamlReader &place = isTold ? *roles : *grid;
    if (cutsBatch && !isTold)
      axis.role = AxisRole::Data;
    if (axis.size == 1)
      continue;
    bool used = isUsed(axis.name);
    if (!used && axis.role != AxisRole::Replica)
      return place.fail(axis.name,
                        llvm::formatv("the {0} ranks along axis '{1}' would do the same work, as it shards "
                                      "nothing: shard a dimension over it, or add 'roles: {{ {1}: replica }'",
                                      axis.size, axis.name)
                            .str());
    if (used && axis.role == AxisRole::Replica)
      return place.fail(axis.name, "has the role replica, but something is sharded over it");
    if ((axis.role == AxisRole::Data) != cutsBatch)
      return place.fail(axis.name, cutsBatch ? "shards the batch: its role is data"
                                             : "has the role data, but does not shard the dimension 'batch'");
  }
}

void PlanChecker::checkOps() {
  std::optional<YamlReader> ops = file.mapping("ops"), axes = ops ? ops->mapping("axes") : std::nullopt;
  if (!axes)
    return;
  for (const std::string &name : axes->keys()) {
    auto axis = llvm::find_if(plan.grid, [&](const auto &known) { return known.name == name; });
    int64_t size = axes->integerWithin(name, 1, limits::devices);
    if (axis == plan.grid.end() || axis->size != size)
      return axes->fail(name, llvm::formatv("the mesh has no axis '{0}' of {1}", name, size).str());
    if (axis->role == AxisRole::Data && size > 1)
      return axes->fail(name, "shards the batch; it cannot shard ops besides");
  }
  for (const PlanSections::Axis &axis : plan.grid)
    if (axis.role != AxisRole::Data && axis.size > 1 && !axes->has(axis.name))
      return ops->fail("axes", "expected all axes of the mesh but those that shard the batch; '" + axis.name +
                                   "' is not among them");
}

void PlanChecker::check() {
  checkPipeline();
  checkNames("dimensions", plan.dimensions, /*ofInputs=*/false);
  checkNames("activations", plan.activations, /*ofInputs=*/true);
  checkUnevenActivations();
  checkExchange();
  checkParameters();
  for (const Argument &argument : program.arguments)
    checkArgument(argument);
  checkBatch();
  checkRoles();
  checkOps();
}
