// What a run tells people and files: step lines, a progress bar, JSON lines, a summary. Only the first rank has one.
#pragma once

#include "runtime/executor/RankContext.h"
#include "runtime/files/LineFile.h"
#include "runtime/metrics/ProgressLine.h"
#include "runtime/program/Manifest.h"
#include "runtime/run/Options.h"

#include <string>
#include <vector>

namespace ppcrt {

// Of one rank, in bytes. Ranks hand it to the first byte by byte.
struct RankMemory {
  int64_t arena; // touched bytes of its arena, in whole pages
  int64_t peak;  // resident at most: what the system counts, peers' buffers that were read included
};

struct StepReport {
  int64_t step; // from 1
  double loss, gradNorm;
  double learningRate;
  double seconds;
  std::vector<RankMemory> memory; // of each rank, as last measured
  bool measured;                  // in this step
  bool prepares;                  // a step that is not counted: it measures what later ones are held to
  bool evaluated;                 // after this step
  double evalLoss;                // mean of the batches that were evaluated
};

class Metrics {
public:
  // `peakRate`: of all ranks, in FLOP/s, see PeakRate.h; 0: not measured.
  Metrics(const Manifest &manifest, const Options &options, LineFile log, LineFile losses, double peakRate);

  // Of a terminal: what takes time from now on, as "step 3".
  void begin(const std::string &activity);
  // `at`: when the step and what belongs to it ended, in seconds of now().
  void report(const StepReport &report, const Traffic &traffic, double at);
  // Of parameters as they are after step `step`, where no step is left to run; 0: as the run begins with them.
  void reportEvaluation(int64_t step, double evalLoss);
  // The closing lines: speed over all steps but the first, which prepares kernels.
  void summarize(const StepReport &last);

private:
  /// " (predicted 2.63)", in ms, and whether the machine was measured; nothing where nothing was predicted.
  std::string predictionText() const;
  std::string jsonLine(const StepReport &report, const Traffic &traffic);
  // "memory per rank: ..."
  std::string memoryText(const StepReport &report) const;
  // Model FLOPs used, as a share of the peak rate in percent; 0: not known.
  double utilization(double seconds) const;
  std::string progressText(int64_t step, const std::string &loss) const;
  double tokensPerStep() const { return double(manifest.globalBatch * manifest.sequenceLength); }

  const Manifest &manifest;
  const Options &options;
  LineFile log, losses;
  double peakRate;
  ProgressLine progress; // on stderr
  int64_t printEvery;
  int64_t reported = 0; // steps
  int64_t counted = 0;  // of them, for the closing lines
  double firstSeconds = 0, otherSeconds = 0;
  double firstWaited = 0, otherWaited = 0; // for communication, in these
  double lastPrinted = 0;                  // in seconds of now()
  bool warned = false;
  Traffic previous;
};

} // namespace ppcrt
