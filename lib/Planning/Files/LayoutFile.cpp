#include "ppc/Planning/Files/LayoutFile.h"

#include "ppc/Planning/Files/PlanPreset.h"
#include "ppc/Planning/TargetLimits.h"
#include "ppc/Support/YamlReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

static std::string listText(llvm::ArrayRef<int64_t> numbers) {
  std::vector<std::string> texts;
  for (int64_t number : numbers)
    texts.push_back(std::to_string(number));
  return "[ " + llvm::join(texts, ", ") + " ]";
}

/// The sections that ppc-compile reads: the grid, which logical dimensions its axes cut, where stages begin.
static void writeRunnable(const ModelShape &model, const TrainingJob &job, ParallelLayout layout,
                          llvm::raw_ostream &out) {
  if (layout.pp == 1)
    layout.schedule = "1f1b";
  std::vector<int64_t> first{0};
  int64_t next = 1;
  for (size_t i = 0; i + 1 < layout.stageLayers.size(); ++i)
    first.push_back(next += layout.stageLayers[i]);
  PlanSections plan = expandLayout(layout, presetModel(model, job), first);
  auto axes = [](const PlanSections::Axes &names) { return "[ " + llvm::join(names, ", ") + " ]"; };
  auto rows = [&](llvm::StringRef section, const auto &all, auto text, llvm::StringRef comment = "") {
    std::vector<std::string> texts;
    for (const auto &each : all)
      texts.push_back(text(each));
    if (!texts.empty())
      out << section << ": { " << llvm::join(texts, ", ") << " }" << comment << "\n";
  };
  auto cut = [&](const PlanSections::DimensionCut &each) { return each.dimension + ": " + axes(each.axes); };
  rows("grid", plan.grid, [](const auto &axis) { return axis.name + ": " + std::to_string(axis.size); });
  out << "stages: " << listText(plan.stages) << "   # first layer of each; 0 is the embedding\n";
  if (plan.vp > 1)
    out << "vp: " << plan.vp << "   # virtual stages per pipeline rank\n";
  out << "schedule: " << plan.schedule << "\nmicro_batches: " << plan.microBatches << '\n';
  rows("dimensions", plan.dimensions, cut);
  rows("recompute", plan.recompute, [](const auto &rule) { return rule.layers + ": " + rule.what; });
  rows("activations", plan.activations, cut, "   # of what is computed from the inputs");
  if (!plan.update.empty())
    out << "update: " << axes(plan.update) << "   # axes that shard optimizer state further\n";
  if (!plan.gradients.empty())
    out << "gradients: " << axes(plan.gradients) << "   # axes that shard accumulated gradients\n";
  if (!plan.storage.empty())
    out << "storage: " << axes(plan.storage) << "   # axes that shard parameters between uses\n";
  if (plan.offload != Offload::None)
    out << "offload: " << toString(plan.offload) << "   # kept in host memory between uses\n";
}

