// One run of the compiler: a model through all phases.
#include "Compilation.h"
#include "Remarks.h"
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "ppc/Analysis/Mathematics.h"
#include "ppc/Analysis/ModelRecord.h"
#include "ppc/Analysis/ModuleFile.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Cluster/Cluster.h"
#include "ppc/Codegen/Manifest.h"
#include "ppc/Equivalence/EquivalenceChecker.h"
#include "ppc/Import/HuggingFace.h"
#include "ppc/Phases/TargetPhases.h"
#include "ppc/Phases/TrainRefusals.h"
#include "ppc/Support/Heartbeat.h"
#include "ppc/Support/Limits.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "ppc/Transforms/Plan/PlanFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include <chrono>
#include <ctime>

namespace mlir::ppc {

/// Wall time, and the processor time of all threads, since it was made.
struct Compilation::Stopwatch {
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
  double processorSeconds() const { return double(std::clock() - processorStart) / CLOCKS_PER_SEC; }
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::clock_t processorStart = std::clock();
};

void reportError(const Twine &message) { llvm::errs() << "error: " << message << "\n"; }

/// Says once what the program will not have of the published model.
static void noteLeftOut(const ModelConfig &config) {
  static bool said = false;
  if (std::exchange(said, true))
    return;
  const ModelShape &shape = config.shape;
  for (const std::string &text : config.notes)
    llvm::errs() << "note: " << shape.name << ": " << text << "\n";
  if (shape.predictionLayers)
    llvm::errs() << "note: " << shape.name << ": multi-token prediction layers are left out\n";
  if (shape.moe.scoreBias)
    llvm::errs() << "note: " << shape.name
                 << ": nothing balances the experts: their score correction biases stay as they are, zero where no "
                    "weights are loaded\n";
}

int64_t Compilation::rankCount() const {
  auto plan = (*module)->getAttrOfType<PlanAttr>(attr::plan);
  return plan.getGrid().deviceCount() * plan.getPipelineDevices();
}

bool Compilation::load() {
  StringRef path = options.model;
  double flopsPerToken = 0;
  std::string name = "model";
  if (path.ends_with(".stablehlo.mlir"))
    return reportError(path +
                       ": StableHLO models cannot be read yet: give a config.json or a *.mlir in the ppc dialect"),
           false;
  if (!llvm::sys::fs::exists(path))
    return reportError(path + ": no such file or folder"), false;
  if (isHuggingFaceModel(path)) {
    if (!options.sequenceLength || !options.globalBatch)
      return reportError(path + ": a config does not say the shape of its data: give --seq-len and --global-batch"),
             false;
    llvm::Expected<ModelConfig> config = readModelConfig(path);
    if (!config)
      return reportError(llvm::toString(config.takeError())), false;
    noteLeftOut(*config);
    if (options.untrainedPadding && !config->paddingToken)
      llvm::errs() << "note: " << config->shape.name << ": the reference trains every row of this embedding, which "
                   << "--padding-row=untrained does not change\n";
    HuggingFaceOptions import{options.sequenceLength, options.globalBatch, options.expertCapacityFactor,
                              options.untrainedPadding};
    llvm::Expected<OwningOpRef<ModuleOp>> imported = buildModel(*config, import, context);
    if (!imported)
      return reportError(llvm::toString(imported.takeError())), false;
    module = std::move(*imported);
    recordModelShape(*module, config->shape);
    flopsPerToken = modelFlopsPerToken(config->shape, options.sequenceLength);
    configText = config->text;
    name = config->shape.family;
  } else if (path.ends_with(".mlir")) {
    if (options.sequenceLength || options.globalBatch)
      return reportError(path +
                         ": --seq-len and --global-batch are for a config.json; a *.mlir says its shapes itself"),
             false;
    if (options.untrainedPadding)
      return reportError(path +
                         ": --padding-row is for a config.json; a *.mlir says padding_index of its ppc.embedding"),
             false;
    module = readModuleFile(path, context);
    if (!module)
      return false;
    if (StringAttr symbol = module->getSymNameAttr())
      name = symbol.str();
  } else {
    return reportError(path + ": unknown kind of model: expected a config.json, a folder that holds one, or a *.mlir"),
           false;
  }
  mathematics["model"] = modelMathematics(*module); // of which precision takes nothing away
  return runPhase("import", [&](OpPassManager &pm) { buildImportPhase(pm, options.precision); }) &&
         succeeded(recordModel(*module, name, flopsPerToken));
}

bool Compilation::runPhase(StringRef name, function_ref<void(OpPassManager &)> build) {
  Heartbeat::doing("phase " + name.str());
  Stopwatch watch;
  PassManager pm(&context);
  // A phase ends in a pass that checks its contract, and what every op says of itself is checked once here; ppc-opt
  // does it after each pass.
  pm.enableVerifier(false);
  build(pm);
  bool ok = succeeded(pm.run(*module)) && succeeded(mlir::verify(*module));
  printTime(name, watch);
  return ok;
}

void Compilation::printTime(StringRef phase, const Stopwatch &watch) {
  if (options.verbose)
    llvm::errs() << llvm::format("%-10s %8.3f s, processor %8.3f s\n", phase.str().c_str(), watch.seconds(),
                                 watch.processorSeconds());
}

bool Compilation::verify(ModuleOp logical) {
  Heartbeat::doing("proof that the partitioned program computes what the model says (--no-verify leaves it out)");
  Stopwatch watch;
  FailureOr<EquivalenceReport> report = checkEquivalence(logical, *module);
  printTime("verify", watch);
  if (failed(report))
    return reportError("the partitioned program does not compute what the model says: this is an error of the "
                       "compiler, or of a plan that it "
                       "cannot follow (--no-verify compiles all the same)"),
           false;
  return true;
}

static bool refuseRotation() {
  reportError("--rotate=on: no parameters are cut, so there is nothing to rotate: it takes --zero 3, and --dp or --cp "
              "above 1");
  return false;
}

bool Compilation::setPlan(StringRef phase, function_ref<void(OpPassManager &)> build) {
  if (!runPhase(phase, build))
    return false;
  if (!options.overlap) // no plan file says it
    (*module)->setAttr(attr::plan, (*module)->getAttrOfType<PlanAttr>(attr::plan).withOverlap(false));
  if (options.rotate && !singleDevice) { // nothing of one rank is cut
    auto plan = (*module)->getAttrOfType<PlanAttr>(attr::plan);
    if (!plan.getStorage())
      return refuseRotation();
    (*module)->setAttr(attr::plan, plan.withRotation(true));
  }
  if (options.pieces && !singleDevice) // one rank sums nothing over others
    (*module)->setAttr(attr::plan, (*module)->getAttrOfType<PlanAttr>(attr::plan).withPieces(options.pieces));
  recordPlan();
  return true;
}

bool Compilation::overlaps() const { return (*module)->getAttrOfType<PlanAttr>(attr::plan).overlaps(); }

void Compilation::recordPlan() {
  auto plan = (*module)->getAttrOfType<PlanAttr>(attr::plan);
  if (std::string cuts = opCutsText(*module, plan); !cuts.empty()) // before differentiation, for good
    opCuts = std::move(cuts);
  planYaml = planText(plan) + opCuts;
  if (DictionaryAttr predicted = prediction(); predicted && !isPricedAsProcessors())
    planYaml += predictionText(predicted);
}

DictionaryAttr Compilation::prediction() const { return (*module)->getAttrOfType<DictionaryAttr>("ppc.prediction"); }

/// Of GPUs nothing is known where no cluster is named, so that nothing is predicted for them.
bool Compilation::isPricedAsProcessors() const { return options.target != &hostTarget() && options.cluster.empty(); }

void Compilation::notePlan() const {
  DictionaryAttr predicted = prediction();
  if (!predicted)
    return;
  ArrayRef<int64_t> memory = predicted.getAs<DenseI64ArrayAttr>("memory_bytes").asArrayRef();
  llvm::errs() << "note: plan: " << predicted.getAs<StringAttr>("layout").getValue();
  if (isPricedAsProcessors()) {
    llvm::errs() << "; chosen as for processors of this machine: name the GPUs with --cluster\n";
    return;
  }
  llvm::errs() << "; predicted " << toString(Seconds(predicted.getAs<FloatAttr>("step_time_s").getValueAsDouble()))
               << " per step";
  if (!memory.empty())
    llvm::errs() << ", " << toString(Bytes(double(*llvm::max_element(memory)))) << " per rank";
  if (predicted.contains("unmeasured"))
    llvm::errs() << " (by constants of another machine; ppc-bench measures this one, for --cluster)";
  llvm::errs() << "\n";
}

/// What the ranks must be a multiple of; reports when they are not, or, when nothing else is open, when they are not
/// just that.
bool Compilation::checkDegrees(int64_t ranks) {
  int64_t product = 1;
  std::string names;
  for (auto [name, degree] : {std::pair("--dp ", options.dp), std::pair("--cp ", options.cp),
                              std::pair("--tp ", options.tp), std::pair("--pp ", options.pp)})
    if (degree) {
      product *= *degree;
      names += (names.empty() ? "" : " x ") + (name + std::to_string(*degree));
    }
  if (options.dp && options.tp && options.pp && product != ranks)
    return reportError("the layout needs " + Twine(product) + " ranks (dp x cp x tp x pp), --ranks gives " +
                       Twine(ranks)),
           false;
  if (ranks % product)
    return reportError("--ranks " + Twine(ranks) + " is no multiple of " + names + " = " + Twine(product)), false;
  return true;
}

bool Compilation::makePlan() {
  int64_t ranks = options.ranks.value_or(0);
  bool search = ranks && options.planFile.empty();
  if (!options.planFile.empty()) {
    llvm::Expected<PlanFileSections> sections = planFileSections(options.planFile);
    if (!sections)
      return reportError(llvm::toString(sections.takeError())), false;
    search = sections->layout && !sections->grid;
    if (search && !ranks)
      return reportError(options.planFile + ": say with --ranks for how many ranks the plan is to be completed"), false;
  }
  if (!ranks && !options.cluster.empty() && options.planFile.empty() &&
      !(options.dp || options.cp || options.tp || options.pp)) {
    llvm::Expected<Cluster> machine = findCluster(options.cluster);
    if (!machine)
      return reportError(llvm::toString(machine.takeError())), false;
    ranks = machine->deviceCount();
    search = true;
  }
  if (!search ? !pinPlan(ranks) : !completePlan(ranks))
    return false;
  if (rankCount() > limits::startedRanks && options.emit == Emit::Executable)
    llvm::errs() << "note: the program has " << rankCount() << " ranks, and programs start with at most "
                 << limits::startedRanks << "\n";
  return true;
}

bool Compilation::completePlan(int64_t ranks) {
  if (options.rotate && (options.zero.value_or(0) != 3 || (options.dp == 1 && options.cp == 1)))
    return refuseRotation(); // a search decides by time alone, which rotation does not change
  return (!options.planFile.empty() || checkDegrees(ranks)) && searchPlan(ranks);
}

/// Whether a program can have as many ranks; reports where it cannot.
bool Compilation::checkRanks(int64_t ranks) {
  if (ranks > limits::ranks)
    reportError("the layout needs " + Twine(ranks) + " ranks, programs have at most " + Twine(limits::ranks));
  return ranks <= limits::ranks;
}

bool Compilation::searchPlan(int64_t ranks) {
  if (!checkRanks(ranks))
    return false;
  SearchPlanPassOptions plan;
  plan.target = options.target->capabilities().name.str();
  plan.ranks = ranks;
  plan.cluster = options.cluster;
  plan.memory = options.memory;
  plan.planFile = options.planFile;
  plan.dp = options.dp.value_or(0);
  plan.cp = options.cp.value_or(0);
  plan.context = options.context;
  plan.tp = options.tp.value_or(0);
  plan.tpRows = options.tpRows.value_or(0);
  plan.tpDepth = options.tpDepth.value_or(0);
  plan.ep = options.ep.value_or(0);
  plan.pp = options.pp.value_or(0);
  plan.vp = options.vp.value_or(0);
  plan.microBatch = options.microBatch.value_or(0);
  plan.sequenceParallel = options.sp;
  plan.zero = options.zero.value_or(-1);
  plan.shardGroup = options.shardGroup.value_or(0);
  plan.gradientGroup = options.gradientGroup.value_or(0);
  plan.parameterGroup = options.parameterGroup.value_or(0);
  plan.schedule = options.schedule;
  plan.recompute = options.recompute;
  plan.offload = options.offload;
  plan.layersPerStage.assign(options.layersPerStage.begin(), options.layersPerStage.end());
  ProgramRefusals refusals;
  if (StringRef(options.model).ends_with(".mlir")) { // what is imported is known to train
    refusals = trainRefusals(*module);
    refusals.model.clear(); // the train phase says it
  }
  if (!setPlan("search", [&](OpPassManager &pm) {
        pm.addPass(createSearchPlanPass(plan, refusals));
        pm.addPass(createPricePlanPass(PricePlanPassOptions{options.cluster}));
      }))
    return false;
  notePlan();
  return true;
}

bool Compilation::pinPlan(int64_t ranks) {
  if (options.planFile.empty() &&
      !checkRanks(options.dp.value_or(1) * options.cp.value_or(1) * options.tp.value_or(1) * options.pp.value_or(1)))
    return false;
  MakePlanPassOptions plan;
  plan.target = options.target->capabilities().name.str();
  plan.planFile = options.planFile;
  plan.dp = options.dp.value_or(1);
  plan.cp = options.cp.value_or(1);
  plan.context = options.context.empty() ? "all-gather" : options.context;
  plan.tp = options.tp.value_or(1);
  plan.tpRows = options.tpRows.value_or(1);
  plan.tpDepth = options.tpDepth.value_or(1);
  plan.ep = options.ep.value_or(1);
  plan.pp = options.pp.value_or(1);
  plan.vp = options.vp.value_or(0);
  plan.microBatch = options.microBatch.value_or(1);
  plan.sequenceParallel = options.sp == "on";
  plan.zero = options.zero.value_or(0);
  plan.shardGroup = options.shardGroup.value_or(0);
  plan.gradientGroup = options.gradientGroup.value_or(0);
  plan.parameterGroup = options.parameterGroup.value_or(0);
  plan.schedule = !options.schedule.empty() ? options.schedule : plan.vp > 1 ? "interleaved" : "1f1b";
  plan.recompute = options.recompute.empty() ? "none" : options.recompute;
  plan.offload = options.offload.empty() ? "none" : options.offload;
  plan.layersPerStage.assign(options.layersPerStage.begin(), options.layersPerStage.end());
  if (!setPlan("pins", [&](OpPassManager &pm) {
        pm.addPass(createMakePlanPass(plan));
        pm.addPass(createPricePlanPass(PricePlanPassOptions{options.cluster}));
      }))
    return false;
  if (ranks && ranks != rankCount())
    return reportError("the layout needs " + Twine(rankCount()) + " ranks (dp x cp x tp x pp), --ranks gives " +
                       Twine(ranks)),
           false;
  return true;
}

bool Compilation::makeSingleDevicePlan() {
  auto model = (*module)->getAttrOfType<DictionaryAttr>("ppc.model");
  singleDevice = true;
  MakePlanPassOptions single;
  single.target = options.target->capabilities().name.str();
  single.microBatch = model.getAs<IntegerAttr>("global_batch").getInt(); // all at once, and sequences whole
  return setPlan("pins", [&](OpPassManager &pm) { pm.addPass(createMakePlanPass(single)); });
}

namespace {
/// Slots of a device, and what all buffers with slots take in one of them.
struct Slots {
  int64_t count = 1, bytes = 0;
};
} // namespace

static Slots slotsOf(ppcrt::DeviceOp device) {
  Slots slots;
  for (auto buffer : device.getBody().front().getOps<ppcrt::BufferOp>())
    if (buffer.hasSlots()) {
      slots.count = std::max(slots.count, buffer.getSlotCount());
      slots.bytes += buffer.getStride().value_or(0);
    }
  return slots;
}

bool Compilation::fitMemory(SmallVector<int64_t> &bytesNotToKeep) {
  if (options.memory <= 0 || singleDevice)
    return true;
  OwningOpRef<ModuleOp> planned = std::move(module);
  const SilentRemarks tries; // what is done in the end is remarked then
  bool ok = true, fits = false;
  int64_t before = INT64_MAX, stalls = 0; // bytes above the budget, of all stages; how often they stayed the same
  SmallVector<int64_t> most;              // that there is to save, per stage and micro-batch
  while (ok && !fits) {
    module = planned->clone();
    ok = runPhase("partition",
                  [&](OpPassManager &pm) { buildPartitionPhase(pm, bytesNotToKeep, overlaps(), options.cluster); }) &&
         runPhase("device", [&](OpPassManager &pm) {
           buildDevicePhase(pm, *options.target, /*profile=*/false, /*verifyArena=*/false, overlaps());
         });
    if (!ok)
      break;
    SmallVector<ppcrt::DeviceOp> devices = ppcrt::findProgram(*module).getDevices();
    SmallVector<int64_t> less = bytesNotToKeep;
    less.resize(devices.size(), 0);
    int64_t above = 0, worst = 0, largest = 0;
    bool exhausted = false;
    if (most.empty())
      for (ppcrt::DeviceOp device : devices)
        most.push_back(slotsOf(device).bytes);
    for (auto [number, device] : llvm::enumerate(devices)) {
      int64_t arena = *device.getArena(), slots = slotsOf(device).count;
      int64_t over = arena - int64_t(options.memory);
      if (arena > largest)
        largest = arena, worst = number;
      if (over <= 0)
        continue;
      above += over;
      exhausted |= less[number] > most[number];
      less[number] += llvm::divideCeil(over, slots) << stalls; // what was asked for may lie below the next step
    }
    fits = above == 0;
    stalls = above >= before ? stalls + 1 : 0;
    if (!fits && (!options.recompute.empty() || exhausted)) {
      reportError("stage " + Twine(worst) + " needs " + toString(Bytes(double(largest))) +
                  " per rank, --memory allows " + toString(Bytes(options.memory)) +
                  (options.recompute.empty()
                       ? "; nothing more can be computed again in backward: use more ranks or a smaller --micro-batch"
                       : ": leave out --recompute to have chosen what backward computes again, or use more ranks"));
      ok = false;
    }
    before = above;
    if (!fits)
      bytesNotToKeep = std::move(less);
  }
  module = std::move(planned);
  return ok;
}

bool Compilation::priceChosen() {
  forward.get()->setAttr(attr::plan, (*module)->getAttr(attr::plan));
  forward.get()->removeAttr("ppc.prediction"); // of the plan before
  std::swap(module, forward);
  bool ok = runPhase(
      "price", [&](OpPassManager &pm) { pm.addPass(createPricePlanPass(PricePlanPassOptions{options.cluster})); });
  std::swap(module, forward);
  if (!ok)
    return false;
  if (Attribute predicted = forward.get()->getAttr("ppc.prediction"))
    (*module)->setAttr("ppc.prediction", predicted);
  else
    (*module)->removeAttr("ppc.prediction");
  recordPlan();
  notePlan();
  return true;
}

bool Compilation::lowerTo(Emit last) {
  if (last < Emit::Train)
    return true;
  if (options.memory > 0 && !singleDevice)
    forward = module->clone();
  if (!runPhase("train", [&](OpPassManager &pm) { buildTrainPhase(pm, options.train); }))
    return false;
  mathematics["optimizer"] = optimizerMathematics(*module);
  if (last < Emit::Spmd)
    return true;
  OwningOpRef<ModuleOp> logical = options.verify ? OwningOpRef<ModuleOp>(module->clone()) : nullptr;
  SmallVector<int64_t> bytesNotToKeep;
  if (!runPhase("plan", [&](OpPassManager &pm) { buildPlanPhase(pm); }) || !fitMemory(bytesNotToKeep) ||
      !runPhase("partition",
                [&](OpPassManager &pm) { buildPartitionPhase(pm, bytesNotToKeep, overlaps(), options.cluster); }))
    return false;
  if (!bytesNotToKeep.empty() && !priceChosen())
    return false;
  if (logical && !verify(*logical))
    return false;
  for (auto function : logical ? llvm::to_vector(logical->getOps<func::FuncOp>()) : SmallVector<func::FuncOp>())
    function.eraseBody(); // what it declares is compared once more
  if (last < Emit::Device)
    return true;
  if (!runPhase("device", [&](OpPassManager &pm) {
        buildDevicePhase(pm, *options.target, options.profile, options.verify, overlaps());
      }))
    return false;
  if (last < Emit::LLVM)
    return true;
  if (logical && failed(checkDeclarations(*logical, *module)))
    return reportError("the program declares other things to the runtime than the model says: this is an error of the "
                       "compiler (--no-verify compiles all the same)"),
           false;
  if (isPricedAsProcessors())
    (*module)->removeAttr("ppc.prediction");
  FailureOr<std::string> text = options.target->describeProgram(*module, {planYaml, configText, mathematics});
  if (failed(text))
    return false;
  manifest = std::move(*text);
  return runPhase("codegen", [&](OpPassManager &pm) { options.target->addCodePasses(pm); });
}

bool Compilation::writeObject(OutputFile &output) {
  Heartbeat::doing("machine code");
  Stopwatch watch;
  if (llvm::Error error = output.write(
          [&](raw_ostream &object) { return options.target->writeObject(*module, manifest, options.code, object); }))
    return reportError(llvm::toString(std::move(error))), false;
  printTime("object", watch);
  return true;
}

} // namespace mlir::ppc
