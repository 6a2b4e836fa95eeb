// Ranks that are started with other options, files, variables or folders than the others: every difference is named
// before the first step. The options are those of the table, the files those of runInputs().
#include "runtime/files/FileDigest.h"
#include "runtime/launch/RunInputs.h"
#include "runtime/run/Options.h"
#include "test/Runtime/ProgramRun.h"
#include "test/Runtime/Ranks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <sched.h>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace ppcrt;
using namespace ppcrt::test;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

// What one of two ranks is started with.
struct Start {
  Words before, environment, arguments;
  bool saysTransport = false; // the arguments do
};

struct RanksEnd {
  std::vector<int> statuses;
  std::string out, errors;
};

RanksEnd runOverTcp(const Start (&starts)[2], const std::string &layout) {
  int port = freePort();
  std::vector<std::unique_ptr<ProgramRun>> runs;
  for (int rank : {0, 1}) {
    Words environment = starts[rank].environment, arguments = starts[rank].arguments;
    environment.insert(environment.end(), {"MASTER_ADDR=" + ownAddress(), "MASTER_PORT=" + std::to_string(port),
                                           "RANK=" + std::to_string(rank), "WORLD_SIZE=2"});
    if (!starts[rank].saysTransport)
      arguments.insert(arguments.end(), {"--transport", "tcp"});
    runs.push_back(std::make_unique<ProgramRun>(starts[rank].before, environment, layout, arguments));
  }
  RanksEnd outcome;
  for (auto &run : runs) {
    outcome.statuses.push_back(run->wait());
    outcome.out += run->out();
    outcome.errors += run->err();
  }
  return outcome;
}

RanksEnd runOverMpi(const Start (&starts)[2], const std::string &layout) {
  std::string self = fs::read_symlink("/proc/self/exe").string();
  auto words = [&](const Start &start) {
    Words all = {"-n", "1", "env"};
    all.insert(all.end(), start.environment.begin(), start.environment.end());
    all.insert(all.end(), start.before.begin(), start.before.end());
    return all;
  };
  Words command = {"mpirun"}, first = words(starts[0]), second = words(starts[1]);
  command.insert(command.end(), first.begin(), first.end());
  command.insert(command.end(), {self, "--program=" + layout});
  command.insert(command.end(), starts[0].arguments.begin(), starts[0].arguments.end());
  command.push_back(":");
  command.insert(command.end(), second.begin(), second.end());
  ProgramRun run(command, mpirunEnvironment(), layout, starts[1].arguments);
  int status = run.wait();
  return {{status}, run.out(), run.err()};
}

class RankAgreementTest : public ::testing::TestWithParam<TransportKind> {
protected:
  void SetUp() override {
    if (std::string reason = whyNot(GetParam()); !reason.empty())
      GTEST_SKIP() << reason;
  }
  RanksEnd run(const Start (&starts)[2], const std::string &layout = "1,2,1") const {
    return GetParam() == TransportKind::Mpi ? runOverMpi(starts, layout) : runOverTcp(starts, layout);
  }
};

void expectRefused(const RanksEnd &outcome) {
  for (int status : outcome.statuses)
    EXPECT_EQ(status, 1) << outcome.errors;
  EXPECT_EQ(outcome.out, "") << "nothing begins";
  size_t error = outcome.errors.find("error: the ranks were not started alike");
  EXPECT_EQ(error, 0u) << outcome.errors;
  EXPECT_EQ(outcome.errors.find("error: ", error + 1), std::string::npos) << "it is said once: " << outcome.errors;
}

// A value of an option that no other test of it gives, by its placeholder.
std::string valueOf(const std::string &placeholder, const std::string &folder, int number) {
  if (placeholder == "N")
    return "7";
  if (placeholder == "F")
    return "1.25";
  if (placeholder == "HOST:PORT")
    return "127.0.0.1:9";
  if (placeholder.find("FILE") != std::string::npos || placeholder == "FOLDER" || placeholder == "PATH")
    return folder + "/" + std::to_string(number);
  return placeholder.substr(0, placeholder.find('|')); // one of several words
}

