// Inputs and outputs of a step, by name: the logical and the partitioned program must agree on them.
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
  InitAttr init; ///< initial values of a parameter; null: zeros
};

struct StepInterface {
  std::map<std::string, Named> inputs;     ///< arguments
  std::map<std::string, Named> microBatch; ///< inputs restricted to one micro-batch, by name
  std::map<std::string, Named> outputs;    ///< results
  int64_t microBatches = 0;
};

/// "parameter w", "m of w", "scalar step", "input ids"; without labels "argument 3".
std::string nameOfArgument(func::FuncOp function, unsigned number);
/// "loss", "gradient of w", "parameter w", "m of w"; without labels "result 3".
std::string nameOfResult(func::FuncOp function, unsigned number);

/// Whether two parameters have equal initial values; and a description of initial values.
bool beginAlike(InitAttr a, InitAttr b);
std::string describeInit(InitAttr init);

/// "" if `found`, of type `local`, is the block of `wanted` that `sharding` declares, not partial and, if required,
/// with zeros in the padding; else the expected and the found relation.
std::string compareOutput(const Named &wanted, const Relation &found, ShardingAttr sharding, RankedTensorType local,
                          bool needsZeroPadding, const RankAxes &axes, const TermTable &terms);

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_STEPINTERFACE_H
