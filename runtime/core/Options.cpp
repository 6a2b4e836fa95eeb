// One table of options: parsing and help read it.
#include "runtime/core/Options.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/NearestName.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace ppcrt {
namespace {

// An Input is a Text that names what is read.
enum class Kind { Flag, Text, Input, Choice, Count, Positive, Real, Seed };

struct Option {
  const char *name;
  const char *argument; // placeholder, null for flags
  const char *help;
  Kind kind;
  void *(*field)(Options &);
  int64_t most = mlir::ppc::limits::steps; // of a Count or a Positive
  const char *mayDiffer = nullptr;         // why ranks may have different values; null: they may not
};

constexpr double mostReal = mlir::ppc::limits::learningRate;
constexpr int64_t mostThreads = mlir::ppc::limits::threads;
constexpr int64_t mostBytes = mlir::ppc::limits::tensorElements;

#define FIELD(name) [](Options &options) -> void * { return &options.name; }

const Option table[] = {
    {"--data", "FILE", "text to train on, whose bytes are the tokens, or a file of token ids", Kind::Input,
     FIELD(data)},
    {"--data-format", "auto|text|uint16|uint32|megatron", "how FILE holds its tokens (default: auto)", Kind::Choice,
     FIELD(dataFormat)},
    {"--order", "random|shuffle|sequential", "places anywhere (default), epochs of all samples, or as in the file",
     Kind::Choice, FIELD(order)},
    {"--tokenizer", "bytes|FILE",
     "what makes tokens of a text: its bytes (default), or a tokenizer.json of byte-level BPE", Kind::Input,
     FIELD(tokenizer)},
    {"--save-tokens", "FILE.bin", "write the tokens of --data as --data reads them, and exit", Kind::Text,
     FIELD(saveTokens)},
    {"--synthetic", nullptr, "train on random tokens instead of a text", Kind::Flag, FIELD(synthetic)},
    {"--eval-data", "FILE", "text or tokens of which the loss is told without training on them, read as --data is",
     Kind::Input, FIELD(evalData)},
    {"--eval-every", "N", "steps between two evaluations of --eval-data (default: only after the last step)",
     Kind::Positive, FIELD(evalEvery)},
    {"--eval-batches", "N",
     "batches to evaluate (default: all of --eval-data, the last one with the samples that are left)", Kind::Positive,
     FIELD(evalBatches)},
    {"--steps", "N", "optimizer steps (default 100); 0: evaluate and save what the run begins with", Kind::Count,
     FIELD(steps)},
    {"--lr", "F", "peak learning rate (default 3e-4)", Kind::Real, FIELD(learningRate)},
    {"--min-lr", "F", "learning rate of the last step (default: a tenth of --lr)", Kind::Real,
     FIELD(minimumLearningRate)},
    {"--warmup", "N", "steps until the peak learning rate (default: a tenth of the steps, at most 100)", Kind::Count,
     FIELD(warmup)},
    {"--seed", "N", "seed of initial values and sample order (default 0)", Kind::Seed, FIELD(seed)},
    {"--weights", "PATH", "begin with the weights of a folder as transformers writes it, or of a *.safetensors",
     Kind::Input, FIELD(weights)},
    {"--save-weights", "FOLDER", "write the weights after the last step as transformers reads them", Kind::Text,
     FIELD(saveWeights)},
    {"--weight-type", "f32|bf16", "type of the written weights: as they are trained (default), or rounded",
     Kind::Choice, FIELD(weightType)},
    {"--weight-file-bytes", "N", "begin a new file of weights before it holds more bytes (default 5 GiB)",
     Kind::Positive, FIELD(weightFileBytes), mostBytes},
    {"--checkpoint-dir", "FOLDER",
     "write checkpoints to this folder: every --checkpoint-every steps and after the last", Kind::Text,
     FIELD(checkpointDir)},
    {"--checkpoint-every", "N", "steps between two checkpoints (default: only after the last step)", Kind::Positive,
     FIELD(checkpointEvery)},
    {"--checkpoint-keep", "N", "checkpoints to keep; older ones are removed (default 2)", Kind::Positive,
     FIELD(checkpointKeep)},
    {"--checkpoint-wait", nullptr, "wait until a checkpoint is written instead of training on meanwhile", Kind::Flag,
     FIELD(checkpointWait)},
    {"--checkpoint-required", nullptr, "end the run when a checkpoint cannot be written (default: warn and train on)",
     Kind::Flag, FIELD(checkpointRequired)},
    {"--resume", nullptr, "go on from the last good checkpoint of --checkpoint-dir, if there is one", Kind::Flag,
     FIELD(resume)},
    {"--resume-anyway", nullptr,
     "the same, though the model, the optimizer or the data are not those of the checkpoint: warns of what differs",
     Kind::Flag, FIELD(resumeAnyway)},
    {"--on-not-finite", "stop|continue",
     "what to do when the loss or a gradient is infinite or no number (default: stop)", Kind::Choice,
     FIELD(onNotFinite)},
    {"--log", "FILE", "write one JSON object for each step", Kind::Text, FIELD(log)},
    {"--trace", "FILE", "write what each rank does when, for ui.perfetto.dev", Kind::Text, FIELD(trace)},
    {"--emulate", "FILE", "run as on links and bodies of the speeds that FILE gives (docs/guide/Emulate.md)",
     Kind::Input, FIELD(emulate)},
    {"--save-durations", "FILE", "write how long bodies take under --emulate as JSON", Kind::Text,
     FIELD(saveDurations)},
    {"--profile", "FILE", "write the time of each operation as JSON (programs of ppc-compile --profile)", Kind::Text,
     FIELD(profile)},
    {"--save-parameters", "FILE", "write the parameters after the last step as safetensors", Kind::Text,
     FIELD(saveParameters)},
    {"--save-gradients", "FILE", "write the reduced, unclipped gradients of the last step as safetensors", Kind::Text,
     FIELD(saveGradients)},
    {"--save-losses", "FILE", "write the loss of each step, one per line", Kind::Text, FIELD(saveLosses)},
    {"--transport", "local|mpi|tcp",
     "fork the ranks here, be one rank of mpirun, or one that rank 0 connects (default: as the environment says)",
     Kind::Choice, FIELD(transport), 0,
     "it says again what the environment says, and ranks of different transports do not meet"},
    {"--store", "HOST:PORT", "where rank 0 connects the ranks of --transport tcp (default: as the environment says)",
     Kind::Text, FIELD(store), 0, "machines may know that of rank 0 by different names"},
    {"--join-timeout", "F", "seconds until all ranks have come there (default 120)", Kind::Real, FIELD(joinTimeout)},
    {"--hang-timeout", "F",
     "seconds after which a rank without a sign of life, or communication between GPUs, ends the run (default 300)",
     Kind::Real, FIELD(hangTimeout)},
    {"--print-every", "N", "steps between two printed lines (default: about 50 lines in all, and one every 6 s)",
     Kind::Positive, FIELD(printEvery)},
    {"--slow-rank", "F",
     "name a rank that is in an action for F times as long as it usually takes (default 20; 0: never)", Kind::Real,
     FIELD(slowRank)},
    {"--slow-rank-after", "F", "name it after F seconds at the earliest, at least 1 (default 6)", Kind::Real,
     FIELD(slowRankAfter)},
    {"--threads", "N", "threads of each rank, at most 1024 (default: cores / ranks, of the machine that has fewest)",
     Kind::Positive, FIELD(threads), mostThreads},
    {"--share-devices", nullptr, "let several ranks use one GPU where there are fewer GPUs than ranks", Kind::Flag,
     FIELD(shareDevices)},
    {"--launches", "graphs|plain",
     "how GPUs are told what to do: a graph for what lies between communication (default), or each thing by itself",
     Kind::Choice, FIELD(launches)},
    {"--quiet", nullptr, "print nothing but errors and warnings", Kind::Flag, FIELD(quiet)},
    {"--show-plan", nullptr, "print the plan inside and exit", Kind::Flag, FIELD(showPlan)},
    {"--check-machine", nullptr, "check transport, memory and data, and exit", Kind::Flag, FIELD(checkMachine)},
    {"--version", nullptr, "print versions and exit", Kind::Flag, FIELD(version)},
    {"--help", nullptr, "print this text and exit", Kind::Flag, FIELD(help)},
};

#undef FIELD

// "010", which some read as octal.
bool hasLeadingZero(const char *text) {
  text += *text == '-' || *text == '+';
  return text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

int64_t parseInteger(const Option &option, const char *text, int64_t least, int64_t most) {
  char *end;
  errno = 0;
  long long value = std::strtoll(text, &end, 10);
  bool isPlain = std::strspn(text, "0123456789-") == std::strlen(text) && !hasLeadingZero(text); // no spaces
  if (!isPlain || end == text || *end || errno || value < least || value > most)
    throw UsageError(format("%s: expected an integer from %lld to %lld, found \"%s\"", option.name, (long long)least,
                            (long long)most, text));
  return value;
}

double parseReal(const Option &option, const char *text) {
  char *end;
  errno = 0;
  double value = std::strtod(text, &end);
  // No "nan", no hexadecimal.
  bool isPlain = std::strspn(text, "0123456789+-.eE") == std::strlen(text) && !hasLeadingZero(text);
  bool vanishes = value > 0 && float(value) == 0; // what computes with it is f32
  if (!isPlain || end == text || *end || errno || vanishes || !(value >= 0 && value <= mostReal))
    throw UsageError(format("%s: expected a number from 0 to %g, found \"%s\"", option.name, mostReal, text));
  return value;
}

std::vector<std::string> optionNames() {
  std::vector<std::string> names;
  for (const Option &option : table)
    names.push_back(option.name);
  return names;
}

// The words that a placeholder has between its bars.
std::vector<std::string> choicesOf(const Option &option) {
  std::vector<std::string> words;
  std::stringstream text(option.argument);
  for (std::string word; std::getline(text, word, '|');)
    words.push_back(word);
  return words;
}

void assign(const Option &option, Options &options, const char *text) {
  void *field = option.field(options);
  switch (option.kind) {
  case Kind::Flag:
    *static_cast<bool *>(field) = true;
    return;
  case Kind::Text:
  case Kind::Input:
    if (!*text)
      throw UsageError(format("%s: expected a file name, found nothing", option.name));
    *static_cast<std::string *>(field) = text;
    return;
  case Kind::Choice:
    if (std::vector<std::string> words = choicesOf(option); std::find(words.begin(), words.end(), text) == words.end())
      throw UsageError(format("%s: expected %s, found \"%s\"", option.name, option.argument, text) +
                       mlir::ppc::didYouMean(text, words));
    *static_cast<std::string *>(field) = text;
    return;
  case Kind::Count:
    *static_cast<int64_t *>(field) = parseInteger(option, text, 0, option.most);
    return;
  case Kind::Positive:
    *static_cast<int64_t *>(field) = parseInteger(option, text, 1, option.most);
    return;
  case Kind::Seed:
    *static_cast<uint64_t *>(field) = uint64_t(parseInteger(option, text, 0, INT64_MAX));
    return;
  case Kind::Real:
    *static_cast<double *>(field) = parseReal(option, text);
    return;
  }
}

std::string show(const Option &option, const void *field) {
  switch (option.kind) {
  case Kind::Flag:
    return "given";
  case Kind::Text:
  case Kind::Input:
  case Kind::Choice:
    return *static_cast<const std::string *>(field);
  case Kind::Count:
  case Kind::Positive:
    return std::to_string(*static_cast<const int64_t *>(field));
  case Kind::Seed:
    return std::to_string(*static_cast<const uint64_t *>(field));
  case Kind::Real:
    return formatNumber(*static_cast<const double *>(field));
  }
  return "";
}

// The word at `i`, and the next one where it is its value, of which `i` is the place then.
void readWord(Options &options, int argc, char **argv, int &i) {
  const char *word = argv[i], *equals = std::strchr(word, '=');
  std::string name(word, equals ? size_t(equals - word) : std::strlen(word));
  const Option *option =
      std::find_if(std::begin(table), std::end(table), [&](const Option &candidate) { return name == candidate.name; });
  if (option == std::end(table))
    throw UsageError(format("unknown argument \"%s\"", word) + mlir::ppc::didYouMean(name, optionNames()) +
                     ": see --help");
  if (!option->argument && equals)
    throw UsageError(format("%s takes no value", option->name));
  if (option->argument && !equals && i + 1 == argc)
    throw UsageError(format("%s: missing %s", option->name, option->argument));
  const char *value = !option->argument ? "" : equals ? equals + 1 : argv[++i];
  if (options.isGiven(option->name))
    throw UsageError(format("%s is given twice: give it once", option->name));
  options.given.push_back(option->name);
  assign(*option, options, value);
}

// After a mistake in the word at `i`: what says where the other ranks are is read as what it is nearest to, so that
// they can be told. `i` becomes the place of the value of a misspelled option.
void readMeant(Options &options, int argc, char **argv, int &i) {
  const char *word = argv[i], *equals = std::strchr(word, '=');
  std::string name(word, equals ? size_t(equals - word) : std::strlen(word));
  std::vector<std::string> names = optionNames();
  bool isKnown = std::find(names.begin(), names.end(), name) != names.end();
  const std::string meant = isKnown ? name : mlir::ppc::nearestName(name, names);
  const Option *option = std::find_if(std::begin(table), std::end(table),
                                      [&](const Option &candidate) { return meant == candidate.name; });
  bool isTransport = meant == "--transport";
  if (!isTransport && meant != "--store" && meant != "--join-timeout")
    return;
  const char *next = i + 1 < argc ? argv[i + 1] : nullptr;
  std::string value = equals ? equals + 1 : next && std::strncmp(next, "--", 2) != 0 ? argv[++i] : "";
  bool isOther = options.isGiven(meant.c_str()) && !options.transport.empty() && options.transport != value;
  if (std::vector<std::string> words = isTransport ? choicesOf(*option) : std::vector<std::string>();
      isTransport && std::find(words.begin(), words.end(), value) == words.end()) {
    value = mlir::ppc::nearestName(value, words);
    options.guessesTransport = !value.empty();
  }
  options.hidesTransport |= isTransport && (value.empty() || isOther);
  if (isKnown && options.isGiven(meant.c_str()) && !isTransport)
    return; // what was given first is meant
  try {
    assign(*option, options, value.c_str());
  } catch (const UsageError &) {
  }
}

// --steps 0 trains nothing: something else must be asked for, and nothing that only steps give.
void checkStepless(const Options &options) {
  if (options.steps > 0 || options.checkMachine || !options.saveTokens.empty())
    return;
  for (const char *name : {"--save-gradients", "--save-losses", "--trace", "--profile", "--emulate", "--eval-every"})
    if (options.isGiven(name))
      throw UsageError(format("%s needs a step: --steps 0 has none", name));
  if (!options.checkpointDir.empty() && !options.resume && !options.resumeAnyway)
    throw UsageError("--checkpoint-dir: a checkpoint is written after a step, and --steps 0 has none: give --resume to "
                     "look at the last checkpoint");
  if (options.evalData.empty() && options.saveWeights.empty() && options.saveParameters.empty())
    throw UsageError("--steps 0 trains nothing: give --eval-data FILE to evaluate, or --save-weights FOLDER or "
                     "--save-parameters FILE to write what the run begins with");
}

} // namespace

bool Options::isGiven(const char *name) const { return std::find(given.begin(), given.end(), name) != given.end(); }

Options readOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    int first = i;
    try {
      readWord(options, argc, argv, i);
    } catch (const UsageError &error) {
      if (options.problem.empty())
        options.problem = error.what();
      readMeant(options, argc, argv, i = first);
    }
  }
  options.resume |= options.resumeAnyway;
  if (options.minimumLearningRate < 0)
    options.minimumLearningRate = options.learningRate / 10;
  if (options.warmup < 0)
    options.warmup = std::min<int64_t>(100, options.steps / 10);
  return options;
}

