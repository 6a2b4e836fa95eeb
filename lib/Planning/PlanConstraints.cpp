#include "ppc/Planning/PlanConstraints.h"

#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir::ppc;

/// The words of a key that is no number; empty for numbers.
static llvm::ArrayRef<llvm::StringLiteral> words(PlanKey key) {
  static constexpr llvm::StringLiteral onOff[] = {"off", "on"};
  static constexpr llvm::StringLiteral precision[] = {"f32", "tf32", "bf16", "fp16", "fp8", "mxfp8", "fp4"};
  static constexpr llvm::StringLiteral attention[] = {"unfused", "fused-softmax", "flash1",       "flash2",
                                                      "flash3",  "cudnn",         "flash1-triton"};
  switch (key) {
  case PlanKey::SequenceParallel:
    return onOff;
  case PlanKey::Recompute:
    return recomputeNames();
  case PlanKey::Offload:
    return offloadNames();
  case PlanKey::Precision:
    return precision;
  case PlanKey::Context:
    return contextNames();
  case PlanKey::Attention:
    return attention;
  default:
    return {};
  }
}

llvm::StringRef mlir::ppc::toString(PlanKey key) { return planKeyInfo(key).spelling; }

static std::string spelled(llvm::StringRef text) {
  std::string result = text.trim().lower();
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

llvm::Expected<PlanKey> mlir::ppc::parsePlanKey(llvm::StringRef text) {
  std::string wanted = spelled(text);
  std::vector<std::string> known;
  for (int key = 0; key < planKeyCount; ++key)
    if (wanted == planKeyInfo(PlanKey(key)).option)
      return PlanKey(key);
    else
      known.push_back(toString(PlanKey(key)).str());
  return llvm::createStringError("unknown key '" + text + "' of a plan; known are " + llvm::join(known, ", ") +
                                 didYouMean(text, known));
}

static int64_t scheduleIndex(llvm::StringRef name) {
  llvm::ArrayRef<PipelineScheduleKind> kinds = pipelineScheduleKinds();
  for (size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i].name == name || llvm::is_contained(kinds[i].aliases, name))
      return int64_t(i);
  return -1;
}

int64_t mlir::ppc::planValue(const ParallelLayout &layout, PlanKey key) {
  switch (key) {
  case PlanKey::Devices:
    return layout.devices();
  case PlanKey::Dp:
    return layout.dp;
  case PlanKey::Tp:
    return layout.tp;
  case PlanKey::Pp:
    return layout.pp;
  case PlanKey::Vp:
    return layout.vp;
  case PlanKey::Cp:
    return layout.cp;
  case PlanKey::Ep:
    return layout.ep;
  case PlanKey::Etp:
    return layout.etp;
  case PlanKey::SequenceParallel:
    return layout.sequenceParallel;
  case PlanKey::Zero:
    return layout.zero;
  case PlanKey::ShardGroup:
    return layout.shardGroup ? layout.shardGroup : layout.dataRanks();
  case PlanKey::MicroBatch:
    return layout.microBatch;
  case PlanKey::Schedule:
    return scheduleIndex(layout.schedule);
  case PlanKey::Recompute:
    return int64_t(layout.recompute);
  case PlanKey::RecomputedLayers:
    return layout.stageRecomputedLayers.empty() ? layout.recomputedLayers : -2;
  case PlanKey::Offload:
    return int64_t(layout.offload);
  case PlanKey::Precision:
    return int64_t(layout.precision);
  case PlanKey::Context:
    return int64_t(layout.contextKind);
  case PlanKey::Attention:
    return int64_t(layout.attention);
  case PlanKey::TpRows:
    return layout.tpRows;
  case PlanKey::TpDepth:
    return layout.tpDepth;
  case PlanKey::GradientGroup:
    return layout.gradientRanks();
  case PlanKey::ParameterGroup:
    return layout.parameterRanks();
  }
  return -1;
}

