// fork, exec, redirect.
#include "test/Runtime/ProgramRun.h"

#include "gtest/gtest.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace ppcrt::test {
namespace {

constexpr int pollMicroseconds = 2000;

struct Folder {
  std::string path;
  Folder() {
    char pattern[] = "/tmp/ppc-runtime-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

} // namespace

// Each test has a folder of its own: which tests share a process is the test runner's choice.
std::string temporaryPath(const std::string &name) {
  static Folder folder;
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  std::string path = folder.path;
  if (test) {
    path += std::string("/") + test->test_suite_name() + "." + test->name();
    std::replace(path.begin() + folder.path.size() + 1, path.end(), '/', '-');
    std::filesystem::create_directories(path);
  }
  return path + "/" + name;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

void writeFile(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}

bool eventually(const std::function<bool()> &isSo) {
  for (double waited = 0; waited < patience; waited += pollMicroseconds * 1e-6) {
    if (isSo())
      return true;
    usleep(pollMicroseconds);
  }
  return false;
}

ProgramRun::ProgramRun(const std::string &layout, const std::vector<std::string> &arguments)
    : ProgramRun({}, {}, layout, arguments) {}

ProgramRun::ProgramRun(const std::vector<std::string> &command, const std::vector<std::string> &environment,
                       const std::string &layout, const std::vector<std::string> &arguments) {
  static int count = 0;
  folder = temporaryPath("run" + std::to_string(count++));
  std::filesystem::create_directory(folder);
  child = fork();
  if (child != 0)
    return;
  int out = open((folder + "/out").c_str(), O_WRONLY | O_CREAT, 0666);
  int err = open((folder + "/err").c_str(), O_WRONLY | O_CREAT, 0666);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const std::string &variable : environment)
    putenv(strdup(variable.c_str()));
  std::vector<std::string> words = command;
  words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  words.push_back("--program=" + layout);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  _exit(127);
}

ProgramRun::~ProgramRun() {
  if (!running)
    return;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

int ProgramRun::wait() {
  int status;
  if (!eventually([&] { return waitpid(child, &status, WNOHANG) == child; }))
    return -1;
  running = false;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

std::vector<pid_t> ProgramRun::ranks() const {
  std::string id = std::to_string(child);
  std::stringstream list(readFile("/proc/" + id + "/task/" + id + "/children"));
  std::vector<pid_t> result;
  for (pid_t pid; list >> pid;)
    result.push_back(pid);
  return result;
}

bool ProgramRun::waitFor(const std::function<bool()> &hasSaid) const {
  bool said = false;
  eventually([&] {
    siginfo_t end{};
    bool hasEnded = waitid(P_PID, id_t(child), &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid == child;
    said = hasSaid(); // output before its end counts
    return said || hasEnded;
  });
  return said;
}

bool ProgramRun::waitForOutput(const std::string &text) const {
  return waitFor([&] { return out().find(text) != std::string::npos; });
}

bool ProgramRun::waitForError(const std::string &text) const {
  return waitFor([&] { return err().find(text) != std::string::npos; });
}

bool gone(const std::vector<pid_t> &processes) {
  for (pid_t process : processes) {
    // "Z" after the name: dead, and not collected
    std::string stat = readFile("/proc/" + std::to_string(process) + "/stat");
    if (!stat.empty() && stat.compare(stat.rfind(')') + 2, 1, "Z") != 0)
      return false;
  }
  return true;
}

std::string ProgramRun::out() const { return readFile(folder + "/out"); }
std::string ProgramRun::err() const { return readFile(folder + "/err"); }

} // namespace ppcrt::test