void checkWords(const Options &options) {
  if (!options.problem.empty())
    throw UsageError(options.problem);
}

Options parseOptions(int argc, char **argv) {
  Options options = readOptions(argc, argv);
  checkWords(options);
  return options;
}

void checkOptions(const Options &options) {
  if (options.help || options.version || options.showPlan)
    return;
  checkStepless(options);
  bool needsData = !options.checkMachine && (options.steps > 0 || !options.checkpointDir.empty());
  if (options.data.empty() == !options.synthetic && (options.synthetic || needsData))
    throw UsageError(options.synthetic ? "--data and --synthetic exclude each other"
                                       : "no training data: give --data FILE (or --synthetic); see --help");
  if (options.tokenizer != "bytes" && options.dataFormat != "auto" && options.dataFormat != "text")
    throw UsageError("--tokenizer FILE makes tokens of a text: --data-format " + options.dataFormat +
                     " says that they are made already");
  if (!options.saveTokens.empty() && options.data.empty())
    throw UsageError("--save-tokens needs --data FILE");
  if (!options.saveDurations.empty() && options.emulate.empty())
    throw UsageError("--save-durations needs --emulate FILE");
  if (!options.emulate.empty() && options.threads > 1)
    throw UsageError("--emulate measures one thread of each rank: leave --threads out");
  for (const char *name : {"--eval-every", "--eval-batches"})
    if (options.isGiven(name) && options.evalData.empty())
      throw UsageError(format("%s needs --eval-data FILE", name));
  for (const char *name : {"--resume", "--resume-anyway", "--checkpoint-every", "--checkpoint-keep",
                           "--checkpoint-wait", "--checkpoint-required"})
    if (options.isGiven(name) && options.checkpointDir.empty())
      throw UsageError(format("%s needs --checkpoint-dir FOLDER", name));
  bool fromCheckpoint = options.resume && !options.isGiven("--lr"); // which says it later
  if (options.minimumLearningRate > options.learningRate && !fromCheckpoint)
    throw UsageError(format("--min-lr %g is larger than --lr %g", options.minimumLearningRate, options.learningRate));
}

std::vector<OptionValue> optionValues(const Options &options) {
  Options copy = options;
  std::vector<OptionValue> values;
  for (const Option &option : table)
    values.push_back({option.name, options.isGiven(option.name) ? show(option, option.field(copy)) : "",
                      option.kind == Kind::Input, option.mayDiffer});
  return values;
}

std::string helpText(const std::string &program) {
  std::string text = "usage: " + program +
                     " --data FILE [options]\n\nTrains the model that was compiled into this "
                     "program.\n\noptions:\n";
  for (const Option &option : table) {
    std::string left = std::string("  ") + option.name + (option.argument ? std::string(" ") + option.argument : "");
    left.resize(std::max<size_t>(left.size() + 1, 26), ' ');
    text += left + option.help + "\n";
  }
  return text + "\nexit status: 0 done, 1 wrong input or a failed rank, 2 wrong usage, 128 + n stopped by signal n\n";
}

} // namespace ppcrt