void mlir::ppc::writeLayoutFile(const ModelShape &model, const TrainingJob &job, const ParallelLayout &layout,
                                const TargetCapabilities &target, llvm::raw_ostream &out) {
  bool cut = layout.pp * layout.vp == 1 || int64_t(layout.stageLayers.size()) == layout.pp * layout.vp;
  std::string missing = cut ? lackedBy(target, model, layout) : "stages that the stack partitions";
  if (missing.empty())
    writeRunnable(model, job, layout, out);
  else
    out << "# ppc-compile cannot run this: " << missing << "\n";
  out << "layout:\n";
  for (int i = 0; i < planKeyCount; ++i) {
    PlanKey key = PlanKey(i);
    if (key == PlanKey::ShardGroup && !layout.shardGroup)
      continue;
    if ((key == PlanKey::GradientGroup && layout.zero < 2) || (key == PlanKey::ParameterGroup && layout.zero < 3) ||
        ((key == PlanKey::GradientGroup || key == PlanKey::ParameterGroup) && !layout.stageGroups.empty()))
      continue;
    if (key == PlanKey::Context && layout.cp == 1) // no programs have some kinds, with or without anything to exchange
      continue;
    if ((key == PlanKey::TpRows || key == PlanKey::TpDepth) && planValue(layout, key) == 1)
      continue;
    if (key == PlanKey::RecomputedLayers &&
        (layout.recompute != Recompute::Full || !layout.stageRecomputedLayers.empty()))
      continue;
    out << "  " << toString(key) << ": " << planValueText(key, planValue(layout, key)) << '\n';
  }
  if (!layout.stageLayers.empty())
    out << "  stage_layers: " << listText(layout.stageLayers) << '\n';
  if (!layout.stageGroups.empty())
    out << "  stage_groups: " << listText(layout.stageGroups) << "   # of the cluster's groups of devices, from 0\n";
  if (!layout.stageRecomputedLayers.empty())
    out << "  stage_recomputed_layers: " << listText(layout.stageRecomputedLayers) << '\n';
}

/// What a file says besides in the terms of the compiler: edited there alone, the layout would be another one than the
/// one that is read.
static void checkRunnable(YamlReader &file, const PlanConstraints &constraints) {
  auto check = [&](YamlReader &section, llvm::StringRef name, PlanKey key, int64_t value) {
    if (constraints.isPinned(key) && constraints.pinned(key) != value)
      section.fail(name,
                   llvm::formatv("{0} is {1} here and {2} in the section 'layout:', which is the one that is read",
                                 toString(key), planValueText(key, value), planValueText(key, constraints.pinned(key)))
                       .str());
  };
  if (std::optional<YamlReader> grid = file.mapping("grid")) {
    int64_t others = 1; // of the data-parallel ranks: axes of their own
    for (llvm::StringRef name : {"ep", "copies", "outer"})
      others *= grid->has(name) ? grid->integer(name, 1) : 1;
    if (grid->has("dp"))
      check(*grid, "dp", PlanKey::Dp, grid->integer("dp", 1) * others);
    int64_t tensor = 1; // all axes of it
    for (auto [name, key] : {std::pair("rows", PlanKey::TpRows), std::pair("depth", PlanKey::TpDepth)})
      if (grid->has(name)) {
        check(*grid, name, key, grid->integer(name, 1));
        tensor *= grid->integer(name, 1);
      }
    if (grid->has("tp"))
      check(*grid, "tp", PlanKey::Tp, grid->integer("tp", 1) * tensor);
  }
  if (file.has("schedule") && !file.failed())
    if (llvm::Expected<int64_t> schedule = parsePlanValue(PlanKey::Schedule, file.string("schedule")))
      check(file, "schedule", PlanKey::Schedule, *schedule);
    else
      file.fail("schedule", llvm::toString(schedule.takeError()));
  std::vector<double> first = file.numbers("stages"); // layers; 0 is the embedding
  if (!first.empty() && !file.failed()) {
    int64_t vp = file.has("vp") ? file.integer("vp", 1) : 1;
    check(file, "vp", PlanKey::Vp, vp);
    check(file, "stages", PlanKey::Pp, int64_t(first.size()) / std::max<int64_t>(vp, 1));
    llvm::ArrayRef<int64_t> layers = constraints.stageLayers;
    for (size_t i = 0; i + 1 < first.size() && layers.size() == first.size(); ++i)
      if (first[i + 1] - std::max(first[i], 1.0) != double(layers[i]))
        file.fail(
            "stages",
            llvm::formatv(
                "stage {0} has other layers here than stage_layers in the section 'layout:', which is the one that "
                "is read",
                i)
                .str());
  }
  if (std::optional<YamlReader> parameters = file.mapping("parameters"); parameters && !parameters->keys().empty())
    file.fail("parameters",
              "shardings of single parameters are for ppc-compile; a file with a section 'layout:' cannot have them");
}

