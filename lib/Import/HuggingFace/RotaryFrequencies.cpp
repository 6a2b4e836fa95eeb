// Rotary frequencies as transformers' modeling_rope_utils computes them.
#include "ppc/Import/HuggingFace.h"

#include <cmath>

namespace mlir::ppc {

/// theta^(-2i/d), then stretched. With w = 2 pi / frequency the wavelength and f the factor, "llama3" gives
///   frequency / f                                  for w > original / low
///   frequency                                      for w < original / high
///   ((1 - s) / f + s) frequency                    between, s = (original / w - low) / (high - low).
static double frequencyOf(const LlamaConfig &config, int64_t pair) {
  const RopeScaling &scaling = config.ropeScaling;
  double frequency = std::pow(config.ropeTheta, -2.0 * double(pair) / double(config.headDim));
  if (scaling.kind == RopeScaling::Kind::Linear)
    return frequency / scaling.factor;
  if (scaling.kind == RopeScaling::Kind::None)
    return frequency;
  const double pi = 3.14159265358979323846;
  double turns = double(scaling.originalMaxPositions) * frequency / (2 * pi); // original / wavelength
  if (turns < scaling.lowFrequencyFactor)
    return frequency / scaling.factor;
  if (turns > scaling.highFrequencyFactor)
    return frequency;
  double smooth = (turns - scaling.lowFrequencyFactor) / (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
  return ((1 - smooth) / scaling.factor + smooth) * frequency;
}

std::vector<double> rotaryFrequencies(const LlamaConfig &config) {
  std::vector<double> result;
  for (int64_t pair = 0; pair < config.headDim / 2; ++pair)
    result.push_back(float(frequencyOf(config, pair)));
  return result;
}

} // namespace mlir::ppc
