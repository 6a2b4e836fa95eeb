// How fast steps are timed and schedules compiled: one line per schedule and shape.
//   ppc-schedule-benchmark [NAME...]
// "equal": all stages alike. "ends": the first and last stage take longer, as with embedding and LM head. "random":
// every stage differs by up to 5 %, the worst case: steady states take long to settle. Messages: none, overlapped,
// blocking.
#include "ppc/Scheduling/PipelineTime.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <random>
#include <time.h>

using namespace mlir::ppc;

namespace {
enum class Stages { Equal, Ends, Random };
enum class Sends { None, Overlapped, Blocking };

double threadMicroseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); // other work on the machine does not count
  return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

double microsecondsOf(llvm::function_ref<void()> work) {
  double begin = threadMicroseconds();
  work();
  return threadMicroseconds() - begin;
}

class Benchmark {
public:
  void run(const PipelineScheduleKind &kind, PipelineShape shape) {
    shape.chunks = std::clamp(shape.chunks, kind.minChunks, kind.maxChunks);
    shape.slices = kind.slicesSequence ? 2 : 1;
    const PipelineProgram *program = nullptr;
    double compile = microsecondsOf([&] { program = llvm::cantFail(timer.compile(kind, shape)); });
    llvm::outs() << llvm::format("%-14s %3d %5d %2d %9.0f", kind.name.str().c_str(), int(shape.devices),
                                 int(shape.microBatches), int(shape.chunks), compile);
    for (Stages stages : {Stages::Equal, Stages::Ends, Stages::Random})
      for (Sends sends : {Sends::None, Sends::Overlapped, Sends::Blocking})
        llvm::outs() << llvm::format(sends == Sends::None ? "  | %7.1f" : " %7.1f", time(*program, stages, sends));
    llvm::outs() << "\n";
  }

private:
  double time(const PipelineProgram &program, Stages stages, Sends sends) {
    auto about = [&](double value) {
      return Seconds(value * std::uniform_real_distribution<double>(0.95, 1.05)(random));
    };
    double sum = 0;
    const int draws = 5, repeats = 10;
    for (int i = 0; i < draws; ++i) {
      std::vector<StageDurations> durations(program.stageCount, {Seconds(1), Seconds(1.1), Seconds(0.9)});
      if (stages == Stages::Ends) {
        durations.front().forward = about(1.1);
        durations.back() = {about(1.3), about(1.4), about(1.2)};
      } else if (stages == Stages::Random) {
        for (StageDurations &each : durations)
          each = {about(1), about(1.1), about(0.9)};
      }
      PipelineMessages messages;
      if (sends != Sends::None)
        messages = {about(0.02), about(0.02), sends == Sends::Blocking};
      sum += microsecondsOf([&] {
        for (int j = 0; j < repeats; ++j)
          llvm::cantFail(timer.time(program, durations, messages, result));
      });
    }
    return sum / (draws * repeats);
  }

  PipelineTimer timer;
  PipelineTime result;
  std::mt19937 random{1};
};
} // namespace

int main(int argc, char **argv) {
  std::vector<llvm::StringRef> names(argv + 1, argv + argc);
  llvm::outs()
      << "microseconds                                | equal                   | ends                    | random\n"
      << "schedule         p     M  v   compile   | none    overl.  block.  | none    overl.  block.  | none    "
         "overl.  block.\n";
  Benchmark benchmark;
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    if (names.empty() || llvm::is_contained(names, kind.name))
      for (PipelineShape shape : {PipelineShape{4, 32, 2}, PipelineShape{8, 64, 2}, PipelineShape{8, 64, 4},
                                  PipelineShape{16, 512, 2}, PipelineShape{16, 512, 4}, PipelineShape{64, 2048, 2}})
        if (shape.chunks == 2 || shape.chunks <= kind.maxChunks)
          benchmark.run(kind, shape);
}
