// Taking, watching and keeping.
#include "runtime/files/FolderLock.h"
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"
#include "runtime/files/File.h"
#include "runtime/files/JsonValue.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ppcrt {

// What the file says; `id` 0: nothing that could be read.
struct FolderLock::Owner {
  int64_t id = 0, machine = 0, process = 0, count = 0;
  std::string host, started;

  static Owner parse(const std::string &text) {
    Owner owner;
    nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
    try {
      owner.id = document.at("id");
      owner.machine = document.at("machine");
      owner.process = document.at("process");
      owner.count = document.at("count");
      owner.host = document.at("host");
      owner.started = document.at("started");
    } catch (const nlohmann::json::exception &) { // empty, or a run was killed while it wrote
      return {};
    }
    return owner;
  }

  std::string describe() const {
    return id ? format("process %lld on %s, since %s", (long long)process, host.c_str(), started.c_str())
              : std::string("it does not say of whom");
  }
};

namespace {

constexpr int64_t fileBytes = 1024; // always the same, so that it is replaced in one write

std::string cannotWrite(const std::string &path) { return "--checkpoint-dir: cannot write " + path; }

std::string contentOf(int fd) {
  std::string content(fileBytes, '\0');
  ssize_t size = pread(fd, content.data(), content.size(), 0);
  content.resize(size > 0 ? size_t(size) : 0);
  return content;
}

std::string contentOf(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return "";
  std::string content = contentOf(fd);
  close(fd);
  return content;
}

bool isSameFile(int fd, const std::string &path) {
  struct stat open, named;
  return fstat(fd, &open) == 0 && stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

// 0, or why not.
int lockWhole(int fd) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

bool isTaken(int failure) { return failure == EAGAIN || failure == EACCES; }

std::string timeText() {
  std::array<char, 64> buffer;
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return {buffer.data(), std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

// Whether the process that took the lock is known to be gone.
bool hasEnded(int64_t machine, int64_t process) {
  return process > 0 && machine == machineIdentity() && kill(pid_t(process), 0) != 0 && errno == ESRCH;
}

} // namespace

void FolderLock::sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

FolderLock::FolderLock(const std::string &folder, double beat, bool withLocks, Pause pause)
    : folder(folder), path(folder + "/" + fileName), started(timeText()), beat(beat), pause(std::move(pause)),
      maker(getpid()) {
  number = int64_t(drawRunNumber());
  std::error_code failure;
  madeFolder = std::filesystem::create_directories(folder, failure);
  if (failure)
    throw InputError("cannot make the folder " + folder + ": " + failure.message());
  try {
    if (withLocks)
      takeWithLock();
    else
      takeWithoutLock();
  } catch (...) {
    if (fd >= 0)
      close(fd);
    throw;
  }
}

FolderLock::~FolderLock() {
  if (thread.joinable()) {
    {
      std::lock_guard<std::mutex> guard(mutex);
      ends = true;
    }
    ending.notify_all();
    thread.join();
  }
  if (fd >= 0 && maker == getpid()) {
    if (Owner::parse(contentOf(path)).id == number)
      unlink(path.c_str()); // while it is locked
    if (madeFolder)
      rmdir(folder.c_str());
  }
  if (fd >= 0)
    close(fd);
}

void FolderLock::takeWithLock() {
  constexpr int turns = 50;
  for (int turn = 0; turn < turns; ++turn) {
    fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    struct stat status;
    if (fd < 0)
      throw InputError(errno == ELOOP ? cannotWrite(path) + ": it is a symbolic link: remove it"
                                      : withErrno(cannotWrite(path)));
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
      throw InputError(cannotWrite(path) + ": not a regular file");
    int failure = lockWhole(fd);
    if (isTaken(failure)) {
      Owner owner = Owner::parse(contentOf(fd));
      if ((owner.id && !hasEnded(owner.machine, owner.process)) || turn + 1 == turns)
        refuse(owner, status.st_nlink > 1);
      close(std::exchange(fd, -1)); // it is about to write its name, or its ranks are about to end as it has
      sleep(0.1);
      continue;
    }
    if (failure) { // ENOLCK, ENOSYS, EOPNOTSUPP, ...: there are none here
      if (contentOf(fd).empty())
        unlink(path.c_str());
      close(std::exchange(fd, -1));
      return takeWithoutLock();
    }
    if (!isSameFile(fd, path)) { // the owner has just removed it
      close(std::exchange(fd, -1));
      continue;
    }
    Owner before = Owner::parse(contentOf(fd));
    if (before.id && before.machine != machineIdentity())
      watch(before); // locks may not reach its machine
    if (before.id)
      note = "the run that used " + folder + " (" + before.describe() + ") has ended without saying so: going on";
    if (status.st_nlink > 1) // what is written would be in a file of another name, too
      takeCopy();
    return write();
  }
  throw InputError("cannot lock " + path + ": others take and leave it all the time");
}

// A copy of a run's folder by hard links has the lock of that run. The name gets a file of its own, and the other name
// keeps its own: who waits for the old file sees that it is not the one of this name any more.
void FolderLock::takeCopy() {
  std::string mine = path + "." + std::to_string(number);
  int own = open(mine.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (own < 0)
    throw InputError(withErrno(cannotWrite(mine)));
  try {
    if ((errno = lockWhole(own)) != 0)
      throw InputError(withErrno(cannotWrite(path)));
    renameFile(mine, path);
  } catch (...) {
    close(own);
    unlink(mine.c_str());
    throw;
  }
  close(std::exchange(fd, own));
}

void FolderLock::takeWithoutLock() {
  fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd >= 0)
    return write();
  if (errno != EEXIST)
    throw InputError(withErrno(cannotWrite(path)));
  Owner before = Owner::parse(contentOf(path));
  watch(before);
  std::string mine = path + "." + std::to_string(number);
  fd = open(mine.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0)
    throw InputError(withErrno(cannotWrite(mine)));
  write();
  renameFile(mine, path);
  pause(beat / 2); // who came at the same time has done the same by now: the last one stays
  if (Owner now = Owner::parse(contentOf(path)); now.id != number)
    refuse(now);
  note = "the run that used " + folder + " (" + before.describe() + ") has ended without saying so: going on";
}

void FolderLock::watch(const Owner &owner) {
  constexpr int beats = 3;
  std::fprintf(stderr, "note: %s was used by another run (%s): watching for %.0f s whether it lives\n", folder.c_str(),
               owner.describe().c_str(), beats * beat);
  for (int turn = 0; turn < 2 * beats; ++turn) {
    pause(beat / 2);
    if (Owner now = Owner::parse(contentOf(path)); now.id != owner.id || now.count != owner.count)
      refuse(now);
  }
}

void FolderLock::refuse(const Owner &owner, bool isLinked) const {
  std::string where =
      isLinked
          ? ", whose folder this may be a copy of: " + path +
                " has another name (a hard link, as cp -al makes): wait until that run has ended, or remove this name"
          : ": wait until it has ended, or give another --checkpoint-dir";
  throw InputError(folder + " is used by another run (" + owner.describe() + ")" + where);
}

std::string FolderLock::text() const {
  std::string content = nlohmann::json{{"id", number},     {"host", hostName()}, {"machine", machineIdentity()},
                                       {"process", maker}, {"started", started}, {"count", count}}
                            .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  content.resize(fileBytes - 1, ' ');
  return content + "\n";
}

void FolderLock::write() const {
  std::string content = text();
  if (pwrite(fd, content.data(), content.size(), 0) != ssize_t(content.size())) {
    std::string problem = withErrno(cannotWrite(path));
    unlink(path.c_str());
    throw InputError(problem);
  }
}

void FolderLock::startBeating() {
  sigset_t all, before; // signals are for the thread that trains
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] {
    std::unique_lock<std::mutex> guard(mutex);
    while (!ending.wait_for(guard, std::chrono::duration<double>(beat), [this] { return ends; })) {
      ++count;
      std::string content = text();
      if (pwrite(fd, content.data(), content.size(), 0) < 0)
        continue; // a full disk: the next time
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void FolderLock::check() const {
  Owner now = Owner::parse(contentOf(path));
  if (now.id && now.id != number)
    throw InputError("another run has taken over " + folder + " (" + now.describe() + "): this one must end");
}

} // namespace ppcrt
