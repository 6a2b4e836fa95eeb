// What goes into a step and comes out of it, by name: where the logical and the partitioned program must agree.
#ifndef PPC_LIB_EQUIVALENCE_STEPINTERFACE_H
#define PPC_LIB_EQUIVALENCE_STEPINTERFACE_H

#include "Relation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace mlir::ppc {

/// A named value of the logical program.
struct Named {
  TermId term;
  RankedTensorType type;
  InitAttr init; ///< of a parameter: how it begins; null: with zeros
};

struct StepInterface {
  std::map<std::string, Named> inputs;     ///< arguments
  std::map<std::string, Named> microBatch; ///< of inputs, by name: what one micro-batch takes
  std::map<std::string, Named> outputs;    ///< results
  int64_t microBatches = 0;
};

/// "parameter w", "m of w", "scalar step", "input ids"; without labels "argument 3".
std::string nameOfArgument(func::FuncOp function, unsigned number);
/// "loss", "gradient of w", "parameter w", "m of w"; without labels "result 3".
std::string nameOfResult(func::FuncOp function, unsigned number);

/// Whether two parameters begin with the same numbers, and how one begins.
bool beginAlike(InitAttr a, InitAttr b);
std::string describeInit(InitAttr init);

/// "" when `found`, of type `local`, is the block of `wanted` that `sharding` declares, with nothing pending and, where
/// asked, zeros in the padding; else what is expected and what was found.
std::string compareOutput(const Named &wanted, const Relation &found, ShardingAttr sharding, RankedTensorType local,
                          bool needsZeroPadding, const RankAxes &axes, const TermTable &terms);

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_STEPINTERFACE_H
