// Writes a file next to its target and renames it.
#include "ppc/Support/OutputFile.h"
#include "ppc/Support/InputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace mlir::ppc;
namespace fs = llvm::sys::fs;
namespace names = llvm::sys::path;

static std::error_code systemError() { return {errno, std::generic_category()}; }

void mlir::ppc::reserveStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0 &&
        open("/", O_RDONLY | O_DIRECTORY) < 0)
      _exit(1);
}

namespace {

/// A new file next to another, which is removed unless it takes the other's name; also when a signal ends the process.
class PartialFile {
public:
  PartialFile() = default;
  PartialFile(const PartialFile &) = delete;
  ~PartialFile() {
    if (fd >= 0)
      close(fd);
    if (name.empty())
      return;
    (void)fs::remove(name);
    llvm::sys::DontRemoveFileOnSignal(name);
  }

  std::error_code create(llvm::StringRef target, unsigned mode) {
    constexpr size_t longest = 200; // leaves characters for the suffix; names have at most 255 bytes
    constexpr int attempts = 1000;
    std::error_code problem;
    for (int number = 0; number < attempts; ++number) {
      llvm::SmallString<128> candidate(names::parent_path(target));
      names::append(candidate, names::filename(target).take_front(longest) + ".partial-" + llvm::Twine(getpid()) + "-" +
                                   llvm::Twine(number));
      problem = fs::openFileForWrite(candidate, fd, fs::CD_CreateNew, fs::OF_None, mode);
      if (problem == std::errc::file_exists)
        continue;
      if (problem)
        return problem;
      name = candidate.str().str();
      llvm::sys::RemoveFileOnSignal(name);
      return {};
    }
    return problem;
  }

  int descriptor() const { return fd; }
  int takeDescriptor() { return std::exchange(fd, -1); }

  std::error_code takeName(llvm::StringRef target) {
    if (std::error_code problem = fs::rename(name, target))
      return problem;
    llvm::sys::DontRemoveFileOnSignal(name);
    name.clear();
    return {};
  }

private:
  std::string name;
  int fd = -1;
};

} // namespace

/// The N of /proc/self/fd/N, however that folder is spelled.
static std::optional<int> ownDescriptor(llvm::StringRef folder, llvm::StringRef name) {
  int number;
  if (!folder.consume_front("/proc/") || !folder.consume_back("/fd") || name.getAsInteger(10, number))
    return std::nullopt;
  return folder.split('/').first == std::to_string(getpid()) ? std::optional(number) : std::nullopt;
}

/// Gives the new file the mode and the owner of the one that it replaces.
static std::error_code inherit(int fd, const fs::file_status &old, OutputKind kind) {
  fs::file_status made;
  if (std::error_code problem = fs::status(fd, made))
    return problem;
  if (made.getUser() != old.getUser() || made.getGroup() != old.getGroup())
    (void)fs::changeFileOwnership(fd, old.getUser(), old.getGroup());
  unsigned mode = unsigned(old.permissions()) & 0777;
  if (kind == OutputKind::Executable)
    mode |= (mode & 0444) >> 2; // who may read it may run it
  return fchmod(fd, mode) ? systemError() : std::error_code();
}

OutputFile::OutputFile(llvm::StringRef option, llvm::StringRef path, OutputKind kind)
    : option(option), path(path), kind(kind) {
  follow();
}