void mlir::ppc::setPlanValue(ParallelLayout &layout, PlanKey key, int64_t value) {
  switch (key) {
  case PlanKey::Devices:
    break;
  case PlanKey::Dp:
    layout.dp = value;
    break;
  case PlanKey::Tp:
    layout.tp = value;
    break;
  case PlanKey::Pp:
    layout.pp = value;
    break;
  case PlanKey::Vp:
    layout.vp = value;
    break;
  case PlanKey::Cp:
    layout.cp = value;
    break;
  case PlanKey::Ep:
    layout.ep = value;
    break;
  case PlanKey::Etp:
    layout.etp = value;
    break;
  case PlanKey::SequenceParallel:
    layout.sequenceParallel = value;
    break;
  case PlanKey::Zero:
    layout.zero = value;
    break;
  case PlanKey::ShardGroup:
    layout.shardGroup = value;
    break;
  case PlanKey::MicroBatch:
    layout.microBatch = value;
    break;
  case PlanKey::Schedule:
    layout.schedule = pipelineScheduleKinds()[value].name.str();
    break;
  case PlanKey::Recompute:
    layout.recompute = Recompute(value);
    break;
  case PlanKey::RecomputedLayers:
    if (value != -2) { // else: as the list of numbers says
      layout.recomputedLayers = value;
      layout.stageRecomputedLayers.clear();
    }
    break;
  case PlanKey::Offload:
    layout.offload = Offload(value);
    break;
  case PlanKey::Precision:
    layout.precision = Precision(value);
    break;
  case PlanKey::Context:
    layout.contextKind = ContextKind(value);
    break;
  case PlanKey::Attention:
    layout.attention = AttentionKernel(value);
    break;
  case PlanKey::TpRows:
    layout.tpRows = value;
    break;
  case PlanKey::TpDepth:
    layout.tpDepth = value;
    break;
  case PlanKey::GradientGroup:
    layout.gradientGroup = value;
    break;
  case PlanKey::ParameterGroup:
    layout.parameterGroup = value;
    break;
  }
}

std::string mlir::ppc::planValueText(PlanKey key, int64_t value) {
  if (key == PlanKey::Schedule)
    return value < 0 ? "unknown" : pipelineScheduleKinds()[value].name.str();
  llvm::ArrayRef<llvm::StringLiteral> choices = words(key);
  if (value >= 0 && value < int64_t(choices.size()))
    return choices[value].str();
  if (key == PlanKey::RecomputedLayers && value < 0)
    return value == -1 ? "all" : "by-stage";
  return std::to_string(value);
}

llvm::Expected<int64_t> mlir::ppc::parsePlanValue(PlanKey key, llvm::StringRef text) {
  auto refuse = [&](const llvm::Twine &expected) {
    return llvm::createStringError("'" + text + "' is not a value of " + toString(key) + "; expected " + expected);
  };
  if (key == PlanKey::Schedule) {
    llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(text);
    if (!kind)
      return kind.takeError();
    return scheduleIndex((*kind)->name);
  }
  if (key == PlanKey::Offload) {
    if (std::optional<Offload> kinds = parseOffload(spelled(text)))
      return int64_t(*kinds);
    return refuse("none, optimizer, activations, parameters, or several of these with + between them");
  }
  llvm::ArrayRef<llvm::StringLiteral> choices = words(key);
  if (!choices.empty()) {
    std::string wanted = spelled(text);
    if (key == PlanKey::SequenceParallel)
      wanted = wanted == "1" || wanted == "true" ? "on" : wanted == "0" || wanted == "false" ? "off" : wanted;
    for (size_t i = 0; i < choices.size(); ++i)
      if (choices[i] == wanted)
        return int64_t(i);
    return refuse(llvm::join(choices.begin(), choices.end(), ", "));
  }
  if (std::string word = spelled(text); key == PlanKey::RecomputedLayers && (word == "all" || word == "by-stage"))
    return int64_t(word == "all" ? -1 : -2);
  int64_t least = key == PlanKey::Zero || key == PlanKey::RecomputedLayers ? 0 : 1;
  int64_t most = key == PlanKey::Zero               ? 3
                 : key == PlanKey::MicroBatch       ? limits::globalBatch
                 : key == PlanKey::RecomputedLayers ? limits::layers
                                                    : limits::devices;
  std::optional<int64_t> value = parseWhole(text.trim());
  if (!value || *value < least || *value > most)
    return refuse(key == PlanKey::Zero ? "0, 1, 2 or 3"
                  : key == PlanKey::RecomputedLayers
                      ? "a number from 0 to " + std::to_string(most) + ", all or by-stage"
                      : "a number from " + std::to_string(least) + " to " + std::to_string(most));
  return *value;
}

int64_t mlir::ppc::planNeutralValue(PlanKey key) {
  switch (key) {
  case PlanKey::Dp:
  case PlanKey::Tp:
  case PlanKey::Pp:
  case PlanKey::Vp:
  case PlanKey::Cp:
  case PlanKey::Ep:
  case PlanKey::Etp:
  case PlanKey::TpRows:
  case PlanKey::TpDepth:
    return 1;
  case PlanKey::SequenceParallel:
  case PlanKey::Zero:
  case PlanKey::Recompute:
  case PlanKey::Offload:
    return 0;
  default:
    return -1;
  }
}

