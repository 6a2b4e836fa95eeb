// Whole lines or none.
#include "runtime/files/LineFile.h"
#include "runtime/base/Error.h"
#include "runtime/files/File.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <unistd.h>
#include <vector>

namespace ppcrt {

LineFile::LineFile(const std::string &path) : path(path) {
  if (path.empty())
    return;
  stream = isStream(path);
  fd = stream ? openStream(path) : openGrowing(path);
}

int64_t LineFile::keep(int64_t lines) {
  if (fd < 0 || stream)
    return lines;
  int64_t found = 0, at = 0;
  std::vector<char> block(1 << 16);
  end = 0;
  while (found < lines) {
    ssize_t count = pread(fd, block.data(), block.size(), at);
    if (count <= 0)
      break;
    for (ssize_t i = 0; i < count && found < lines; ++i)
      if (block[i] == '\n') {
        end = at + i + 1;
        ++found;
      }
    at += count;
  }
  if (ftruncate(fd, end) != 0)
    throw InputError(withErrno("cannot shorten " + path));
  return found;
}

// Writes without the signal that ends a process whose pipe nobody reads.
static bool writeQuietly(int fd, const std::string &text, int64_t offset) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  int64_t done = 0;
  while (done < int64_t(text.size())) {
    const char *from = text.data() + done;
    size_t left = text.size() - size_t(done);
    ssize_t written = offset < 0 ? write(fd, from, left) : pwrite(fd, from, left, offset + done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      break;
    done += written;
  }
  int problem = errno;
  timespec none{};
  if (done < int64_t(text.size()) && problem == EPIPE)
    sigtimedwait(&pipe, nullptr, &none);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = problem;
  return done == int64_t(text.size());
}

void LineFile::write(const std::string &line) {
  if (fd < 0)
    return;
  std::string text = line + "\n";
  if (writeQuietly(fd, text, stream ? -1 : end)) {
    end += int64_t(text.size());
    return;
  }
  std::fprintf(stderr, "warning: %s: it ends with the step before this one, and training goes on\n",
               withErrno("cannot write " + path).c_str());
  if (!stream && ftruncate(fd, end) != 0)
    std::fprintf(stderr, "warning: the last line of %s is not whole\n", path.c_str());
  close(fd);
  fd = -1;
}

} // namespace ppcrt
