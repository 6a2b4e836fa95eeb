// Facts of a run from its manifest, options and machine.
#include "runtime/run/RunIdentity.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"
#include "runtime/program/Manifest.h"
#include "runtime/run/Options.h"

#include <sstream>

namespace ppcrt {

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

RunIdentity identify(const Manifest &manifest, const Options &options, const std::string &tokens,
                     const std::string &transport, int threads) {
  RunIdentity identity;
  identity.mathematics = manifest.mathematics;
  identity.mathematics[sequenceLengthFact] = std::to_string(manifest.sequenceLength);
  identity.mathematics[globalBatchFact] = std::to_string(manifest.globalBatch);
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

} // namespace ppcrt
