// How the runtime reports failure: exceptions inside, exactly one `error:` line on stderr and an exit status outside.
#pragma once

#include <stdexcept>
#include <string>

namespace ppcrt {

// The input (data file, manifest, option value, output path) is wrong: exit status 1.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The command line is wrong: exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Does what an option asks for: an InputError names it.
template <typename Function> auto forOption(const std::string &option, Function &&function) {
  try {
    return function();
  } catch (const InputError &error) {
    throw InputError(option + ": " + error.what());
  }
}

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...);

// `what` followed by the text of errno.
std::string withErrno(const std::string &what);

// The shortest text that is exactly this number.
std::string formatNumber(double value);

// "12.3 MiB"
std::string formatBytes(double bytes);

// Ends this process with status 1 after saying why: for failures below the C interface, where no caller can be told. In
// a rank, the message goes to the launcher, which prints it once with the rank's name; elsewhere to stderr. What
// follows is state of the process, since that is what ends, whichever of its threads called; of several, the first
// one's message is told. Other threads go on until the process is gone: what they work on stays.
[[noreturn, gnu::format(printf, 1, 2)]] void fatal(const char *pattern, ...);

// Where `fatal` leaves its message instead of printing it (zero-terminated, truncated to `size`); null: stderr.
void setFatalMessageBuffer(char *buffer, size_t size);

// Called by `fatal` with `context` and its message in place of all that it does otherwise; must not return. For
// processes that others wait for; null: none.
void setFatalHandler(void (*handler)(void *context, const char *message), void *context);

} // namespace ppcrt
