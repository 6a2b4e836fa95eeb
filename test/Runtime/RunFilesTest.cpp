// Every option that names an output, on every file that the same command reads, under every name of it: none is
// destroyed.
#include "runtime/files/File.h"
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <unistd.h>

using namespace ppcrt::test;
namespace fs = std::filesystem;

namespace {

struct Folder {
  explicit Folder(const std::string &name) : path(temporaryPath(name)) { fs::create_directories(path); }
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

const char *const fileOutputs[] = {"--log",     "--save-losses",     "--trace",
                                   "--profile", "--save-parameters", "--save-gradients"};

std::string text(int seed) {
  std::string content;
  for (int i = 0; i < 40; ++i)
    content += "It was the best of times, it was the worst of times " + std::to_string(i * seed) + ".\n";
  return content;
}

class RunFilesTest : public ::testing::Test {
protected:
  RunFilesTest() : folder("files" + std::to_string(number++)) {
    writeFile(folder / "data", text(1));
    writeFile(folder / "held", text(2));
    fs::create_directories(folder / "weights");
    ProgramRun run("1,1,1", {"--synthetic", "--steps", "2", "--quiet", "--save-parameters",
                             folder / "weights/model.safetensors", "--checkpoint-dir", folder / "run"});
    EXPECT_EQ(run.wait(), 0) << run.err();
  }

  // What the files hold.
  std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> found;
    for (const auto &entry : fs::recursive_directory_iterator(folder.path))
      if (entry.is_regular_file())
        found[entry.path().string()] = readFile(entry.path().string());
    return found;
  }

  std::vector<std::string> command() const {
    return {"--data",           folder / "data", "--eval-data", folder / "held", "--weights",
            folder / "weights", "--steps",       "1",           "--quiet"};
  }

  // The command with an output more is refused, and changes nothing.
  void expectRefused(const std::string &option, const std::string &path, const std::string &why) const {
    std::map<std::string, std::string> before = content();
    std::vector<std::string> arguments = command();
    arguments.insert(arguments.end(), {option, path});
    ProgramRun run("1,1,1", arguments);
    EXPECT_EQ(run.wait(), 1) << option << " " << path;
    EXPECT_NE(run.err().find(why), std::string::npos) << option << " " << path << ": " << run.err();
    EXPECT_EQ(run.err().find("error: " + option), 0u) << run.err();
    EXPECT_TRUE(content() == before) << option << " " << path << " changed something";
  }

