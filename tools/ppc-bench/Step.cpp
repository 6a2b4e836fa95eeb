#include "Step.h"
#include "ProcessMemory.h"
#include "Roofline.h"
#include "StepParticipant.h"

#include "ppc/Cluster/Cluster.h"
#include "ppc/Model/ModelShape.h"
#include "ppc/Reporting/TextTable.h"
#include "ppc/Support/CheckedOptions.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/OutputFile.h"
#include "ppc/Support/ScratchFolder.h"
#include "ppc/Support/Units.h"
#include "runtime/host/Threads.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <optional>
#include <random>

namespace cl = llvm::cl;

namespace mlir::ppc {
namespace {

cl::SubCommand
    step("step",
         "Compares a training step of a LLaMA in PPC, JAX and PyTorch: losses, memory and a breakdown of the time");
cl::opt<std::string> config("config", cl::sub(step), cl::value_desc("config.json"),
                            cl::desc("Model; default: 4 layers, hidden 512, vocabulary 32,000"));
cl::opt<std::string> weights("weights", cl::sub(step), cl::value_desc("path"),
                             cl::desc("Weights of it, *.safetensors in f32; default: random ones, made once"));
IntegerOption sequence("seq-len", within(1, limits::sequenceLength), cl::sub(step), cl::value_desc("tokens"),
                       cl::desc("Tokens per sequence (512)"), cl::init(512));
IntegerOption batch("global-batch", within(1, limits::globalBatch), cl::sub(step), cl::value_desc("sequences"),
                    cl::desc("Sequences per step (8)"), cl::init(8));
cl::list<std::string> precisions("precision", cl::sub(step), cl::CommaSeparated, cl::value_desc("f32,bf16"),
                                 cl::desc("Precision of the matmuls; default: f32"));
cl::opt<std::string> layout("layout", cl::sub(step), cl::value_desc("options"),
                            cl::desc("Options for ppc-compile; default: --ranks with one rank per core"));
cl::opt<std::string> cluster("cluster", cl::sub(step), cl::value_desc("file.yaml"),
                             cl::desc("Machine that ppc-compile plans for; default: this one, measured first"));
IntegerOption repeats("repeats", within(1, limits::checkSteps), cl::sub(step), cl::value_desc("N"),
                      cl::desc("Turns of each participant (5)"), cl::init(5));
IntegerOption stepsPerTurn("steps", within(1, limits::checkSteps), cl::sub(step), cl::value_desc("N"),
                           cl::desc("Measured steps in a turn (2)"), cl::init(2));
cl::opt<std::string>
    python("python", cl::sub(step), cl::value_desc("program"),
           cl::desc("Python with jax and torch, either of which may be absent (python3); none: PPC alone"),
           cl::init("python3"));
cl::opt<std::string> folderOption("folder", cl::sub(step), cl::value_desc("folder"),
                                  cl::desc("Keep the files there; default: a temporary folder, removed at the end"));

constexpr int64_t comparedSteps = 3;

const char *const defaultConfig = R"({
  "model_type": "llama", "vocab_size": 32000, "hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 4,
  "num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
  "rope_theta": 10000.0, "hidden_act": "silu", "initializer_range": 0.02, "tie_word_embeddings": false
}
)";

/// Names in the folder of files that other programs write, and of their standard errors.
std::vector<std::string> namesOfOthers() {
  std::vector<std::string> names = {"compile.stderr",
                                    "profile.stderr",
                                    "ppc.stderr",
                                    "steps.jsonl",
                                    "jax_step.stderr",
                                    "torch_step.stderr",
                                    "torch_step--compile.stderr"};
  if (cluster.empty())
    names.insert(names.end(), {"machine.yaml", "machine.stderr"});
  if (weights.empty())
    names.insert(names.end(), {"weights.stderr", "weights/config.json", "weights/model.safetensors"});
  for (std::string precision : {"f32", "bf16"})
    for (std::string name : {"train-" + precision, "train-" + precision + "-profile", "profile-" + precision + ".json"})
      names.push_back(name);
  return names;
}

