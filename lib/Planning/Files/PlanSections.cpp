// Plans in the compiler's terms as text, and reading them section by section.
#include "ppc/Planning/Files/PlanSections.h"

#include "lib/Planning/Files/PlanChecker.h"
#include "ppc/Support/Limits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/YAMLTraits.h"

using namespace mlir::ppc;

//===-- Writing -----------------------------------------------------------===//

static std::string yamlText(llvm::StringRef text) {
  switch (llvm::yaml::needsQuotes(text)) {
  case llvm::yaml::QuotingType::None:
    return text.str();
  case llvm::yaml::QuotingType::Single: {
    std::string quoted = "'";
    for (char c : text)
      quoted += c == '\'' ? "''" : std::string(1, c);
    return quoted + "'";
  }
  case llvm::yaml::QuotingType::Double:
    return "\"" + llvm::yaml::escape(text, /*EscapePrintable=*/false) + "\"";
  }
  return "";
}

static std::string flowList(llvm::ArrayRef<std::string> texts) {
  return texts.empty() ? "[ ]" : "[ " + llvm::join(texts, ", ") + " ]";
}

static std::string axisList(const PlanSections::Axes &axes) {
  std::vector<std::string> texts;
  for (const std::string &axis : axes)
    texts.push_back(yamlText(axis));
  return flowList(texts);
}

void mlir::ppc::writePlanSections(const PlanSections &plan, llvm::raw_ostream &out) {
  auto section = [&](llvm::StringRef name, const auto &rows, auto row) {
    if (rows.empty())
      return;
    out << name << ":\n";
    for (const auto &each : rows) {
      auto [key, value] = row(each);
      out << "  " << yamlText(key) << ": " << value << '\n';
    }
  };
  if (plan.grid.empty())
    out << "grid: {}\n";
  section("grid", plan.grid, [](const auto &axis) { return std::pair(axis.name, std::to_string(axis.size)); });
  std::vector<PlanSections::Axis> told;
  llvm::copy_if(plan.grid, std::back_inserter(told),
                [](const auto &axis) { return axis.role != defaultAxisRole(axis.name); });
  section("roles", told, [](const auto &axis) { return std::pair(axis.name, toString(axis.role).str()); });
  std::vector<std::string> stages;
  for (int64_t first : plan.stages)
    stages.push_back(std::to_string(first));
  out << "stages: " << flowList(stages) << '\n';
  if (plan.vp != 1)
    out << "vp: " << plan.vp << '\n';
  out << "schedule: " << yamlText(plan.schedule) << "\nmicro_batches: " << plan.microBatches << '\n';
  auto cut = [](const auto &each) { return std::pair(each.dimension, axisList(each.axes)); };
  section("dimensions", plan.dimensions, cut);
  section("parameters", plan.parameters, [](const auto &each) {
    std::vector<std::string> dims;
    for (const PlanSections::Axes &axes : each.dimensions)
      dims.push_back(axisList(axes));
    return std::pair(each.parameter, flowList(dims));
  });
  section("recompute", plan.recompute, [](const auto &each) { return std::pair(each.layers, yamlText(each.what)); });
  section("activations", plan.activations, cut);
  if (!plan.update.empty())
    out << "update: " << axisList(plan.update) << '\n';
  if (!plan.gradients.empty())
    out << "gradients: " << axisList(plan.gradients) << '\n';
  if (!plan.storage.empty())
    out << "storage: " << axisList(plan.storage) << '\n';
  out << "overlap: " << (plan.overlap ? "on" : "off") << '\n';
  if (plan.rotate)
    out << "rotate: on\n";
  if (plan.productPieces)
    out << "product_pieces: " << productPiecesText(plan.productPieces) << '\n';
  if (plan.offload != Offload::None)
    out << "offload: " << toString(plan.offload) << '\n';
}

//===-- Reading -----------------------------------------------------------===//

std::optional<int64_t> mlir::ppc::parseProductPieces(llvm::StringRef text) {
  int64_t pieces = 0;
  if (text == "auto")
    return 0;
  if (text == "off")
    return 1;
  if (text.getAsInteger(10, pieces) || pieces < 2 || pieces > limits::productPieces)
    return std::nullopt;
  return pieces;
}

std::string mlir::ppc::productPiecesText(int64_t pieces) {
  return pieces == 0 ? "auto" : pieces == 1 ? "off" : std::to_string(pieces);
}

/// Whether `first` are the first of `all`.
static bool beginWith(const PlanSections::Axes &all, const PlanSections::Axes &first) {
  return first.size() <= all.size() && std::equal(first.begin(), first.end(), all.begin());
}

