#include "PlanRun.h"

#include "ppc/Planning/Files/ChainPlanFile.h"
#include "ppc/Planning/Files/LayoutFile.h"
#include "ppc/Planning/TargetLimits.h"
#include "ppc/Reporting/PlanExport.h"
#include "ppc/Support/Heartbeat.h"
#include "ppc/Support/YamlReader.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir::ppc;

/// `FILE:LINE:COLUMN: error: MESSAGE` of readers becomes `FILE:LINE:COLUMN: MESSAGE`: the line says error once.
int mlir::ppc::fail(const llvm::Twine &message) {
  std::string text = message.str();
  if (size_t at = text.find(": error: "); at != std::string::npos)
    text.erase(at + 1, strlen(" error:"));
  llvm::errs() << "error: " << text << '\n';
  return 1;
}

int mlir::ppc::fail(llvm::Error error) { return fail(llvm::toString(std::move(error))); }

void mlir::ppc::note(const llvm::Twine &message) { llvm::errs() << "note: " << message << '\n'; }

int mlir::ppc::writeOutput(OutputFile &output, llvm::function_ref<int(llvm::raw_ostream &)> print) {
  int status = 0;
  llvm::Error error = output.write([&](llvm::raw_ostream &out) {
    status = print(out);
    return status ? llvm::createStringError("reported") : llvm::Error::success();
  });
  if (!status)
    return error ? fail(std::move(error)) : 0;
  llvm::consumeError(std::move(error));
  return status;
}

static llvm::Expected<Cluster> readCluster(const PlanOptions &options) {
  llvm::Expected<Cluster> cluster = findCluster(options.cluster);
  if (!cluster || !options.devices)
    return cluster;
  return restrictCluster(*cluster, options.devices);
}

/// Reads the model of a *.mlir; its inputs define a step.
static llvm::Error readModuleInput(const PlanOptions &options, PlanInput &input, bool needsShape) {
  if (options.sequence || options.globalBatch)
    return llvm::createStringError(
        options.model + ": --seq-len and --global-batch are for a config.json; a *.mlir says its shapes itself");
  if (llvm::StringRef(options.model).ends_with(".stablehlo.mlir"))
    return llvm::createStringError(
        options.model + ": StableHLO models cannot be read yet: give a config.json or a *.mlir in the ppc dialect");
  llvm::Expected<ModuleModel> module = readModule(options.model);
  if (!module)
    return module.takeError();
  if (!module->shape && needsShape)
    return llvm::createStringError(options.model + ": " + module->notTransformer);
  if (module->shape) {
    input.model = *module->shape;
    input.job = module->job;
  }
  input.module = std::move(*module);
  return llvm::Error::success();
}

/// Reads the shardings of ops, if the plan file has them: also for the program of a config.json.
static llvm::Error readCuts(const PlanOptions &options, PlanInput &input) {
  llvm::Expected<YamlReader> file = YamlReader::fromFile(options.planFile);
  if (!file)
    return file.takeError();
  if (!file->has("ops"))
    return llvm::Error::success();
  if (!input.module) {
    llvm::Expected<ModuleModel> module = readModule(options.model, input.job);
    if (!module)
      return module.takeError();
    input.module = std::move(*module);
  }
  llvm::Expected<OpCuts> cuts = readOpCuts(options.planFile, input.module->chain);
  if (!cuts)
    return cuts.takeError();
  input.cuts = std::move(*cuts);
  return llvm::Error::success();
}

/// Notes devices without matmuls in the requested precision.
static void noteStandIns(const PlanInput &input) {
  if (!input.constraints.isPinned(PlanKey::Precision))
    return;
  auto asked = static_cast<Precision>(input.constraints.pinned(PlanKey::Precision));
  for (const DeviceGroup &group : input.cluster.groups)
    if (Precision used = productPrecision(group.device, asked); used != asked)
      note(group.device.name + " has no matmuls in " + toString(asked) + "; they are planned in " + toString(used));
}

/// A model is trained for a number of positions: no longer sequence is planned unless that is asked for.
static llvm::Error checkPositions(const PlanOptions &options, ModelShape &model) {
  if (model.index && options.sequence > model.index.topK)
    return llvm::createStringError(
        llvm::formatv("{0}: key \"index_topk\": of --seq-len {1} tokens, sparse attention reads only {2}, which is not "
                      "planned; give at most {2}",
                      options.model, options.sequence, model.index.topK)
            .str());
  if (!model.maxPositions || options.sequence <= model.maxPositions)
    return llvm::Error::success();
  if (!options.scalePositions)
    return llvm::createStringError(
        llvm::formatv("{0} has {1} positions (max_position_embeddings or its like), --seq-len asks for {2}: give "
                      "--scale-positions to plan for a model whose positions are stretched to that, or at most {1}",
                      options.model, model.maxPositions, options.sequence)
            .str());
  note(llvm::formatv("{0} has {1} positions; planned as if they were stretched to {2}", options.model,
                     model.maxPositions, options.sequence));
  model.maxPositions = options.sequence;
  return llvm::Error::success();
}