llvm::Error PlanConstraints::pin(llvm::StringRef key, llvm::StringRef value) {
  llvm::Expected<PlanKey> parsedKey = parsePlanKey(key);
  if (!parsedKey)
    return parsedKey.takeError();
  llvm::Expected<int64_t> parsed = parsePlanValue(*parsedKey, value);
  if (!parsed)
    return parsed.takeError();
  if (isPinned(*parsedKey) && pinned(*parsedKey) != *parsed)
    return llvm::createStringError(llvm::formatv("{0} is pinned to both {1} and {2}", toString(*parsedKey),
                                                 planValueText(*parsedKey, pinned(*parsedKey)),
                                                 planValueText(*parsedKey, *parsed))
                                       .str());
  if (possible && !possible(*parsedKey, *parsed))
    return llvm::createStringError(llvm::formatv("{0} is pinned to {1}, but {2}", toString(*parsedKey),
                                                 planValueText(*parsedKey, *parsed), limitReason(*parsedKey))
                                       .str());
  if (!allows(*parsedKey, *parsed))
    return llvm::createStringError(llvm::formatv("{0} is pinned to {1}, which is forbidden as well",
                                                 toString(*parsedKey), planValueText(*parsedKey, *parsed))
                                       .str());
  pin(*parsedKey, *parsed);
  return llvm::Error::success();
}

llvm::Error PlanConstraints::forbid(llvm::StringRef key, llvm::StringRef value) {
  llvm::Expected<PlanKey> parsedKey = parsePlanKey(key);
  if (!parsedKey)
    return parsedKey.takeError();
  bool before = onlyNeutral[int(*parsedKey)];
  if (value.empty()) {
    if (planNeutralValue(*parsedKey) < 0)
      return llvm::createStringError("cannot forbid " + toString(*parsedKey) +
                                     " as a whole: every plan has one; forbid a value (" + toString(*parsedKey) +
                                     "=...)");
    onlyNeutral[int(*parsedKey)] = true;
  } else {
    llvm::Expected<int64_t> parsed = parsePlanValue(*parsedKey, value);
    if (!parsed)
      return parsed.takeError();
    forbid(*parsedKey, *parsed);
  }
  if (!isPinned(*parsedKey) || allows(*parsedKey, pinned(*parsedKey)))
    return llvm::Error::success();
  onlyNeutral[int(*parsedKey)] = before;
  return llvm::createStringError(llvm::formatv("{0} is pinned to {1}, which is forbidden as well", toString(*parsedKey),
                                               planValueText(*parsedKey, pinned(*parsedKey)))
                                     .str());
}

void PlanConstraints::limit(std::function<bool(PlanKey, int64_t)> newPossible,
                            std::function<std::string(PlanKey)> reason) {
  possible = std::move(newPossible);
  limitReason = std::move(reason);
}

void PlanConstraints::relax(PlanKey key) {
  pins[int(key)] = unpinned;
  if (key == PlanKey::RecomputedLayers || key == PlanKey::Recompute)
    stageRecomputedLayers.clear();
  onlyNeutral[int(key)] = false;
  forbidden[int(key)].clear();
}

std::string PlanConstraints::describe(PlanKey key) const {
  if (isPinned(key))
    return planValueText(key, pinned(key));
  if (onlyNeutral[int(key)])
    return planValueText(key, planNeutralValue(key));
  std::string text;
  for (int64_t value : forbidden[int(key)])
    text += (text.empty() ? "not " : ", ") + planValueText(key, value);
  return text.empty() ? "any" : text;
}

void PlanConstraints::pinAll(const ParallelLayout &layout) {
  for (int key = 0; key < planKeyCount; ++key)
    if (int64_t value = planValue(layout, PlanKey(key)); value >= 0 || PlanKey(key) == PlanKey::RecomputedLayers)
      pin(PlanKey(key), value);
  stageLayers.assign(layout.stageLayers.begin(), layout.stageLayers.end());
  stageRecomputedLayers.assign(layout.stageRecomputedLayers.begin(), layout.stageRecomputedLayers.end());
  stageGroups.assign(layout.stageGroups.begin(), layout.stageGroups.end());
}

bool PlanConstraints::allows(PlanKey key, int64_t value) const {
  int index = int(key);
  if (pins[index] != unpinned && pins[index] != value)
    return false;
  if (onlyNeutral[index] && value != planNeutralValue(key))
    return false;
  return !llvm::is_contained(forbidden[index], value) && (!possible || possible(key, value));
}

std::optional<PlanKey> PlanConstraints::violation(const ParallelLayout &layout) const {
  for (int key = 0; key < planKeyCount; ++key)
    if (!allows(PlanKey(key), planValue(layout, PlanKey(key))))
      return PlanKey(key);
  return std::nullopt;
}