std::map<std::string, std::string> placeholders() {
  std::map<std::string, std::string> found;
  std::stringstream text(helpText("train"));
  for (std::string line; std::getline(text, line);) {
    std::stringstream words(line);
    std::string name, argument;
    words >> name >> argument;
    bool isOption = line.rfind("  --", 0) == 0,
         hasArgument = isOption && line.size() > name.size() + 3 && line[name.size() + 3] != ' ';
    if (isOption)
      found[name] = hasArgument ? argument : "";
  }
  return found;
}

// Those that a process answers alone, without a run.
bool isAnswered(const std::string &name) { return name == "--help" || name == "--version" || name == "--show-plan"; }

TEST_P(RankAgreementTest, EveryOptionIsCompared) {
  std::string folder = temporaryPath("paths");
  std::map<std::string, std::string> arguments = placeholders();
  Words given;
  std::vector<OptionValue> compared;
  int number = 0;
  for (const OptionValue &option : optionValues(Options())) {
    EXPECT_EQ(arguments.count(option.name), 1u) << option.name;
    if (option.mayDiffer || isAnswered(option.name))
      continue;
    compared.push_back(option);
    given.push_back(option.name);
    if (const std::string &placeholder = arguments[option.name]; !placeholder.empty())
      given.push_back(valueOf(placeholder, folder, number++));
  }
  ASSERT_GE(compared.size(), 40u);
  for (int other : {0, 1}) {
    Start starts[2];
    starts[other].arguments = given;
    RanksEnd outcome = run(starts);
    expectRefused(outcome);
    for (const OptionValue &option : compared) {
      std::string line = outcome.errors.substr(
          std::min(outcome.errors.size(), outcome.errors.find(std::string("\n  ") + option.name + ": ")));
      line = line.substr(0, line.find('\n', 1));
      EXPECT_NE(line.find(format("not given in rank %d on ", 1 - other)), std::string::npos)
          << option.name << ": " << outcome.errors;
      EXPECT_NE(line.find(format(" in rank %d on ", other)), std::string::npos) << option.name;
    }
  }
}

TEST_P(RankAgreementTest, WhatIsAnsweredWithoutRanksIsCompared) {
  Start starts[2];
  for (Start &start : starts)
    start.arguments = {"--synthetic", "--steps", "2"};
  for (Start &start : starts) // a launcher starts all of them, so that they wait for each other longer
    start.environment = {"TORCHELASTIC_RUN_ID=1"};
  starts[1].arguments.insert(starts[1].arguments.end(), {"--help", "--version", "--show-plan"});
  RanksEnd outcome = run(starts);
  expectRefused(outcome);
  for (const char *name : {"--help", "--version", "--show-plan"})
    EXPECT_NE(outcome.errors.find(format("\n  %s: not given in rank 0 on ", name)), std::string::npos)
        << outcome.errors;
  starts[0].arguments = starts[1].arguments = {"--version"};
  outcome = run(starts, "2,2,2");
  EXPECT_EQ(outcome.statuses.front(), 0) << "the number of ranks is no matter: " << outcome.errors;
  EXPECT_EQ(outcome.out.find("ppc program: model "), 0u) << outcome.out;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << "it is said once: " << outcome.out;
}

