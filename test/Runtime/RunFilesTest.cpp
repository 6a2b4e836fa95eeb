// Every option that names an output, on every file that the same command reads, under every name of it: none is
// destroyed.
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

TEST_F(RunFilesTest, WhatLiesBesideAnOutputCountsToo) {
  fs::rename(folder / "data", folder / "x.partial");
  std::map<std::string, std::string> before = content();
  ProgramRun run("1,1,1", {"--data", folder / "x.partial", "--steps", "1", "--save-parameters", folder / "x"});
  EXPECT_EQ(run.wait(), 1);
  EXPECT_NE(run.err().find("x.partial: this is what --data reads"), std::string::npos) << run.err();
  fs::create_directories(folder / "tuned");
  fs::rename(folder / "held", folder / "tuned/config.json");
  ProgramRun folderRun("1,1,1", {"--data", folder / "tuned/config.json", "--save-weights", folder / "tuned"});
  EXPECT_EQ(folderRun.wait(), 1);
  EXPECT_NE(folderRun.err().find("what --data reads"), std::string::npos) << folderRun.err();
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
