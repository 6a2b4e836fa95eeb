#include "ppc/CostModel/PredictionInterval.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir::ppc;

namespace {
struct ErrorsFile {
  const char *name, *contents;
};
constexpr ErrorsFile errorsFiles[] = {
#include "MeasuredErrors.inc"
};

/// Steps of one source with equal features: ln(measured / predicted).
struct Cell {
  StepFeatures features;
  double count = 0, mean = 0, square = 0;
};

/// The file: `parameter,NAME,VALUE` and `cell,SOURCE,FEATURES,COUNT,MEAN,MEAN OF SQUARES`.
struct MeasuredErrors {
  llvm::StringMap<double> parameters;
  std::vector<std::pair<std::string, std::vector<Cell>>> sources;

  MeasuredErrors() {
    llvm::SmallVector<llvm::StringRef, 0> lines;
    llvm::StringRef(errorsFiles[0].contents).split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef line : lines) {
      llvm::SmallVector<llvm::StringRef, 8> parts;
      line.split(parts, ',');
      if (parts[0] == "parameter")
        parameters[parts[1]] = numberOf(parts[2]);
      else if (parts[0] == "cell")
        addCell(parts);
    }
  }
  double operator[](llvm::StringRef name) const { return parameters.lookup(name); }

private:
  static double numberOf(llvm::StringRef text) {
    double value = 0;
    (void)text.getAsDouble(value);
    return value;
  }
  void addCell(llvm::ArrayRef<llvm::StringRef> parts) {
    llvm::SmallVector<llvm::StringRef, 8> features;
    parts[2].split(features, '/');
    Cell cell;
    cell.features = {features[0].str(),     features[1] == "experts", features[2] == "8-bit", features[3].str(),
                     numberOf(features[4]), numberOf(features[5]),    numberOf(features[6])};
    cell.count = numberOf(parts[3]);
    cell.mean = numberOf(parts[4]);
    cell.square = numberOf(parts[5]);
    if (sources.empty() || sources.back().first != parts[1])
      sources.push_back({parts[1].str(), {}});
    sources.back().second.push_back(std::move(cell));
  }
};
} // namespace

static const MeasuredErrors &measuredErrors() {
  static const MeasuredErrors errors;
  return errors;
}

StepFeatures mlir::ppc::featuresOf(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                   const ParallelLayout &layout, const Stack &stack) {
  StepFeatures features;
  features.kind = stack.arena || stack.name == "ppc" ? "ppc"
                  : layout.zero >= 3                 ? "sharded"
                  : stack.overlapGradientReduction   ? "overlapped"
                                                     : "plain";
  features.experts = bool(model.moe);
  features.narrow = elementBytes(layout.precision) < 2;
  features.architecture = cluster.device().architecture;
  double width = double(model.hidden) * double(model.hidden);
  features.devices = std::log2(double(layout.devices()));
  features.size = std::log2(std::max(1.0, 12 * double(model.layers) * width));
  features.work = std::log2(
      std::max(1.0, double(layout.microBatch) * double(job.sequence) / double(layout.cp * layout.tp) * width));
  return features;
}

std::string mlir::ppc::toString(const StepFeatures &features) {
  return llvm::formatv("{0}/{1}/{2}/{3}/{4}/{5}/{6}", features.kind, features.experts ? "experts" : "dense",
                       features.narrow ? "8-bit" : "16-bit", features.architecture, std::lround(features.devices),
                       std::lround(features.size), std::lround(features.work))
      .str();
}

/// Of NVIDIA's generations, 70 to 100; others are as far from them and from each other as a parameter says.
static double architectureDistance(llvm::StringRef a, llvm::StringRef b, const MeasuredErrors &errors) {
  if (a == b)
    return 0;
  auto generation = [](llvm::StringRef text) {
    int number = 0;
    return text.consume_front("sm_") && !text.getAsInteger(10, number) ? number : 0;
  };
  int left = generation(a), right = generation(b);
  if (!left || !right)
    return errors["foreign"];
  return errors["architecture"] * std::abs(left - right) / 10;
}

static double squaredDistance(const StepFeatures &a, const StepFeatures &b, const MeasuredErrors &errors) {
  auto square = [](double value) { return value * value; };
  double sum = architectureDistance(a.architecture, b.architecture, errors);
  if (a.kind != b.kind)
    sum += a.kind == "ppc" || b.kind == "ppc" ? errors["foreign"] : errors["kind"];
  sum += a.experts != b.experts ? errors["experts"] : 0;
  sum += a.narrow != b.narrow ? errors["narrow"] : 0;
  return sum + square((a.devices - b.devices) / errors["devices"]) + square((a.size - b.size) / errors["size"]) +
         square((a.work - b.work) / errors["work"]);
}

bool PredictionInterval::isNear() const { return distance <= nearDistance; }

PredictionInterval mlir::ppc::predictionInterval(const StepFeatures &features) {
  const MeasuredErrors &errors = measuredErrors();
  // Each source by the mean and the spread of its rows, nearer ones more; sources by their nearest row.
  struct Source {
    double weight, mean, variance;
  };
  llvm::SmallVector<Source, 32> sources;
  double nearest = std::numeric_limits<double>::infinity();
  PredictionInterval interval;
  for (const auto &[name, cells] : errors.sources) {
    double best = std::numeric_limits<double>::infinity();
    for (const Cell &cell : cells)
      best = std::min(best, squaredDistance(features, cell.features, errors));
    double weights = 0, mean = 0, square = 0;
    for (const Cell &cell : cells) {
      double weight = cell.count * std::exp(-0.5 * (squaredDistance(features, cell.features, errors) - best));
      weights += weight;
      mean += weight * cell.mean;
      square += weight * cell.square;
    }
    mean /= weights;
    sources.push_back({std::exp(-0.5 * std::min(best, 200.0)), mean, std::max(0.0, square / weights - mean * mean)});
    if (best < nearest) {
      nearest = best;
      interval.nearest = name;
    }
  }
  // A source of its own that has no bias stands for those that nobody has seen.
  double prior = errors["prior"] * std::exp(-0.5 * std::min(nearest, 200.0));
  double weights = 0, squares = 0, mean = 0, variance = 0;
  for (const Source &source : sources) {
    weights += source.weight;
    squares += source.weight * source.weight;
    mean += source.weight * source.mean;
  }
  mean /= weights + prior;
  for (const Source &source : sources)
    variance += source.weight * (source.variance + (source.mean - mean) * (source.mean - mean));
  variance = (variance + prior * errors["prior_variance"]) / (weights + prior);
  double effective = weights * weights / squares;
  double deviation = std::sqrt(variance * (1 + errors["few_sources"] / effective) + errors["far"] * nearest);
  interval.low = std::exp(mean - errors["width"] * deviation);
  interval.high = std::exp(mean + errors["width"] * deviation);
  interval.distance = std::sqrt(nearest);
  return interval;
}

double mlir::ppc::coveredShare() { return measuredErrors()["covered"]; }

double mlir::ppc::indistinctShare() { return measuredErrors()["indistinct"]; }
