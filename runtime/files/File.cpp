// System calls with errors.
#include "runtime/files/File.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <mutex>
#include <poll.h>
#include <random>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ppcrt {
namespace {

// The mappings that are alive, for the handler of SIGBUS, which may only look at plain memory. As the handler itself,
// they belong to the process; `mappingsLock` is for those who change them.
struct Mapping {
  std::atomic<const std::byte *> begin{nullptr};
  int64_t length = 0;
  const char *path = nullptr;
};
std::array<Mapping, 4096> mappings;
std::mutex mappingsLock;

void onBusError(int, siginfo_t *info, void *) {
  auto *address = static_cast<const std::byte *>(info->si_addr);
  for (const Mapping &mapping : mappings)
    if (const std::byte *begin = mapping.begin; begin && address >= begin && address < begin + mapping.length)
      fatal("%s: byte %lld cannot be read: the file became shorter, or its disk fails", mapping.path,
            (long long)(address - begin));
  std::signal(SIGBUS, SIG_DFL);
}

void watch(const std::byte *begin, int64_t length, const char *path) {
  static const bool installed = [] {
    struct sigaction action{};
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  (void)installed;
  std::lock_guard<std::mutex> guard(mappingsLock);
  for (Mapping &mapping : mappings)
    if (!mapping.begin) {
      mapping.length = length;
      mapping.path = path;
      mapping.begin = begin;
      return;
    }
}

void forget(const std::byte *begin) {
  std::lock_guard<std::mutex> guard(mappingsLock);
  for (Mapping &mapping : mappings)
    if (mapping.begin == begin)
      mapping.begin = nullptr;
}

// Of a name that nothing has, links included.
constexpr int createAnew = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      close(fd);
  }
};

} // namespace

OutputFile::OutputFile(const std::string &path) : name(path), shown(path) {
  fd = open(path.c_str(), createAnew, 0666);
  if (fd < 0 && errno == EEXIST && unlink(path.c_str()) == 0)
    fd = open(path.c_str(), createAnew, 0666);
  if (fd < 0)
    throw InputError(withErrno("cannot write " + shown));
}

OutputFile OutputFile::beside(const std::string &path, uint64_t run) {
  struct stat status;
  bool replaces = stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  OutputFile result;
  result.name = partialPath(path, run);
  result.shown = path;
  result.fd = open(result.name.c_str(), createAnew, 0666);
  if (result.fd < 0)
    throw InputError(withErrno("cannot write " + path));
  struct flock lock{}; // as long as it is written: who finds the file knows that it is not abandoned
  lock.l_type = F_WRLCK;
  (void)fcntl(result.fd, F_OFD_SETLK, &lock);
  if (replaces)
    (void)fchmod(result.fd, status.st_mode & 0777); // where the file system has modes
  return result;
}

