// The subcommand `roofline`.
#include "Gpu.h"
#include "Roofline.h"

#include "ppc/Support/OutputFile.h"
#include "runtime/host/Threads.h"
#include "llvm/Support/CommandLine.h"

namespace mlir::ppc {
namespace {

namespace cl = llvm::cl;

cl::SubCommand roofline("roofline", "Compares a profile of a program (--profile) with the peak rates of this machine");
cl::opt<std::string> profile(cl::Positional, cl::sub(roofline), cl::Required, cl::desc("<profile.json>"));
cl::opt<bool> ofGpu("gpu", cl::sub(roofline),
                    cl::desc("The program ran on GPUs: the first one is measured, not cores"));
cl::opt<bool> inBf16("bf16", cl::sub(roofline), cl::desc("The matmuls of the program are in bf16; default: f32"));

constexpr double seconds = 0.25;

} // namespace

bool isRooflineRequested() { return bool(roofline); }

int runRoofline() {
  auto fail = [](llvm::Error error) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  };
  DevicePeaks peaks{1, 1};
  if (llvm::Error error = printRoofline(profile, peaks, "", llvm::nulls())) // before anything is measured
    return fail(std::move(error));
  std::string device = kCoreAmongOthers.str();
  if (ofGpu) {
    llvm::Expected<GpuTimes> times = measureGpu(seconds);
    if (!times)
      return fail(times.takeError());
    peaks = times->peaks(inBf16);
    device = times->name;
  } else {
    peaks = measureCorePeaks(int(ppcrt::availableCores()), inBf16);
    if (!(peaks.flops > 0)) // a rank has said why
      return 1;
  }
  llvm::Error error = printRoofline(profile, peaks, device, llvm::outs());
  return error ? fail(std::move(error)) : 0;
}

} // namespace mlir::ppc