namespace {
class SectionsReader {
public:
  SectionsReader(YamlReader file, const PlannedProgram &program, const TargetCapabilities &target)
      : file(std::move(file)), program(program), target(target) {}

  llvm::Expected<PlanSections> read() {
    readGrid();
    readPipeline();
    readCuts("dimensions", plan.dimensions);
    readParameters();
    readRecompute();
    readCuts("activations", plan.activations);
    plan.update = axesOf(file, "update");
    plan.gradients = axesOf(file, "gradients");
    if (!beginWith(plan.update, plan.gradients))
      file.fail("gradients", "expected the first axes of 'update:', " + axisList(plan.update) + ", or none");
    plan.storage = axesOf(file, "storage");
    if (!beginWith(plan.update, plan.storage))
      file.fail("storage", "expected the first axes of 'update:', " + axisList(plan.update) + ", or none");
    std::string overlap = file.string("overlap", "on");
    plan.overlap = overlap != "off";
    if (plan.overlap && overlap != "on")
      file.fail("overlap", "expected on or off, found '" + overlap + "'");
    std::string rotate = file.string("rotate", "off");
    plan.rotate = rotate != "off";
    if (plan.rotate && rotate != "on")
      file.fail("rotate", "expected on or off, found '" + rotate + "'");
    if (plan.rotate && plan.storage.empty())
      file.fail("rotate", "there are no blocks of parameters to rotate without 'storage:'");
    readProductPieces();
    readOffload();
    for (llvm::StringRef other : {"roles", "layout", "ops"}) // who reads these checks them
      (void)file.mapping(other);
    file.finish();
    if (!file.failed())
      PlanChecker(file, program, target, plan).check();
    if (llvm::Error error = file.takeError())
      return std::move(error);
    return std::move(plan);
  }

private:
  void readGrid();
  void readPipeline();
  void readProductPieces();
  void readCuts(llvm::StringRef section, std::vector<PlanSections::DimensionCut> &cuts);
  void readParameters();
  void readRecompute();
  void readOffload();
  /// That each is in the grid, and there once.
  void checkAxes(YamlReader &section, llvm::StringRef key, const PlanSections::Axes &axes);
  PlanSections::Axes axesOf(YamlReader &section, llvm::StringRef key) {
    PlanSections::Axes axes = section.strings(key);
    checkAxes(section, key, axes);
    return axes;
  }

  YamlReader file;
  const PlannedProgram &program;
  const TargetCapabilities &target;
  PlanSections plan;
};
} // namespace

/// What text and IR spell alike.
static bool isAxisName(llvm::StringRef name) {
  return !name.empty() && llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; }) &&
         !llvm::isDigit(name.front());
}

void SectionsReader::readProductPieces() {
  std::string text = file.string("product_pieces", "auto");
  std::optional<int64_t> pieces = parseProductPieces(text);
  if (!pieces)
    return file.fail("product_pieces", "expected auto, off or a number from 2 to " +
                                           std::to_string(limits::productPieces) + ", found '" + text + "'");
  plan.productPieces = *pieces;
  if (*pieces > 1 && !plan.overlap)
    file.fail("product_pieces", "without overlap nothing overlaps with a collective: expected off or auto");
}

void SectionsReader::readGrid() {
  std::optional<YamlReader> grid = file.mapping("grid");
  if (!grid)
    return file.has("grid") ? void() : file.missing("grid", "the axes of a stage's ranks, as in { dp: 2, tp: 4 }");
  int64_t ranks = 1;
  for (const std::string &name : grid->keys()) {
    if (!isAxisName(name))
      grid->fail(name, "expected a name of letters, digits and '_' for an axis");
    if (defaultAxisRole(name) == AxisRole::Stage || name == "vp")
      grid->fail(name,
                 "the pipeline is not an axis: 'stages:' lists the first layer of each stage, and 'vp:' gives the "
                 "number of stages of a pipeline rank");
    PlanSections::Axis axis{name, grid->integerWithin(name, 1, limits::ranks), defaultAxisRole(name)};
    ranks *= axis.size;
    if (ranks > limits::ranks) {
      grid->fail(name, "the mesh has more than " + llvm::Twine(limits::ranks) + " ranks, which programs cannot have");
      ranks = 1;
    }
    plan.grid.push_back(std::move(axis));
  }
}

