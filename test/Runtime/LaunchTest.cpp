// Whole runs of a program through its command line: results under every layout, files, and refusals.
#include "test/Runtime/BigramProgram.h"
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <unistd.h>

using namespace ppcrt::test;
using nlohmann::json;

namespace {

std::string text() {
  std::string path = temporaryPath("text");
  if (access(path.c_str(), F_OK) != 0) {
    std::string content;
    for (int i = 0; i < 300; ++i)
      content += "It was the best of times, it was the worst of times " + std::to_string(i) + ".\n";
    writeFile(path, content);
  }
  return path;
}

std::vector<double> numbers(const std::string &path) {
  std::ifstream file(path);
  std::vector<double> result;
  for (double value; file >> value;)
    result.push_back(value);
  return result;
}

// The tensors of a safetensors file, checking the format.
std::map<std::string, std::vector<float>> readTensors(const std::string &path) {
  std::string content = readFile(path);
  std::map<std::string, std::vector<float>> tensors;
  uint64_t size = 0;
  if (content.size() < 8)
    return tensors;
  std::memcpy(&size, content.data(), 8);
  json header = json::parse(content.substr(8, size));
  size_t end = 0;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    size_t from = entry["data_offsets"][0], to = entry["data_offsets"][1], count = 1;
    for (size_t dim : entry["shape"])
      count *= dim;
    EXPECT_EQ(entry["dtype"], "F32");
    EXPECT_EQ(to - from, 4 * count);
    EXPECT_EQ(from, end);
    end = to;
    tensors[name].resize(count);
    std::memcpy(tensors[name].data(), content.data() + 8 + size + from, to - from);
  }
  EXPECT_EQ(content.size(), 8 + size + end);
  return tensors;
}

double relativeDistance(const std::vector<float> &a, const std::vector<float> &b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
    norm += double(b[i]) * b[i];
  }
  return std::sqrt(difference / norm);
}

struct Result {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> parameters, gradients;
};

Result train(const std::string &layout) {
  std::string base = temporaryPath("train-" + layout);
  ProgramRun run(layout, {"--data", text(), "--steps=25", "--lr", "2", "--save-losses", base + ".losses",
                          "--save-parameters", base + ".parameters", "--save-gradients", base + ".gradients"});
  EXPECT_EQ(run.wait(), 0) << run.err();
  EXPECT_EQ(run.err(), "");
  return {numbers(base + ".losses"), readTensors(base + ".parameters"), readTensors(base + ".gradients")};
}

TEST(LaunchTest, EveryLayoutTrainsLikeOneRank) {
  Result one = train("1,1,1");
  ASSERT_EQ(one.losses.size(), 25u);
  EXPECT_NEAR(one.losses[0], std::log(131), 0.01);
  EXPECT_LT(one.losses.back(), 1.5); // the text's unigram entropy is 2.7
  ASSERT_EQ(one.parameters.at("E").size(), size_t(vocabulary * hidden));
  for (const char *layout : {"1,2,1", "1,1,2", "1,1,3", "1,4,1", "2,1,1", "1,2,2", "2,2,1", "2,1,2", "2,2,2"}) {
    Result other = train(layout);
    ASSERT_EQ(other.losses.size(), 25u) << layout;
    for (int step = 0; step < 25; ++step)
      EXPECT_NEAR(other.losses[step], one.losses[step], 1e-5 * one.losses[step]) << layout << " step " << step + 1;
    for (const char *name : {"E", "W"}) {
      EXPECT_LT(relativeDistance(other.parameters.at(name), one.parameters.at(name)), 1e-5) << layout << " " << name;
      EXPECT_LT(relativeDistance(other.gradients.at(name), one.gradients.at(name)), 1e-4) << layout << " " << name;
    }
  }
}

TEST(LaunchTest, RunsRepeatBitForBit) {
  Result first = train("2,2,2"), second = train("2,2,2");
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.parameters, second.parameters);
}

TEST(LaunchTest, EpochsDoNotDependOnTheLayout) {
  std::vector<double> losses[2];
  for (const char *layout : {"1,1,1", "2,2,1"}) {
    std::string path = temporaryPath(std::string("epochs") + layout);
    ProgramRun run(layout, {"--data", text(), "--order", "shuffle", "--steps", "4", "--save-losses", path});
    EXPECT_EQ(run.wait(), 0) << run.err();
    EXPECT_NE(run.out().find(" samples in an epoch (shuffle), "), std::string::npos) << run.out();
    losses[layout[0] - '1'] = numbers(path);
  }
  ASSERT_EQ(losses[0].size(), 4u);
  for (int step = 0; step < 4; ++step)
    EXPECT_NEAR(losses[1][step], losses[0][step], 1e-5 * losses[0][step]);
}

