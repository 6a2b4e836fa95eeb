// Facts of a run, and how two lists of them differ.
#include "runtime/core/RunIdentity.h"
#include "runtime/core/Checksum.h"
#include "runtime/core/Error.h"
#include "runtime/core/Machine.h"
#include "runtime/core/Manifest.h"
#include "runtime/core/Options.h"

#include <sstream>

namespace ppcrt {
namespace {

constexpr const char *fingerprint = "model.fingerprint", *modelPrefix = "model.", *sequenceLength = "sequence length",
                     *globalBatch = "global batch";

bool isOfModel(const std::string &name) { return name.rfind(modelPrefix, 0) == 0; }

} // namespace

std::string layoutName(const Manifest &manifest) {
  std::string plan, line;
  for (std::istringstream text(manifest.plan); std::getline(text, line);)
    if (line.empty() || line[0] != '#')
      plan += line + "\n";
  std::string axes;
  for (const Axis &axis : manifest.grid.axes())
    axes += axis.name + " " + std::to_string(axis.size) + ", ";
  return axes +
         format("%lld micro-batches (plan %08x)", (long long)manifest.microBatches, crc32c(plan.data(), plan.size()));
}

Facts readMathematics(const JsonValue &manifest) {
  Facts facts;
  if (!manifest.has("mathematics"))
    return facts;
  JsonValue mathematics = manifest.at("mathematics");
  if (mathematics.has("model")) {
    JsonValue model = mathematics.at("model");
    if (model.has("fingerprint"))
      facts[fingerprint] = model.at("fingerprint").string();
    if (model.has("operations"))
      for (const auto &[name, value] : model.at("operations").members())
        facts[modelPrefix + name] = value.string();
  }
  if (mathematics.has("optimizer"))
    for (const auto &[name, value] : mathematics.at("optimizer").members())
      facts["optimizer." + name] = value.string();
  return facts;
}

RunIdentity identify(const Manifest &manifest, const Options &options, const std::string &tokens,
                     const std::string &transport, int threads) {
  RunIdentity identity;
  identity.mathematics = manifest.mathematics;
  identity.mathematics[sequenceLength] = std::to_string(manifest.sequenceLength);
  identity.mathematics[globalBatch] = std::to_string(manifest.globalBatch);
  identity.mathematics["data"] = tokens;
  identity.mathematics["seed"] = std::to_string(options.seed);
  identity.mathematics["order of samples"] = options.order;
  identity.circumstances = {{"name of the model", manifest.model},
                            {"layout", layoutName(manifest)},
                            {"schedule", manifest.schedule.empty() ? "none" : manifest.schedule},
                            {"ranks", std::to_string(manifest.grid.rankCount())},
                            {"precision", info(manifest.precision).name},
                            {"transport", transport},
                            {"threads of a rank", std::to_string(threads)},
                            {"processor", processorName()},
                            {"--data", options.synthetic ? "--synthetic" : options.data},
                            {"--tokenizer", options.tokenizer},
                            {"--steps", std::to_string(options.steps)},
                            {"--lr", formatNumber(options.learningRate)},
                            {"--min-lr", formatNumber(options.minimumLearningRate)},
                            {"--warmup", std::to_string(options.warmup)}};
  return identity;
}

std::vector<Difference> differences(const Facts &here, const Facts &there) {
  auto value = [](const Facts &facts, const std::string &name) {
    auto found = facts.find(name);
    return found == facts.end() ? std::string("none") : found->second;
  };
  auto differs = [&](const std::string &name) { return value(here, name) != value(there, name); };
  Facts all = here;
  all.insert(there.begin(), there.end());
  // A fingerprint holds the shapes of a whole batch.
  bool otherModel = differs(fingerprint), explained = differs(sequenceLength) || differs(globalBatch);
  std::vector<Difference> found;
  for (const auto &[name, unused] : all) {
    if (name == fingerprint || !differs(name) || (isOfModel(name) && !otherModel))
      continue;
    explained |= isOfModel(name);
    found.push_back({name, value(here, name), value(there, name)});
  }
  if (otherModel && !explained)
    found.insert(found.begin(), {fingerprint, value(here, fingerprint), value(there, fingerprint)});
  return found;
}

} // namespace ppcrt