void SectionsReader::readPipeline() {
  plan.stages = file.integers("stages", 0, limits::layers);
  if (!file.has("stages"))
    file.missing("stages", "the first layer of each stage, as in [ 0, 3 ]");
  else if (plan.stages.empty() || plan.stages.front() != 0)
    file.fail("stages", "expected the first layer of each stage, beginning with 0 (the embedding)");
  for (size_t i = 1; i < plan.stages.size(); ++i)
    if (plan.stages[i] <= plan.stages[i - 1])
      file.fail("stages", "expected increasing layers, found " + llvm::Twine(plan.stages[i]) + " after " +
                              llvm::Twine(plan.stages[i - 1]));
  plan.vp = file.integerWithin("vp", 1, limits::layers, 1);
  plan.schedule = file.string("schedule");
  if (llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(plan.schedule))
    plan.schedule = (*kind)->name.str(); // also where an alias is written
  else
    llvm::consumeError(kind.takeError()); // PlanChecker says so, in its place
  plan.microBatches = file.integerWithin("micro_batches", 1, limits::globalBatch);
}

void SectionsReader::checkAxes(YamlReader &section, llvm::StringRef key, const PlanSections::Axes &axes) {
  for (auto [place, axis] : llvm::enumerate(axes)) {
    if (llvm::none_of(plan.grid, [&](const auto &known) { return known.name == axis; })) {
      std::string known = llvm::join(llvm::map_range(plan.grid, [](const auto &each) { return each.name; }), ", ");
      section.fail(key, "is sharded over axis \"" + axis + "\", which the mesh does not have; it has " +
                            (known.empty() ? "none" : known));
    }
    if (llvm::is_contained(llvm::ArrayRef(axes).take_front(place), axis))
      section.fail(key, "axis '" + axis + "' occurs twice");
  }
}

void SectionsReader::readCuts(llvm::StringRef section, std::vector<PlanSections::DimensionCut> &cuts) {
  if (std::optional<YamlReader> reader = file.mapping(section))
    for (const std::string &name : reader->keys())
      cuts.push_back({name, axesOf(*reader, name)});
}

void SectionsReader::readParameters() {
  std::optional<YamlReader> parameters = file.mapping("parameters");
  if (!parameters)
    return;
  for (const std::string &name : parameters->keys()) {
    PlanSections::ParameterCut cut{name, parameters->stringLists(name)};
    PlanSections::Axes all;
    for (const PlanSections::Axes &axes : cut.dimensions)
      all.insert(all.end(), axes.begin(), axes.end());
    checkAxes(*parameters, name, all);
    plan.parameters.push_back(std::move(cut));
  }
}

/// The single kinds, and whether they go together.
static std::string offloadsText(const TargetCapabilities &target) {
  std::string kinds;
  bool isSeveral = false;
  for (Offload each : target.offloads)
    if (llvm::popcount(unsigned(each)) > 1)
      isSeveral = true;
    else
      kinds += (kinds.empty() ? "" : ", ") + toString(each).str();
  return kinds + (isSeveral ? ", or several of these with + between them" : "");
}

void SectionsReader::readOffload() {
  std::string name = file.string("offload", "none");
  std::optional<Offload> offload = parseOffload(name);
  plan.offload = offload.value_or(Offload::None);
  if (!llvm::is_contained(target.offloads, plan.offload) || !offload)
    file.fail("offload",
              "programs of target " + target.name.str() + " have " + offloadsText(target) + ", found '" + name + "'");
}

void SectionsReader::readRecompute() {
  std::optional<YamlReader> recompute = file.mapping("recompute");
  if (!recompute)
    return;
  for (const std::string &layers : recompute->keys()) {
    auto [first, last] = llvm::StringRef(layers).split('-');
    int64_t from = 0, to = 0;
    bool isRange = layers.find('-') != std::string::npos;
    if (first.getAsInteger(10, from) || from < 0 || (isRange && (last.getAsInteger(10, to) || to < from)))
      recompute->fail(layers, "expected a layer or a range of layers such as 1-8");
    if (program.lastLayer >= 0 && std::max(from, to) > program.lastLayer)
      recompute->fail(layers, "the model's last layer is " + llvm::Twine(program.lastLayer));
    std::string what = recompute->string(layers);
    llvm::SmallVector<llvm::StringRef> names;
    llvm::StringRef(what).split(names, ',');
    if (!llvm::is_contained({"none", "selective", "full"}, what) && !recompute->failed())
      for (llvm::StringRef name : names)
        if (std::string lacked = program.lackedOp(from, std::max(from, to), name.trim()); !lacked.empty())
          recompute->fail(layers, lacked + "; expected none, selective, full or names of ops");
    plan.recompute.push_back({layers, std::move(what)});
  }
}

llvm::Expected<PlanSections> mlir::ppc::readPlanSections(YamlReader file, const PlannedProgram &program,
                                                         const TargetCapabilities &target) {
  return SectionsReader(std::move(file), program, target).read();
}