TEST(LaunchTest, LogHoldsOneObjectPerStep) {
  std::string log = temporaryPath("log");
  ProgramRun run("1,2,1", {"--data", text(), "--steps", "4", "--log", log});
  ASSERT_EQ(run.wait(), 0) << run.err();
  std::ifstream file(log);
  int step = 0;
  for (std::string line; std::getline(file, line);) {
    json object = json::parse(line);
    EXPECT_EQ(object["step"], ++step);
    for (const char *key : {"loss", "grad_norm", "tokens_per_s", "step_time_s", "learning_rate", "peak_memory_bytes"})
      EXPECT_GT(object[key], 0) << key;
    EXPECT_GT(object["communication_bytes"]["dp"], 0);
    EXPECT_EQ(object["communication_bytes"]["tp"], 0);
    EXPECT_GT(object["peak_flops_per_s"], 1e8);
    EXPECT_NEAR(double(object["mfu_pct"]) * double(object["peak_flops_per_s"]), 100 * double(object["flops_per_s"]), 1);
    EXPECT_EQ(object.contains("stages"), step == 1 || step == 4);
  }
  EXPECT_EQ(step, 4);
}

TEST(LaunchTest, PrintsStepsSummaryAndEntropy) {
  ProgramRun run("1,1,2", {"--data", text(), "--steps", "3"});
  ASSERT_EQ(run.wait(), 0);
  for (const char *part : {"unigram entropy ", " nats\n", "step 1 loss 4.88", "\nstep 3 loss ", "grad_norm ",
                           "done: 3 steps, loss ", "tokens/s", "memory per rank: arena "})
    EXPECT_NE(run.out().find(part), std::string::npos) << part << " in " << run.out();
  EXPECT_EQ(run.err(), "");
}

TEST(LaunchTest, QuietPrintsNothing) {
  ProgramRun run("1,1,1", {"--synthetic", "--steps", "2", "--quiet"});
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(run.out() + run.err(), "");
}

TEST(LaunchTest, TheMachineIsCheckedWithoutTraining) {
  std::string path = temporaryPath("not-written");
  ProgramRun check("2,2,2", {"--check-machine", "--data", text(), "--save-parameters", path});
  EXPECT_EQ(check.wait(), 0) << check.err();
  for (const char *part : {"data: ", "memory: the arenas take at most 0.0 % of what is available on 1 machine\n",
                           "(tp): all-reduce over 2 ranks: 4 B in ", "messages: all 16 of a step arrived, ",
                           "\nmachine check passed: 8 ranks\n"})
    EXPECT_NE(check.out().find(part), std::string::npos) << part << " in " << check.out();
  EXPECT_EQ(check.out().find("step 1"), std::string::npos);
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  ProgramRun alone("1,1,1", {"--check-machine"});
  EXPECT_EQ(alone.wait(), 0) << alone.err();
  ProgramRun noData("1,1,1", {"--check-machine", "--data", path});
  EXPECT_EQ(noData.wait(), 1);
  EXPECT_EQ(noData.err(), "error: cannot read " + path + ": No such file or directory\n");
}

TEST(LaunchTest, HelpVersionAndPlan) {
  ProgramRun help("1,1,1", {"--help"}), version("1,1,2", {"--version"}), plan("1,1,1", {"--show-plan"});
  EXPECT_EQ(help.wait(), 0);
  EXPECT_NE(help.out().find("--save-parameters FILE"), std::string::npos);
  EXPECT_EQ(version.wait(), 0);
  EXPECT_EQ(version.out(), "ppc program: model bigram, 2 ranks, ABI 4\n");
  EXPECT_EQ(plan.wait(), 0);
  EXPECT_EQ(plan.out(), "schedule: gpipe\n");
}

struct Refusal {
  std::vector<std::string> arguments;
  int status;
  std::string error;
};