OutputFile OutputFile::joinBeside(const std::string &path, uint64_t run) {
  OutputFile result;
  result.name = partialPath(path, run);
  result.shown = path;
  result.fd = open(result.name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (result.fd < 0)
    throw InputError(withErrno("cannot write " + result.shown +
                               ", which the first rank has created: ranks on several "
                               "machines need a file system that they share"));
  return result;
}

OutputFile OutputFile::stream(int fd, const std::string &shown) {
  OutputFile result;
  result.name = result.shown = shown;
  result.fd = fd;
  result.ordered = true;
  return result;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : name(std::move(other.name)), shown(std::move(other.shown)), fd(std::exchange(other.fd, -1)),
      ordered(other.ordered) {}

OutputFile &OutputFile::operator=(OutputFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(shown, other.shown);
  std::swap(fd, other.fd);
  std::swap(ordered, other.ordered);
  return *this;
}

OutputFile::~OutputFile() {
  if (fd >= 0)
    close(fd);
}

void OutputFile::reserve(int64_t bytes) const {
  if (bytes == 0)
    return;
  int failure = posix_fallocate(fd, 0, bytes);
  if (!failure)
    return;
  errno = failure;
  throw InputError(withErrno(format("cannot write %lld bytes to %s", (long long)bytes, shown.c_str())));
}

void OutputFile::writeAt(const void *data, int64_t bytes, int64_t offset) const {
  const char *from = static_cast<const char *>(data);
  for (int64_t left = bytes; left > 0;) {
    ssize_t written = ordered ? write(fd, from, left) : pwrite(fd, from, left, offset);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      throw InputError(withErrno(
          format("cannot write %lld bytes at byte %lld of %s", (long long)bytes, (long long)offset, shown.c_str())));
    from += written;
    left -= written;
    offset += written;
  }
}

void OutputFile::sync() const {
  if (!ordered && fsync(fd) != 0)
    throw InputError(withErrno("cannot write " + shown + " to its disk"));
}

InputFile::InputFile(const std::string &path)
    : name(path), fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    std::string why = fd < 0 ? withErrno("cannot read " + path) : "cannot read " + path + ": not a regular file";
    if (fd >= 0)
      close(fd);
    throw InputError(why);
  }
  length = status.st_size;
  stamp = std::hash<std::string>()(format("%lld %lld %lld %lld.%ld %lld.%ld", (long long)status.st_dev,
                                          (long long)status.st_ino, (long long)status.st_size,
                                          (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                                          (long long)status.st_ctim.tv_sec, status.st_ctim.tv_nsec));
}

InputFile::~InputFile() { close(fd); }

void InputFile::readAt(void *data, int64_t bytes, int64_t offset) const {
  char *to = static_cast<char *>(data);
  for (int64_t done = 0; done < bytes;) {
    ssize_t count = pread(fd, to + done, size_t(bytes - done), offset + done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      throw InputError(withErrno("cannot read " + name));
    if (count == 0)
      throw InputError(
          format("cannot read %s: it became shorter than %lld bytes", name.c_str(), (long long)(offset + bytes)));
    done += count;
  }
}

MappedFile::MappedFile(const std::string &path) : name(path) {
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (file.fd < 0 || fstat(file.fd, &status) != 0)
    throw InputError(withErrno("cannot read " + path));
  if (!S_ISREG(status.st_mode))
    throw InputError("cannot read " + path + ": not a regular file");
  length = status.st_size;
  if (length == 0)
    return;
  void *address = mmap(nullptr, length, PROT_READ, MAP_SHARED, file.fd, 0);
  if (address == MAP_FAILED)
    throw InputError(withErrno(format("cannot map %lld bytes of %s", (long long)length, path.c_str())));
  bytes = static_cast<const std::byte *>(address);
  watch(bytes, length, name.c_str());
}

MappedFile::~MappedFile() {
  if (!bytes)
    return;
  forget(bytes);
  munmap(const_cast<std::byte *>(bytes), length);
}

namespace {

std::string parentOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string realPath(const std::string &path) {
  char *found = realpath(path.c_str(), nullptr);
  std::string result = found ? found : "";
  free(found);
  return result;
}

// Follows links until a path is none, or names a descriptor of this process.
std::pair<std::string, int> follow(std::string path) {
  constexpr int mostLinks = 40; // as the system follows
  const std::string descriptors = realPath("/proc/self/fd");
  for (int links = 0; links < mostLinks; ++links) {
    std::string parent = parentOf(path), name = path.substr(path.rfind('/') + 1);
    if (!name.empty() && name.find_first_not_of("0123456789") == std::string::npos && name.size() < 9 &&
        !descriptors.empty() && realPath(parent) == descriptors)
      return {path, std::stoi(name)};
    std::array<char, 4096> text;
    ssize_t length = readlink(path.c_str(), text.data(), text.size());
    if (length <= 0)
      break;
    std::string next(text.data(), size_t(length));
    path = next.front() == '/' ? next : parent + "/" + next;
  }
  return {path, -1};
}

} // namespace

std::string targetOf(const std::string &path) { return follow(path).first; }

uint64_t drawRunNumber() {
  std::random_device device;
  return (uint64_t(device()) << 31 ^ device()) | 1;
}

// What the names of partial files begin with.
static std::string partialPrefix(const std::string &path) {
  constexpr size_t longest = 200; // of 255 bytes that a name may have
  std::string target = targetOf(path);
  size_t name = target.rfind('/') + 1; // 0 where there is none
  return target.substr(0, std::min(target.size(), name + longest)) + ".partial-";
}

std::string partialPath(const std::string &path, uint64_t run) {
  return partialPrefix(path) + format("%llx", (unsigned long long)run);
}

// Whether no process of this machine writes a partial file.
static bool isAbandoned(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  bool isFree = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
  if (fd >= 0)
    close(fd);
  return isFree;
}

std::vector<std::string> abandonedPartials(const std::string &path) {
  std::filesystem::path prefix = partialPrefix(path);
  std::string begin = prefix.filename().string();
  std::error_code failure;
  std::vector<std::string> found;
  std::filesystem::path folder = prefix.has_parent_path() ? prefix.parent_path() : std::filesystem::path(".");
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    std::string name = entry->path().filename().string();
    bool isPartial = name.compare(0, begin.size(), begin) == 0 && name.size() > begin.size() &&
                     name.find_first_not_of("0123456789abcdef", begin.size()) == std::string::npos;
    if (isPartial && entry->is_regular_file(failure) && isAbandoned(entry->path().string()))
      found.push_back((prefix.has_parent_path() ? entry->path() : entry->path().filename()).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void reserveStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0 &&
        open("/", O_RDONLY | O_DIRECTORY) < 0)
      _exit(1);
}

int ownDescriptor(const std::string &path) { return follow(path).second; }

bool isStream(const std::string &path) {
  struct stat status;
  return ownDescriptor(path) >= 0 ||
         (stat(path.c_str(), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)));
}

int openGrowing(const std::string &path) {
  constexpr int turns = 200, pause = 10'000; // microseconds: ranks of a run that was killed end a little later
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0)
    throw InputError(withErrno("cannot write " + path));
  for (int turn = 0; flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++turn) {
    if (turn == turns) {
      close(fd);
      throw InputError("cannot write " + path + ": another run writes it: give another name, or end that run");
    }
    usleep(pause);
  }
  return fd;
}