TEST_P(RankAgreementTest, AWordThatNoRankCanUseIsToldToAll) {
  const std::pair<Words, std::string> mistakes[] = {
      {{"--steps", "3x"}, "--steps: expected an integer from 0 to 1000000000, found \"3x\""},
      {{"--stepps=3"}, "unknown argument \"--stepps=3\"; did you mean \"--steps\"?: see --help"},
      {{"--join-timeout", "soon"}, "--join-timeout: expected a number from 0 to 3.4e+38, found \"soon\""},
      {{"--quiet=no"}, "--quiet takes no value"}};
  for (const auto &[words, error] : mistakes)
    for (int other : {0, 1}) {
      Start starts[2];
      starts[1 - other].arguments = {"--synthetic", "--steps", "2"};
      starts[other].arguments = words;
      RanksEnd outcome = run(starts);
      for (int status : outcome.statuses)
        EXPECT_NE(status, 0) << outcome.errors;
      EXPECT_EQ(outcome.out, "");
      size_t at = outcome.errors.find(error);
      ASSERT_NE(at, std::string::npos) << outcome.errors;
      std::string line = outcome.errors.substr(0, at);
      line = line.substr(line.rfind('\n') + 1);
      EXPECT_EQ(line.find(other ? format("error: rank %d on ", other) : "error: "), 0u) << outcome.errors;
      EXPECT_EQ(outcome.errors.find(error, at + 1), std::string::npos) << "it is said once: " << outcome.errors;
      EXPECT_EQ(outcome.errors.find("have not come"), std::string::npos) << outcome.errors;
    }
}

// Words that say how the ranks meet: the others are told where they are, or their launcher ends them.
TEST_P(RankAgreementTest, AWordThatHidesTheTransportIsToldToAll) {
  const std::string expected = ": expected local|mpi|tcp, found ";
  std::vector<std::pair<Words, std::string>> mistakes = {
      {{"--transport", "tpc"}, "--transport" + expected + "\"tpc\""},
      {{"--transport"}, "--transport: missing local|mpi|tcp"},
      {{"--transport="}, "--transport" + expected + "\"\""},
      {{"--transport=mpi", "--transport=tcp"}, "--transport is given twice: give it once"}};
  if (GetParam() == TransportKind::Mpi)
    mistakes.push_back({{"--transport", "mpj"}, "--transport" + expected + "\"mpj\"; did you mean \"mpi\"?"});
  else
    mistakes.insert(mistakes.end(),
                    {{{"--transport=tcpp"}, "--transport" + expected + "\"tcpp\"; did you mean \"tcp\"?"},
                     {{"--transprt", "tcp"}, "unknown argument \"--transprt\"; did you mean \"--transport\"?"},
                     {{"--transport=tcp", "--store", "node"}, "--store: expected HOST:PORT, found \"node\""},
                     {{"--transport=tcp", "--store=node:0"}, "--store: expected a port from 1 to 65535, found \"0\""}});
  for (const auto &[words, error] : mistakes)
    for (int other : {0, 1}) {
      Start starts[2];
      for (Start &start : starts)
        start.arguments = {"--synthetic", "--steps", "2", "--join-timeout", "500"};
      starts[other].arguments.insert(starts[other].arguments.end(), words.begin(), words.end());
      starts[other].saysTransport = true;
      RanksEnd outcome = run(starts);
      for (int status : outcome.statuses)
        EXPECT_NE(status, 0) << outcome.errors;
      size_t at = outcome.errors.find(error);
      ASSERT_NE(at, std::string::npos) << error << ": " << outcome.errors;
      std::string line = outcome.errors.substr(0, at);
      line = line.substr(line.rfind('\n') + 1);
      EXPECT_EQ(line.find(other ? format("error: rank %d on ", other) : "error: "), 0u) << outcome.errors;
      EXPECT_EQ(outcome.errors.find(error, at + 1), std::string::npos) << "it is said once: " << outcome.errors;
      EXPECT_EQ(outcome.errors.find("have not come"), std::string::npos) << outcome.errors;
    }
}

// A rank with fewer cores than another: all use as many threads as it does, since their number decides how sums are
// rounded.
TEST_P(RankAgreementTest, RanksWithUnlikeCoresUseAsManyThreads) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) < 2)
    GTEST_SKIP() << "needs two cores";
  int one = 0;
  while (!CPU_ISSET(one, &cores))
    ++one;
  Start starts[2];
  for (Start &start : starts)
    start.arguments = {"--synthetic", "--steps", "1"};
  starts[0].before = {"taskset", "-c", format("%d-%d", 0, CPU_SETSIZE > 1023 ? 1023 : CPU_SETSIZE - 1)};
  starts[1].before = {"taskset", "-c", std::to_string(one)};
  RanksEnd outcome = run(starts);
  for (int status : outcome.statuses)
    EXPECT_EQ(status, 0) << outcome.errors;
  size_t note = outcome.errors.find("note: the ranks have from 1 to ");
  ASSERT_NE(note, std::string::npos) << outcome.errors;
  EXPECT_NE(outcome.errors.find(" cores each: all use 1 threads", note), std::string::npos) << outcome.errors;
  for (Start &start : starts)
    start.arguments.insert(start.arguments.end(), {"--threads", "2"});
  EXPECT_EQ(run(starts).errors.find("cores each"), std::string::npos) << "it was said how many";
}

