// The command line of ppc-compile.
#include "Options.h"

#include "ppc/Cluster/Cluster.h"
#include "ppc/Planning/Files/PlanSections.h"
#include "ppc/Planning/PlanKeys.h"
#include "ppc/Support/CheckedOptions.h"
#include "ppc/Support/CommandLine.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/Spelling.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <deque>

namespace cl = llvm::cl;

namespace mlir::ppc {
namespace {

cl::OptionCategory modelCategory("Model"), layoutCategory("Layout"), trainingCategory("Training"),
    outputCategory("Output");

cl::opt<std::string> model(cl::Positional, cl::desc("MODEL"), cl::cat(modelCategory));
IntegerOption seqLen("seq-len", within(1, limits::sequenceLength), cl::desc("Tokens per sequence (for a config.json)"),
                     cl::value_desc("tokens"), cl::cat(modelCategory));
IntegerOption globalBatch("global-batch", within(1, limits::globalBatch),
                          cl::desc("Sequences per step, over all ranks (for a config.json)"),
                          cl::value_desc("sequences"), cl::cat(modelCategory));

RealOption expertCapacity("expert-capacity-factor", withinReals(0, limits::capacityFactor),
                          cl::desc("Tokens of a sequence that an expert takes, in even shares; others are dropped "
                                   "(for a config.json; default 0: all)"),
                          cl::init(0), cl::cat(modelCategory));

cl::opt<std::string> paddingRow("padding-row",
                                cl::desc("The row of the embedding that belongs to the file's pad_token_id: trained as "
                                         "every other (default), or untrained as by transformers: it begins with zeros "
                                         "and lookups give it no gradient (for a config.json)"),
                                cl::init("trained"), cl::value_desc("trained|untrained"), cl::cat(modelCategory));
cl::opt<std::string> precision("precision",
                               cl::desc("What matrix products read: f32 (default where no --plan says it), or bf16, "
                                        "with sums, parameters, gradients and "
                                        "optimizer state in f32"),
                               cl::init("f32"), cl::value_desc("f32|bf16"), cl::cat(modelCategory));

IntegerOption ranks("ranks", within(1, limits::ranks),
                    cl::desc("Ranks of this machine; what is not given below is searched for them. Without it: 1"),
                    cl::value_desc("N"), cl::cat(layoutCategory));
cl::opt<std::string> cluster("cluster",
                             cl::desc("Machine to plan for: a file of ppc-bench; default: this machine, not measured"),
                             cl::value_desc("file.yaml"), cl::cat(layoutCategory));
RealOption memory("memory", withinReals(0, limits::memoryGiB).above(),
                  cl::desc("Memory that a rank may use; what backward computes again is chosen to fit. Default: "
                           "its share of the machine's, not enforced"),
                  cl::value_desc("GiB"), cl::cat(layoutCategory));
/// What the table of decisions says of one, and what programs make of it.
llvm::StringRef help(PlanKey key, llvm::StringRef more = "") {
  static std::deque<std::string> texts; // which options refer to
  return texts.emplace_back((planKeyInfo(key).help + more).str());
}
IntegerOption degree(PlanKey key, llvm::StringRef more = "", IntegerRange range = within(1, limits::ranks)) {
  return IntegerOption(llvm::StringRef(planKeyInfo(key).option), range, cl::desc(help(key, more)),
                       cl::value_desc(planKeyInfo(key).values), cl::cat(layoutCategory));
}
cl::opt<std::string> choice(PlanKey key, llvm::StringRef more, llvm::StringRef values) {
  return cl::opt<std::string>(llvm::StringRef(planKeyInfo(key).option), cl::desc(help(key, more)),
                              cl::value_desc(values), cl::cat(layoutCategory));
}
IntegerOption dp = degree(PlanKey::Dp);
IntegerOption tp = degree(PlanKey::Tp);
IntegerOption tpRows = degree(PlanKey::TpRows, "; 1 without a search");
IntegerOption tpDepth = degree(PlanKey::TpDepth, "; 1 without a search");
cl::opt<std::string> cp =
    choice(PlanKey::Cp,
           ". Attention gathers keys and values (=gather; without a search the default), or exchanges the cut of the "
           "sequence for one of heads (=ulysses)",
           "N[=gather|ulysses]");
IntegerOption ep =
    degree(PlanKey::Ep, ", over all ranks of --tp first, then of --dp; default: each expert is cut by its "
                        "width over --tp");
IntegerOption pp = degree(PlanKey::Pp);
IntegerOption vp = degree(PlanKey::Vp, "; default: as many as the schedule needs (1f1b: 1, interleaved: 2)",
                          within(1, limits::layers));
IntegerOption microBatch = degree(PlanKey::MicroBatch, "", within(1, limits::globalBatch));
cl::opt<std::string> sp = choice(PlanKey::SequenceParallel, "", "on|off");
IntegerOption zero = degree(PlanKey::Zero, "", within(0, 3));
IntegerOption shardGroup = degree(PlanKey::ShardGroup, "; default: all of them");
IntegerOption gradientGroup = degree(PlanKey::GradientGroup, "; default: all of them");
IntegerOption parameterGroup = degree(PlanKey::ParameterGroup, "; default: all of them");
cl::opt<std::string> offload = choice(PlanKey::Offload, "; none without a search", "what");
cl::opt<std::string> overlap(
    "overlap",
    cl::desc("Communication beside computation, off or on (default): where that pays by estimate, gradients are "
             "reduced in buckets while backward goes on, and collectives of layers run beside products"),
    cl::init("on"), cl::value_desc("on|off"), cl::cat(layoutCategory));
cl::opt<std::string> rotate(
    "rotate",
    cl::desc(
        "With --zero 3, on or off (default): blocks of parameters go round the ranks, where products can take them "
        "one after the other, instead of being gathered"),
    cl::init("off"), cl::value_desc("on|off"), cl::cat(layoutCategory));
cl::opt<std::string> productPieces(
    "product-pieces",
    cl::desc(
        "Into how many pieces a product and the sum of its result over ranks are cut (tensor parallelism), so that one "
        "piece is communicated while the next one is computed: off, a number, or auto (default): where it pays by "
        "estimate on --cluster"),
    cl::init("auto"), cl::value_desc("n|auto|off"), cl::cat(layoutCategory));
cl::opt<std::string> schedule = choice(PlanKey::Schedule, " (1f1b without a search)", "name");
cl::opt<std::string> recompute = choice(PlanKey::Recompute, "; none without a search", "what");
IntegerListOption
    layersPerStage("layers-per-stage", within(0, limits::layers), cl::CommaSeparated,
                   cl::desc("Transformer layers of each (virtual) stage, for example 3,2; default: by cost"),
                   cl::value_desc("n,n,..."), cl::cat(layoutCategory));
cl::opt<std::string> planFile("plan", cl::desc("YAML file with the whole plan (from --emit=plan)"),
                              cl::value_desc("file"), cl::cat(layoutCategory));

cl::opt<std::string> optimizer("optimizer", cl::desc("Optimizer: adamw"), cl::init("adamw"), cl::value_desc("name"),
                               cl::cat(trainingCategory));
RealOption beta1("beta1", withinReals(0, 1).below(), cl::desc("AdamW: decay of the first moment (0.9)"), cl::init(0.9),
                 cl::cat(trainingCategory));
RealOption beta2("beta2", withinReals(0, 1).below(), cl::desc("AdamW: decay of the second moment (0.95)"),
                 cl::init(0.95), cl::cat(trainingCategory));
RealOption epsilon("epsilon", withinReals(limits::leastEpsilon, 1),
                   cl::desc("AdamW: added to the root of the second moment (1e-8)"), cl::init(1e-8),
                   cl::cat(trainingCategory));
RealOption weightDecay("weight-decay", withinReals(0, limits::optimizerConstant),
                       cl::desc("AdamW: decoupled weight decay, not applied to norms (0.1)"), cl::init(0.1),
                       cl::cat(trainingCategory));
RealOption maxNorm("max-norm", withinReals(0, limits::optimizerConstant),
                   cl::desc("Clip gradients to this global norm; 0: no clipping (1.0)"), cl::init(1.0),
                   cl::cat(trainingCategory));

cl::opt<std::string> output("o", cl::desc("Output file; default: train, or standard output with --emit of text"),
                            cl::value_desc("file"), cl::cat(outputCategory));
cl::opt<Emit> emit("emit", cl::desc("Stop early and print a form of the program"), cl::init(Emit::Executable),
                   cl::values(clEnumValN(Emit::Model, "model", "the imported model"),
                              clEnumValN(Emit::Train, "train", "with gradients, micro-batches and optimizer"),
                              clEnumValN(Emit::Plan, "plan", "the plan, as YAML for --plan"),
                              clEnumValN(Emit::Spmd, "spmd", "one program per stage, local shapes, collectives"),
                              clEnumValN(Emit::Ledger, "ledger",
                                         "what ranks move, compute and hold in a step, as CSV: priced and emitted"),
                              clEnumValN(Emit::Device, "device", "fused, with buffers at fixed offsets"),
                              clEnumValN(Emit::Program, "program", "buffers, routines and actions of each device"),
                              clEnumValN(Emit::LLVM, "llvm", "the LLVM dialect"),
                              clEnumValN(Emit::Ptx, "ptx", "the kernels, as PTX of each architecture"),
                              clEnumValN(Emit::Kernels, "kernels",
                                         "the kernels, and what they take of each architecture, as CSV"),
                              clEnumValN(Emit::Traffic, "traffic",
                                         "bytes that kernels move to and from memory, beside the least, as CSV"),
                              clEnumValN(Emit::Object, "object", "an object file (-o)")),
                   cl::cat(outputCategory));
cl::opt<std::string> target("target", cl::desc("Device family: host, or cuda for NVIDIA GPUs"),
                            cl::init(defaultTarget().name.str()), cl::value_desc("name"), cl::cat(outputCategory));
cl::opt<std::string> hostCpu("host-cpu",
                             cl::desc("CPU to generate code for, for example x86-64-v3; default: this machine's"),
                             cl::value_desc("name"), cl::cat(outputCategory));
IntegerOption optimize("optimize", within(0, 3),
                       cl::desc("What LLVM spends on code for hosts: 0 (about three times as fast to compile; steps of "
                                "models that are not small take longer) to 3 (default). Sums of f32 round differently"),
                       cl::init(3), cl::cat(outputCategory));
cl::opt<std::string>
    cudaArch("cuda-arch",
             cl::desc("Architectures of GPUs to generate kernels for, with commas between: sm_80, sm_90a, sm_100a "
                      "(default: those of --cluster, or all); PTX of sm_80, which newer ones run too, is always there"),
             cl::value_desc("names"), cl::cat(outputCategory));
cl::opt<bool> check("check",
                    cl::desc("Also compile the single-device program, run both on the same random data, and compare "
                             "losses, gradients and parameters"),
                    cl::cat(outputCategory));
IntegerOption checkSteps("check-steps", within(1, limits::checkSteps),
                         cl::desc("Training steps that --check compares (3)"), cl::init(3), cl::cat(outputCategory));
cl::opt<bool> noVerify(
    "no-verify",
    cl::desc("Skip the proof that the partitioned program computes what the logical program does, and the check "
             "that nothing in memory is written over while it is needed"),
    cl::cat(outputCategory));
cl::opt<bool>
    explain("explain",
            cl::desc("Print why the plan was chosen to standard error: the runner-up, and for each decision the best "
                     "plan that decides otherwise"),
            cl::cat(layoutCategory));
cl::opt<bool> profile("profile", cl::desc("Let the program measure its operations: its option --profile writes them"),
                      cl::cat(outputCategory));
cl::opt<bool> verbose("verbose", cl::desc("Print what each phase took to standard error"), cl::cat(outputCategory));

int usageError(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "; see ppc-compile --help\n";
  return 2;
}

/// The degree of `--cp N[=gather|ulysses]`, and how the planner calls what is behind it; on a mistake, says it in
/// `problem`.
int64_t contextDegree(llvm::StringRef text, std::string &context, std::string &problem) {
  auto [number, strategy] = text.split('=');
  if (!strategy.empty())
    context = strategy == "gather" ? "all-gather" : "ulysses";
  std::optional<int64_t> degree = parseWhole(number);
  if (!degree || *degree < 1 || *degree > limits::ranks)
    problem =
        llvm::formatv("--cp is '{0}', expected a number from 1 to {1}, N=gather or N=ulysses", text, limits::ranks)
            .str();
  else if (text.contains('=') && strategy != "gather" && strategy != "ulysses")
    problem = llvm::formatv("--cp is '{0}': compiled programs have the strategies gather and ulysses, and no '{1}'",
                            text, strategy)
                  .str();
  return degree.value_or(0);
}

/// What is wrong with options whose values are words, or which do not go together; empty: nothing.
std::string problemOfWords(const TargetCapabilities &capabilities) {
  if (optimizer != "adamw")
    return "--optimizer=" + optimizer + ": this build has the optimizer adamw";
  if (paddingRow != "trained" && paddingRow != "untrained")
    return "--padding-row is '" + paddingRow + "', expected trained or untrained";
  if (recompute.getNumOccurrences() && recompute != "none" && recompute != "selective" && recompute != "full" &&
      recompute != "auto")
    return "--recompute is '" + recompute + "', expected none, selective, full or auto";
  if (llvm::none_of(capabilities.precisions, [](Precision known) { return toString(known) == precision; }))
    return "--precision is '" + precision + "': compiled programs run " + precisionsText(capabilities);
  if (!sp.empty() && sp != "on" && sp != "off")
    return "--sp is '" + sp + "', expected on or off";
  if (offload.getNumOccurrences() && offload != "auto" && !parseOffload(offload))
    return "--offload is '" + offload +
           "', expected none, optimizer, activations, parameters, several of these with + between them, or auto";
  for (cl::opt<std::string> *option : {&rotate, &overlap})
    if (*option != "on" && *option != "off")
      return "--" + option->ArgStr.str() + " is '" + option->getValue() + "', expected on or off";
  std::optional<int64_t> pieces = parseProductPieces(productPieces);
  if (!pieces)
    return "--product-pieces is '" + productPieces + "', expected auto, off or a number from 2 to " +
           std::to_string(limits::productPieces);
  if (*pieces > 1 && overlap == "off")
    return "--product-pieces=" + productPieces + " takes --overlap=on: without it nothing runs beside a collective";
  if (maxNorm > 0 && maxNorm < limits::leastEpsilon)
    return "--max-norm is too small for 32 bits; 0 is no clipping";
  if (!planFile.empty())
    for (cl::Option *pin : std::initializer_list<cl::Option *>{&dp,
                                                               &tp,
                                                               &tpRows,
                                                               &tpDepth,
                                                               &cp,
                                                               &ep,
                                                               &pp,
                                                               &vp,
                                                               &sp,
                                                               &zero,
                                                               &shardGroup,
                                                               &gradientGroup,
                                                               &parameterGroup,
                                                               &microBatch,
                                                               &schedule,
                                                               &recompute,
                                                               &offload,
                                                               &overlap,
                                                               &rotate,
                                                               &productPieces,
                                                               std::addressof(layersPerStage)})
      if (pin->getNumOccurrences())
        return "--" + pin->ArgStr.str() + " cannot be combined with --plan, which says it";
  return "";
}

/// What the options say of the layout, but --cp.
void readLayout(CompileOptions &options) {
  for (auto [option, field] :
       {std::pair(&ranks, &options.ranks), std::pair(&dp, &options.dp), std::pair(&tp, &options.tp),
        std::pair(&tpRows, &options.tpRows), std::pair(&tpDepth, &options.tpDepth), std::pair(&ep, &options.ep),
        std::pair(&pp, &options.pp), std::pair(&vp, &options.vp), std::pair(&microBatch, &options.microBatch),
        std::pair(&zero, &options.zero), std::pair(&shardGroup, &options.shardGroup),
        std::pair(&gradientGroup, &options.gradientGroup), std::pair(&parameterGroup, &options.parameterGroup)})
    if (option->getNumOccurrences())
      *field = *option;
  options.sp = sp;
  options.overlap = overlap == "on";
  options.rotate = rotate == "on";
  options.pieces = parseProductPieces(productPieces).value_or(0);
  options.schedule = schedule;
  options.recompute = recompute == "auto" ? std::string() : recompute.getValue();
  std::optional<Offload> offloaded = parseOffload(offload);
  options.offload = offloaded ? toString(*offloaded).str() : std::string();
  options.layersPerStage.assign(layersPerStage.begin(), layersPerStage.end());
  options.planFile = planFile;
}

/// The processors that the options name, else those of the machine that they name.
std::string processorsOf(const Target &target, llvm::StringRef named) {
  if (!named.empty() || cluster.empty())
    return named.str();
  llvm::Expected<Cluster> machine = findCluster(cluster);
  if (!machine) {
    llvm::consumeError(machine.takeError()); // is said where it is planned for
    return "";
  }
  std::vector<std::string> architectures;
  for (const DeviceGroup &group : machine->groups)
    architectures.push_back(group.device.architecture);
  return target.processorsFor(architectures);
}

/// What the options say besides the layout, the target and its processors.
void readRest(CompileOptions &options) {
  options.model = model;
  if (output.getNumOccurrences())
    options.output = output;
  options.emit = emit;
  options.sequenceLength = seqLen;
  options.globalBatch = globalBatch;
  options.expertCapacityFactor = expertCapacity;
  options.untrainedPadding = paddingRow == "untrained";
  options.precision = precision;
  options.isPrecisionGiven = precision.getNumOccurrences() > 0;
  options.cluster = cluster;
  options.memory = memory * 0x1p30;
  options.train.beta1 = beta1;
  options.train.beta2 = beta2;
  options.train.epsilon = epsilon;
  options.train.weightDecay = weightDecay;
  options.train.maxNorm = maxNorm;
  options.check = check;
  options.checkSteps = checkSteps;
  options.verify = !noVerify;
  options.verbose = verbose;
  options.profile = profile;
  options.explain = explain;
}

} // namespace

ParsedCommandLine parseCommandLine(int argc, char **argv) {
  sp.setValueExpectedFlag(cl::ValueOptional); // `--sp` alone
  cl::HideUnrelatedOptions({&modelCategory, &layoutCategory, &trainingCategory, &outputCategory});
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "ppc-compile " PPC_VERSION "\n"; });
  if (!readCommandLine(
          argc, argv,
          "Compiles a model into one executable that trains it on hosts: a rank is a process on CPU cores.\n"
          "The target for CUDA devices is being built: no GPU has run its programs yet.\n\n"
          "MODEL is a Hugging Face config.json, a folder that holds one, or a *.mlir in the ppc dialect.\n"))
    return {nullptr, 2};
  if (model.empty())
    return {nullptr, usageError("no MODEL given")};
  llvm::Expected<const Target *> knownTarget = findTarget(target);
  if (!knownTarget)
    return {nullptr, usageError(llvm::toString(knownTarget.takeError()))};
  const TargetCapabilities &capabilities = (*knownTarget)->capabilities();
  bool isCuda = *knownTarget == &cudaTarget();
  if (cl::opt<std::string> &other = isCuda ? hostCpu : cudaArch; other.getNumOccurrences())
    return {nullptr, usageError("--" + other.ArgStr + " has no meaning with --target=" + capabilities.name)};
  if (isCuda && optimize.getNumOccurrences())
    return {nullptr, usageError("--optimize has no meaning with --target=" + capabilities.name)};
  const std::string &processors = isCuda ? cudaArch : hostCpu;
  if (llvm::Error error = (*knownTarget)->checkProcessors(processors))
    return {nullptr, usageError("--" + (isCuda ? cudaArch : hostCpu).ArgStr + ": " + llvm::toString(std::move(error)))};
  if (sp.getNumOccurrences() && sp.empty())
    sp = "on";
  std::string context, problem = problemOfWords(capabilities);
  int64_t parts = cp.getNumOccurrences() && problem.empty() ? contextDegree(cp, context, problem) : 1;
  if (!problem.empty())
    return {nullptr, usageError(problem)};

  auto options = std::make_unique<CompileOptions>();
  readRest(*options);
  readLayout(*options);
  if (cp.getNumOccurrences())
    options->cp = parts, options->context = context;
  options->target = *knownTarget;
  options->code = {processorsOf(**knownTarget, processors), unsigned(optimize.getValue())};
  return {std::move(options), 0};
}

} // namespace mlir::ppc