OutputFile::OutputFile(OutputFile &&other)
    : option(std::move(other.option)), path(std::move(other.path)), kind(other.kind), target(std::move(other.target)),
      descriptor(std::exchange(other.descriptor, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    close(descriptor);
}

llvm::Error OutputFile::failure(const llvm::Twine &why) const {
  return llvm::createStringError(option + ": cannot write " + path + ": " + why);
}

void OutputFile::follow() {
  if (path == "-") {
    descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    return;
  }
  constexpr int mostLinks = 40; // as the system follows
  llvm::SmallString<256> at(path), folder;
  for (int links = 0; links < mostLinks; ++links) {
    llvm::StringRef parent = names::parent_path(at);
    if (!fs::real_path(parent.empty() ? "." : parent, folder))
      if (std::optional<int> number = ownDescriptor(folder, names::filename(at))) {
        descriptor = fcntl(*number, F_DUPFD_CLOEXEC, 0);
        return;
      }
    char text[4096];
    ssize_t length = readlink(at.c_str(), text, sizeof text);
    if (length < 0)
      break;
    llvm::StringRef next(text, size_t(length));
    llvm::SmallString<256> joined(names::is_absolute(next) ? "" : parent);
    names::append(joined, next);
    at = joined;
  }
  target = at.str().str();
}

std::optional<fs::UniqueID> OutputFile::presentFile() const {
  fs::file_status status;
  std::error_code problem = isStream() ? fs::status(descriptor, status) : fs::status(target, status);
  if (problem || !fs::is_regular_file(status))
    return std::nullopt;
  return status.getUniqueID();
}

llvm::Error OutputFile::checkKind() const {
  if (path.empty())
    return llvm::createStringError(option + ": the name of the file is empty");
  if (target.empty()) // a descriptor
    return !isStream() || (fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDONLY ? failure("it is not open for writing")
                                                                               : llvm::Error::success();
  fs::file_status status;
  std::error_code problem = fs::status(target, status);
  switch (status.type()) {
  case fs::file_type::directory_file:
    return failure("it is a folder");
  case fs::file_type::regular_file:
    if ((problem = fs::access(target, fs::AccessMode::Write)))
      return failure(problem.message());
    return llvm::Error::success();
  case fs::file_type::character_file:
  case fs::file_type::fifo_file:
    return llvm::Error::success();
  case fs::file_type::file_not_found:
    return names::is_separator(path.back()) ? failure("a file has another name") : llvm::Error::success();
  case fs::file_type::status_error:
    return failure(problem.message());
  default:
    return failure("it is not a regular file");
  }
}

llvm::Error OutputFile::open() {
  if (isStream())
    return llvm::Error::success();
  fs::file_status status;
  (void)fs::status(target, status);
  if (status.type() == fs::file_type::character_file || status.type() == fs::file_type::fifo_file)
    return openStream();
  PartialFile partial;
  if (std::error_code problem = partial.create(target, 0600))
    return failure((fs::exists(status) ? "cannot make a file next to it: " : "") + problem.message());
  return llvm::Error::success();
}

llvm::Error OutputFile::openStream() {
  // Who reads a pipe may come a little later.
  constexpr int attempts = 60;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    descriptor = ::open(target.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor >= 0 || errno != ENXIO)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (descriptor < 0)
    return failure(errno == ENXIO ? "it is a pipe that nothing reads" : systemError().message());
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  return llvm::Error::success();
}

llvm::Error OutputFile::write(llvm::function_ref<llvm::Error(llvm::raw_ostream &)> print) {
  // Files that are named in a table are known when it has been read.
  if (std::optional<fs::UniqueID> file = presentFile(); file && hasReadFile(*file))
    return failure("this command has read it, and it would be destroyed: give another name");
  PartialFile partial;
  if (!isStream()) {
    fs::file_status old;
    (void)fs::status(target, old);
    std::error_code problem = partial.create(target, kind == OutputKind::Executable ? 0777 : 0666);
    if (!problem && fs::is_regular_file(old))
      problem = inherit(partial.descriptor(), old, kind);
    if (problem)
      return failure(problem.message());
  }
  std::signal(SIGXFSZ, SIG_IGN); // a limit of the shell is an error of writing, not the end of the process
  if (path == "-") {             // in the order in which others print there
    llvm::Error said = print(llvm::outs());
    llvm::outs().flush();
    std::error_code problem = llvm::outs().error();
    llvm::outs().clear_error();
    return said || !problem ? std::move(said) : failure(problem.message());
  }
  llvm::outs().flush();
  int fd = isStream() ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : partial.takeDescriptor();
  if (fd < 0)
    return failure(systemError().message());
  llvm::raw_fd_ostream out(fd, /*shouldClose=*/true);
  llvm::Error said = print(out);
  out.close();
  std::error_code problem = out.error();
  out.clear_error();
  if (said)
    return said;
  if (!problem && !isStream())
    problem = partial.takeName(target);
  return problem ? failure(problem.message()) : llvm::Error::success();
}
