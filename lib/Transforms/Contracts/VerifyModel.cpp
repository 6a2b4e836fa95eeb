// ppc-verify-model: a logical program, no devices.
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Analysis/IdRange.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_VERIFYMODELPASS
#include "ppc/Transforms/Contracts/Passes.h.inc"

namespace {

struct VerifyModelPass : impl::VerifyModelPassBase<VerifyModelPass> {
  void runOnOperation() override {
    bool valid = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      valid &= succeeded(verifyArguments(function));
    getOperation().walk([&](Operation *op) { valid &= op == getOperation() || succeeded(verifyOp(op)); });
    if (!valid)
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verifyArguments(func::FuncOp function) {
    llvm::StringMap<unsigned> parameters;
    for (unsigned number = 0; number < function.getNumArguments(); ++number) {
      auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[number]);
      if (!type || !type.hasStaticShape())
        return function.emitError() << "argument " << number << " must be a tensor of static shape, found "
                                    << function.getArgumentTypes()[number];
      StringRef roles[] = {attr::input, attr::parameter, attr::state, attr::scalar};
      if (llvm::count_if(roles, [&](StringRef role) { return bool(function.getArgAttr(number, role)); }) != 1)
        return function.emitError() << "argument " << number
                                    << " must have one of ppc.input, ppc.parameter, ppc.state and ppc.scalar";
      if (auto name = function.getArgAttrOfType<StringAttr>(number, attr::parameter))
        if (auto [it, isNew] = parameters.try_emplace(name, number); !isNew)
          return function.emitError() << "arguments " << it->second << " and " << number << " are both parameter "
                                      << name;
      if (Attribute stated = function.getArgAttr(number, attr::sharding))
        return function.emitError() << "argument " << number << " has the sharding " << stated
                                    << ", but a model knows no devices: say in a plan how it is cut";
      auto init = function.getArgAttrOfType<InitAttr>(number, attr::init);
      if (std::optional<int64_t> row = init ? init.getZeroRow() : std::nullopt;
          row && (type.getRank() < 1 || *row < 0 || *row >= type.getDimSize(0)))
        return function.emitError() << "argument " << number << " begins with zeros in row " << *row << ", which "
                                    << type << " does not have";
      if (auto dims = function.getArgAttrOfType<ArrayAttr>(number, attr::dims))
        if (int64_t(dims.size()) != type.getRank())
          return function.emitError() << "argument " << number << " has " << type.getRank()
                                      << " dimensions but ppc.dims " << dims;
    }
    return success();
  }

  LogicalResult verifyOp(Operation *op) {
    if (!op->getDialect() || (!isa<PpcDialect>(op->getDialect()) && !isa<func::FuncDialect>(op->getDialect())))
      return op->emitOpError("does not belong to a model: only ppc and func ops do");
    if (isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, LocalSliceOp>(op))
      return op->emitOpError("is a collective, but a model knows no devices");
    if (isa<ReshardOp, MaskPaddingOp>(op))
      return op->emitOpError("is created by partitioning, but a model knows no devices");
    for (StringRef name : {attr::shardings, attr::operandShardings})
      if (Attribute stated = op->getAttr(name))
        return op->emitOpError() << "has the shardings " << stated
                                 << ", but a model knows no devices: say in a plan how it is cut";
    for (NamedAttribute attribute : op->getAttrs())
      if (isa<BlockAttr>(attribute.getValue()))
        return op->emitOpError() << "is bound to one block by '" << attribute.getName().getValue()
                                 << "', but a model knows no devices";
    return verifyIds(op);
  }

  /// What constants and shapes show of ids is known before there is data.
  LogicalResult verifyIds(Operation *op) {
    std::optional<IdUse> use = idUseOf(op);
    auto ids = use ? knownIds(op->getOperand(use->operand)) : std::nullopt;
    if (!ids || (ids->first >= 0 && ids->second < use->count))
      return success();
    return op->emitOpError() << "looks up by operand " << use->operand << ", which has the id "
                             << (ids->first < 0 ? ids->first : ids->second) << ", but there are " << use->count << " "
                             << use->things << ", 0 to " << use->count - 1;
  }
};

} // namespace
} // namespace mlir::ppc