// Variables of a launcher in the shell of somebody who asks for help.
TEST(AloneTest, HelpNeedsNoOthers) {
  for (int rank : {0, 1}) {
    ProgramRun run({},
                   {"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(freePort()),
                    "RANK=" + std::to_string(rank), "WORLD_SIZE=2"},
                   "1,2,1", {rank ? "--version" : "--help"});
    EXPECT_EQ(run.wait(), 0);
    EXPECT_EQ(run.err(), "");
    EXPECT_EQ(run.out() != "", rank == 0);
  }
}

// A folder with every file that a run can read; the options name them by relative paths. Data that a tokenizer reads is
// a text, which has no index.
Words filesOf(const fs::path &folder, bool tokenized) {
  fs::create_directories(folder / "weights");
  fs::create_directories(folder / "run/step-00000002");
  auto write = [&](const char *name, const std::string &content) { writeFile((folder / name).string(), content); };
  write("data.bin", std::string(100'000, 'a'));
  write("data.idx", "an index");
  write("held", std::string(3 << 20, 'b'));
  write("tokenizer.json", "{}");
  write("weights/config.json", "{\"model_type\": \"llama\"}");
  write("weights/model.safetensors.index.json",
        R"({"weight_map": {"x": "first.safetensors", "y": "second.safetensors"}})");
  write("weights/first.safetensors", std::string(70'000, 'c'));
  write("weights/second.safetensors", std::string(5, 'd'));
  write("weights/unread.safetensors", std::string(5, 'e'));
  write("speeds", "links");
  write("run/step-00000002/checkpoint.json", "{}");
  Words arguments = {"--data", "data.bin", "--eval-data",      "held", "--weights", "weights", "--emulate",
                     "speeds", "--resume", "--checkpoint-dir", "run"};
  if (tokenized)
    arguments.insert(arguments.end(), {"--tokenizer", "tokenizer.json"});
  return arguments;
}

Options parsed(Words words) {
  std::string program = "train";
  std::vector<char *> pointers = {program.data()};
  for (std::string &word : words)
    pointers.push_back(word.data());
  return parseOptions(int(pointers.size()), pointers.data());
}

std::vector<RunInput> inputsIn(const fs::path &folder, const Words &arguments) {
  fs::path back = fs::current_path();
  fs::current_path(folder);
  std::vector<RunInput> inputs = runInputs(parsed(arguments));
  fs::current_path(back);
  return inputs;
}

// One byte of each file that is read becomes another.
void change(const fs::path &folder, const std::vector<RunInput> &inputs) {
  for (const RunInput &input : inputs) {
    std::string path = (folder / input.path).string(), content = readFile(path);
    if (input.path.find("index.json") == std::string::npos)
      content[content.size() * 2 / 3] ^= 1;
    else // which is to name the same files
      content[content.find(' ')] = '\n';
    writeFile(path, content);
  }
}

// The sizes and the hashes of both ranks are told of each file.
void expectNamed(const std::vector<RunInput> &inputs, const std::string &errors) {
  for (const RunInput &input : inputs) {
    std::string name = "\n  " + input.option + (input.part.empty() ? "" : " " + input.part) + ": " + input.path + ": ";
    size_t at = errors.find(name);
    ASSERT_NE(at, std::string::npos) << name << errors;
    std::string line = errors.substr(at + 1, errors.find('\n', at + 1) - at - 1);
    size_t hash = line.find(" bytes, hash ");
    ASSERT_NE(hash, std::string::npos) << line;
    EXPECT_NE(line.find(" bytes, hash ", hash + 1), std::string::npos) << line;
  }
}

TEST_P(RankAgreementTest, EveryFileIsComparedByItsContent) {
  std::set<std::string> read; // options whose files are known, and paths
  for (bool tokenized : {true, false}) {
    fs::path folders[2] = {temporaryPath("first"), temporaryPath("second")};
    Words arguments = filesOf(folders[0], tokenized);
    filesOf(folders[1], tokenized);
    std::vector<RunInput> inputs = inputsIn(folders[0], arguments);
    for (const RunInput &input : inputs)
      read.insert({input.option, input.path});
    auto starts = [&](Start(&both)[2]) {
      for (int rank : {0, 1})
        both[rank] = {{"env", "-C", folders[rank].string()}, {}, arguments};
    };
    // Other folders, and what nobody reads, are no difference: what follows is said of the options.
    writeFile((folders[1] / "weights/unread.safetensors").string(), "other");
    if (tokenized) {
      writeFile((folders[1] / "data.idx").string(), "no index of a text");
      Start alike[2];
      starts(alike);
      RanksEnd same = run(alike);
      EXPECT_EQ(same.errors.find("not started alike"), std::string::npos) << same.errors;
    }
    change(folders[1], inputs);
    Start other[2];
    starts(other);
    RanksEnd outcome = run(other);
    expectRefused(outcome);
    expectNamed(inputs, outcome.errors);
  }
  for (const OptionValue &option : optionValues(Options()))
    EXPECT_TRUE(!option.namesInput || read.count(option.name)) << option.name << " is read, and its file is not known";
  size_t paths = 0;
  for (const std::string &name : read)
    paths += name.compare(0, 2, "--") != 0;
  EXPECT_EQ(paths, 10u);
}

// The same paths on another machine: a folder of its own is mounted there for the second rank.
TEST_P(RankAgreementTest, FilesOfAnotherMachineAreNamedAndNothingIsLost) {
  if (geteuid() != 0 || std::system("unshare -m true 2>/dev/null") != 0)
    GTEST_SKIP() << "a file system of its own for a process needs root and unshare";
  fs::path folders[2] = {temporaryPath("here"), temporaryPath("there")};
  Words arguments = filesOf(folders[0], true);
  filesOf(folders[1], true);
  std::vector<RunInput> inputs = inputsIn(folders[0], arguments);
  change(folders[1], inputs);
  Start starts[2];
  starts[0] = {{"env", "-C", folders[0].string()}, {}, arguments};
  starts[1] = {{"unshare", "-m", "sh", "-c", "mount --bind \"$0\" \"$1\" && cd \"$1\" && shift && exec \"$@\"",
                folders[1].string(), folders[0].string()},
               {},
               arguments};
  RanksEnd outcome = run(starts);
  expectRefused(outcome);
  expectNamed(inputs, outcome.errors);
  for (const char *option : {"--save-parameters", "--save-weights"}) { // each rank writes its part of one file
    for (Start &start : starts)
      start.arguments = {"--synthetic", "--steps", "2", option, "saved"};
    outcome = run(starts);
    for (int status : outcome.statuses)
      EXPECT_EQ(status, 1) << outcome.errors;
    EXPECT_NE(outcome.errors.find("error: rank 1 on "), std::string::npos) << outcome.errors;
    EXPECT_NE(outcome.errors.find("which the first rank has created: ranks on several machines need a file system that "
                                  "they share"),
              std::string::npos)
        << outcome.errors;
    for (const fs::path &folder : folders)
      for (const auto &entry : fs::recursive_directory_iterator(folder))
        EXPECT_EQ(entry.path().filename().string().find("saved."), std::string::npos) << entry.path();
  }
}

TEST_P(RankAgreementTest, VariablesThatDecideNumbersAreCompared) {
  Start starts[2];
  for (Start &start : starts)
    start.arguments = {"--synthetic", "--steps", "2"};
  starts[1].environment = {"DNNL_MAX_CPU_ISA=SSE41"};
  RanksEnd outcome = run(starts);
  expectRefused(outcome);
  EXPECT_NE(outcome.errors.find("\n  environment variable DNNL_MAX_CPU_ISA: not set in rank 0 on "), std::string::npos)
      << outcome.errors;
  EXPECT_NE(outcome.errors.find("; \"SSE41\" in rank 1 on "), std::string::npos) << outcome.errors;
}

INSTANTIATE_TEST_SUITE_P(Transports, RankAgreementTest, ::testing::Values(TransportKind::Store, TransportKind::Mpi),
                         [](const auto &given) { return std::string(transportKindNames[int(given.param)]); });

// The second rank has a file system of its own at the path of the checkpoints, as on another machine.
TEST(UnsharedFolderTest, NoCheckpointLacksARank) {
  if (geteuid() != 0 || std::system("unshare -m true 2>/dev/null") != 0)
    GTEST_SKIP() << "a file system of its own for a process needs root and unshare";
  for (bool required : {true, false}) {
    std::string folder = temporaryPath(required ? "required" : "wanted"), parameters = folder + "-parameters";
    fs::create_directories(folder + "/run");
    Start starts[2];
    for (Start &start : starts) {
      start.arguments = {"--synthetic", "--steps",           "12",       "--quiet",          "--checkpoint-every",
                         "5",           "--save-parameters", parameters, "--checkpoint-dir", folder + "/run"};
      if (required)
        start.arguments.push_back("--checkpoint-required");
    }
    starts[1].before = {"unshare", "-m", "sh", "-c", "mount -t tmpfs none \"$0\" && mkdir \"$0/run\" && exec \"$@\"",
                        folder};
    RanksEnd outcome = runOverTcp(starts, "1,1,2");
    EXPECT_EQ(outcome.statuses, (std::vector<int>{1, 1}));
    EXPECT_NE(outcome.errors.find("the checkpoint of step 5 could not be written: " + folder), std::string::npos)
        << outcome.errors;
    EXPECT_NE(outcome.errors.find("rank-00001.safetensors has been written by its rank, and is not there for the first "
                                  "rank: the folder of checkpoints must be on a file system that the machines"),
              std::string::npos)
        << outcome.errors;
    EXPECT_EQ(outcome.errors.find("its last checkpoint, of step 12, could not be written") != std::string::npos,
              !required);
    for (const auto &entry : fs::directory_iterator(folder + "/run"))
      EXPECT_EQ(entry.path().filename().string(), "run.lock") << "of an ended run";
    EXPECT_EQ(fs::exists(parameters), !required) << "what else the run has made is there";
  }
}

TEST(FileDigestTest, PartsMakeUpTheWholeAndEveryByteCounts) {
  std::string path = temporaryPath("file"), content;
  for (int i = 0; content.size() < (5u << 19); ++i)
    content += std::to_string(i * 7919);
  auto digest = [&](const std::string &text) {
    writeFile(path, text);
    return digestPart(path, int64_t(text.size()), 0, digestChunks(int64_t(text.size())));
  };
  uint64_t whole = digest(content);
  auto bytes = int64_t(content.size());
  EXPECT_EQ(digestChunks(bytes), 3);
  EXPECT_EQ(digestPart(path, bytes, 0, 1) + digestPart(path, bytes, 1, 3), whole);
  for (size_t at : {size_t(0), size_t(1), size_t(1 << 20), size_t((1 << 20) - 1), content.size() - 1}) {
    std::string changed = content;
    changed[at] ^= 4;
    EXPECT_NE(digest(changed), whole) << at;
  }
  std::string swapped = content.substr(1 << 20, 1 << 20) + content.substr(0, 1 << 20) + content.substr(2 << 20);
  EXPECT_NE(digest(swapped), whole);
  EXPECT_EQ(digest(content), whole);
  EXPECT_THROW(digestPart(path, bytes + 1, 0, 3), InputError);
}

} // namespace
