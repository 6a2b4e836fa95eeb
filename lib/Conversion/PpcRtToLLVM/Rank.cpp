// The rank that code runs as: the first argument of every function, since code belongs to no rank.
#include "Patterns.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::ppc {

void takeRank(ModuleOp module) {
  Type rank = LLVM::LLVMPointerType::get(module.getContext());
  llvm::StringSet<> changed;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() && !function.getSymName().starts_with(kRuntimePrefix))
      continue;
    changed.insert(function.getSymName());
    if (function.isExternal())
      function.setType(cast<FunctionType>(function.getFunctionType()).getWithArgsAndResults({0}, {rank}, {}, {}));
    else
      (void)function.insertArgument(0, rank, {}, function.getLoc());
  }
  module.walk([&](func::CallOp call) {
    if (changed.contains(call.getCallee()))
      call->insertOperands(0, call->getParentOfType<func::FuncOp>().getArgument(0));
  });
}

Value rankOf(ConversionPatternRewriter &rewriter, Operation *op) {
  Value rank = op->getParentOfType<FunctionOpInterface>().getArgument(0);
  Value converted = rewriter.getRemappedValue(rank);
  return converted ? converted : rank;
}

} // namespace mlir::ppc