FolderTurn::FolderTurn(const std::string &folder) : fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
    ;
}

FolderTurn::~FolderTurn() {
  if (fd >= 0)
    close(fd);
}

std::vector<unsigned char> readPipe(const std::string &path) {
  constexpr int64_t limit = int64_t(1) << 30;
  constexpr int patience = 5000; // milliseconds
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat status;
  if (file.fd < 0 || fstat(file.fd, &status) != 0)
    throw InputError(withErrno("cannot read " + path));
  if (!S_ISFIFO(status.st_mode))
    throw InputError("cannot read " + path +
                     (S_ISDIR(status.st_mode)
                          ? ": it is a folder, and data is one file: write its texts to one, as by cat"
                          : ": a device is no data: give a file"));
  std::vector<unsigned char> content;
  std::array<unsigned char, 1 << 16> buffer;
  while (true) {
    pollfd waited{file.fd, POLLIN, 0};
    int ready = poll(&waited, 1, patience);
    if (ready == 0 && content.empty())
      throw InputError(
          format("cannot read %s: a pipe through which nothing has come for %d s", path.c_str(), patience / 1000));
    if (ready == 0)
      std::fprintf(stderr, "note: waiting for what comes after %zu bytes of %s\n", content.size(), path.c_str());
    if (ready <= 0)
      continue;
    ssize_t count = read(file.fd, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (count < 0)
      throw InputError(withErrno("cannot read " + path));
    if (count == 0)
      return content;
    content.insert(content.end(), buffer.begin(), buffer.begin() + count);
    if (int64_t(content.size()) > limit)
      throw InputError(format("cannot read %s: more than %s have come through the pipe: write them to a file",
                              path.c_str(), formatBytes(double(limit)).c_str()));
  }
}

int openStream(const std::string &path) {
  if (int own = ownDescriptor(path); own >= 0) {
    int fd = fcntl(own, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
      throw InputError(withErrno("cannot write " + path));
    return fd;
  }
  int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 && errno == ENXIO)
    throw InputError("cannot write " + path + ": it is a pipe that nothing reads");
  if (fd < 0)
    throw InputError(withErrno("cannot write " + path));
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

NewFile::NewFile(const std::string &path)
    : path(path), stream(isStream(path)),
      file(stream ? OutputFile::stream(openStream(path), path) : OutputFile::beside(path, drawRunNumber())) {}

NewFile::~NewFile() {
  if (!stream)
    unlink(file.path().c_str());
}

void NewFile::append(std::string_view text) {
  constexpr size_t block = 1 << 16;
  held += text;
  if (held.size() >= block)
    flush();
}

void NewFile::flush() {
  file.writeAt(held.data(), int64_t(held.size()), written);
  written += int64_t(held.size());
  held.clear();
}

void NewFile::commit() {
  flush();
  file.sync();
  if (!stream)
    renameFile(file.path(), targetOf(path));
}

std::string readText(const std::string &path, int64_t limit) {
  MappedFile file(path);
  if (file.size() > limit)
    throw InputError(format("%s has %lld bytes, more than the %lld that such a file may have", path.c_str(),
                            (long long)file.size(), (long long)limit));
  return std::string(file.text());
}

void writeText(const std::string &path, std::string_view text) {
  OutputFile file(path);
  file.writeAt(text.data(), int64_t(text.size()), 0);
  file.sync();
}

void syncFolder(const std::string &path) {
  Descriptor folder{open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd < 0 || fsync(folder.fd) != 0)
    throw InputError(withErrno("cannot write the folder " + path + " to its disk"));
}

void renameFile(const std::string &from, const std::string &to) {
  if (rename(from.c_str(), to.c_str()) != 0)
    throw InputError(withErrno("cannot rename " + from + " to " + to));
}

bool exchangeNames(const std::string &a, const std::string &b) {
  return renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

void removeFile(const std::string &path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT)
    throw InputError(withErrno("cannot remove " + path));
}

} // namespace ppcrt
