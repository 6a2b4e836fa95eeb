// Checkpoints: going on is bit for bit the unbroken run, under any layout; damaged ones are refused and the one before
// is used; a disk that is full destroys nothing.
#include "runtime/base/Checksum.h"
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace ppcrt::test;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> lines(const std::string &path) {
  std::vector<std::string> result;
  std::stringstream text(readFile(path));
  for (std::string line; std::getline(text, line);)
    result.push_back(line);
  return result;
}

class CheckpointTest : public ::testing::Test {
protected:
  void SetUp() override {
    static int number = 0;
    folder = temporaryPath("checkpoints" + std::to_string(number++));
    losses = folder + ".losses";
  }

  // Runs until `steps` with a checkpoint every `every`; the schedule of learning rates is that of 12 steps.
  int train(const std::string &layout, int steps, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"--synthetic",
                                          "--steps",
                                          std::to_string(steps),
                                          "--lr",
                                          "0.5",
                                          "--min-lr",
                                          "0.5",
                                          "--warmup",
                                          "3",
                                          "--quiet",
                                          "--save-losses",
                                          losses,
                                          "--checkpoint-dir",
                                          folder,
                                          "--checkpoint-every",
                                          "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ProgramRun run(layout, arguments);
    int status = run.wait();
    errors = run.err();
    return status;
  }

  std::vector<std::string> unbroken(const std::string &layout) {
    ProgramRun run(layout, {"--synthetic", "--steps", "12", "--lr", "0.5", "--min-lr", "0.5", "--warmup", "3",
                            "--quiet", "--save-losses", losses + ".unbroken"});
    EXPECT_EQ(run.wait(), 0);
    return lines(losses + ".unbroken");
  }

  // Whether there is this checkpoint or a later one, while a run writes them and removes older ones.
  bool isWritten(const std::string &first) const {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      std::string name = entry->path().filename().string();
      if (name.rfind("step-", 0) == 0 && name >= first && name.find(".partial") == std::string::npos)
        return true;
    }
    return false;
  }

  std::vector<std::string> present() const {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  // Changes a byte of a file in the middle of it, or cuts the file there.
  void damage(const std::string &path, bool cut) {
    std::string content = readFile(path);
    ASSERT_FALSE(content.empty()) << path;
    content[content.size() / 2 + 1] ^= 1;
    writeFile(path, cut ? content.substr(0, content.size() / 2) : content);
  }

  std::string folder, losses, errors;
};

TEST_F(CheckpointTest, GoesOnBitForBit) {
  for (const char *layout : {"1,1,1", "1,2,2", "2,1,2"}) {
    std::vector<std::string> expected = unbroken(layout);
    ASSERT_EQ(train(layout, 8), 0) << errors;
    EXPECT_EQ(present(), (std::vector<std::string>{"step-00000004", "step-00000008"}));
    ASSERT_EQ(train(layout, 12, {"--resume"}), 0) << errors;
    EXPECT_EQ(lines(losses), expected) << layout;
    EXPECT_EQ(present(), (std::vector<std::string>{"step-00000008", "step-00000012"}));
    fs::remove_all(folder);
  }
}

TEST_F(CheckpointTest, AnotherLayoutGoesOnWithTheSameLosses) {
  std::vector<std::string> expected = unbroken("1,1,1");
  const char *layouts[] = {"2,1,3", "1,2,1", "1,1,4", "2,2,1"};
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(train(layouts[i], 8), 0) << errors;
    ASSERT_EQ(train(layouts[(i + 1) % 4], 12, {"--resume"}), 0) << errors;
    std::vector<std::string> found = lines(losses);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t step = 0; step < found.size(); ++step)
      EXPECT_NEAR(std::stod(found[step]), std::stod(expected[step]), 1e-5 * std::stod(expected[step])) << step + 1;
    fs::remove_all(folder);
  }
}

