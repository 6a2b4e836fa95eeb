// Error texts and the one way to end a process.
#include "runtime/base/Error.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace ppcrt {
namespace {

char *fatalBuffer = nullptr;
size_t fatalBufferSize = 0;
std::atomic<pid_t> fatalThread{0}; // that ends the process
void (*fatalHandler)(void *, const char *) = nullptr;
void *fatalContext = nullptr;

std::string vformat(const char *pattern, va_list arguments) {
  va_list copy;
  va_copy(copy, arguments);
  int size = std::vsnprintf(nullptr, 0, pattern, copy);
  va_end(copy);
  std::string text(size < 0 ? 0 : size, '\0');
  if (size > 0)
    std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
  return text;
}

// Of threads that find reasons at the same time, the first has its way, and the others find no message that is half
// theirs. One that finds another reason on its way out, as in a handler of a signal, ends at once.
void becomeTheOneWhoEnds() {
  pid_t me = gettid(), nobody = 0;
  if (fatalThread.compare_exchange_strong(nobody, me))
    return;
  if (nobody == me)
    _exit(1);
  for (;;)
    ::pause();
}

} // namespace

std::string format(const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  std::string text = vformat(pattern, arguments);
  va_end(arguments);
  return text;
}

std::string withErrno(const std::string &what) { return what + ": " + std::strerror(errno); }

std::string formatNumber(double value) {
  std::array<char, 32> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

std::string formatBytes(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return format(unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

void fatal(const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  std::string text = vformat(pattern, arguments);
  va_end(arguments);
  becomeTheOneWhoEnds();
  if (fatalHandler)
    fatalHandler(fatalContext, text.c_str());
  if (fatalBuffer)
    std::snprintf(fatalBuffer, fatalBufferSize, "%s", text.c_str());
  else
    std::fprintf(stderr, "error: %s\n", text.c_str());
  std::fflush(nullptr);
  _exit(1);
}

void setFatalMessageBuffer(char *buffer, size_t size) {
  fatalBuffer = buffer;
  fatalBufferSize = size;
}

void setFatalHandler(void (*handler)(void *, const char *), void *context) {
  fatalHandler = handler;
  fatalContext = context;
}

} // namespace ppcrt
