// The programs that `ppc-bench step` compares, as processes: each runs training steps when it is told to.
#ifndef PPC_TOOLS_BENCH_STEPPARTICIPANT_H
#define PPC_TOOLS_BENCH_STEPPARTICIPANT_H

#include "llvm/Support/Error.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace mlir::ppc {

/// Results of consecutive steps, in order.
struct StepRecord {
  std::vector<double> seconds, losses;
  /// Prediction of the planner, if its cost model has one for the plan: seconds of a step, bytes of the rank that needs
  /// most. Otherwise NaN.
  double predictedSeconds = std::nan(""), predictedMemory = std::nan("");
  double arena = std::nan(""); // bytes of that rank's arena
};

/// A child process with pipes to its standard input and from its standard output; its standard error goes to a file. It
/// is killed, and waited for, at the end of the object.
class ChildProcess {
public:
  static llvm::Expected<std::unique_ptr<ChildProcess>> start(const std::vector<std::string> &command,
                                                             const std::string &errorFile);
  ~ChildProcess();
  ChildProcess(const ChildProcess &) = delete;

  pid_t id() const { return process; }
  /// False when the child does not read any more.
  bool writeLine(const std::string &line);
  /// False at the end of the output.
  bool readLine(std::string &line);
  /// Waits for its end; its exit status, or 128 + the signal that ended it.
  int wait();

private:
  ChildProcess() = default;
  pid_t process = -1;
  int input = -1, output = -1;
  std::string buffered;
};

/// One program of the comparison.
class StepParticipant {
public:
  virtual ~StepParticipant() = default;
  /// Human-readable name: "JAX 0.10.2, jit".
  virtual std::string name() const = 0;
  /// Runs `steps` training steps. `warm`: the first step of a process, which compiles or maps memory, may be among
  /// them. `started` is told the process that does it.
  virtual llvm::Expected<StepRecord> run(int64_t steps, const std::function<void(pid_t)> &started) = 0;
};

/// The training task of all participants.
struct StepWork {
  std::string config;  // config.json of a LLaMA
  std::string weights; // model.safetensors in f32
  std::string tokens;  // uint32 token ids, one sample after the other
  std::string folder;  // for files of ours
  std::string cluster; // the machine that plans are made for
  int64_t sequence = 512, batch = 8;
  int64_t cores = 1;
  double learningRate = 3e-4;
  std::string precision; // f32 or bf16
};

/// A program of ppc-compile. Each `run` starts it anew from the weights and leaves out its first step.
std::unique_ptr<StepParticipant> compiledProgram(const StepWork &work, const std::string &executable);

/// A Python program of the folder baselines; an error gives the reason why it cannot take part and a remedy.
llvm::Expected<std::unique_ptr<StepParticipant>> pythonBaseline(const StepWork &work, const std::string &python,
                                                                const std::string &script,
                                                                std::vector<std::string> options);

/// The last line of a file that is not empty, for messages.
std::string lastLine(const std::string &path);

/// Runs a command to its end with its standard output to standard error's file; an error has the end of its output.
llvm::Error runCommand(const std::vector<std::string> &command, const std::string &errorFile);

} // namespace mlir::ppc

#endif // PPC_TOOLS_BENCH_STEPPARTICIPANT_H
