// The work of one op as plain data.
#ifndef PPC_INTERFACES_OPCOST_H
#define PPC_INTERFACES_OPCOST_H

#include <cstdint>

namespace mlir::ppc {

/// Hardware resource that bounds the time of an op.
enum class Engine {
  None,    ///< nothing (constants, bookkeeping)
  Matrix,  ///< matrix units (tensor cores, BLAS)
  Vector,  ///< ordinary arithmetic; nearly always limited by memory traffic
  Network, ///< links between devices
};

struct OpCost {
  double flops = 0;         ///< floating-point operations; a multiply-add is two
  int64_t bytesRead = 0;    ///< bytes of all operands
  int64_t bytesWritten = 0; ///< bytes of all results
  Engine engine = Engine::Vector;
};

} // namespace mlir::ppc

#endif // PPC_INTERFACES_OPCOST_H
