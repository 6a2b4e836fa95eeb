// Preparation, the step loop, and what is measured in it.
#include "runtime/launch/Training.h"
#include "runtime/core/Error.h"
#include "runtime/core/LearningRate.h"
#include "runtime/core/TokenData.h"
#include "runtime/host/Memory.h"
#include "runtime/host/PeakRate.h"
#include "runtime/launch/MachineCheck.h"

#include <algorithm>
#include <cstdio>

namespace ppcrt {

template <size_t n> static int indexOf(const char *const (&names)[n], const std::string &name) {
  return int(std::find(names, names + n, name) - names);
}

Training::Training(const ppcrt_program &program, const Manifest &manifest, const Options &options)
    : program(program), manifest(manifest), options(options) {
  if (options.synthetic) {
    tokens = std::make_unique<RandomTokens>(manifest.sequenceLength, manifest.vocabulary, options.seed);
    return;
  }
  if (options.data.empty()) // a check of the machine alone
    return;
  DataRequest request;
  request.path = options.data;
  request.format = DataFormat(indexOf(dataFormatNames, options.dataFormat));
  request.order = OrderKind(indexOf(orderNames, options.order));
  request.sequenceLength = manifest.sequenceLength;
  request.vocabulary = manifest.vocabulary;
  request.seed = options.seed;
  tokens = std::make_unique<TokenData>(request);
}

void Training::createOutputs() {
  if (std::string data = tokens ? tokens->describe() : ""; !data.empty() && !options.quiet)
    std::printf("data: %s\n", data.c_str());
  if (options.checkMachine)
    return;
  log = LineFile(options.log);
  losses = LineFile(options.saveLosses);
  if (!options.trace.empty())
    trace = std::make_unique<TraceFile>(options.trace);
  if (!options.saveParameters.empty())
    saved.push_back(std::make_unique<TensorFile>(options.saveParameters, manifest, Role::Parameter));
  if (!options.saveGradients.empty())
    saved.push_back(std::make_unique<TensorFile>(options.saveGradients, manifest, Role::Gradient));
}

void Training::joinOutputs() {
  if (options.checkMachine)
    return;
  if (!options.saveParameters.empty())
    saved.push_back(TensorFile::join(options.saveParameters, manifest, Role::Parameter));
  if (!options.saveGradients.empty())
    saved.push_back(TensorFile::join(options.saveGradients, manifest, Role::Gradient));
}

void Training::run(Transport &transport, std::byte *arena, std::atomic<int64_t> &runningStep) {
  if (options.checkMachine)
    return checkMachine(manifest, transport, arena);
  RankContext context(transport);
  RankContext::current = &context;
  std::unique_ptr<TraceRecorder> recorder;
  if (!options.trace.empty())
    recorder = std::make_unique<TraceRecorder>();
  context.observer = recorder.get();
  PlanExecutor executor(manifest, program, context, arena, *tokens, recorder.get());
  executor.initializeParameters(options.seed);
  LearningRate schedule{options.learningRate, options.minimumLearningRate, options.warmup, options.steps};
  std::unique_ptr<Metrics> metrics;
  double peakRate = options.quiet && options.log.empty() ? 0 : measurePeakRate(transport);
  if (transport.rank() == 0)
    metrics = std::make_unique<Metrics>(manifest, options, log, losses, peakRate);
  StepReport report{};
  transport.barrier(Transport::everyRank);
  for (int64_t step = 1; step <= options.steps; ++step) {
    runningStep = step;
    double start = now();
    report.step = step;
    report.learningRate = schedule.at(step);
    if (recorder)
      recorder->beginStep(step);
    StepResult result = executor.run(step, report.learningRate);
    if (recorder)
      recorder->endStep();
    report.seconds = now() - start;
    report.loss = result.loss;
    report.gradNorm = result.gradNorm;
    report.measured = step == 1 || step == options.steps;
    if (report.measured)
      measureMemory(transport, arena, report);
    if (metrics)
      metrics->report(report, context.traffic);
  }
  for (const auto &file : saved)
    file->writeBlocks(manifest, transport.rank(), arena);
  if (recorder)
    if (int64_t omitted = mergeTraces(*recorder, manifest, transport, trace.get()); omitted > 0 && metrics)
      std::fprintf(stderr, "warning: %s lacks the last %lld slices of a rank: trace fewer steps\n",
                   options.trace.c_str(), (long long)omitted);
  if (metrics)
    metrics->summarize(report);
  transport.barrier(Transport::everyRank); // nobody leaves before all have written
  RankContext::current = nullptr;
}

void Training::measureMemory(Transport &transport, const std::byte *arena, StepReport &report) const {
  RankMemory mine{residentBytes(arena, manifest.stageOf(transport.rank()).arenaBytes), peakResidentBytes()};
  report.memory.resize(transport.rank() == 0 ? transport.rankCount() : 0);
  transport.gather(&mine, sizeof mine, report.memory.data());
}

void Training::commitOutputs() {
  for (const auto &file : saved)
    file->commit();
}

} // namespace ppcrt
