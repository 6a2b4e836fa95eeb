// Reading facts, and comparing two lists of them.
#include "runtime/program/Facts.h"
#include "runtime/files/JsonValue.h"

namespace ppcrt {
namespace {

constexpr const char *fingerprint = "model.fingerprint", *modelPrefix = "model.";

bool isOfModel(const std::string &name) { return name.rfind(modelPrefix, 0) == 0; }

} // namespace

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

std::vector<Difference> differences(const Facts &here, const Facts &there) {
  auto value = [](const Facts &facts, const std::string &name) {
    auto found = facts.find(name);
    return found == facts.end() ? std::string("none") : found->second;
  };
  auto differs = [&](const std::string &name) { return value(here, name) != value(there, name); };
  Facts all = here;
  all.insert(there.begin(), there.end());
  // A fingerprint holds the shapes of a whole batch.
  bool otherModel = differs(fingerprint), explained = differs(sequenceLengthFact) || differs(globalBatchFact);
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