TEST_F(CheckpointTest, TheOneBeforeADamagedOneIsUsed) {
  std::vector<std::string> expected = unbroken("1,1,2");
  struct Case {
    const char *file;
    bool cut;
    const char *message;
  };
  for (const Case &damaged : {Case{"rank-00001.safetensors", false, "the checksum of \""},
                              {"rank-00000.safetensors", true, "it is truncated"},
                              {"checkpoint.json", false, ""},
                              {"checkpoint.json", true, "not valid JSON"}}) {
    ASSERT_EQ(train("1,1,2", 8), 0) << errors;
    damage(folder + "/step-00000008/" + damaged.file, damaged.cut);
    ASSERT_EQ(train("1,1,2", 12, {"--resume"}), 0) << errors;
    EXPECT_EQ(errors.find("warning: a checkpoint is refused: "), 0u) << errors;
    EXPECT_NE(errors.find(std::string("step-00000008/") + damaged.file), std::string::npos) << errors;
    EXPECT_NE(errors.find(damaged.message), std::string::npos) << errors;
    EXPECT_EQ(lines(losses), expected);
    EXPECT_EQ(present(), (std::vector<std::string>{"step-00000008", "step-00000012"}))
        << "the damaged one was replaced";
    fs::remove_all(folder);
  }
  ASSERT_EQ(train("1,1,2", 8), 0) << errors;
  for (const std::string &name : present())
    damage(folder + "/" + name + "/rank-00000.safetensors", false);
  EXPECT_EQ(train("1,1,2", 12, {"--resume"}), 1);
  EXPECT_NE(errors.find("can be used"), std::string::npos) << errors;
}

TEST_F(CheckpointTest, HalfWrittenOnesAreNotSeen) {
  ASSERT_EQ(train("1,1,2", 4), 0) << errors;
  fs::create_directories(folder + "/step-00000008.partial");
  writeFile(folder + "/step-00000008.partial/rank-00000.safetensors", "x");
  ASSERT_EQ(train("1,1,2", 6, {"--resume", "--checkpoint-keep", "1"}), 0) << errors;
  EXPECT_EQ(errors, "");
  EXPECT_EQ(present(), (std::vector<std::string>{"step-00000006"}));
}

TEST_F(CheckpointTest, ARunThatWouldBeAnotherIsRefused) {
  ASSERT_EQ(train("1,1,2", 4, {"--seed", "3"}), 0) << errors;
  EXPECT_EQ(train("1,1,2", 8), 1);
  EXPECT_NE(errors.find("holds checkpoints up to step 4: give --resume"), std::string::npos) << errors;
  EXPECT_EQ(train("1,1,2", 8, {"--resume", "--seed", "4"}), 1);
  EXPECT_NE(errors.find("was written with --seed 3"), std::string::npos) << errors;
  ProgramRun run("1,1,2", {"--synthetic", "--resume"});
  EXPECT_EQ(run.wait(), 2);
  EXPECT_EQ(run.err(), "error: --resume needs --checkpoint-dir FOLDER\n");
  EXPECT_EQ(train("1,1,2", 8, {"--resume"}), 0) << "the seed comes from the checkpoint: " << errors;
}

