// Formatting of reports.
#include "runtime/metrics/Metrics.h"
#include "ppc/Support/Limits.h"
#include "runtime/base/Error.h"
#include "runtime/metrics/PeakRate.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace ppcrt {

/// Of the rank that needs most; 0: not predicted.
static double largest(const std::vector<double> &bytes) {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

static double largest(const std::vector<RankMemory> &memory, int64_t RankMemory::*field) {
  int64_t result = 0;
  for (const RankMemory &rank : memory)
    result = std::max(result, rank.*field);
  return double(result);
}

static RankMemory ofStage(const Manifest &manifest, const std::vector<RankMemory> &memory, int64_t stage) {
  RankMemory most{};
  for (size_t rank = 0; rank < memory.size(); ++rank)
    if (manifest.grid.stageOf(int64_t(rank)) == stage)
      most = {std::max(most.arena, memory[rank].arena), std::max(most.peak, memory[rank].peak)};
  return most;
}

Metrics::Metrics(const Manifest &manifest, const Options &options, LineFile log, LineFile losses, double peakRate)
    : manifest(manifest), options(options), log(log), losses(losses), peakRate(peakRate),
      progress(stderr, !options.quiet && isatty(STDERR_FILENO)),
      printEvery(options.printEvery ? options.printEvery : std::max<int64_t>(1, options.steps / 50)) {
  previous.groupBytes.resize(manifest.groups.size());
}

void Metrics::report(const StepReport &report, const Traffic &traffic, double at) {
  bool isFirst = reported++ == 0 || report.prepares;
  counted += !isFirst;
  (isFirst ? firstWaited : otherWaited) += traffic.waitedSeconds - previous.waitedSeconds;
  (isFirst ? firstSeconds : otherSeconds) += report.seconds;
  log.write(jsonLine(report, traffic));
  losses.write(format("%.9g", report.loss));
  previous = traffic;
  if (!std::isfinite(report.loss) && !warned) {
    warned = true;
    std::fprintf(stderr, "warning: the loss is not finite from step %lld on: try a smaller --lr or a longer --warmup\n",
                 (long long)report.step);
  }
  if (options.quiet)
    return;
  bool print = reported == 1 || report.evaluated || report.step == options.steps || report.step % printEvery == 0;
  // Many steps by 50 may be long, and so may be what comes between steps: evaluations, checkpoints.
  print |= !options.printEvery && at - lastPrinted >= mlir::ppc::limits::silentSeconds;
  if (print) {
    progress.remove();
    std::printf("step %lld loss %.7g grad_norm %.6g lr %.4g tokens/s %.0f ms/step %.2f", (long long)report.step,
                report.loss, report.gradNorm, report.learningRate, tokensPerStep() / report.seconds,
                report.seconds * 1e3);
    std::printf("%s", predictionText().c_str());
    if (report.evaluated)
      std::printf(" eval_loss %.7g", report.evalLoss);
    std::printf("\n");
    std::fflush(stdout);
    lastPrinted = at;
  }
  progress.begin("", now()); // the step has ended
  if (report.step == options.steps)
    progress.remove();
  else
    progress.show(progressText(report.step, format(" loss %.4f", report.loss)), now());
}

void Metrics::begin(const std::string &activity) {
  if (reported == 0)
    progress.show(progressText(0, ""), now());
  progress.begin(activity, now());
}

void Metrics::reportEvaluation(int64_t step, double evalLoss) {
  if (step == 0) // later steps have their lines in the log
    log.write(nlohmann::ordered_json{{"step", step}, {"eval_loss", evalLoss}}.dump());
  progress.remove();
  if (options.quiet)
    return;
  std::printf("step %lld eval_loss %.7g\n", (long long)step, evalLoss);
  std::fflush(stdout);
}

std::string Metrics::predictionText() const {
  if (manifest.predictedStepSeconds <= 0)
    return "";
  return format(" (predicted %.2f%s)", manifest.predictedStepSeconds * 1e3,
                manifest.predictionMeasured ? "" : ", machine not measured");
}

std::string Metrics::jsonLine(const StepReport &report, const Traffic &traffic) {
  nlohmann::ordered_json line;
  line["step"] = report.step;
  line["loss"] = report.loss; // null when not finite
  line["grad_norm"] = report.gradNorm;
  if (report.evaluated)
    line["eval_loss"] = report.evalLoss;
  line["learning_rate"] = report.learningRate;
  line["tokens_per_s"] = tokensPerStep() / report.seconds;
  line["step_time_s"] = report.seconds;
  if (manifest.predictedStepSeconds > 0)
    line["predicted_step_time_s"] = manifest.predictedStepSeconds,
    line["prediction_measured"] = manifest.predictionMeasured;
  if (manifest.flopsPerToken > 0)
    line["flops_per_s"] = manifest.flopsPerToken * tokensPerStep() / report.seconds;
  if (double percent = utilization(report.seconds); percent > 0) {
    line["mfu_pct"] = percent;
    line["peak_flops_per_s"] = peakRate;
  }
  line["peak_memory_bytes"] = largest(report.memory, &RankMemory::peak);
  if (report.measured) {
    line["arena_memory_bytes"] = largest(report.memory, &RankMemory::arena);
    // Of the rank that needs most in each stage.
    nlohmann::ordered_json stages = nlohmann::ordered_json::array();
    for (size_t stage = 0; stage < manifest.devices.size(); ++stage) {
      RankMemory most = ofStage(manifest, report.memory, int64_t(stage));
      nlohmann::ordered_json entry{{"arena_memory_bytes", most.arena}, {"peak_memory_bytes", most.peak}};
      if (stage < manifest.predictedPeakBytes.size())
        entry["predicted_arena_memory_bytes"] = manifest.predictedPeakBytes[stage];
      stages.push_back(entry);
    }
    line["stages"] = stages;
  }
  if (double bytes = largest(manifest.predictedPeakBytes); bytes > 0)
    line["predicted_peak_memory_bytes"] = bytes;
  if (double bytes = largest(manifest.plannedMemoryBytes); bytes > 0)
    line["planned_memory_bytes"] = bytes;
  // Of the first rank: how long it has waited, and how long communication on streams was under way.
  line["exposed_communication_s"] = traffic.waitedSeconds - previous.waitedSeconds;
  line["stream_communication_s"] = traffic.carriedSeconds - previous.carriedSeconds;
  nlohmann::ordered_json bytes = nlohmann::ordered_json::object();
  for (size_t group = 0; group < manifest.groups.size(); ++group) {
    std::string name;
    for (int axis : manifest.groups[group].axes)
      name += (name.empty() ? "" : "*") + manifest.grid.axes()[axis].name;
    for (size_t i = 0; i < manifest.groups[group].stages.size(); ++i)
      name += (i ? "," : "@") + std::to_string(manifest.groups[group].stages[i]);
    double moved = traffic.groupBytes[group] - previous.groupBytes[group];
    bytes[name] = moved + (bytes.contains(name) ? bytes[name].get<double>() : 0.0);
  }
  bytes["messages"] = traffic.messageBytes - previous.messageBytes;
  line["communication_bytes"] = bytes;
  return line.dump();
}

std::string Metrics::progressText(int64_t step, const std::string &loss) const {
  constexpr int width = 30;
  int filled = options.steps ? int(width * step / options.steps) : 0;
  std::string left =
      counted > 0 ? format(", %.0f s left", otherSeconds / double(counted) * double(options.steps - step)) : "";
  return format("[%s%s] %lld/%lld%s%s", std::string(filled, '#').c_str(), std::string(width - filled, '.').c_str(),
                (long long)step, (long long)options.steps, loss.c_str(), left.c_str());
}

void Metrics::summarize(const StepReport &last) {
  if (options.quiet)
    return;
  double steps = counted > 0 ? double(counted) : double(std::max<int64_t>(reported, 1));
  double seconds = counted > 0 ? otherSeconds : firstSeconds;
  std::printf("done: %lld steps, loss %.7g, %.0f tokens/s, %.2f ms/step", (long long)last.step, last.loss,
              tokensPerStep() * steps / seconds, seconds / steps * 1e3);
  std::printf("%s", predictionText().c_str());
  std::printf(", exposed communication %.2f ms", (counted > 0 ? otherWaited : firstWaited) / steps * 1e3);
  if (manifest.flopsPerToken > 0)
    std::printf(", %.1f GFLOP/s", manifest.flopsPerToken * tokensPerStep() * steps / seconds * 1e-9);
  if (double percent = utilization(seconds / steps); percent > 0)
    std::printf(", MFU %.1f %% of the %.0f GFLOP/s that %s products of %lld reached at the start", percent,
                peakRate * 1e-9, info(manifest.precision).name, (long long)peakProductEdge);
  std::printf("\n%s\n", memoryText(last).c_str());
  std::fflush(stdout);
}

double Metrics::utilization(double seconds) const {
  return peakRate > 0 ? 100 * manifest.flopsPerToken * tokensPerStep() / seconds / peakRate : 0;
}

std::string Metrics::memoryText(const StepReport &report) const {
  std::string text = "memory per rank: arena " + formatBytes(largest(report.memory, &RankMemory::arena));
  if (double bytes = largest(manifest.predictedPeakBytes); bytes > 0) {
    constexpr double page = 4096;
    size_t equal = 0;
    for (size_t rank = 0; rank < report.memory.size(); ++rank) {
      double predicted = manifest.predictedPeakBytes[manifest.grid.stageOf(int64_t(rank))];
      equal += double(report.memory[rank].arena) == std::ceil(predicted / page) * page;
    }
    text += " (predicted " + formatBytes(bytes) + ", equal in " + format("%zu of %zu", equal, report.memory.size()) +
            " ranks)";
  }
  text += ", peak resident " + formatBytes(largest(report.memory, &RankMemory::peak)) +
          " with libraries and shared buffers";
  if (double bytes = largest(manifest.plannedMemoryBytes); bytes > 0)
    text += " (planned " + formatBytes(bytes) + ")";
  return text;
}

} // namespace ppcrt
