#include "ppc/Planning/Files/ChainPlanFile.h"

#include "ppc/Support/Limits.h"
#include "ppc/Support/YamlReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

/// What is no loop, by its name.
static constexpr std::pair<llvm::StringLiteral, int> namedChoices[] = {
    {"pending", OpStrategy::pending}, {"ring", OpStrategy::ring}, {"gather", OpStrategy::gather}};

static std::string opKey(size_t number, const TemplateOp &op) { return (llvm::Twine(number) + " " + op.name).str(); }

/// `{ h: [ tp0 ], f: [ tp1 ] }`; empty where nothing is cut.
static std::string strategyText(const TemplateOp &op, const OpStrategy &strategy, llvm::ArrayRef<LayoutAxis> axes) {
  std::vector<std::string> parts;
  auto add = [&](int choice, llvm::StringRef name) {
    std::vector<std::string> names;
    for (auto [axis, chosen] : llvm::enumerate(strategy.axes))
      if (chosen == choice)
        names.push_back(axes[axis].name);
    if (!names.empty())
      parts.push_back((name + ": [ " + llvm::join(names, ", ") + " ]").str());
  };
  for (auto [number, factor] : llvm::enumerate(op.factors))
    add(int(number), factor.name);
  for (auto [name, choice] : namedChoices)
    add(choice, name);
  return parts.empty() ? "" : "{ " + llvm::join(parts, ", ") + " }";
}

void mlir::ppc::writeOpCuts(const ChainModel &model, const OpCuts &cuts, llvm::raw_ostream &out) {
  std::vector<std::string> axes;
  for (const LayoutAxis &axis : cuts.axes)
    axes.push_back(axis.name + ": " + std::to_string(axis.size));
  out << "ops:   # sharding of each op, by number and name; ops that are not listed are not sharded\n  axes: { "
      << llvm::join(axes, ", ") << " }\n";
  std::vector<int> layers = model.layers();
  for (size_t first = 0, end; first < layers.size() && first < cuts.layers.size(); first = end) {
    for (end = first + 1; end < layers.size() && end < cuts.layers.size() && layers[end] == layers[first] &&
                          cuts.layers[end] == cuts.layers[first];)
      ++end;
    if (cuts.layers[first].empty())
      continue;
    std::string text;
    for (auto [number, strategy] : llvm::enumerate(cuts.layers[first])) {
      const TemplateOp &op = model.chain.templates[layers[first]].ops[number];
      if (std::string cut = strategyText(op, strategy, cuts.axes); !cut.empty())
        text += llvm::formatv("    {0}: {1}\n", opKey(number, op), cut);
    }
    out << (end - first > 1 ? llvm::formatv("  layers {0}-{1}:", first, end - 1).str()
                            : llvm::formatv("  layer {0}:", first).str())
        << (text.empty() ? " {}\n" : "\n") << text;
  }
}

void mlir::ppc::writeChainPlan(const ChainModel &model, const ChainPlan &plan, llvm::raw_ostream &out) {
  const ParallelLayout &layout = plan.layout;
  out << "layout:\n";
  for (PlanKey key :
       {PlanKey::Devices, PlanKey::Dp, PlanKey::Tp, PlanKey::Pp, PlanKey::Vp, PlanKey::Zero, PlanKey::MicroBatch,
        PlanKey::Schedule, PlanKey::Recompute, PlanKey::Precision, PlanKey::Attention})
    out << "  " << toString(key) << ": " << planValueText(key, planValue(layout, key)) << '\n';
  if (!layout.stageLayers.empty()) {
    std::vector<std::string> counts;
    for (int64_t count : layout.stageLayers)
      counts.push_back(std::to_string(count));
    out << "  stage_layers: [ " << llvm::join(counts, ", ") << " ]\n";
  }
  writeOpCuts(model, plan.cuts(), out);
}

/// "layer 4", "layers 1-31": first and last.
static std::optional<std::pair<int64_t, int64_t>> parseLayers(llvm::StringRef text) {
  if (!text.consume_front("layers ") && !text.consume_front("layer "))
    return std::nullopt;
  auto [low, high] = text.trim().split('-');
  std::pair<int64_t, int64_t> range;
  if (low.getAsInteger(10, range.first) || range.first < 0)
    return std::nullopt;
  range.second = range.first;
  if (text.contains('-') && (high.getAsInteger(10, range.second) || range.second < range.first))
    return std::nullopt;
  return range;
}

namespace {
class CutsReader {
public:
  CutsReader(YamlReader file, const ChainModel &model, const TargetCapabilities *target)
      : file(std::move(file)), model(model), target(target), layers(model.layers()) {}

