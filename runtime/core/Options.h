// The command line of a compiled program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ppcrt {

struct Options {
  std::string data;
  std::string dataFormat = "auto"; // one of dataFormatNames
  std::string order = "random";    // one of orderNames
  std::string tokenizer = "bytes"; // or the path of a tokenizer.json
  std::string saveTokens;
  bool synthetic = false;
  std::string evalData;
  int64_t evalEvery = 0;   // 0: only after the last step
  int64_t evalBatches = 0; // 0: all of evalData
  int64_t steps = 100;
  double learningRate = 3e-4;
  double minimumLearningRate = -1; // negative: a tenth of learningRate
  int64_t warmup = -1;             // negative: a tenth of the steps, at most 100
  uint64_t seed = 0;
  std::string checkpointDir;
  int64_t checkpointEvery = 0; // 0: only after the last step
  int64_t checkpointKeep = 2;
  bool checkpointWait = false;
  bool checkpointRequired = false;
  bool resume = false;
  bool resumeAnyway = false;        // resume, whatever the checkpoint is of
  std::string onNotFinite = "stop"; // or "continue"
  std::string log;
  std::string trace;
  std::string profile;
  std::string emulate;
  std::string saveDurations;
  std::string saveParameters;
  std::string saveGradients;
  std::string saveLosses;
  std::string transport;    // "local", "mpi", "tcp", or empty: what the environment says
  std::string store;        // HOST:PORT of rank 0 for "tcp"; empty: what the environment says
  double joinTimeout = 120; // seconds until all ranks have come there
  double hangTimeout = 300; // seconds after which a rank that gives no sign of life, or communication of GPUs, is dead
  std::string weights;
  std::string saveWeights;
  std::string weightType = "f32";
  int64_t weightFileBytes = int64_t(5) << 30;
  int64_t printEvery = 0;   // 0: about 50 lines, and one every 6 s
  double slowRank = 20;     // times the usual time of an action; 0: no rank is named
  double slowRankAfter = 6; // seconds
  int64_t threads = 0;      // 0: cores / ranks
  bool shareDevices = false;
  std::string launches = "graphs"; // or "plain"
  bool quiet = false;
  bool showPlan = false;
  bool checkMachine = false;
  bool help = false;
  bool version = false;
  std::vector<std::string> given; // names of the options on the command line
  std::string problem;            // why the first word that cannot be used cannot; empty: there is none
  bool hidesTransport = false;    // that word says which transport the ranks have, and is like none
  bool guessesTransport = false;  // that word is like the name of a transport, which the ranks may not have
  bool needsOthers = true;        // where other ranks do not come, the run has failed

  bool isGiven(const char *name) const;
  // Operations that are timed one by one are in no graph.
  bool makesGraphs() const { return launches == "graphs" && profile.empty(); }
};

// Reads the words of a command line; the first that cannot be used is told in Options::problem, and the others count: a
// rank has to know where the others are that it tells of it.
Options readOptions(int argc, char **argv);
// Throws UsageError where there is a problem, naming the option.
void checkWords(const Options &options);
// Both.
Options parseOptions(int argc, char **argv);

// Throws UsageError where options do not go together, or one is missing that another needs.
void checkOptions(const Options &options);

// An option as ranks that were started apart compare it.
struct OptionValue {
  const char *name;
  std::string value;     // as it was understood; empty: not given
  bool namesInput;       // a file or a folder that the run reads: its content counts in place of its name
  const char *mayDiffer; // why ranks may have different values; null: they may not
};

// Of each option that there is, in the order of the help text.
std::vector<OptionValue> optionValues(const Options &options);

std::string helpText(const std::string &program);

} // namespace ppcrt