/// Declares inputs, and refuses a folder in which they would be overwritten.
llvm::Error declareFiles(CommandFiles &files, const std::string &tools, const std::string &folder) {
  files.reads("--config", config);
  files.reads("--weights", weights);
  if (llvm::sys::fs::is_directory(weights))
    files.reads("--weights", weights + "/model.safetensors");
  files.reads("--cluster", cluster);
  if (auto program = llvm::sys::findProgramByName(python))
    files.reads("--python", *program);
  llvm::SmallVector<llvm::StringRef> words; // options of ppc-compile may name files
  llvm::SplitString(layout, words, " =");
  for (llvm::StringRef word : words)
    files.reads("--layout", word);
  files.needs("ppc-compile", tools + "/ppc-compile");
  for (const std::string &name : namesOfOthers())
    if (llvm::Error error = files.checkOutput("--folder", folder + "/" + name))
      return error;
  return llvm::Error::success();
}

llvm::Error writeFile(CommandFiles &files, const std::string &path, llvm::StringRef bytes) {
  llvm::Expected<OutputFile> file = files.writes("--folder", path);
  if (!file)
    return file.takeError();
  return file->write([&](llvm::raw_ostream &out) {
    out << bytes;
    return llvm::Error::success();
  });
}

/// Random ids for `count` tokens.
llvm::Error writeTokens(CommandFiles &files, const std::string &path, int64_t vocabulary, int64_t count) {
  std::mt19937 random(1);
  std::vector<uint32_t> ids(count);
  for (uint32_t &id : ids)
    id = uint32_t(random() % uint64_t(vocabulary));
  return writeFile(files, path, {reinterpret_cast<const char *>(ids.data()), ids.size() * sizeof(uint32_t)});
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.empty() ? std::nan("") : values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// A participant and its measurements.
struct Measured {
  std::unique_ptr<StepParticipant> participant;
  std::vector<double> seconds, losses; // of measured steps; of the first steps with the given weights
  StepRecord first;                    // record of the first steps
  int64_t memory = 0;
  bool ours = false;
};

class StepComparison {
public:
  StepComparison(StepWork work, ModelShape model, std::string tools)
      : work(std::move(work)), model(std::move(model)), tools(std::move(tools)) {}

  /// Compiles, makes weights, measures and prints; false when losses differ.
  llvm::Expected<bool> run(const std::string &precision) {
    work.precision = precision;
    if (llvm::Error problem = prepare())
      return problem;
    addBaselines();
    if (llvm::Error problem = compareLosses())
      return problem;
    for (int64_t turn = 0; turn < repeats; ++turn)
      for (Measured &one : all)
        if (llvm::Error problem = takeTurn(one))
          return problem;
    for (Measured &one : all)
      if (llvm::Error problem = watchMemory(one))
        return problem;
    print();
    llvm::outs().flush();
    if (llvm::Error problem = profile())
      return problem;
    return lossesAgree;
  }

private:
  llvm::Error compile(const std::string &wanted, const std::string &executable, bool profile = false) {
    std::vector<std::string> command = {tools + "/ppc-compile",
                                        work.config,
                                        "--seq-len",
                                        std::to_string(work.sequence),
                                        "--global-batch",
                                        std::to_string(work.batch),
                                        "--cluster",
                                        work.cluster,
                                        "-o",
                                        executable};
    if (layout.empty()) {
      command.push_back("--ranks=" + std::to_string(work.cores));
    } else {
      llvm::SmallVector<llvm::StringRef> options;
      llvm::StringRef(layout).split(options, ' ', -1, /*KeepEmpty=*/false);
      command.insert(command.end(), options.begin(), options.end());
    }
    if (profile)
      command.push_back("--profile");
    if (wanted != "f32")
      command.push_back("--precision=" + wanted);
    std::string said = work.folder + "/compile.stderr";
    if (llvm::Error problem = runCommand(command, said))
      return problem;
    plan = layout.empty() ? "--ranks=" + std::to_string(work.cores) : layout;
    if (auto text = llvm::MemoryBuffer::getFile(said)) // result of a search
      if (llvm::StringRef note = (*text)->getBuffer().split("note: plan: ").second; !note.empty())
        plan = note.split('\n').first.split(';').first.str();
    return llvm::Error::success();
  }

  llvm::Error prepare() {
    std::string executable = work.folder + "/train-" + work.precision;
    if (llvm::Error problem = compile(work.precision, executable))
      return problem;
    if (work.weights.empty()) { // a step that learns nothing
      std::string folder = work.folder + "/weights";
      if (llvm::Error problem = runCommand({executable, "--data", work.tokens, "--data-format", "uint32", "--steps",
                                            "1", "--lr", "0", "--min-lr", "0", "--quiet", "--save-weights", folder},
                                           work.folder + "/weights.stderr"))
        return problem;
      work.weights = folder + "/model.safetensors";
    }
    Measured ours;
    ours.participant = compiledProgram(work, executable);
    ours.ours = true;
    all.push_back(std::move(ours));
    return llvm::Error::success();
  }

  /// Measures the program's operations: builds it again with a profile.
  llvm::Error profile() {
    std::string executable = work.folder + "/train-" + work.precision + "-profile",
                file = work.folder + "/profile-" + work.precision + ".json";
    if (llvm::Error problem = compile(work.precision, executable, /*profile=*/true))
      return problem;
    if (llvm::Error problem = runCommand({executable, "--weights", work.weights, "--data", work.tokens, "--data-format",
                                          "uint32", "--order", "sequential", "--steps",
                                          std::to_string(1 + stepsPerTurn), "--quiet", "--profile", file},
                                         work.folder + "/profile.stderr"))
      return problem;
    DevicePeaks peaks = measureCorePeaks(int(work.cores), work.precision == "bf16");
    if (peaks.flops == 0)
      return llvm::createStringError("the machine cannot be measured");
    return printRoofline(file, peaks, kCoreAmongOthers, llvm::outs());
  }

  void addBaselines() {
    if (python == "none")
      return;
    struct {
      const char *what, *script;
      std::vector<std::string> options;
    } baselines[] = {{"JAX", "jax_step.py", {}},
                     {"PyTorch", "torch_step.py", {}},
                     {"PyTorch, compiled", "torch_step.py", {"--compile"}}};
    std::string scripts = tools + "/../share/ppc-bench/";
    for (auto &[what, script, options] : baselines) {
      auto participant = pythonBaseline(work, python, scripts + script, options);
      if (!participant) {
        llvm::outs() << what << " is left out: " << llvm::toString(participant.takeError()) << "\n";
        llvm::outs().flush();
        continue;
      }
      Measured one;
      one.participant = std::move(*participant);
      all.push_back(std::move(one));
    }
  }

  /// The first steps of every participant, from the same weights on; one that fails is left out, unless it is ours.
  llvm::Error compareLosses() {
    for (Measured &one : all) {
      llvm::Expected<StepRecord> record = one.participant->run(comparedSteps, [](pid_t) {});
      if (!record && one.ours)
        return record.takeError();
      if (!record) {
        llvm::outs() << one.participant->name() << " is left out: " << llvm::toString(record.takeError()) << "\n";
        one.participant = nullptr;
        continue;
      }
      one.losses = record->losses;
      one.first = std::move(*record);
    }
    all.erase(std::remove_if(all.begin(), all.end(), [](const Measured &one) { return !one.participant; }), all.end());
    // Rounding differs: matmuls in bf16 keep 8 bits.
    double tolerance = work.precision == "f32" ? 1e-5 : 1e-2;
    for (const Measured &one : all)
      for (size_t i = 0; i < all.front().losses.size(); ++i) {
        double difference = i < one.losses.size() ? std::abs(one.losses[i] / all.front().losses[i] - 1) : std::nan("");
        largestDifference = std::max(largestDifference, difference);
        lossesAgree &= difference < tolerance;
      }
    return llvm::Error::success();
  }

  llvm::Error takeTurn(Measured &one) {
    // A new process has its first step for itself; the others are warm.
    int64_t extra = one.ours;
    llvm::Expected<StepRecord> record = one.participant->run(stepsPerTurn + extra, [](pid_t) {});
    if (!record)
      return record.takeError();
    one.seconds.insert(one.seconds.end(), record->seconds.begin() + extra, record->seconds.end());
    return llvm::Error::success();
  }

  /// In a turn of its own: looking takes time.
  llvm::Error watchMemory(Measured &one) {
    MemoryWatch watch;
    llvm::Expected<StepRecord> record = one.participant->run(2, [&](pid_t process) { watch.start(process); });
    one.memory = watch.stop();
    return record ? llvm::Error::success() : record.takeError();
  }

  void print() const {
    double tokens = double(work.sequence * work.batch), flops = modelFlopsPerToken(model, work.sequence) * tokens;
    llvm::outs() << "\none training step in " << work.precision << ": " << model.layers << " layers, hidden "
                 << model.hidden << ", ffn " << model.ffn << ", " << model.heads << " heads, vocabulary " << model.vocab
                 << ", " << groupedText(countParameters(model).total) << " parameters; " << work.batch
                 << " sequences of " << work.sequence << " tokens; AdamW, gradients clipped to norm 1; " << work.cores
                 << " cores (" << llvm::sys::getHostCPUName() << ")\n";
    llvm::outs() << "losses of the first " << comparedSteps << " steps:";
    for (double loss : all.front().losses)
      llvm::outs() << llvm::formatv(" {0:f6}", loss);
    llvm::outs() << llvm::formatv("; all participants {0}: largest relative difference {1:e1}\n\n",
                                  lossesAgree ? "agree" : "DIFFER", largestDifference);
    TextTable table({"program", "median", "fastest", "slowest", "tokens/s", "model GFLOP/s", "peak memory"});
    for (const Measured &one : all) {
      auto [least, most] = std::minmax_element(one.seconds.begin(), one.seconds.end());
      double middle = median(one.seconds);
      table.row({one.participant->name(), toString(Seconds(middle)), toString(Seconds(*least)),
                 toString(Seconds(*most)), groupedText(std::round(tokens / middle)),
                 fixedText(flops / middle * 1e-9, 0), toString(Bytes(double(one.memory)))});
    }
    table.print(llvm::outs());
    printPrediction();
    if (all.size() == 1)
      return;
    auto least = [&](auto measure) {
      return std::min_element(all.begin() + 1, all.end(),
                              [&](const Measured &a, const Measured &b) { return measure(a) < measure(b); });
    };
    auto time = [](const Measured &one) { return median(one.seconds); };
    auto memory = [](const Measured &one) { return double(one.memory); };
    auto fastest = least(time), smallest = least(memory);
    llvm::outs() << llvm::formatv("\nPPC is {0:f2} times as fast as the fastest other ({1}), and takes {2:f2} times "
                                  "the memory of the smallest ({3})\n",
                                  time(*fastest) / time(all.front()), fastest->participant->name(),
                                  memory(all.front()) / memory(*smallest), smallest->participant->name());
  }

  /// Prints the planner's prediction for our program next to the measurement.
  void printPrediction() const {
    const Measured &ours = all.front();
    llvm::Expected<Cluster> machine = findCluster(work.cluster);
    if (!machine || std::isnan(ours.first.predictedSeconds))
      return llvm::consumeError(machine.takeError());
    Bytes libraries = machine->device().frameworkMemory;
    double measured = median(ours.seconds);
    llvm::outs() << llvm::formatv(
        "\nplan: {0}\npredicted {1} per step, {2:f2} times what was measured, and {3} per rank with {4} of libraries; "
        "its arena takes {5}\n",
        plan, toString(Seconds(ours.first.predictedSeconds)), ours.first.predictedSeconds / measured,
        toString(Bytes(ours.first.predictedMemory)), toString(libraries), toString(Bytes(ours.first.arena)));
  }

  StepWork work;
  ModelShape model;
  std::string tools, plan;
  std::vector<Measured> all; // ours first
  bool lossesAgree = true;
  double largestDifference = 0;
};

llvm::Expected<bool> compare(const std::string &tools, const std::string &folder) {
  StepWork work;
  work.folder = folder;
  work.sequence = sequence;
  work.batch = batch;
  work.cores = ppcrt::availableCores();
  work.config = config;
  work.weights = weights;
  work.tokens = folder + "/tokens.bin";
  work.cluster = cluster;
  CommandFiles files;
  if (llvm::Error problem = declareFiles(files, tools, folder))
    return problem;
  if (work.config.empty()) {
    work.config = folder + "/config.json";
    if (llvm::Error problem = writeFile(files, work.config, defaultConfig))
      return problem;
  }
  auto model = readModelShape(work.config);
  if (!model)
    return model.takeError();
  if (llvm::sys::fs::is_directory(work.weights))
    work.weights += "/model.safetensors";
  if (llvm::Error problem = writeTokens(files, work.tokens, model->vocab, work.batch * 8 * work.sequence + 1))
    return problem;
  if (work.cluster.empty()) {
    work.cluster = folder + "/machine.yaml";
    if (llvm::Error problem =
            runCommand({tools + "/ppc-bench", "--ranks", std::to_string(work.cores), "-o", work.cluster},
                       folder + "/machine.stderr"))
      return problem;
  }
  bool agree = true;
  std::vector<std::string> wanted(precisions.begin(), precisions.end());
  if (wanted.empty())
    wanted = {"f32"};
  for (const std::string &precision : wanted) {
    llvm::Expected<bool> result = StepComparison(work, *model, tools).run(precision);
    if (!result)
      return result.takeError();
    agree &= *result;
  }
  return agree;
}

} // namespace

