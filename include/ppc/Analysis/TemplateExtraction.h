// From a logical model to folded templates: its layers, by `ppc.layer` or by structure, each as the plain data that
// ppc/Planning/Chain/TemplateSearch.h searches.
#ifndef PPC_ANALYSIS_TEMPLATEEXTRACTION_H
#define PPC_ANALYSIS_TEMPLATEEXTRACTION_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Planning/Chain/ChainSearch.h"

namespace mlir::ppc {

struct ExtractedTemplates {
  TemplateChain chain;
  /// One layer of the program, in the chain's order.
  struct Layer {
    std::vector<Operation *> ops; ///< per op of its template; null for the ops that an op is decomposed into
    std::vector<Value> values;    ///< per value of its template; null for those between such ops
  };
  std::vector<Layer> layers;
};

/// Reads a function that computes a loss: one block, no regions, before differentiation.
///
/// Layers begin where `ppc.layer` changes; without such attributes, after ops that leave one value alive, unless the
/// value could still be a partial sum. If more than two values would pass from layer to layer, layers are merged, and
/// so are all if more than two parameters are used by several of them. Equal layers become one template.
///
/// A cross entropy is decomposed into log_sum_exp, pick and sub, so that its classes can be sharded. Constants cost
/// nothing. Fails, with an error on the op, if an operand or result is not a tensor or an op has a region.
FailureOr<ExtractedTemplates> extractTemplates(func::FuncOp function);

/// Where the function's inputs have a dimension called "batch".
std::vector<ChainModel::BatchDimension> batchDimensions(const ExtractedTemplates &templates, func::FuncOp function);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_TEMPLATEEXTRACTION_H
