// Writing a temporary file and renaming it, and paths that may not be written. Uses by each option of each tool:
// test/Tools/outputs.test.
#include "ppc/Support/OutputFile.h"
#include "ppc/Support/InputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace mlir::ppc;
namespace fs = std::filesystem;

namespace {

class Output : public ::testing::Test {
protected:
  Output() {
    llvm::SmallString<128> made;
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("ppc-output", made));
    folder = made.str().str();
  }
  ~Output() override { fs::remove_all(folder); }

  std::string path(const std::string &name) const { return folder + "/" + name; }
  std::string file(const std::string &name, const std::string &text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  std::string text(const std::string &name) const {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  int64_t fileCount() const { return std::distance(fs::directory_iterator(folder), {}); }

  std::string folder;
};

/// Writes `text` as -o; the error.
std::string write(CommandFiles &files, const std::string &path, llvm::StringRef text,
                  OutputKind kind = OutputKind::Data) {
  llvm::Expected<OutputFile> output = files.writes("-o", path, kind);
  if (!output)
    return llvm::toString(output.takeError());
  return llvm::toString(output->write([&](llvm::raw_ostream &out) {
    out << text;
    return llvm::Error::success();
  }));
}
std::string write(const std::string &path, llvm::StringRef text, OutputKind kind = OutputKind::Data) {
  CommandFiles files;
  return write(files, path, text, kind);
}

unsigned modeOf(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) ? 0 : status.st_mode & 07777;
}

TEST_F(Output, WritesNewAndOldFiles) {
  mode_t mask = umask(022);
  EXPECT_EQ(write(path("new"), "text"), "");
  EXPECT_EQ(write(path("program"), "text", OutputKind::Executable), "");
  umask(mask);
  EXPECT_EQ(text("new"), "text");
  EXPECT_EQ(modeOf(path("new")), 0644u);
  EXPECT_EQ(modeOf(path("program")), 0755u);
  EXPECT_EQ(chmod(path("new").c_str(), 0640), 0);
  EXPECT_EQ(write(path("new"), "longer text"), "");
  EXPECT_EQ(text("new"), "longer text");
  EXPECT_EQ(modeOf(path("new")), 0640u);
  EXPECT_EQ(write(path("new"), "program", OutputKind::Executable), "");
  EXPECT_EQ(modeOf(path("new")), 0750u);
  EXPECT_EQ(write(path("100%.%%"), "percent"), "");
  EXPECT_EQ(write(path(std::string(255, 'n')), "long name"), "");
  EXPECT_EQ(fileCount(), 4);
}

TEST_F(Output, FollowsSymbolicLinks) {
  file("target", "old");
  fs::create_symlink("target", path("link"));
  fs::create_symlink(path("link"), path("absolute"));
  fs::create_symlink("not-yet", path("dangling"));
  EXPECT_EQ(write(path("absolute"), "new"), "");
  EXPECT_EQ(text("target"), "new");
  EXPECT_EQ(fs::read_symlink(path("link")), "target");
  EXPECT_EQ(write(path("dangling"), "made"), "");
  EXPECT_EQ(text("not-yet"), "made");
  fs::create_symlink("circle", path("circle"));
  EXPECT_NE(write(path("circle"), "x").find("-o: cannot write " + path("circle") + ": Too many levels"),
            std::string::npos);
}

TEST_F(Output, OtherHardLinksKeepTheirContent) {
  file("one", "old");
  fs::create_hard_link(path("one"), path("two"));
  EXPECT_EQ(write(path("one"), "new"), "");
  EXPECT_EQ(text("one") + text("two"), "newold");
}

TEST_F(Output, RefusesPathsThatAreNotFiles) {
  fs::create_directory(path("folder"));
  fs::create_directory_symlink("folder", path("link"));
  for (const char *name : {"folder", "folder/", "link", "link/", "."})
    EXPECT_EQ(write(path(name), "x"), "-o: cannot write " + path(name) + ": it is a folder");
  EXPECT_EQ(write(path("new/"), "x"), "-o: cannot write " + path("new/") + ": a file has another name");
  EXPECT_EQ(write("", "x"), "-o: the name of the file is empty");
  EXPECT_EQ(write(path("none/x"), "x"), "-o: cannot write " + path("none/x") + ": No such file or directory");
  file("file", "");
  EXPECT_EQ(write(path("file/x"), "x"), "-o: cannot write " + path("file/x") + ": Not a directory");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(write(path("pipe"), "x"), "-o: cannot write " + path("pipe") + ": it is a pipe that nothing reads");
}

TEST_F(Output, RefusesInputsUnderEveryName) {
  std::string input = file("in", "kept");
  fs::create_symlink("in", path("soft"));
  fs::create_hard_link(input, path("hard"));
  fs::create_directory(path("folder"));
  for (const char *name : {"in", "soft", "hard", "folder/../in", "./in"}) {
    CommandFiles files;
    files.reads("--plan", input);
    files.reads("--cluster", "dgx-a100");
    EXPECT_EQ(write(files, path(name), "x"),
              "-o " + path(name) + ": this is what --plan reads, which would be destroyed: give another name");
  }
  EXPECT_EQ(text("in"), "kept");
  EXPECT_NE(write(fs::read_symlink("/proc/self/exe"), "x").find("this is this program itself"), std::string::npos);
}

TEST_F(Output, RefusesFilesReadMeanwhile) {
  std::string input = file("in", "kept");
  CommandFiles files;
  llvm::Expected<OutputFile> output = files.writes("-o", input);
  ASSERT_TRUE(bool(output)) << llvm::toString(output.takeError());
  ASSERT_TRUE(bool(readInputFile(input, 100)));
  EXPECT_EQ(llvm::toString(output->write([](llvm::raw_ostream &) { return llvm::Error::success(); })),
            "-o: cannot write " + input + ": this command has read it, and it would be destroyed: give another name");
  EXPECT_EQ(text("in"), "kept");
}

TEST_F(Output, RefusesToWriteAFileTwice) {
  for (bool exists : {false, true}) {
    if (exists)
      file("out", "old");
    CommandFiles files;
    ASSERT_FALSE(bool(files.checkOutput("--one", path("out"))));
    EXPECT_EQ(llvm::toString(files.checkOutput("--two", path("out"))),
              "--one and --two would both write " + path("out") + ": give them different names");
    ASSERT_FALSE(bool(files.checkOutput("--three", "/dev/null")));
    ASSERT_FALSE(bool(files.checkOutput("--four", "/dev/null"))) << "/dev/null may be written twice";
  }
}

TEST_F(Output, FailuresKeepTheOldFile) {
  file("out", "old");
  CommandFiles files;
  llvm::Expected<OutputFile> output = files.writes("-o", path("out"));
  ASSERT_TRUE(bool(output));
  EXPECT_EQ(llvm::toString(output->write([](llvm::raw_ostream &out) {
              out << std::string(100000, 'x');
              return llvm::createStringError("no more");
            })),
            "no more");
  EXPECT_EQ(text("out"), "old");
  rlimit before, small{1000, RLIM_INFINITY};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  small.rlim_max = before.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string problem = write(path("out"), std::string(5000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(problem, "-o: cannot write " + path("out") + ": File too large");
  EXPECT_EQ(text("out"), "old");
  EXPECT_EQ(fileCount(), 1) << "no temporary file is left";
  EXPECT_EQ(write("/dev/full", std::string(5000, 'x')), "-o: cannot write /dev/full: No space left on device");
}

TEST_F(Output, AWriteProtectedFileStays) {
  file("out", "old");
  ASSERT_EQ(chmod(path("out").c_str(), 0444), 0);
  if (geteuid() == 0)
    GTEST_SKIP() << "who may write everything";
  EXPECT_EQ(write(path("out"), "new"), "-o: cannot write " + path("out") + ": Permission denied");
}

TEST_F(Output, WritesStreamsInPlace) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = text("pipe"); });
  EXPECT_EQ(write(path("pipe"), "through"), "");
  reader.join();
  EXPECT_EQ(received, "through");
  EXPECT_EQ(write("/dev/null", "nowhere", OutputKind::Executable), "");
  // Output to descriptors that the shell has opened continues at their position.
  int fd = open(file("log", "before ").c_str(), O_WRONLY | O_APPEND);
  for (std::string name : {"/dev/fd/", "/proc/self/fd/"})
    EXPECT_EQ(write(name + std::to_string(fd), "more "), "");
  close(fd);
  EXPECT_EQ(text("log"), "before more more ");
  fd = open(path("log").c_str(), O_RDONLY);
  std::string name = "/dev/fd/" + std::to_string(fd);
  EXPECT_EQ(write(name, "x"), "-o: cannot write " + name + ": it is not open for writing");
  close(fd);
}

} // namespace