// The limit on the size of a file stands for a disk that is full.
TEST_F(CheckpointTest, AFullDiskLeavesTheOlderOne) {
  std::vector<std::string> expected = unbroken("1,1,2");
  ASSERT_EQ(train("1,1,2", 4), 0) << errors;
  rlimit before{}, small{4000, RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &before);
  small.rlim_max = before.rlim_max;
  setrlimit(RLIMIT_FSIZE, &small);
  int trainsOn = train("1,1,2", 12, {"--resume"});
  std::string warnings = errors;
  int ends = train("1,1,2", 12, {"--resume", "--checkpoint-required", "--checkpoint-wait"});
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(trainsOn, 1) << warnings;
  EXPECT_NE(warnings.find("error: the run has done its steps, and its last checkpoint, of step 12, could not be "
                          "written\n"),
            std::string::npos)
      << warnings;
  EXPECT_NE(warnings.find("warning: the checkpoint of step 8 could not be written: cannot write "), std::string::npos)
      << warnings;
  EXPECT_NE(warnings.find(" bytes to " + folder + "/step-00000008."), std::string::npos) << warnings;
  EXPECT_NE(warnings.find(".partial/rank-0000"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("the last one is of step 4"), std::string::npos) << warnings;
  EXPECT_EQ(warnings.find("there is none before it"), std::string::npos) << warnings;
  EXPECT_EQ(ends, 1);
  EXPECT_NE(errors.find("the checkpoint of step 8 could not be written"), std::string::npos) << errors;
  EXPECT_EQ(lines(losses).size(), 8u);
  ASSERT_EQ(train("1,1,2", 12, {"--resume"}), 0) << errors;
  EXPECT_EQ(lines(losses), expected);
}

// The limit is set while the program runs, on a rank that gives no names to checkpoints.
TEST_F(CheckpointTest, EveryRankKnowsTheLastOne) {
  ProgramRun run(
      "1,1,2", {"--synthetic", "--steps", "1000000", "--quiet", "--checkpoint-dir", folder, "--checkpoint-every", "4"});
  ASSERT_TRUE(eventually([&] { return isWritten("step-00000008"); }));
  rlimit small{1000, 1000};
  ASSERT_EQ(prlimit(run.ranks().at(1), RLIMIT_FSIZE, &small, nullptr), 0);
  EXPECT_TRUE(run.waitForError("could not be written")) << run.err();
  EXPECT_NE(run.err().find("/rank-00001.safetensors: File too large; the last one is of step "), std::string::npos)
      << run.err();
  kill(run.launcher(), SIGTERM);
  run.wait();
}

// A run that was killed leaves its lock, which is no reason to stop; one that lives is.
TEST_F(CheckpointTest, OneRunAtATime) {
  ProgramRun first(
      "1,1,2", {"--synthetic", "--steps", "1000000", "--quiet", "--checkpoint-dir", folder, "--checkpoint-every", "4"});
  ASSERT_TRUE(eventually([&] { return isWritten("step-00000004"); }));
  EXPECT_EQ(train("1,1,2", 8, {"--resume"}), 1);
  EXPECT_EQ(errors.find("error: " + folder + " is used by another run (process "), 0u) << errors;
  EXPECT_EQ(errors.find('\n'), errors.size() - 1) << errors;
  std::vector<pid_t> ranks = first.ranks();
  kill(first.launcher(), SIGKILL);
  first.wait();
  EXPECT_TRUE(eventually([&] { return gone(ranks); }));
  EXPECT_TRUE(fs::exists(folder + "/run.lock"));
  ProgramRun second("1,1,2", {"--synthetic", "--lr", "3e-4", "--steps", "1000000", "--print-every", "1", "--resume",
                              "--checkpoint-dir", folder});
  EXPECT_TRUE(second.waitForOutput("resumed after step "));
  EXPECT_NE(second.err().find("note: the run that used " + folder + " (process "), std::string::npos) << second.err();
  kill(second.launcher(), SIGTERM);
  EXPECT_EQ(second.wait(), 128 + SIGTERM);
  EXPECT_FALSE(fs::exists(folder + "/run.lock"));
}

// Each case goes on from a checkpoint of --seed 3 over a text.
TEST_F(CheckpointTest, WhatItIsOfIsComparedAndSaid) {
  std::string text = folder + ".text", other = folder + ".other", moved = folder + ".moved";
  std::string content;
  for (int i = 0; i < 100; ++i)
    content += "It was the best of times, it was the worst of times " + std::to_string(i) + ".\n";
  writeFile(text, content);
  writeFile(moved, content);
  content[1234] ^= 1;
  writeFile(other, content);
  auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--steps", "4", "--checkpoint-dir", folder};
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--threads") == more.end())
      arguments.insert(arguments.end(), {"--threads", "1"});
    ProgramRun program("1,1,2", arguments);
    int status = program.wait();
    errors = program.err();
    return status;
  };
  ASSERT_EQ(run({"--seed", "3", "--data", text}), 0) << errors;
  struct Case {
    std::vector<std::string> arguments;
    bool refused;
    std::string message;
  };
  for (const Case &differs :
       {Case{{"--data", other}, true, "data is "},
        {{"--synthetic"}, true, "data is random tokens here, "},
        {{"--data", text, "--seed", "4"}, true, "--seed"},
        {{"--data", text, "--order", "shuffle"}, true, "--order"},
        {{"--data", moved}, false, "note: resumed with --data " + moved + " instead of " + text},
        {{"--data", text, "--threads", "2"}, false, "note: resumed with threads of a rank 2 instead of 1"},
        {{"--data", text, "--lr", "0.5"}, false, "note: resumed with --lr 0.5 instead of "}}) {
    std::vector<std::string> arguments = differs.arguments;
    arguments.push_back("--resume");
    EXPECT_EQ(run(arguments), differs.refused ? 1 : 0) << errors;
    EXPECT_NE(errors.find(differs.message), std::string::npos) << errors;
    EXPECT_EQ(errors.find("warning:"), std::string::npos) << errors;
    if (!differs.refused)
      continue;
    arguments.back() = "--resume-anyway";
    EXPECT_EQ(run(arguments), 0) << errors;
    EXPECT_NE(errors.find("warning: --resume-anyway ignores that "), std::string::npos) << errors;
  }
  ASSERT_EQ(run({"--data", text, "--resume"}), 0) << errors;
  EXPECT_EQ(errors, "") << "the same run says nothing";
}