/// What programs cannot run, at the key that says it, or with which what the keys before it say cannot be run.
static void checkRuns(YamlReader &layout, const LayoutFileUse &use) {
  std::vector<std::string> names;
  PlanConstraints all;
  for (const std::string &name : layout.keys())
    if (!llvm::is_contained({"stage_groups", "stage_layers", "stage_recomputed_layers"}, name)) {
      llvm::cantFail(all.pin(name, layout.string(name))); // as it was pinned before
      names.push_back(name);
    }
  std::string part = refusedPin(*use.target, all, use.precision);
  if (part.empty())
    return;
  for (bool isAlone : {true, false}) {
    PlanConstraints some;
    for (const std::string &name : names) {
      if (isAlone)
        some = PlanConstraints();
      llvm::cantFail(some.pin(name, layout.string(name)));
      if (refusedPin(*use.target, some, use.precision) == part)
        return layout.fail(name, "compiled programs cannot run " + part);
    }
  }
  layout.failHere("compiled programs cannot run " + part);
}

static llvm::Error pinLayout(YamlReader file, PlanConstraints &constraints, const LayoutFileUse &use) {
  std::optional<YamlReader> layout = file.mapping("layout");
  if (llvm::Error error = file.takeError())
    return error;
  if (!layout) {
    file.failHere("there is no section 'layout:', which says what to pin (ppc-plan --emit plan writes one)");
    return file.takeError();
  }
  for (const std::string &name : layout->keys()) {
    if (name == "stage_groups") {
      for (double group : layout->numbers(name)) {
        if (!(group >= 0 && group < 1e6 && group == double(int64_t(group))))
          layout->fail(name, "expected numbers of the cluster's groups of devices, from 0");
        else
          constraints.stageGroups.push_back(int64_t(group));
      }
      continue;
    }
    if (name == "stage_layers" || name == "stage_recomputed_layers") {
      for (double count : layout->numbers(name)) {
        if (!(count >= 0 && count < 1e6 && count == double(int64_t(count))))
          layout->fail(name, "expected whole numbers of layers");
        else
          (name == "stage_layers" ? constraints.stageLayers : constraints.stageRecomputedLayers)
              .push_back(int64_t(count));
      }
      continue;
    }
    std::string value = layout->string(name);
    if (layout->failed())
      break;
    if (llvm::Error error = constraints.pin(name, value))
      layout->fail(name, llvm::toString(std::move(error)));
  }
  if (!layout->failed() && !constraints.stageRecomputedLayers.empty()) {
    llvm::StringRef key = "stage_recomputed_layers";
    if (!constraints.stageLayers.empty() && constraints.stageLayers.size() != constraints.stageRecomputedLayers.size())
      layout->fail(key, llvm::formatv("{0} stages, but stage_layers lists {1}",
                                      constraints.stageRecomputedLayers.size(), constraints.stageLayers.size())
                            .str());
    else if (llvm::Error error = constraints.pin("recompute", "full"))
      layout->fail(key, llvm::toString(std::move(error)));
  }
  if (use.target && !layout->failed())
    checkRuns(*layout, use);
  if (use.isAlone && !layout->failed())
    checkRunnable(file, constraints);
  return layout->takeError();
}

llvm::Error mlir::ppc::readLayoutFile(llvm::StringRef path, PlanConstraints &constraints, const LayoutFileUse &use) {
  llvm::Expected<YamlReader> file = YamlReader::fromFile(path);
  return file ? pinLayout(*file, constraints, use) : file.takeError();
}

llvm::Error mlir::ppc::parseLayoutFile(llvm::StringRef name, llvm::StringRef text, PlanConstraints &constraints,
                                       const LayoutFileUse &use) {
  llvm::Expected<YamlReader> file = YamlReader::fromText(name, text);
  return file ? pinLayout(*file, constraints, use) : file.takeError();
}