llvm::Expected<PlanInput> mlir::ppc::readInput(const PlanOptions &options, bool needsShape) {
  PlanInput input;
  input.job = {options.sequence, options.globalBatch};
  if (llvm::StringRef(options.model).ends_with(".mlir")) {
    if (llvm::Error error = readModuleInput(options, input, needsShape))
      return std::move(error);
  } else {
    llvm::Expected<ModelConfig> config = readModelConfig(options.model);
    if (!config)
      return config.takeError();
    input.model = std::move(config->shape);
    for (const std::string &text : config->notes)
      note(input.model.name + ": " + text);
  }
  if (llvm::Error error = checkPositions(options, input.model))
    return std::move(error);
  llvm::Expected<Cluster> cluster = readCluster(options);
  if (!cluster)
    return cluster.takeError();
  input.cluster = std::move(*cluster);
  llvm::Expected<Stack> stack = findStack(options.stack);
  if (!stack)
    return stack.takeError();
  input.stack = std::move(*stack);
  input.software = softwareOf(input.stack);
  if (input.software)
    limitToSoftware(*input.software, input.constraints);
  if (options.programs && input.software)
    return llvm::createStringError("--target " + options.programs->name + " plans programs of ppc-compile, --stack " +
                                   options.stack + " is " + input.software->title + ": give one of them");
  if (options.programs)
    limitToTarget(*options.programs, input.constraints);
  // 16-bit matmuls if the device has them; programs for the CPU compute in f32.
  const Device &device = input.cluster.device();
  bool host = llvm::StringRef(device.architecture).starts_with("x86");
  input.base.attention = defaultAttention(device, input.stack);
  input.base.precision = productPrecision(device, host ? Precision::F32 : Precision::Bf16);
  // With several types of devices: the precision that all have, and the newest kernel, which others replace by the next
  // older one.
  for (const DeviceGroup &group : llvm::ArrayRef(input.cluster.groups).drop_front()) {
    if (group.device.peakOf(input.base.precision).value <= 0)
      input.base.precision = productPrecision(group.device, input.base.precision);
    if (input.base.attention != input.stack.attention)
      input.base.attention = defaultAttention(group.device, input.stack);
  }
  if (options.programs)
    input.base.attention = options.programs->attention;
  if (input.module && input.module->precision == Precision::Fp16)
    input.base.precision = Precision::Fp16;
  Bytes largest;
  for (const DeviceGroup &group : input.cluster.groups)
    largest = std::max(largest, group.device.memory);
  if (Bytes(options.memory) > largest)
    return llvm::createStringError(
        llvm::formatv(
            "--memory asks for {0} per device, {1} has {2} at most; a cluster file may describe one with more",
            toString(Bytes(options.memory)), input.cluster.name, toString(largest))
            .str());
  if (!options.planFile.empty()) {
    if (llvm::Error error = readLayoutFile(options.planFile, input.constraints))
      return std::move(error);
    if (input.module || (input.job.sequence && input.job.globalBatch))
      if (llvm::Error error = readCuts(options, input))
        return std::move(error);
  }
  auto ofOption = [](const GivenDecision &given, llvm::Error error) {
    return llvm::createStringError(given.option + ": " + llvm::toString(std::move(error)));
  };
  for (const GivenDecision &given : options.pins)
    if (llvm::Error error = input.constraints.pin(given.key, given.value))
      return ofOption(given, std::move(error));
  for (const GivenDecision &given : options.forbids)
    if (llvm::Error error = input.constraints.forbid(given.key, given.value))
      return ofOption(given, std::move(error));
  if (options.programs) {
    bool isPinned = input.constraints.isPinned(PlanKey::Precision);
    std::string part =
        refusedPin(*options.programs, input.constraints,
                   isPinned ? Precision(input.constraints.pinned(PlanKey::Precision)) : input.base.precision);
    if (!part.empty())
      return llvm::createStringError("programs of target " + options.programs->name + " cannot run " + part);
  }
  noteStandIns(input);
  input.trained = input.model;
  if (options.tuning.isAny()) {
    if (input.module)
      return llvm::createStringError(options.model + ": fine-tuning is planned for a config.json");
    if (llvm::Error error = verifyTuning(options.tuning, input.model, input.job, input.stack))
      return std::move(error);
    applyTuning(options.tuning, input.job, input.model, input.stack, input.constraints);
  }
  return input;
}

/// "120 grids done, 300 left, best step 1.2 s"
static std::string progressText(const SearchProgress &progress) {
  std::string text = llvm::formatv("{0} grids done, {1} left", progress.allDone, progress.left);
  if (progress.best.value > 0)
    text += ", best step " + toString(progress.best);
  return text;
}