TEST(LaunchTest, RefusalsAreOneLineAndHappenBeforeTraining) {
  std::string shortText = temporaryPath("short"), binary = temporaryPath("binary"), missing = temporaryPath("no/such");
  writeFile(shortText, "sixteen bytes...");
  writeFile(binary, std::string(100, 'a') + "\xc3\xa9" + std::string(100, 'a'));
  std::string data = text();
  const Refusal refusals[] = {
      {{}, 2, "no training data: give --data FILE (or --synthetic); see --help"},
      {{"--bogus"}, 2, "unknown argument \"--bogus\": see --help"},
      {{"--data"}, 2, "--data: missing FILE"},
      {{"--data", data, "--synthetic"}, 2, "--data and --synthetic exclude each other"},
      {{"--data", data, "--steps", "0"},
       2,
       "--steps 0 trains nothing: give --eval-data FILE to evaluate, or --save-weights FOLDER or --save-parameters "
       "FILE "
       "to write what the run begins with"},
      {{"--data", data, "--eval-data", data, "--steps", "0", "--save-gradients", "g"},
       2,
       "--save-gradients needs a step: --steps 0 has none"},
      {{"--data", data, "--steps", "2", "--lr=1", "--steps=3"}, 2, "--steps is given twice: give it once"},
      {{"--data", data, "--steps", "10x"}, 2, "--steps: expected an integer from 0 to 1000000000, found \"10x\""},
      {{"--data", data, "--lr", "nan"}, 2, "--lr: expected a number from 0 to 3.4e+38, found \"nan\""},
      {{"--data", data, "--lr=1e-4", "--min-lr=1"}, 2, "--min-lr 1 is larger than --lr 0.0001"},
      {{"--data", data, "--quiet=yes"}, 2, "--quiet takes no value"},
      {{"--data", data, "--data-format", "uint8"},
       2,
       "--data-format: expected auto|text|uint16|uint32|megatron, found \"uint8\""},
      {{"--data", data, "--order=text|uint16"},
       2,
       "--order: expected random|shuffle|sequential, found \"text|uint16\""},
      {{"--data", data, "--transport", "nccl"}, 2, "--transport: expected local|mpi|tcp, found \"nccl\""},
      {{"--data", data, "--tokenizer", missing}, 1, "cannot read " + missing + ": No such file or directory"},
      {{"--data", data, "--tokenizer", data}, 1, data + ":1:1: not valid JSON: found \"It\""},
      {{"--data", data, "--tokenizer", "t.json", "--data-format", "uint16"},
       2,
       "--tokenizer FILE makes tokens of a text: --data-format uint16 says that they are made already"},
      {{"--synthetic", "--save-tokens", "x.bin"}, 2, "--save-tokens needs --data FILE"},
      {{"--data", data, "--data-format", "megatron"}, 1, "cannot read " + data + ".bin: No such file or directory"},
      {{"--data", missing}, 1, "cannot read " + missing + ": No such file or directory"},
      {{"--data", "/tmp"},
       1,
       "cannot read /tmp: it is a folder, and data is one file: write its texts to one, as by cat"},
      {{"--data", shortText},
       1,
       shortText + " holds 16 bytes, but one sample needs 17 (sequence length 16 + 1): use a longer text or a shorter "
                   "sequence"},
      {{"--data", "/dev/null"}, 1, "cannot read /dev/null: a device is no data: give a file"},
      {{"--data", binary},
       1,
       binary +
           ": byte 195 at offset 100 is not below the model's vocabulary size 131: remove such bytes or compile the "
           "model with a vocabulary of 256"},
      {{"--data", data, "--log", missing}, 1, "--log: cannot write " + missing + ": No such file or directory"},
      {{"--data", data, "--save-losses", missing},
       1,
       "--save-losses: cannot write " + missing + ": No such file or directory"},
      {{"--data", data, "--save-parameters", missing},
       1,
       "--save-parameters: cannot write " + missing + ": No such file or directory"},
      {{"--data", data, "--save-gradients", "/dev/null"},
       1,
       "--save-gradients: cannot write /dev/null: not a regular file"},
      {{"--data", data, "--save-parameters", "/tmp"}, 1, "--save-parameters: cannot write /tmp: it is a folder"},
  };
  for (const Refusal &refusal : refusals) {
    ProgramRun run("1,2,1", refusal.arguments);
    EXPECT_EQ(run.wait(), refusal.status) << refusal.error;
    EXPECT_EQ(run.err(), "error: " + refusal.error + "\n");
    EXPECT_EQ(run.out().find("step"), std::string::npos) << run.out();
  }
}

TEST(LaunchTest, AFailedRunKeepsTheOldFile) {
  std::string path = temporaryPath("kept");
  writeFile(path, "precious");
  ProgramRun run("1,2,1", {"--synthetic", "--steps", "1000000", "--quiet", "--save-parameters", path});
  ASSERT_TRUE(eventually([&] { return run.ranks().size() == 2; }));
  kill(run.launcher(), SIGTERM);
  EXPECT_EQ(run.wait(), 128 + SIGTERM);
  EXPECT_EQ(readFile(path), "precious");
  for (const auto &entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    EXPECT_EQ(entry.path().filename().string().find("kept.partial"), std::string::npos) << entry.path();
}

} // namespace
