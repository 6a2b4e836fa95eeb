#include "StepParticipant.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace mlir::ppc {
namespace {

/// The numbers of an array that is a member of a JSON object.
std::vector<double> numbers(const llvm::json::Object &object, llvm::StringRef key) {
  std::vector<double> result;
  if (const llvm::json::Array *array = object.getArray(key))
    for (const llvm::json::Value &value : *array)
      result.push_back(value.getAsNumber().value_or(std::nan("")));
  return result;
}

} // namespace

std::string lastLine(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().trim().rsplit('\n').second.empty()
                    ? (*file)->getBuffer().trim().str()
                    : (*file)->getBuffer().trim().rsplit('\n').second.str()
              : std::string();
}

llvm::Expected<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::vector<std::string> &command,
                                                                  const std::string &errorFile) {
  std::unique_ptr<ChildProcess> child(new ChildProcess);
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
    return llvm::createStringError("cannot make a pipe: " + llvm::Twine(strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errorFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  int problem = posix_spawnp(&child->process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]), close(out[1]);
  child->input = in[1], child->output = out[0];
  if (problem != 0) {
    child->process = -1;
    return llvm::createStringError("cannot start " + command[0] + ": " + strerror(problem));
  }
  return child;
}

ChildProcess::~ChildProcess() {
  if (input >= 0)
    close(input);
  if (output >= 0)
    close(output);
  if (process > 0) {
    kill(process, SIGTERM);
    waitpid(process, nullptr, 0);
  }
}

bool ChildProcess::writeLine(const std::string &line) {
  std::string text = line + "\n";
  return write(input, text.data(), text.size()) == ssize_t(text.size());
}

bool ChildProcess::readLine(std::string &line) {
  for (size_t end; (end = buffered.find('\n')) == std::string::npos;) {
    char bytes[4096];
    ssize_t count = read(output, bytes, sizeof bytes);
    if (count <= 0)
      return false;
    buffered.append(bytes, count);
  }
  size_t end = buffered.find('\n');
  line = buffered.substr(0, end);
  buffered.erase(0, end + 1);
  return true;
}

int ChildProcess::wait() {
  int status = 0;
  waitpid(process, &status, 0);
  process = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

llvm::Error runCommand(const std::vector<std::string> &command, const std::string &errorFile) {
  auto child = ChildProcess::start(command, errorFile);
  if (!child)
    return child.takeError();
  std::string line;
  while ((*child)->readLine(line)) {
  }
  if (int status = (*child)->wait())
    return llvm::createStringError(llvm::sys::path::filename(command[0]) + " ended with status " + llvm::Twine(status) +
                                   ": " + lastLine(errorFile));
  return llvm::Error::success();
}

namespace {

class CompiledProgram : public StepParticipant {
public:
  CompiledProgram(const StepWork &work, std::string executable) : work(work), executable(std::move(executable)) {}

  std::string name() const override { return "PPC"; }

  llvm::Expected<StepRecord> run(int64_t steps, const std::function<void(pid_t)> &started) override {
    std::string log = work.folder + "/steps.jsonl", errors = work.folder + "/ppc.stderr",
                rate = std::to_string(work.learningRate);
    auto child = ChildProcess::start({executable,
                                      "--weights",
                                      work.weights,
                                      "--data",
                                      work.tokens,
                                      "--data-format",
                                      "uint32",
                                      "--order",
                                      "sequential",
                                      "--steps",
                                      std::to_string(steps),
                                      "--warmup",
                                      "0",
                                      "--lr",
                                      rate,
                                      "--min-lr",
                                      rate,
                                      "--log",
                                      log,
                                      "--quiet"},
                                     errors);
    if (!child)
      return child.takeError();
    started((*child)->id());
    if (int status = (*child)->wait())
      return llvm::createStringError("the compiled program ended with status " + llvm::Twine(status) + ": " +
                                     lastLine(errors));
    auto file = llvm::MemoryBuffer::getFile(log);
    if (!file)
      return llvm::createStringError("cannot read " + log + ": " + file.getError().message());
    StepRecord record;
    llvm::SmallVector<llvm::StringRef> lines;
    (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef line : lines) {
      llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
      if (!value)
        return value.takeError();
      if (const llvm::json::Object *object = value->getAsObject()) {
        record.seconds.push_back(object->getNumber("step_time_s").value_or(std::nan("")));
        record.losses.push_back(object->getNumber("loss").value_or(std::nan("")));
        for (auto [key, value] : {std::pair("predicted_step_time_s", &record.predictedSeconds),
                                  std::pair("planned_memory_bytes", &record.predictedMemory),
                                  std::pair("arena_memory_bytes", &record.arena)})
          *value = object->getNumber(key).value_or(*value);
      }
    }
    return record;
  }

private:
  StepWork work;
  std::string executable;
};

class PythonBaseline : public StepParticipant {
public:
  PythonBaseline(std::unique_ptr<ChildProcess> child, std::string description, std::string errors)
      : child(std::move(child)), description(std::move(description)), errors(std::move(errors)) {}

  std::string name() const override { return description; }

  llvm::Expected<StepRecord> run(int64_t steps, const std::function<void(pid_t)> &started) override {
    started(child->id());
    std::string line;
    if (!child->writeLine("steps " + std::to_string(steps)) || !child->readLine(line))
      return llvm::createStringError("ended with status " + llvm::Twine(child->wait()) + ": " + lastLine(errors));
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
    if (!value)
      return value.takeError();
    const llvm::json::Object *object = value->getAsObject();
    if (!object)
      return llvm::createStringError("prints '" + line + "', which is not an answer");
    return StepRecord{numbers(*object, "seconds"), numbers(*object, "losses")};
  }

private:
  std::unique_ptr<ChildProcess> child;
  std::string description, errors;
};

} // namespace

std::unique_ptr<StepParticipant> compiledProgram(const StepWork &work, const std::string &executable) {
  return std::make_unique<CompiledProgram>(work, executable);
}

llvm::Expected<std::unique_ptr<StepParticipant>> pythonBaseline(const StepWork &work, const std::string &python,
                                                                const std::string &script,
                                                                std::vector<std::string> options) {
  std::string errors = work.folder + "/" + llvm::sys::path::stem(script).str() + llvm::join(options, "") + ".stderr";
  std::vector<std::string> command = {python,
                                      "-B",
                                      script,
                                      "--config",
                                      work.config,
                                      "--weights",
                                      work.weights,
                                      "--tokens",
                                      work.tokens,
                                      "--sequence",
                                      std::to_string(work.sequence),
                                      "--batch",
                                      std::to_string(work.batch),
                                      "--threads",
                                      std::to_string(work.cores),
                                      "--learning-rate",
                                      std::to_string(work.learningRate),
                                      "--precision",
                                      work.precision};
  command.insert(command.end(), options.begin(), options.end());
  auto child = ChildProcess::start(command, errors);
  if (!child)
    return child.takeError();
  std::string line;
  if (!(*child)->readLine(line))
    return llvm::createStringError("ended with status " + llvm::Twine((*child)->wait()) + ": " + lastLine(errors));
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value)
    return value.takeError();
  const llvm::json::Object *object = value->getAsObject();
  if (auto absent = object ? object->getString("absent") : std::nullopt)
    return llvm::createStringError(*absent);
  auto ready = object ? object->getString("ready") : std::nullopt;
  if (!ready)
    return llvm::createStringError("prints '" + line + "', which is not a greeting");
  return std::make_unique<PythonBaseline>(std::move(*child), ready->str(), errors);
}

} // namespace mlir::ppc