bool isStepRequested() { return bool(step); }

int runStep(const char *program) {
  auto usage = [](const llvm::Twine &message) {
    llvm::errs() << "error: " << message << "; see ppc-bench step --help\n";
    return 2;
  };
  if (sequence > limits::benchTokens / batch)
    return usage("--seq-len " + llvm::Twine(sequence) + " times --global-batch " + llvm::Twine(batch) +
                 " are more than " + llvm::Twine(limits::benchTokens) + " tokens");
  for (const std::string &precision : precisions)
    if (precision != "f32" && precision != "bf16")
      return usage("--precision is '" + precision + "', expected f32 or bf16");
  if (folderOption.getNumOccurrences() && folderOption.empty())
    return usage("--folder: the name of the folder is empty");
  std::signal(SIGPIPE, SIG_IGN); // a participant that is gone is noticed where it is spoken to
  llvm::SmallString<128> folder(folderOption);
  std::optional<ScratchFolder> scratch;
  if (folder.empty())
    folder = scratch.emplace("ppc-bench-step").name();
  std::error_code problem = scratch ? scratch->failure() : llvm::sys::fs::create_directories(folder);
  if (problem) {
    llvm::errs() << "error: cannot make the folder " << folder << ": " << problem.message() << "\n";
    return 1;
  }
  llvm::SmallString<128> tools(
      llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(program, reinterpret_cast<void *>(&runStep))));
  llvm::Expected<bool> agree = compare(std::string(tools), std::string(folder));
  if (!agree) {
    llvm::errs() << "error: " << llvm::toString(agree.takeError()) << "\n";
    return 1;
  }
  if (!*agree)
    llvm::errs() << "error: the participants compute different losses\n";
  return *agree ? 0 : 1;
}

} // namespace mlir::ppc
