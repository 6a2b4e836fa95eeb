// The command line of ppc-plan.
#include "Options.h"

#include "ppc/Support/CheckedOptions.h"
#include "ppc/Support/CommandLine.h"
#include "ppc/Support/Limits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

namespace mlir::ppc {
namespace {

cl::OptionCategory jobCategory("Job and machine"), tuningCategory("Fine-tuning"),
    layoutCategory("Layout: what is given is kept, the rest is searched"), outputCategory("Output"),
    otherCategory("Instead of a search");

cl::opt<std::string> model(cl::Positional, cl::desc("MODEL"), cl::cat(jobCategory));
cl::opt<std::string> cluster("cluster", cl::desc("Machine: a preset and how many nodes (dgx-a100:32), or a YAML file"),
                             cl::value_desc("name:N|file.yaml"), cl::cat(jobCategory));
IntegerOption devices("devices", within(1, limits::devices), cl::desc("Devices to use; default: all of the cluster"),
                      cl::value_desc("N"), cl::cat(jobCategory));
IntegerOption seqLen("seq-len", within(1, limits::sequenceLength), cl::desc("Tokens per sequence"),
                     cl::value_desc("tokens"), cl::cat(jobCategory));
IntegerOption globalBatch("global-batch", within(1, limits::globalBatch),
                          cl::desc("Sequences per step, over all devices"), cl::value_desc("sequences"),
                          cl::cat(jobCategory));
cl::opt<bool> scalePositions("scale-positions",
                             cl::desc("Plan sequences that are longer than the model's positions: for a model whose "
                                      "positions are stretched to --seq-len (rope scaling, more learned rows)"),
                             cl::cat(jobCategory));
RealOption memory("memory", withinReals(0, limits::memoryGiB).above(),
                  cl::desc("Memory that a plan may use per device; default: what the device has"),
                  cl::value_desc("GiB"), cl::cat(jobCategory));
cl::opt<std::string>
    stack("stack", cl::desc("Software that runs the plan: ppc (default), megatron-core, fsdp, ..., or a YAML file"),
          cl::value_desc("name|file.yaml"), cl::init("ppc"), cl::cat(jobCategory));

cl::opt<std::string> target("target",
                            cl::desc("Plan only what programs of ppc-compile for this device family run, and as they "
                                     "run it: host, cuda"),
                            cl::value_desc("name"), cl::cat(jobCategory));

IntegerOption lora("lora", within(1, limits::modelSize),
                   cl::desc("LoRA: adapters of this rank are trained, every weight is frozen"), cl::value_desc("rank"),
                   cl::cat(tuningCategory));
IntegerOption baseBits("base-bits", within(4, 16),
                       cl::desc("With --lora: bits of a frozen weight: 16 (default), 8, or 4 (QLoRA)"),
                       cl::value_desc("16|8|4"), cl::init(16), cl::cat(tuningCategory));
IntegerOption freezeLayers("freeze-layers", within(1, limits::layers),
                           cl::desc("The embedding and the first N layers are not trained"), cl::value_desc("N"),
                           cl::cat(tuningCategory));
IntegerOption packedLength("packed-length", within(1, limits::sequenceLength),
                           cl::desc("Documents of this length on average fill a sequence; each attends to itself"),
                           cl::value_desc("tokens"), cl::cat(tuningCategory));
cl::opt<Objective> objective(
    "objective", cl::desc("What a step optimizes"), cl::init(Objective::NextToken),
    cl::values(clEnumValN(Objective::NextToken, "next-token", "the next token (default)"),
               clEnumValN(Objective::Dpo, "dpo", "preferences in pairs of sequences, against a frozen reference"),
               clEnumValN(Objective::Grpo, "grpo", "rewards of completions that the policy generates")),
    cl::cat(tuningCategory));
IntegerOption promptLength("prompt-length", within(1, limits::sequenceLength),
                           cl::desc("With --objective grpo: tokens of a sequence that are not generated"),
                           cl::value_desc("tokens"), cl::cat(tuningCategory));

// Pins are texts here: the planner knows the valid values.
using Pin = cl::opt<std::string>;
std::vector<std::unique_ptr<Pin>> makePins() {
  std::vector<std::unique_ptr<Pin>> pins;
  for (int key = 0; key < planKeyCount; ++key) {
    const PlanKeyInfo &info = planKeyInfo(PlanKey(key));
    if (!llvm::StringRef(info.values).empty())
      pins.push_back(std::make_unique<Pin>(llvm::StringRef(info.option), cl::desc(info.help),
                                           cl::value_desc(info.values), cl::cat(layoutCategory)));
    if (PlanKey(key) == PlanKey::SequenceParallel) // `--sp` alone
      pins.back()->setValueExpectedFlag(cl::ValueOptional);
  }
  return pins;
}
std::vector<std::unique_ptr<Pin>> pins = makePins();
cl::list<std::string> pinList("pin", cl::CommaSeparated, cl::desc("Fix one property of the layout, for example tp=4"),
                              cl::value_desc("key=value"), cl::cat(layoutCategory));
cl::list<std::string> forbidList("forbid", cl::CommaSeparated,
                                 cl::desc("Exclude a value, or the use of a property, for example tp=8 or recompute"),
                                 cl::value_desc("key[=value]"), cl::cat(layoutCategory));
cl::opt<std::string> planFile("plan",
                              cl::desc("Layout from a YAML file (of --emit plan); what it leaves out is searched"),
                              cl::value_desc("file.yaml"), cl::cat(layoutCategory));

cl::opt<bool>
    cutOps("cut-ops",
           cl::desc("Also search op-level shardings around the degrees of the best plans (for programs that are not "
                    "transformers this search always runs)"),
           cl::cat(layoutCategory));

/// Outputs, followed by the targets of exports.
constexpr int firstTarget = int(PlanOutput::Export);
enum class EmitValue {};
constexpr EmitValue outputValue(PlanOutput output) { return EmitValue(int(output)); }
constexpr EmitValue targetValue(ExportTarget target) { return EmitValue(firstTarget + int(target)); }
cl::opt<EmitValue> emit(
    "emit", cl::desc("What to write"), cl::init(outputValue(PlanOutput::Table)),
    cl::values(
        clEnumValN(outputValue(PlanOutput::Table), "table", "the best plans, and why the first is first (default)"),
        clEnumValN(outputValue(PlanOutput::Plan), "plan", "the best plan as YAML, for --plan"),
        clEnumValN(outputValue(PlanOutput::Json), "json", "everything, for programs"),
        clEnumValN(outputValue(PlanOutput::Html), "html", "one page to look at in a browser"),
        clEnumValN(outputValue(PlanOutput::Trace), "trace", "the predicted step as Chrome trace events (Perfetto)"),
        clEnumValN(targetValue(ExportTarget::Megatron), "megatron", "arguments of Megatron-LM, as a shell file"),
        clEnumValN(targetValue(ExportTarget::MegatronBridge), "megatron-bridge", "recipe of Megatron-Bridge"),
        clEnumValN(targetValue(ExportTarget::Torchtitan), "torchtitan", "configuration of torchtitan 0.3.0 (Python)"),
        clEnumValN(targetValue(ExportTarget::TorchtitanToml), "torchtitan-0.2.2", "TOML of torchtitan 0.2.2"),
        clEnumValN(targetValue(ExportTarget::DeepSpeed), "deepspeed", "JSON of DeepSpeed"),
        clEnumValN(targetValue(ExportTarget::Accelerate), "accelerate", "YAML of Accelerate, for FSDP2"),
        clEnumValN(targetValue(ExportTarget::Nanotron), "nanotron", "YAML of nanotron")),
    cl::cat(outputCategory));
cl::opt<std::string> output("o", cl::desc("Where the result goes; default: standard output"), cl::value_desc("file"),
                            cl::init("-"), cl::cat(outputCategory));
IntegerOption top("top", within(1, limits::listedPlans), cl::desc("Plans to list (5)"), cl::value_desc("K"),
                  cl::init(5), cl::cat(outputCategory));
cl::opt<bool> brief("brief", cl::desc("The plans alone, not what other decisions would cost: quicker"),
                    cl::cat(outputCategory));
cl::opt<bool> frontier("frontier", cl::desc("Also list the fastest plan for each amount of memory"),
                       cl::cat(outputCategory));
cl::list<std::string>
    explain("explain", cl::desc("Explain one decision: a key of the layout (tp), a stage (stage:3), an operation"),
            cl::value_desc("name"), cl::cat(outputCategory));

cl::opt<bool> listClusters("list-clusters", cl::desc("List the known machines"), cl::cat(otherCategory));
cl::opt<bool> listStacks("list-stacks",
                         cl::desc("List what software a --stack stands for, and what that can be asked for"),
                         cl::cat(otherCategory));
cl::opt<bool> listExports("list-exports",
                          cl::desc("List what files of --emit megatron, torchtitan, ... cannot say of a plan"),
                          cl::cat(otherCategory));
cl::opt<bool> describe("describe", cl::desc("Parameters, FLOPs, bytes of state and activations of MODEL"),
                       cl::cat(otherCategory));
RealOption tokens("tokens", withinReals(0, limits::budget).above(),
                  cl::desc("With --describe: tokens to train on, for device-hours (15e12)"), cl::value_desc("tokens"),
                  cl::cat(otherCategory));
RealOption price("price", withinReals(0, limits::budget).above(), cl::desc("With --tokens: dollars per device-hour"),
                 cl::value_desc("dollars"), cl::cat(otherCategory));
RealOption mfu("mfu", withinReals(0, 100).above(),
               cl::desc("With --tokens: share of the peak that is used, in percent; default: predicted"),
               cl::value_desc("percent"), cl::cat(otherCategory));
cl::opt<std::string> evaluateFile("evaluate",
                                  cl::desc("Predict one row per configuration of a CSV table (- for standard input)"),
                                  cl::value_desc("rows.csv"), cl::cat(otherCategory));

cl::opt<bool> simulate("simulate", cl::desc("With --evaluate: also replay each step, as column simulated_s"),
                       cl::cat(otherCategory));

int usageError(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "; see ppc-plan --help\n";
  return 2;
}

/// Splits `key=value`, or `key` if that is allowed.
bool splitPin(llvm::StringRef option, llvm::StringRef text, bool needsValue, std::vector<GivenDecision> &out) {
  auto [key, value] = text.split('=');
  if (key.empty() || (needsValue && value.empty()) || (text.contains('=') && value.empty()))
    return false;
  out.push_back({option.str(), key.trim().str(), value.trim().str()});
  return true;
}

} // namespace

static int readPins(PlanOptions &options) {
  for (const std::unique_ptr<Pin> &pin : pins)
    if (pin->getNumOccurrences() && *pin != "auto")
      options.pins.push_back(
          {"--" + pin->ArgStr.str(), pin->ArgStr.str(), pin->ArgStr == "sp" && pin->empty() ? "on" : pin->getValue()});
  for (const std::string &text : pinList)
    if (!splitPin("--pin", text, true, options.pins))
      return usageError("--pin " + text + ": expected key=value");
  for (const std::string &text : forbidList)
    if (!splitPin("--forbid", text, false, options.forbids))
      return usageError("--forbid " + text + ": expected key or key=value");
  return 0;
}

/// Wrong usage: exit status 2, else 0.
static int checkUsage() {
  if (baseBits != 16 && baseBits != 8 && baseBits != 4)
    return usageError("--base-bits is " + llvm::Twine(baseBits) + ", expected 16, 8 or 4");
  if (target.getNumOccurrences() && int(EmitValue(emit)) >= firstTarget)
    return usageError("--target plans what programs of ppc-compile run; --emit writes for another one");
  if (promptLength.getNumOccurrences() && objective != Objective::Grpo)
    return usageError("--prompt-length belongs to --objective grpo");
  int instead = int(listClusters) + int(listStacks) + int(listExports) + int(describe) + int(!evaluateFile.empty());
  if (instead > 1)
    return usageError("--list-clusters, --list-stacks, --list-exports, --describe and --evaluate exclude each other");
  if ((tokens.getNumOccurrences() || price.getNumOccurrences() || mfu.getNumOccurrences()) && !describe)
    return usageError("--tokens, --price and --mfu belong to --describe");
  if (simulate && evaluateFile.empty())
    return usageError("--simulate belongs to --evaluate");
  if (describe && emit != outputValue(PlanOutput::Table) && emit != outputValue(PlanOutput::Json))
    return usageError("--describe writes --emit table or json");
  if (!explain.empty() && emit != outputValue(PlanOutput::Table))
    return usageError("--explain belongs to --emit table");
  if (listClusters || listStacks || listExports || !evaluateFile.empty()) {
    if (!model.empty())
      return usageError("MODEL has no meaning with --list-clusters, --list-stacks, --list-exports and --evaluate");
    for (const auto &entry : cl::getRegisteredOptions())
      if (entry.second->getNumOccurrences() && llvm::any_of(entry.second->Categories, [](cl::OptionCategory *category) {
            return category == &jobCategory || category == &tuningCategory || category == &layoutCategory;
          }))
        return usageError("--" + entry.first + " has no meaning with " +
                          (listClusters  ? "--list-clusters"
                           : listStacks  ? "--list-stacks"
                           : listExports ? "--list-exports"
                                         : "--evaluate: the rows have a column for what differs from the default"));
    return 0;
  }
  if (model.empty())
    return usageError("no MODEL given");
  if (cluster.empty() && !describe)
    return usageError("no --cluster given; --list-clusters lists the known ones");
  return 0;
}

ParsedCommandLine parseCommandLine(int argc, char **argv) {
  cl::HideUnrelatedOptions({&jobCategory, &tuningCategory, &layoutCategory, &outputCategory, &otherCategory});
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "ppc-plan " PPC_VERSION "\n"; });
  if (!readCommandLine(
          argc, argv,
          "Decides how a model is trained on a cluster: every degree of parallelism, the pipeline, what is\n"
          "recomputed, with the predicted time and memory. Needs no accelerator, and makes no program: ppc-compile\n"
          "makes programs that run on CPUs; no GPU has run programs of the CUDA target yet.\n\n"
          "MODEL is a Hugging Face config.json, a folder that holds one, or a *.mlir in the ppc dialect: any program\n"
          "that computes a loss. Ops of a program that is not a transformer are sharded one by one.\n"))
    return {nullptr, 2};
  auto options = std::make_unique<PlanOptions>();
  if (int status = checkUsage())
    return {nullptr, status};
  if (int status = readPins(*options))
    return {nullptr, status};
  options->model = model;
  options->cluster = cluster;
  options->devices = devices;
  options->sequence = seqLen;
  options->globalBatch = globalBatch;
  options->scalePositions = scalePositions;
  options->memory = memory * 0x1p30;
  options->tuning = {lora, baseBits, freezeLayers, packedLength, objective, promptLength};
  options->stack = stack;
  options->assumesStack =
      !stack.getNumOccurrences() && !target.getNumOccurrences() && int(EmitValue(emit)) < firstTarget;
  options->compiled = &defaultTarget();
  if (target.getNumOccurrences()) {
    llvm::Expected<const TargetCapabilities *> known = findTargetCapabilities(target);
    if (!known)
      return {nullptr, usageError(llvm::toString(known.takeError()))};
    options->compiled = options->programs = *known;
    if (!stack.getNumOccurrences())
      options->stack = (*known)->stack.str();
  }
  options->planFile = planFile;
  options->cutOps = cutOps;
  int value = int(EmitValue(emit));
  options->emit = value < firstTarget ? PlanOutput(value) : PlanOutput::Export;
  if (options->emit == PlanOutput::Export) {
    options->target = ExportTarget(value - firstTarget);
    // An export for a program is planned for that program, unless --stack names another.
    if (!stack.getNumOccurrences())
      options->stack = stackOf(options->target);
  }
  options->output = output;
  options->top = top;
  options->brief = brief;
  options->frontier = frontier;
  options->explain.assign(explain.begin(), explain.end());
  options->listClusters = listClusters;
  options->listStacks = listStacks;
  options->listExports = listExports;
  options->describe = describe;
  options->evaluateFile = evaluateFile;
  options->simulate = simulate;
  options->tokens = tokens;
  options->price = price;
  options->mfu = mfu / 100;
  return {std::move(options), 0};
}

} // namespace mlir::ppc
