// Preparation, the step loop, and what is measured in it.
#include "runtime/launch/Training.h"
#include "ppc/Support/Limits.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/FiniteCheck.h"
#include "runtime/core/LearningRate.h"
#include "runtime/core/OperationProfile.h"
#include "runtime/core/PeakRate.h"
#include "runtime/host/Memory.h"
#include "runtime/host/Threads.h"
#include "runtime/launch/MachineCheck.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

namespace ppcrt {

template <size_t n> static int indexOf(const char *const (&names)[n], const std::string &name) {
  return int(std::find(names, names + n, name) - names);
}

// Which buffers are to be written to which files.
struct SavedRole {
  const char *option;
  std::string path;
  Role role;
};
static std::vector<SavedRole> savedRoles(const Options &options) {
  std::vector<SavedRole> result;
  if (!options.saveParameters.empty())
    result.push_back({"--save-parameters", options.saveParameters, Role::Parameter});
  if (!options.saveGradients.empty())
    result.push_back({"--save-gradients", options.saveGradients, Role::Gradient});
  return result;
}

DataRequest dataRequest(const Options &options, const Manifest &manifest) {
  DataRequest request;
  request.path = options.data;
  request.format = DataFormat(indexOf(dataFormatNames, options.dataFormat));
  if (options.tokenizer != "bytes")
    request.tokenizer = options.tokenizer;
  request.order = OrderKind(indexOf(orderNames, options.order));
  request.sequenceLength = manifest.sequenceLength;
  request.vocabulary = manifest.vocabulary;
  request.paddingToken = manifest.weights.paddingToken;
  request.seed = options.seed;
  return request;
}

Training::Training(const Manifest &manifest, const Options &given, const RunSetting &setting)
    : manifest(manifest), options(given), emulation(setting.emulation), runNumber(setting.run),
      checkpoints(manifest, options, setting.lock) {
  if (!options.profile.empty() && manifest.operations.empty())
    throw InputError("--profile: this program does not measure its operations: compile it with ppc-compile --profile");
  if (!options.profile.empty())
    forOption("--profile", [&] { NewFile file(options.profile); }); // what cannot be written is known now, not later
  if (!options.weights.empty() && !checkpoints.hasCandidates())
    weights = std::make_unique<WeightFiles>(options.weights, manifest);
  openData(setting);
  if (!options.checkpointDir.empty() && tokens)
    checkpoints.identify(ppcrt::identify(manifest, options, tokens->identity(), setting.transport, setting.threads));
}

void Training::openData(const RunSetting &setting) {
  DataRequest request = dataRequest(options, manifest);
  request.pipes = std::string(setting.transport) == "local";
  if (options.synthetic)
    tokens = std::make_unique<RandomTokens>(manifest.sequenceLength, manifest.vocabulary, options.seed);
  else if (!options.data.empty()) { // or it is a check of the machine alone, or trains nothing
    auto data = std::make_unique<TokenData>(request);
    dataNotes.push_back(data->note());
    if (data->padding())
      dataNotes.push_back(
          format("%s holds token %lld, the model's pad_token_id, %lld times in what was looked at: its row of "
                 "the embedding begins and learns like every other, where transformers begins with zeros and "
                 "gives it no gradient, as ppc-compile --padding-row untrained does",
                 options.data.c_str(), (long long)request.paddingToken, (long long)data->padding()));
    tokens = std::move(data);
  }
  if (options.evalData.empty())
    return;
  request.path = options.evalData;
  request.order = OrderKind::Sequential;
  heldOut =
      std::make_unique<Evaluation>(std::make_unique<TokenData>(request), manifest.globalBatch, options.evalBatches);
  if (options.evalData != options.data)
    dataNotes.push_back(heldOut->data().note());
}

std::vector<RunFact> Training::facts() const {
  std::string candidates = checkpoints.describeCandidates();
  return {{"checkpoints to go on from", candidates, candidates}};
}

// Files that a run has left beside those that this one writes: they may be large, and nobody else removes them.
static void noteAbandoned(const Options &options) {
  std::vector<std::string> paths = {options.saveParameters, options.saveGradients, options.trace, options.profile,
                                    options.saveDurations};
  std::error_code failure;
  std::set<std::string> targets;
  for (std::filesystem::directory_iterator entry(options.saveWeights, failure), end;
       !options.saveWeights.empty() && !failure && entry != end; entry.increment(failure))
    if (size_t at = entry->path().string().rfind(".partial-"); at != std::string::npos)
      targets.insert(entry->path().string().substr(0, at));
  paths.insert(paths.end(), targets.begin(), targets.end());
  for (const std::string &path : paths)
    for (const std::string &left : path.empty() ? std::vector<std::string>() : abandonedPartials(path))
      std::fprintf(stderr,
                   "note: %s is left of a run that ended before it was complete: remove it, unless a run on another "
                   "machine writes it\n",
                   left.c_str());
}

void Training::createOutputs() {
  if (std::string data = tokens ? tokens->describe() : ""; !data.empty() && !options.quiet)
    std::printf("data: %s\n", data.c_str());
  if (heldOut && !options.quiet)
    std::printf("evaluation: %s\n", heldOut->data().describe().c_str());
  if (std::string note = heldOut ? heldOut->note(options.evalData) : ""; !note.empty() && !options.quiet)
    std::fprintf(stderr, "note: %s\n", note.c_str());
  if (weights && !options.quiet)
    std::printf("weights: %lld tensors, %s\n", (long long)weights->tensorCount(),
                formatBytes(double(weights->bytes())).c_str());
  if (std::string unread = weights ? weights->note() : ""; !unread.empty() && !options.quiet)
    std::fprintf(stderr, "note: %s\n", unread.c_str());
  for (const std::string &note : dataNotes)
    if (!note.empty() && !options.quiet)
      std::fprintf(stderr, "note: %s\n", note.c_str());
  if (options.checkMachine)
    return;
  if (!options.quiet)
    noteAbandoned(options);
  checkpoints.prepare();
  log = forOption("--log", [&] { return LineFile(options.log); });
  losses = forOption("--save-losses", [&] { return LineFile(options.saveLosses); });
  if (!options.trace.empty())
    trace = forOption("--trace", [&] { return std::make_unique<TraceFile>(options.trace); });
  for (const SavedRole &one : savedRoles(options))
    saved.push_back(forOption(one.option, [&] {
      return std::make_unique<TensorFile>(one.path, runNumber, manifest, one.role, logicalTensors(manifest, one.role));
    }));
  if (!options.saveWeights.empty())
    savedWeights = forOption("--save-weights", [&] {
      return std::make_unique<WeightFolder>(options.saveWeights, runNumber, manifest, options.weightFileBytes,
                                            options.weightType == "bf16");
    });
}

void Training::joinOutputs() {
  if (options.checkMachine)
    return;
  for (const SavedRole &one : savedRoles(options))
    saved.push_back(TensorFile::join(one.path, runNumber, manifest, one.role, logicalTensors(manifest, one.role)));
  if (!options.saveWeights.empty())
    savedWeights = WeightFolder::join(options.saveWeights, runNumber, manifest, options.weightFileBytes,
                                      options.weightType == "bf16");
}

void Training::run(Transport &transport, DeviceMemory &memory, RoutineCode &code, RankProgress &progress) {
  if (options.checkMachine)
    return checkMachine(manifest, transport, memory);
  RankContext context(transport);
  ProgressMarks marks(progress, manifest.deviceOf(transport.rank()).routines.size());
  context.marks = options.slowRank > 0 ? &marks : nullptr;
  std::unique_ptr<TraceRecorder> recorder;
  if (!options.trace.empty())
    recorder = std::make_unique<TraceRecorder>();
  context.observer = recorder.get();
  RandomTokens none(manifest.sequenceLength, manifest.vocabulary, options.seed); // of a run without steps
  const TokenSource &source = tokens ? *tokens : static_cast<const TokenSource &>(none);
  PlanExecutor executor(manifest, code, context, memory, source, recorder.get());
  if (heldOut && !executor.canEvaluate())
    throw InputError("--eval-data: the program has no function that evaluates: compile it again");
  FiniteCheck finiteCheck(manifest, transport, memory, options.onNotFinite == "stop");
  executor.watch(&finiteCheck);
  int64_t done = checkpoints.resume(transport, memory);
  if (!done)
    executor.initializeParameters(options.seed, weights.get());
  weights.reset();
  if (!options.saveGradients.empty() && done >= options.steps)
    throw InputError(format("--save-gradients: step %lld, the last one, is done already, and gradients are not kept: "
                            "give more --steps",
                            (long long)done));
  std::unique_ptr<EmulatedBodies> bodies;
  if (emulation)
    bodies = std::make_unique<EmulatedBodies>(*emulation, manifest, transport, executor.streams(), availableCores());
  executor.emulate(bodies.get());
  std::unique_ptr<OperationProfile> profile;
  if (!options.profile.empty())
    profile = std::make_unique<OperationProfile>(manifest.operations.size());
  context.profile = profile.get();
  double profiled = 0;
  LearningRate schedule{options.learningRate, options.minimumLearningRate, options.warmup, options.steps};
  std::unique_ptr<Metrics> metrics;
  // Of the processor: that of a GPU is not measured.
  bool rates = manifest.target == Target::Host && done < options.steps && !(options.quiet && options.log.empty());
  double peakRate = rates ? measurePeakRate(transport, manifest.precision) : 0;
  StepReport report{};
  transport.barrier(Transport::everyRank);
  if (transport.rank() == 0) {
    log.keep(done);
    if (int64_t lines = losses.keep(done); lines < done && !options.quiet)
      std::fprintf(stderr, "note: %s holds %lld of the %lld steps before: line i is not step i\n",
                   options.saveLosses.c_str(), (long long)lines, (long long)done);
    metrics = std::make_unique<Metrics>(manifest, options, log, losses, peakRate);
  }
  auto begin = [&](const std::string &activity) {
    if (metrics)
      metrics->begin(activity);
  };
  auto loss = [&](int64_t batch, const TokenSource &samples) { return executor.evaluate(batch, samples); };
  if (heldOut && done >= options.steps) { // no step is left to evaluate after
    begin("evaluation");
    double found = heldOut->run(loss, transport.rank() == 0 && !options.quiet);
    if (metrics)
      metrics->reportEvaluation(done, found);
  }
  for (int64_t step = done + 1; step <= options.steps; ++step) {
    progress.step = step;
    if (bodies)
      bodies->beginStep();
    report.prepares = bodies && bodies->isCalibrating();
    begin(format("step %lld", (long long)step));
    double start = now();
    report.step = step;
    report.learningRate = schedule.at(step);
    if (recorder)
      recorder->beginStep(step);
    StepResult result = executor.run(step, report.learningRate);
    if (recorder)
      recorder->endStep();
    if (profile)
      code.addTimes(*profile);
    report.seconds = now() - start;
    profiled += report.seconds;
    if (profile && step == done + 1 && step < options.steps) { // memory is touched for the first time in it
      profile->restart();
      profiled = 0;
    }
    report.evaluated = heldOut && (step == options.steps || (options.evalEvery && step % options.evalEvery == 0));
    if (report.evaluated)
      begin(format("evaluation after step %lld", (long long)step));
    if (report.evaluated)
      report.evalLoss = heldOut->run(loss, transport.rank() == 0 && !options.quiet);
    report.loss = result.loss;
    report.gradNorm = result.gradNorm;
    report.measured = step == done + 1 || step == options.steps;
    if (report.measured)
      measureMemory(transport, memory, report);
    if (metrics)
      metrics->report(report, context.traffic, now());
    begin(format("checkpoints after step %lld", (long long)step));
    checkpoints.afterStep(transport, memory, step);
  }
  if (profile)
    profile->write(manifest, transport, options.profile, std::max<int64_t>(1, options.steps - done - 1), profiled);
  for (const auto &file : saved)
    file->writeBlocks(manifest, transport.rank(), memory);
  if (recorder)
    if (int64_t omitted = mergeTraces(*recorder, manifest, transport, trace.get()); omitted > 0 && metrics)
      std::fprintf(stderr, "warning: %s lacks the last %lld slices of a rank: trace fewer steps\n",
                   options.trace.c_str(), (long long)omitted);
  if (savedWeights)
    savedWeights->writeBlocks(manifest, transport.rank(), memory);
  if (metrics && done < options.steps)
    metrics->summarize(report);
  if (bodies)
    concludeEmulation(*bodies, transport);
  progress.lacksCheckpoint = checkpoints.lacking();
  transport.barrier(Transport::everyRank); // nobody leaves before all have written
}

void Training::checkCheckpoints(const RankProgress &progress) const {
  if (int64_t step = progress.lacksCheckpoint)
    throw InputError(format("the run has done its steps, and its last checkpoint, of step %lld, could not be written",
                            (long long)step));
}

void Training::concludeEmulation(const EmulatedBodies &bodies, Transport &transport) const {
  constexpr double mostLate = 0.01;
  EmulatedBodies::Lateness lateness = bodies.lateness();
  if (transport.rank() != 0)
    return;
  if (bodies.isCalibrating())
    throw InputError(format("--emulate: the first %lld steps measure how long bodies take: --steps %lld has none after "
                            "them",
                            (long long)EmulatedBodies::calibrationSteps, (long long)options.steps));
  double share = lateness.all ? double(lateness.late) / double(lateness.all) : 0;
  std::string text =
      format("%lld of %lld bodies were late (%.2f %%)", (long long)lateness.late, (long long)lateness.all, 100 * share);
  if (share > mostLate)
    throw InputError("--emulate: " + text +
                     ", and the steps are not those of the emulated machine: give a larger "
                     "slowdown, or leave the machine alone");
  if (!options.quiet)
    std::printf("emulation: bodies take %s, %s\n",
                bodies.slowdownOfBodies() > 0 ? format("%.3g times as long as here", bodies.slowdownOfBodies()).c_str()
                                              : "the given times",
                text.c_str());
  if (options.saveDurations.empty())
    return;
  forOption("--save-durations", [&] {
    NewFile file(options.saveDurations);
    file.append(durationsText(manifest, bodies.slowdownOfBodies(), bodies.allDurations()));
    file.commit();
  });
}

void Training::measureMemory(Transport &transport, const DeviceMemory &memory, StepReport &report) const {
  RankMemory mine{memory.touchedBytes(), peakResidentBytes()};
  report.memory.resize(transport.rank() == 0 ? transport.rankCount() : 0);
  transport.gather(&mine, sizeof mine, report.memory.data());
}

void Training::commitOutputs() {
  for (const auto &file : saved)
    file->commit();
  if (savedWeights)
    savedWeights->commit();
}

} // namespace ppcrt
