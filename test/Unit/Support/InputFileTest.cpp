// Reading files, and errors of files that cannot be read.
#include "ppc/Support/InputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace mlir::ppc;

namespace {

class InputFile : public ::testing::Test {
protected:
  InputFile() { EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("ppc-input", folder)); }
  ~InputFile() override { (void)llvm::sys::fs::remove_directories(folder); }

  std::string path(const std::string &name) const { return (folder + "/" + name).str(); }
  std::string file(const std::string &name, const std::string &text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  std::string pipe(const std::string &name) const {
    EXPECT_EQ(mkfifo(path(name).c_str(), 0600), 0);
    return path(name);
  }

  llvm::SmallString<128> folder;
};

/// The text, or "error: " and what is wrong.
std::string read(const std::string &path, int64_t limit = 1000) {
  auto buffer = readInputFile(path, limit);
  if (!buffer)
    return "error: " + llvm::toString(buffer.takeError());
  EXPECT_EQ((*buffer)->getBufferEnd()[0], '\0');
  EXPECT_EQ((*buffer)->getBufferIdentifier(), path);
  return (*buffer)->getBuffer().str();
}

TEST_F(InputFile, HoldsTheWholeFile) {
  std::string text(200000, 'x');
  EXPECT_EQ(read(file("a", text), 200000), text);
  EXPECT_EQ(read(file("empty", "")), "");
  EXPECT_EQ(read("/dev/null"), "");
  EXPECT_NE(read("/proc/self/status", 1 << 16).find("Name:"), std::string::npos) << "stat reports size 0";
}

TEST_F(InputFile, NamesTheActualFileType) {
  EXPECT_EQ(read(path("none")), "error: No such file or directory");
  EXPECT_EQ(read(folder.str().str()), "error: Is a directory");
}

TEST_F(InputFile, HasALimit) {
  std::string small = file("small", "12345");
  EXPECT_EQ(read(small, 5), "12345");
  EXPECT_EQ(read(small, 4), "error: 5 bytes, more than the 4 bytes that such a file may have");
  EXPECT_EQ(read("/dev/zero", 100000), "error: more than the 100000 bytes that such a file may have");
  std::string sparse = file("sparse", "");
  ASSERT_EQ(truncate(sparse.c_str(), off_t(1) << 40), 0);
  EXPECT_EQ(read(sparse), "error: 1099511627776 bytes, more than the 1000 bytes that such a file may have");
}

TEST_F(InputFile, ReadsPipesToTheirEnd) {
  std::string name = pipe("pipe");
  std::fstream out(name); // waits for no reader
  std::thread writer([&] {
    out << "first " << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    out << "second";
    out.close();
  });
  EXPECT_EQ(read(name), "first second");
  writer.join();
  EXPECT_EQ(read(name), "error: it is a pipe, and what it held has been read: write it to a file");
}

TEST_F(InputFile, DoesNotWaitForever) {
  std::string name = pipe("pipe");
  EXPECT_EQ(read(name), "error: it is a pipe that nothing writes");
}

TEST_F(InputFile, SaysThatItWaits) {
  std::string name = pipe("pipe");
  std::fstream out(name); // waits for no reader
  testing::internal::CaptureStderr();
  std::thread writer([&] {
    struct stat captured{};
    while (fstat(STDERR_FILENO, &captured) == 0 && captured.st_size == 0) // nothing has been said
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    out << "late";
    out.close();
  });
  EXPECT_EQ(read(name), "late");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "note: " + name + ": waiting for what writes it\n");
  writer.join();
}

TEST_F(InputFile, RemembersFilesRead) {
  std::string name = file("a", "a"), other = file("b", "b");
  llvm::sys::fs::UniqueID first, second;
  ASSERT_FALSE(llvm::sys::fs::getUniqueID(name, first));
  ASSERT_FALSE(llvm::sys::fs::getUniqueID(other, second));
  EXPECT_FALSE(hasReadFile(first));
  read(name);
  EXPECT_TRUE(hasReadFile(first));
  EXPECT_FALSE(hasReadFile(second));
  EXPECT_FALSE(llvm::sys::fs::remove(name));
  EXPECT_FALSE(hasReadFile(first)) << "a new file may get its number";
}

} // namespace
