// Reads files, pipes and devices by the same loop.
#include "ppc/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace mlir::ppc;

/// Files that have been read, by path: a few files of a command line, or of the rows of a table.
static std::vector<std::pair<std::string, llvm::sys::fs::UniqueID>> &filesRead() {
  static std::vector<std::pair<std::string, llvm::sys::fs::UniqueID>> files;
  return files;
}

static llvm::Error systemError() {
  return llvm::createStringError(std::error_code(errno, std::generic_category()).message());
}

static llvm::Error tooLong(const llvm::Twine &found, int64_t limit) {
  return llvm::createStringError(found + "more than the " + llvm::Twine(limit) + " bytes that such a file may have");
}

/// Reads to the end. `isOurs`: opened here, so that reading does not wait; standard input may be shared, and is asked
/// only when it has something.
static llvm::Expected<llvm::SmallVector<char, 0>> readAll(int fd, bool isOurs, llvm::StringRef path, int64_t limit) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds patience(3);
  constexpr size_t block = 1 << 16;
  llvm::SmallVector<char, 0> content;
  Clock::time_point last = Clock::now();
  bool said = false;
  while (true) {
    pollfd asked{fd, POLLIN, 0};
    int ready = poll(&asked, 1, /*milliseconds=*/200);
    if (ready < 0 && errno != EINTR)
      return systemError();
    bool late = ready <= 0 && Clock::now() - last > patience;
    if (ready <= 0 && !late)
      continue;
    ssize_t count = -1;
    if (ready > 0 || isOurs) {
      size_t size = content.size();
      content.resize_for_overwrite(size + block);
      count = read(fd, content.data() + size, block);
      content.truncate(size + size_t(std::max<ssize_t>(count, 0)));
      if (count < 0 && errno != EINTR && errno != EAGAIN)
        return systemError();
      if (count == 0 && late) // with a writer it would be "try again"
        return llvm::createStringError("it is a pipe that nothing writes");
      if (count == 0)
        return content;
    }
    if (count > 0)
      last = Clock::now();
    if (int64_t(content.size()) > limit)
      return tooLong("", limit);
    if (late && count < 0 && !std::exchange(said, true))
      llvm::errs() << "note: " << path << ": waiting for what writes it\n";
  }
}

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readDescriptor(int fd, bool isOurs, llvm::StringRef path,
                                                                          int64_t limit) {
  struct stat status;
  if (fstat(fd, &status) != 0)
    return systemError();
  if (S_ISREG(status.st_mode) && status.st_size > limit)
    return tooLong(llvm::Twine(status.st_size) + " bytes, ", limit);
  llvm::sys::fs::UniqueID file(status.st_dev, status.st_ino);
  if (S_ISFIFO(status.st_mode) && hasReadFile(file))
    return llvm::createStringError("it is a pipe, and what it held has been read: write it to a file");
  llvm::Expected<llvm::SmallVector<char, 0>> content = readAll(fd, isOurs, path, limit);
  if (!content)
    return content.takeError();
  if (!hasReadFile(file))
    filesRead().emplace_back(path, file);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(*content), path);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> mlir::ppc::readInputFile(llvm::StringRef path, int64_t limit) {
  int fd = open(path.str().c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0)
    return systemError();
  llvm::scope_exit closing([fd] { close(fd); });
  return readDescriptor(fd, /*isOurs=*/true, path, limit);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> mlir::ppc::readStandardInput(int64_t limit) {
  return readDescriptor(STDIN_FILENO, /*isOurs=*/false, "<stdin>", limit);
}

bool mlir::ppc::hasReadFile(llvm::sys::fs::UniqueID file) {
  return llvm::any_of(filesRead(), [file](const auto &entry) {
    llvm::sys::fs::UniqueID now; // the number of a file that is gone may be that of a new one
    return entry.second == file && !llvm::sys::fs::getUniqueID(entry.first, now) && now == file;
  });
}
