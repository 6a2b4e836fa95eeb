// Bytes that kernels move to and from device memory, and the lower bound of them.
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

/// CSV for each function of a module after `ppc-outline-kernels`: a row for each launch that memory limits, in code
/// order, and one with their number and sums. Counted from the operands that a launch reads and writes, in bytes, each
/// once; nothing is run. An operand that is indexed (the table of an embedding, slots of experts) counts an element for
/// each iteration, up to the full operand.
///
/// The lower bound is for the same launches if each run of them, delimited by GEMMs, attention, communication and
/// calls, were one kernel: a buffer is read once in a run, by the launch that reads it first, unless the run has
/// written it; and written once, by the launch that writes it last, if it belongs to the caller or is read after the
/// run.
std::string trafficTable(ModuleOp module);

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_TRAFFIC_H
