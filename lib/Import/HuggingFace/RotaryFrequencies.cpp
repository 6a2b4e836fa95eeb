// Rotary frequencies as transformers' modeling_rope_utils computes them.
#include "ppc/Import/HuggingFace.h"

#include <algorithm>
#include <cmath>

namespace mlir::ppc {

static const double pi = 3.14159265358979323846;

/// Elements of a head that are rotated.
static int64_t rotatedWidth(const ModelShape &shape) {
  if (shape.position != PositionKind::Rotary)
    return 0;
  return shape.latent ? shape.latent.ropeHeadDim : int64_t(double(shape.headDim) * shape.rotaryFraction);
}

/// The pair that turns `turns` times within the original length: theta^(-2 i / d) original = 2 pi turns.
static double pairOfTurns(const ModelConfig &config, double turns, int64_t width) {
  double length = double(config.ropeScaling.originalMaxPositions);
  return double(width) * std::log(length / (turns * 2 * pi)) / (2 * std::log(config.ropeTheta));
}

/// theta^(-2i/d), then stretched. With w = 2 pi / frequency the wavelength and f the factor, "llama3" gives
///   frequency / f                                  for w > original / low
///   frequency                                      for w < original / high
///   ((1 - s) / f + s) frequency                    between, s = (original / w - low) / (high - low).
/// "yarn" gives ((1 - s) + s / f) frequency, s rising from 0 to 1 between the pairs that turn betaFast and betaSlow
/// times. "longrope" divides each frequency by a factor of its own.
static double frequencyOf(const ModelConfig &config, int64_t pair, int64_t width, int64_t sequenceLength) {
  const RopeScaling &scaling = config.ropeScaling;
  double frequency = std::pow(config.ropeTheta, -2.0 * double(pair) / double(width));
  if (scaling.kind == RopeScaling::Kind::Linear)
    return frequency / scaling.factor;
  if (scaling.kind == RopeScaling::Kind::None)
    return frequency;
  if (scaling.kind == RopeScaling::Kind::Yarn) {
    double low = std::max(std::floor(pairOfTurns(config, scaling.betaFast, width)), 0.0);
    double high = std::min(std::ceil(pairOfTurns(config, scaling.betaSlow, width)), double(width - 1));
    double ramp = std::clamp((double(pair) - low) / std::max(high - low, 0.001), 0.0, 1.0);
    return (1 - ramp) * frequency + ramp * frequency / scaling.factor;
  }
  if (scaling.kind == RopeScaling::Kind::LongRope)
    return frequency /
           (sequenceLength > scaling.originalMaxPositions ? scaling.longFactors : scaling.shortFactors)[size_t(pair)];
  double turns = double(scaling.originalMaxPositions) * frequency / (2 * pi); // original / wavelength
  if (turns < scaling.lowFrequencyFactor)
    return frequency / scaling.factor;
  if (turns >= scaling.highFrequencyFactor)
    return frequency;
  double smooth = (turns - scaling.lowFrequencyFactor) / (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
  return ((1 - smooth) / scaling.factor + smooth) * frequency;
}

std::vector<double> rotaryFrequencies(const ModelConfig &config, int64_t sequenceLength) {
  std::vector<double> result;
  int64_t width = rotatedWidth(config.shape);
  for (int64_t pair = 0; pair < width / 2; ++pair)
    result.push_back(float(frequencyOf(config, pair, width, sequenceLength)));
  return result;
}

static double magnitude(const RopeScaling &scaling, double a) { return 0.1 * a * std::log(scaling.factor) + 1; }

static bool isStretchedYarn(const RopeScaling &scaling) {
  return scaling.kind == RopeScaling::Kind::Yarn && scaling.factor > 1;
}

double rotaryTableFactor(const ModelConfig &config) {
  const RopeScaling &scaling = config.ropeScaling;
  if (scaling.kind == RopeScaling::Kind::LongRope)
    return scaling.tableFactor;
  if (!isStretchedYarn(scaling))
    return 1;
  bool given = scaling.magnitude != 0 && scaling.magnitudeAllDims != 0;
  return given ? magnitude(scaling, scaling.magnitude) / magnitude(scaling, scaling.magnitudeAllDims)
               : magnitude(scaling, 1);
}

double rotaryScoreFactor(const ModelConfig &config) {
  const RopeScaling &scaling = config.ropeScaling;
  bool latent = isStretchedYarn(scaling) && config.shape.latent && scaling.magnitudeAllDims != 0;
  double scores = latent ? magnitude(scaling, scaling.magnitudeAllDims) : 1, table = rotaryTableFactor(config);
  return table * table * scores * scores;
}

} // namespace mlir::ppc
