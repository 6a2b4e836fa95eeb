// Processes and signals.
#include "runtime/launch/Launcher.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace ppcrt {
namespace {

constexpr int stopSignals[] = {SIGINT, SIGTERM, SIGHUP};

class Family {
public:
  explicit Family(const LaunchedRanks &ranks) : ranks(ranks) {
    sigemptyset(&waited);
    sigaddset(&waited, SIGCHLD);
    for (int signal : stopSignals)
      sigaddset(&waited, signal);
    sigprocmask(SIG_BLOCK, &waited, &previous);
    // Whoever started this may ignore the ends of children: then they would leave no status to wait for.
    ofChildren = std::signal(SIGCHLD, SIG_DFL);
  }
  ~Family() {
    std::signal(SIGCHLD, ofChildren);
    sigprocmask(SIG_SETMASK, &previous, nullptr);
  }

  int run() {
    std::fflush(nullptr); // or the children would write it again
    for (int rank = 0; rank < ranks.count; ++rank)
      if (!start(rank)) {
        std::string why = withErrno("cannot start " + ranks.describe(rank));
        stop();
        throw InputError(why);
      }
    int status = supervise();
    stop();
    return status;
  }

private:
  bool start(int rank) {
    pid_t launcher = getpid();
    pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != launcher) // it died before the line above
        _exit(1);
      std::signal(SIGINT, SIG_IGN); // a terminal sends it to everybody; the launcher decides
      sigprocmask(SIG_SETMASK, &previous, nullptr);
      int status = ranks.body(rank);
      std::fflush(nullptr);
      _exit(status);
    }
    if (child > 0)
      children.push_back(child);
    return child > 0;
  }

  // Waits until all ranks are done, one fails or a signal arrives.
  int supervise() {
    size_t running = children.size();
    while (running > 0) {
      siginfo_t received;
      timespec patience{1, 0}; // SIGCHLDs merge: look again now and then
      int signal = sigtimedwait(&waited, &received, &patience);
      if (signal > 0 && signal != SIGCHLD)
        return 128 + signal;
      std::vector<int> failed;
      for (size_t rank = 0; rank < children.size(); ++rank) {
        int status;
        if (children[rank] == 0 || waitpid(children[rank], &status, WNOHANG) != children[rank])
          continue;
        children[rank] = 0;
        --running;
        if (status != 0)
          failed.push_back(int(rank));
        statuses.resize(children.size());
        statuses[rank] = status;
      }
      if (!failed.empty()) {
        explain(failed.front());
        return 1;
      }
      if (running > 0 && stuck())
        return 1;
    }
    return 0;
  }

  // Looks at most once in a second; says who waits for what when nobody has got on for too long.
  bool stuck() {
    if (std::time(nullptr) == lastLook)
      return false;
    lastLook = std::time(nullptr);
    std::vector<uint64_t> now;
    bool waiting = true;
    for (size_t rank = 0; rank < children.size(); ++rank) {
      now.push_back(ranks.waits(int(rank)));
      waiting &= children[rank] == 0 || now.back() % 2 == 1;
    }
    bool someStopped = ranks.look(children);
    stillLooks = waiting && now == before && !someStopped ? stillLooks + 1 : 0;
    before = now;
    if (stillLooks < ranks.patience)
      return false;
    std::string text;
    for (size_t rank = 0; rank < children.size(); ++rank)
      text += (rank ? "; " : "") + ranks.describe(int(rank)) +
              (children[rank] ? ": " + ranks.describeWait(int(rank)) : " has ended");
    std::fprintf(stderr, "error: the ranks wait for each other and cannot go on: %s\n", text.c_str());
    return true;
  }

  void explain(int rank) {
    int status = statuses[rank];
    std::string message = ranks.message(rank), who = ranks.describe(rank);
    if (!message.empty())
      std::fprintf(stderr, "error: %s: %s\n", who.c_str(), message.c_str());
    else if (WIFSIGNALED(status))
      std::fprintf(stderr, "error: %s was killed by signal %d (%s); the other ranks were stopped\n", who.c_str(),
                   WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
      std::fprintf(stderr, "error: %s ended with status %d; the other ranks were stopped\n", who.c_str(),
                   WEXITSTATUS(status));
  }

  // Ends and collects what is still running: politely, then not.
  void stop() {
    signalAll(SIGTERM);
    for (int turn = 0; turn < 100 && !collect(); ++turn) {
      timespec pause{0, 10'000'000};
      nanosleep(&pause, nullptr);
    }
    signalAll(SIGKILL);
    for (pid_t &child : children)
      while (child != 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR)
        ;
    children.clear();
  }

  void signalAll(int signal) {
    for (pid_t child : children)
      if (child != 0)
        kill(child, signal);
  }

  bool collect() {
    bool all = true;
    for (pid_t &child : children) {
      if (child != 0 && waitpid(child, nullptr, WNOHANG) == child)
        child = 0;
      all &= child == 0;
    }
    return all;
  }

  const LaunchedRanks &ranks;
  sigset_t waited, previous;
  sighandler_t ofChildren;
  std::vector<pid_t> children; // 0: collected
  std::vector<int> statuses;
  std::vector<uint64_t> before; // of the last look
  std::time_t lastLook = 0;
  int stillLooks = 0; // looks in a row at which everybody waited and nothing had changed
};

} // namespace

int runRanks(const LaunchedRanks &ranks) { return Family(ranks).run(); }

std::string problemInProcess(const std::function<void()> &work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw InputError(withErrno("cannot make a pipe"));
  std::fflush(nullptr); // or the child would write it again
  pid_t child = fork();
  if (child < 0)
    throw InputError(withErrno("cannot start a process"));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::string problem;
    try {
      work();
    } catch (const std::exception &error) {
      problem = error.what();
    }
    bool told = write(ends[1], problem.data(), problem.size()) == ssize_t(problem.size());
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  std::string problem;
  char part[512];
  for (ssize_t count; (count = read(ends[0], part, sizeof part)) > 0 || (count < 0 && errno == EINTR);)
    problem.append(part, size_t(std::max<ssize_t>(count, 0)));
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (problem.empty() && status != 0)
    return WIFSIGNALED(status)
               ? format("a process was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)))
               : format("a process ended with status %d", WEXITSTATUS(status));
  return problem;
}

} // namespace ppcrt