// What programs wrote before checkpoints said what they are of.
TEST_F(CheckpointTest, AJumpOfTheLearningRateIsSaid) {
  // What is said of the rate.
  auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--synthetic", "--resume", "--checkpoint-dir", folder};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ProgramRun program("1,1,1", arguments);
    EXPECT_EQ(program.wait(), 0) << program.err();
    size_t begin = program.err().find("warning: the learning rate ");
    return begin == std::string::npos ? "" : program.err().substr(begin);
  };
  EXPECT_EQ(run({"--steps", "6", "--lr", "1e-3", "--min-lr", "1e-4", "--warmup", "0"}), "");
  EXPECT_EQ(run({"--steps", "6"}), "") << "nothing is left to do";
  // Half a cosine over 12 steps is there in step 7.
  EXPECT_EQ(run({"--steps", "12", "--quiet"}),
            "warning: the learning rate is 0.0004335 in step 7, after 0.0001 in step 6: its schedule is now that of "
            "--steps 12 --lr 0.001 --min-lr 0.0001 --warmup 0; --lr 0.0001 --min-lr 0.0001 goes on without a jump\n");
  EXPECT_EQ(run({"--steps", "14", "--lr", "1e-4", "--min-lr", "1e-4"}), "");
}

TEST_F(CheckpointTest, OneOfTheOldFormatIsGoneOnFromWithAWarning) {
  std::vector<std::string> expected = unbroken("1,1,2");
  ASSERT_EQ(train("1,1,2", 8), 0) << errors;
  std::string path = folder + "/step-00000008/checkpoint.json";
  auto rewrite = [&](const std::function<void(nlohmann::json &)> &change) {
    nlohmann::json document = nlohmann::json::parse(readFile(path));
    change(document);
    document.erase("checksum");
    std::string plain = document.dump();
    document["checksum"] = ppcrt::crc32c(plain.data(), plain.size());
    writeFile(path, document.dump());
  };
  rewrite([](nlohmann::json &document) {
    document["format"] = 1;
    document.erase("mathematics");
    document.erase("circumstances");
  });
  ASSERT_EQ(train("1,1,2", 12, {"--resume"}), 0) << errors;
  EXPECT_EQ(errors.find("warning: " + folder + "/step-00000008 was written when checkpoints did not say "), 0u)
      << errors;
  EXPECT_EQ(lines(losses), expected);
  path = folder + "/step-00000012/checkpoint.json";
  rewrite([](nlohmann::json &document) {
    document["format"] = 1;
    document["global_batch"] = 4321;
  });
  EXPECT_EQ(train("1,1,2", 14, {"--resume"}), 1);
  EXPECT_NE(errors.find("global batch is "), std::string::npos) << errors;
  EXPECT_NE(errors.find(" here, 4321 in the checkpoint"), std::string::npos) << errors;
  rewrite([](nlohmann::json &document) { document["format"] = 3; });
  EXPECT_EQ(train("1,1,2", 14, {"--resume"}), 0);
  EXPECT_NE(errors.find("reads checkpoints up to format 2"), std::string::npos) << errors;
}

} // namespace
