// Runs a test program as a child process and keeps what it said.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ppcrt::test {

// Seconds after which a test takes it that something hangs for good. Nothing is judged by how long it took.
constexpr double patience = 600;

// Asks again and again; false: not within `patience`.
bool eventually(const std::function<bool()> &isSo);

class ProgramRun {
public:
  // Starts `ppc-runtime-tests --program=LAYOUT ARGUMENTS...`.
  ProgramRun(const std::string &layout, const std::vector<std::string> &arguments);
  // Starts `COMMAND... ppc-runtime-tests --program=LAYOUT ARGUMENTS...` with "NAME=value" added to the environment.
  ProgramRun(const std::vector<std::string> &command, const std::vector<std::string> &environment,
             const std::string &layout, const std::vector<std::string> &arguments);
  ~ProgramRun();
  ProgramRun(const ProgramRun &) = delete;
  ProgramRun &operator=(const ProgramRun &) = delete;

  // Waits for the end: the exit status, or 1000 + n when signal n killed it, or -1 after `patience`.
  int wait();

  pid_t launcher() const { return child; }
  // Process ids of the ranks, in rank order.
  std::vector<pid_t> ranks() const;
  // Waits until standard output, or the standard error, holds `text`; false: it ended, or hangs, without.
  bool waitForOutput(const std::string &text) const;
  bool waitForError(const std::string &text) const;

  std::string out() const;
  std::string err() const;

private:
  bool waitFor(const std::function<bool()> &hasSaid) const;

  std::string folder;
  pid_t child;
  bool running = true;
};

// True when none of them runs; a zombie does not run.
bool gone(const std::vector<pid_t> &processes);

// A file in a fresh folder of the test that runs, which lives as long as the process.
std::string temporaryPath(const std::string &name);
std::string readFile(const std::string &path);
void writeFile(const std::string &path, const std::string &content);

} // namespace ppcrt::test