  static int number;
  Folder folder;
};
int RunFilesTest::number = 0;

TEST_F(RunFilesTest, NoOutputIsAnInput) {
  std::map<std::string, std::string> inputs = {{"data", "what --data reads"},
                                               {"held", "what --eval-data reads"},
                                               {"weights/model.safetensors", "what --weights reads"}};
  for (const auto &[input, why] : inputs) {
    std::string name = fs::path(input).filename().string();
    fs::create_symlink(folder / input, folder / (name + ".symbolic"));
    fs::create_hard_link(folder / input, folder / (name + ".hard"));
    for (const char *option : fileOutputs)
      for (const std::string &path : {folder / input, folder.path + "/./weights/../" + input,
                                      folder / (name + ".symbolic"), folder / (name + ".hard")})
        expectRefused(option, path, why);
  }
  std::string self = fs::read_symlink("/proc/self/exe").string();
  for (const char *option : fileOutputs)
    expectRefused(option, self, "this program itself");
  expectRefused("--save-weights", folder / "weights", "what --weights reads");
}

// The configuration beside an index is not read, and makes a model of the weights all the same.
TEST_F(RunFilesTest, TheConfigurationOfWeightsStays) {
  const std::string index = folder / "weights/model.safetensors.index.json", config = folder / "weights/config.json";
  writeFile(index, "{}");
  for (bool isThere : {false, true}) { // refused the first time, too
    if (isThere)
      writeFile(config, "{}");
    for (const std::string &weights : {index, folder / "weights"}) {
      ProgramRun run("1,1,1", {"--synthetic", "--steps", "1", "--weights", weights, "--log", config});
      EXPECT_EQ(run.wait(), 1);
      EXPECT_EQ(run.err().find("error: --log " + config + ": this is the configuration of what --weights reads"), 0u)
          << run.err();
      EXPECT_EQ(readFile(config), isThere ? "{}" : "");
    }
  }
}

TEST_F(RunFilesTest, WhatLiesBesideAnOutputStays) {
  fs::rename(folder / "data", folder / "x.partial");
  fs::create_symlink(folder / "held", folder / "y.partial");
  std::map<std::string, std::string> before = content();
  ProgramRun run("1,1,1", {"--data", folder / "x.partial", "--steps", "1", "--save-parameters", folder / "x", "--trace",
                           folder / "y"});
  EXPECT_EQ(run.wait(), 0) << run.err();
  std::map<std::string, std::string> after = content();
  EXPECT_EQ(after.erase(folder / "x") + after.erase(folder / "y"), 2u);
  EXPECT_TRUE(after == before);
}

// Gives up what it was stopped in when another has written the same path: each file is whole, and of one run.
TEST_F(RunFilesTest, TwoRunsOfOnePathDoNotMix) {
  auto arguments = [&](const std::string &seed, const std::string &name) {
    return std::vector<std::string>{
        "--synthetic", "--steps",           "3",           "--quiet",        "--seed",
        seed,          "--save-parameters", folder / name, "--save-weights", folder / (name + ".weights")};
  };
  auto saved = [&](const std::string &name) {
    return readFile(folder / name) + readFile(folder / (name + ".weights/model.safetensors"));
  };
  for (const char *seed : {"1", "2"}) {
    ProgramRun alone("1,1,1", arguments(seed, std::string("alone") + seed));
    ASSERT_EQ(alone.wait(), 0) << alone.err();
  }
  ProgramRun first("1,1,1", arguments("1", "both"));
  for (int turn = 0; turn < 5000 && first.ranks().empty(); ++turn)
    usleep(1000);
  ASSERT_EQ(kill(first.launcher(), SIGSTOP), 0);
  ProgramRun second("1,1,1", arguments("2", "both"));
  ASSERT_EQ(second.wait(), 0) << second.err();
  EXPECT_TRUE(saved("both") == saved("alone2"));
  ASSERT_EQ(kill(first.launcher(), SIGCONT), 0);
  ASSERT_EQ(first.wait(), 0) << first.err();
  EXPECT_TRUE(saved("both") == saved("alone1"));
}

// A killed run leaves what it was writing: the next one that writes there says so, and takes nothing from runs that
// live.
TEST_F(RunFilesTest, WhatAKilledRunHasLeftIsNamed) {
  std::string parameters = temporaryPath("left/parameters"), weights = temporaryPath("left/weights");
  std::filesystem::create_directories(weights);
  std::string left[] = {parameters + ".partial-1a2b", weights + "/model.safetensors.partial-7"};
  for (const std::string &path : left)
    writeFile(path, "half");
  for (const char *other : {".partial-1a2b.txt", ".partial-", ".partial-xyz", "s.partial-1"})
    writeFile(parameters + other, "of somebody");
  OutputFile living = OutputFile::beside(parameters, 9);
  EXPECT_EQ(abandonedPartials(parameters), std::vector<std::string>{left[0]});
  ProgramRun run("1,1,1", {"--synthetic", "--steps", "1", "--save-parameters", parameters, "--save-weights", weights});
  EXPECT_EQ(run.wait(), 0) << run.err();
  std::string expected;
  for (const std::string &path : left) {
    expected += "note: " + path +
                " is left of a run that ended before it was complete: remove it, unless a run on another machine "
                "writes it\n";
    EXPECT_EQ(readFile(path), "half");
  }
  EXPECT_EQ(run.err(), expected);
  EXPECT_TRUE(std::filesystem::exists(parameters + ".partial-9"));
}

TEST_F(RunFilesTest, LinesAreOfOneRun) {
  ProgramRun first("1,1,1", {"--synthetic", "--steps", "100000000", "--print-every", "1", "--log", folder / "log"});
  ASSERT_TRUE(first.waitForOutput("step 1 "));
  ProgramRun second("1,1,1", {"--synthetic", "--steps", "3", "--save-losses", folder / "log"});
  EXPECT_EQ(second.wait(), 1);
  EXPECT_EQ(second.err().find("error: --save-losses: cannot write " + (folder / "log") + ": another run writes it"), 0u)
      << second.err();
}

// No file gets a number to which something is printed.
TEST_F(RunFilesTest, ClosedStreamsAreNoFiles) {
  auto run = [&](const std::string &closes, const std::string &name) {
    ProgramRun one({"sh", "-c", "exec \"$@\" " + closes, "sh"}, {}, "1,2,1",
                   {"--synthetic", "--steps", "3", "--checkpoint-dir", folder / (name + ".run"), "--save-parameters",
                    folder / name, "--save-losses", folder / (name + ".losses")});
    EXPECT_EQ(one.wait(), 0) << closes << one.err();
    return readFile(folder / name) + readFile(folder / (name + ".losses")) +
           readFile(folder / (name + ".run/step-00000003/rank-00000.safetensors"));
  };
  std::string open = run("", "open");
  for (const char *closes : {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"})
    EXPECT_TRUE(run(closes, "closed") == open && fs::remove_all(folder / "closed.run")) << closes;
}

TEST_F(RunFilesTest, WhatLiesInAFolderOfWeightsCountsToo) {
  fs::create_directories(folder / "tuned");
  fs::rename(folder / "held", folder / "tuned/config.json");
  ProgramRun folderRun("1,1,1", {"--data", folder / "tuned/config.json", "--save-weights", folder / "tuned"});
  EXPECT_EQ(folderRun.wait(), 1);
  EXPECT_NE(folderRun.err().find("what --data reads"), std::string::npos) << folderRun.err();
}

// What a run has written beside its inputs is no input of the next one.
TEST_F(RunFilesTest, ACommandThatWorkedWorksAgain) {
  fs::rename(folder / "data", folder / "book");
  const std::vector<std::string> commands[] = {
      {"--data", folder / "book", "--save-tokens", folder / "book.bin"},
      {"--data", folder / "book", "--steps", "1", "--log", folder / "book.idx"},
      {"--synthetic", "--weights", folder / "weights", "--steps", "1", "--save-losses", folder / "weights/losses",
       "--save-parameters", folder / "weights/parameters.safetensors"},
      {"--synthetic", "--steps", "1", "--save-weights", folder / "tuned"},
  };
  for (const std::vector<std::string> &arguments : commands)
    for (const char *time : {"first", "second"}) {
      ProgramRun run("1,1,1", arguments);
      EXPECT_EQ(run.wait(), 0) << time << ": " << arguments.back() << ": " << run.err();
    }
  // Where it would be one, it is refused the first time, too.
  ProgramRun pair("1,1,1", {"--data", folder / "book.bin", "--steps", "1", "--log", folder / "book.idx"});
  EXPECT_EQ(pair.wait(), 1);
  fs::remove(folder / "book.idx");
  ProgramRun first("1,1,1", {"--data", folder / "book.bin", "--steps", "1", "--log", folder / "book.idx"});
  EXPECT_EQ(first.wait(), 1);
  EXPECT_EQ(first.err().find("error: --log " + (folder / "book.idx") + ": this is what --data reads"), 0u)
      << first.err();
}

TEST_F(RunFilesTest, NoOutputIsAnother) {
  for (const char *first : fileOutputs)
    for (const char *second : fileOutputs)
      if (std::string(first) < second) {
        ProgramRun run("1,1,1", {"--synthetic", "--steps", "1", first, folder / "same", second, folder / "same"});
        EXPECT_EQ(run.wait(), 1);
        EXPECT_NE(run.err().find(" would both write "), std::string::npos) << first << second << run.err();
        EXPECT_FALSE(fs::exists(folder / "same"));
      }
  ProgramRun run("1,1,1", {"--synthetic", "--steps", "1", "--log", "/dev/null", "--save-losses", "/dev/null"});
  EXPECT_EQ(run.wait(), 0) << "what goes nowhere may go there twice: " << run.err();
}

TEST_F(RunFilesTest, CheckpointsBelongToThemselves) {
  for (const char *option : fileOutputs)
    for (const char *name : {"run/step-00000002/checkpoint.json", "run/step-00000009/x", "run/run.lock"}) {
      std::map<std::string, std::string> before = content();
      ProgramRun run("1,1,1", {"--synthetic", "--steps", "3", "--resume", "--checkpoint-dir", folder / "run", option,
                               folder / name});
      EXPECT_EQ(run.wait(), 1) << option << name;
      EXPECT_EQ(run.err().find("error: " + std::string(option)), 0u) << run.err();
      EXPECT_TRUE(content() == before);
    }
  ProgramRun run("1,1,1", {"--synthetic", "--steps", "3", "--resume", "--quiet", "--checkpoint-dir", folder / "run",
                           "--log", folder / "run/log"});
  EXPECT_EQ(run.wait(), 0) << "beside them there is room: " << run.err();
}

TEST_F(RunFilesTest, FoldersAndDevicesAreNoFiles) {
  for (const char *option : fileOutputs)
    expectRefused(option, folder / "run", "it is a folder");
  expectRefused("--save-weights", folder / "held", "what --eval-data reads");
  writeFile(folder / "file", "x");
  expectRefused("--save-weights", folder / "file", "it is no folder");
  expectRefused("--checkpoint-dir", folder / "file", "it is no folder");
}

// What could not begin has not emptied the log of the run before.
TEST_F(RunFilesTest, AFailedStartKeepsTheOldLog) {
  writeFile(folder / "log", "old\n");
  for (const char *option : {"--log", "--save-losses", "--trace", "--save-parameters"}) {
    ProgramRun run("1,1,1", {"--data", folder / "data", option, folder / "log", "--weights", folder / "nowhere"});
    EXPECT_EQ(run.wait(), 1);
    EXPECT_EQ(readFile(folder / "log"), "old\n") << option;
  }
}

} // namespace