/// "plans [#####...............] 120 grids done, 300 left, best step 1.2 s", on one line of the terminal. `shown`: how
/// much of the bar there is; it never gets shorter, though grids turn up while others are done.
static void drawProgress(const SearchProgress &progress, double &shown) {
  // Where the stages of a search begin, of all of it.
  static constexpr struct {
    const char *name;
    double begin;
  } stages[] = {{"bounds", 0}, {"plans", 0.1}, {"fewer devices", 0.5}, {"alternatives", 0.6}, {"frontier", 0.8}};
  double begin = 0, end = 1;
  for (size_t i = 0; i < std::size(stages); ++i)
    if (progress.stage == stages[i].name) {
      begin = stages[i].begin;
      end = i + 1 < std::size(stages) ? stages[i + 1].begin : 1;
    }
  double done = double(progress.done) / double(std::max<int64_t>(1, progress.done + progress.left));
  shown = std::max(shown, begin + (end - begin) * done);
  constexpr int64_t width = 24;
  int64_t filled = std::clamp<int64_t>(int64_t(shown * double(width)), 0, width);
  std::string bar(filled, '#');
  bar.append(width - filled, '.');
  llvm::errs() << "\r\033[K" << progress.stage << " [" << bar << "] " << progressText(progress);
}

/// With a progress bar where standard error is a terminal; elsewhere a long search says now and then how far it is.
static llvm::Expected<PlanSearchResult> search(PlanRequest request) {
  bool terminal = llvm::sys::Process::StandardErrIsDisplayed();
  Heartbeat::doing("search");
  double shown = 0;
  request.progress = [&](const SearchProgress &progress) {
    if (terminal)
      drawProgress(progress, shown);
    Heartbeat::progress(progress.stage.str() + ", " + progressText(progress), terminal);
  };
  llvm::Expected<PlanSearchResult> result = searchPlan(request);
  if (terminal)
    llvm::errs() << "\r\033[K";
  Heartbeat::doing("report");
  return result;
}

static PlanRequest requestOf(const PlanOptions &options, const PlanInput &input) {
  bool whole = options.emit == PlanOutput::Html || options.emit == PlanOutput::Json;
  bool lists = whole || options.emit == PlanOutput::Table; // others write the best plan alone
  std::function<std::string(const ParallelLayout &)> refuse;
  if (const TargetCapabilities *target = options.programs)
    refuse = [target, &input](const ParallelLayout &layout) {
      std::string part = input.module ? input.module->chain.refusals.of(layout, input.job.globalBatch) : "";
      return part.empty() ? lackedBy(*target, input.model, layout, input.job.sequence) : part;
    };
  if (input.software)
    refuse = [&input](const ParallelLayout &layout) { return lackingPart(*input.software, input.model, layout); };
  return {input.model,
          input.job,
          input.cluster,
          input.stack,
          input.base,
          input.constraints,
          Bytes(options.memory),
          options.cutOps ? std::max<int64_t>(options.top, kComparedPlans)
          : lists        ? options.top
                         : 1,
          /*frontier=*/options.frontier || whole,
          /*alternatives=*/(options.emit == PlanOutput::Table && !options.brief) || whole,
          /*fewerDevices=*/true,
          /*simulate=*/true,
          /*timeTolerance=*/0,
          /*refuse=*/std::move(refuse)};
}

static int writeExport(const PlanOptions &options, const PlanReport &report, ExportTarget target,
                       llvm::raw_ostream &out) {
  std::optional<ModelConfig> config;
  std::optional<ModelShape> shape; // without the changes of fine-tuning for the cost model
  if (!llvm::StringRef(options.model).ends_with(".mlir")) {
    llvm::Expected<ModelConfig> read = readModelConfig(options.model);
    if (!read)
      return fail(read.takeError());
    config = std::move(*read);
    shape = config->shape;
    shape->maxPositions = std::max(shape->maxPositions, report.job.sequence);
  }
  llvm::Expected<ExportedPlan> exported =
      exportPlan(target, {shape ? *shape : report.model, config ? &*config : nullptr, report.job,
                          report.plans[0].layout, report.cluster.unitSize(), options.tuning});
  if (!exported)
    return fail(exported.takeError());
  out << exported->text;
  return 0;
}

static int writeTables(const PlanOptions &options, const PlanReport &report, llvm::raw_ostream &out) {
  if (options.explain.empty()) {
    printPlans(report, out);
    if (options.frontier)
      printFrontier(report, out);
  }
  for (size_t i = 0; i < options.explain.size(); ++i) {
    if (i)
      out << '\n';
    if (llvm::Error error = printExplanation(report, options.explain[i], out))
      return fail(std::move(error));
  }
  return 0;
}