  llvm::Expected<OpCuts> read() {
    std::optional<YamlReader> section = file.mapping("ops");
    if (section) {
      readAxes(*section);
      cuts.layers.resize(layers.size());
      for (const std::string &key : section->keys())
        if (key != "axes" && !file.failed())
          readLayers(*section, key);
    }
    if (llvm::Error error = file.takeError())
      return std::move(error);
    return std::move(cuts);
  }

private:
  void readAxes(YamlReader &section) {
    std::optional<YamlReader> axes = section.mapping("axes");
    if (!axes)
      return section.failHere("there is no 'axes:', which names the axes that shard ops");
    for (const std::string &name : axes->keys())
      cuts.axes.push_back({name, axes->integerWithin(name, 1, limits::devices)});
    if (cuts.axes.empty() || cuts.axes.size() > 4)
      section.fail("axes", "expected one axis to four");
  }

  void readLayers(YamlReader &section, llvm::StringRef key) {
    auto range = parseLayers(key);
    if (!range)
      return section.fail(key, "expected 'layer N' or 'layers FIRST-LAST'");
    if (range->second >= int64_t(layers.size()))
      return section.fail(key, llvm::formatv("the model has layers 0 to {0}", layers.size() - 1).str());
    const OpTemplate &layer = model.chain.templates[layers[range->first]];
    for (int64_t i = range->first; i <= range->second; ++i)
      if (layers[i] != layers[range->first])
        return section.fail(
            key, llvm::formatv("layer {0} differs from layer {1}: give each its own shardings", i, range->first).str());
    std::vector<OpStrategy> strategies(layer.ops.size(),
                                       OpStrategy{std::vector<int>(cuts.axes.size(), OpStrategy::uncut)});
    std::optional<YamlReader> ops = section.mapping(key);
    if (ops)
      for (const std::string &name : ops->keys())
        readOp(*ops, name, layer, strategies);
    for (int64_t i = range->first; i <= range->second; ++i)
      cuts.layers[i] = strategies;
  }

  void readOp(YamlReader &ops, const std::string &key, const OpTemplate &layer, std::vector<OpStrategy> &strategies) {
    size_t number;
    llvm::StringRef name = key;
    if (name.consumeInteger(10, number) || number >= layer.ops.size())
      return ops.fail(
          key, llvm::formatv("expected the number of an op, 0 to {0}, and its name", layer.ops.size() - 1).str());
    const TemplateOp &op = layer.ops[number];
    if (name.trim() != op.name)
      return ops.fail(key, llvm::formatv("op {0} of this layer is '{1}'", number, op.name).str());
    std::optional<YamlReader> loops = ops.mapping(key);
    if (!loops)
      return;
    for (const std::string &loop : loops->keys()) {
      auto factor = llvm::find_if(op.factors, [&](const TemplateFactor &known) { return known.name == loop; });
      auto named = llvm::find_if(namedChoices, [&](const auto &choice) { return choice.first == loop; });
      bool isNamed = factor == op.factors.end() && named != std::end(namedChoices);
      if (factor == op.factors.end() && !isNamed)
        return loops->fail(
            loop,
            "the op has no such loop; it has " +
                llvm::join(llvm::map_range(op.factors, [](const TemplateFactor &known) { return known.name; }), ", "));
      for (const std::string &axis : loops->strings(loop)) {
        auto found = llvm::find_if(cuts.axes, [&](const LayoutAxis &known) { return known.name == axis; });
        if (found == cuts.axes.end())
          return loops->fail(loop, "'" + axis + "' is none of the axes");
        int &place = strategies[number].axes[found - cuts.axes.begin()];
        if (place != OpStrategy::uncut)
          return loops->fail(loop, "axis '" + axis + "' shards another loop already");
        place = isNamed ? named->second : int(factor - op.factors.begin());
      }
    }
    // Axes of size 1 cut nothing.
    OpStrategy asked = strategies[number];
    for (auto [axis, choice] : llvm::zip_equal(cuts.axes, asked.axes))
      if (axis.size == 1)
        choice = OpStrategy::uncut;
    if (!llvm::is_contained(enumerateStrategies(op, cuts.axes), asked))
      ops.fail(key, "the op cannot be sharded so: a loop has too few elements, cannot be sharded, or would be summed "
                    "in two ways");
    else if (target && !runs(*target, op, asked))
      ops.fail(key,
               llvm::formatv("compiled programs cannot run {0} sharded as {1}", op.name, toString(op, asked, cuts.axes))
                   .str());
    strategies[number] = asked;
  }

  YamlReader file;
  const ChainModel &model;
  const TargetCapabilities *target; // or null
  std::vector<int> layers;
  OpCuts cuts;
};
} // namespace

llvm::Expected<OpCuts> mlir::ppc::readOpCuts(llvm::StringRef path, const ChainModel &model,
                                             const TargetCapabilities *target) {
  llvm::Expected<YamlReader> file = YamlReader::fromFile(path);
  return file ? CutsReader(std::move(*file), model, target).read() : file.takeError();
}

llvm::Expected<OpCuts> mlir::ppc::parseOpCuts(llvm::StringRef name, llvm::StringRef text, const ChainModel &model,
                                              const TargetCapabilities *target) {
  llvm::Expected<YamlReader> file = YamlReader::fromText(name, text);
  return file ? CutsReader(std::move(*file), model, target).read() : file.takeError();
}
