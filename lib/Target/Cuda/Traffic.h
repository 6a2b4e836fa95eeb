// What kernels move to and from the memory of the device, beside what they would have to.
#ifndef PPC_LIB_TARGET_CUDA_TRAFFIC_H
#define PPC_LIB_TARGET_CUDA_TRAFFIC_H

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::ppc::cuda {

/// Bytes of the operands that a launch reads and writes, each operand once.
struct LaunchTraffic {
  int64_t read = 0, written = 0;
};
LaunchTraffic trafficOf(ppcrt::LaunchOp launch);

/// Of each function of a module after `ppc-outline-kernels`: a row of CSV for each launch that memory limits, in the
/// order of the code, and one with their number and sums. Counted from the operands that a launch reads and writes, in
/// bytes, each once; nothing is run. Of an operand that is indexed (the table of an embedding, slots of experts) an
/// element counts for each iteration, up to the whole operand.
///
/// The least is of the same launches if each run of them, which products, attention, communication and calls end, were
/// one kernel: a buffer is read once in a run, by the launch that reads it first, unless the run has written it; and
/// written once, by the launch that writes it last, if it is a buffer of the caller's or read behind the run.
std::string trafficTable(ModuleOp module);

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_TRAFFIC_H