int mlir::ppc::writeReport(const PlanOptions &options, const PlanReport &report, llvm::raw_ostream &out) {
  const ReportedPlan &best = report.plans[0];
  switch (options.emit) {
  case PlanOutput::Table:
    return writeTables(options, report, out);
  case PlanOutput::Plan: {
    const Plan &searched = report.search.plans[0];
    out << "# " << report.model.name << " on " << report.cluster.name << ": " << toString(bestTime(searched))
        << " per step" << (searched.simulated ? " replayed" : "") << ", " << toString(best.cost.peakMemory)
        << " per device (predicted)\n";
    writeLayoutFile(report.model, report.job, best.layout, *options.compiled, out);
    return 0;
  }
  case PlanOutput::Json:
    out << llvm::formatv("{0:2}\n", toJson(report));
    return 0;
  case PlanOutput::Html:
    writePage(report, out);
    return 0;
  case PlanOutput::Trace:
    if (llvm::Error error = writeTrace(report, out))
      return fail(std::move(error));
    return 0;
  case PlanOutput::Export:
    return writeExport(options, report, options.target, out);
  }
  return 1;
}

/// Notes pins without effect in the best plan. A plan file pins every key.
static void noteIdlePins(const PlanOptions &options, const PlanInput &input, const PlanReport &report) {
  for (const GivenDecision &given : options.pins) {
    llvm::Expected<PlanKey> key = parsePlanKey(given.key);
    if (!key) {
      llvm::consumeError(key.takeError());
      continue;
    }
    std::string why = whyIdle(report, *key);
    if (!why.empty() && input.constraints.pinned(*key) != planNeutralValue(*key))
      note(toString(*key) + " " + given.value + " is asked for, but " + why);
  }
}

/// Reports infeasibility: the limit and possible requests; programs and pages get it as data, too.
static int reportInfeasible(const PlanOptions &options, const PlanReport &report, OutputFile &output) {
  if (options.emit == PlanOutput::Json || options.emit == PlanOutput::Html)
    (void)writeOutput(output, [&](llvm::raw_ostream &out) {
      if (options.emit == PlanOutput::Json)
        out << llvm::formatv("{0:2}\n", toJson(report));
      else
        writePage(report, out);
      return 0;
    });
  llvm::errs() << "error: ";
  printInfeasibility(*report.search.infeasibility, llvm::errs());
  return 1;
}

int mlir::ppc::plan(const PlanOptions &options, OutputFile &output) {
  llvm::Expected<PlanInput> input = readInput(options, /*needsShape=*/false);
  if (!input)
    return fail(input.takeError());
  if (input->module && options.programs && !input->module->chain.refusals.model.empty())
    return fail(input->module->chain.refusals.model);
  if (input->module && (!input->module->shape || !input->cuts.empty()))
    return planChain(options, *input, output);
  if (!input->job.sequence || !input->job.globalBatch)
    return fail(llvm::Twine(options.model) +
                " does not say what a step is: give --seq-len (tokens) and --global-batch (sequences)");
  PlanRequest request = requestOf(options, *input);
  llvm::Expected<PlanSearchResult> result = search(request);
  if (!result)
    return fail(result.takeError());
  llvm::Expected<PlanReport> report = makeReport(request, std::move(*result), *options.compiled);
  if (!report)
    return fail(report.takeError());
  report->assumesStack = options.assumesStack;
  if (input->module)
    report->refusals = input->module->chain.refusals;
  if (report->plans.empty() && report->search.infeasibility)
    return reportInfeasible(options, *report, output);
  if (report->plans.empty())
    return fail("the search ended without a plan");
  if (llvm::Error error = addPhases(options.tuning, input->trained, *report))
    return fail(std::move(error));
  noteIdlePins(options, *input, *report);
  bool listsNotes = options.emit == PlanOutput::Json || options.emit == PlanOutput::Html ||
                    (options.emit == PlanOutput::Table && options.explain.empty());
  if (!listsNotes)
    for (const std::string &text : report->search.notes)
      note(text);
  if (options.cutOps)
    return planOps(options, *input, *report, output);
  return writeOutput(output, [&](llvm::raw_ostream &out) { return writeReport(options, *report, out); });
}

llvm::Expected<double> mlir::ppc::predictMfu(const PlanOptions &options) {
  llvm::Expected<PlanInput> input = readInput(options);
  if (!input)
    return input.takeError();
  PlanRequest request = requestOf(options, *input);
  request.alternatives = request.frontier = false;
  llvm::Expected<PlanSearchResult> result = search(request);
  if (!result)
    return result.takeError();
  if (result->plans.empty())
    return llvm::createStringError(result->infeasibility ? result->infeasibility->reason
                                                         : "the search ended without a plan");
  return result->plans[0].cost.mfu;
}
