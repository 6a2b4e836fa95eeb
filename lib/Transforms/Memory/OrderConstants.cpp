// ppc-order-constants: constants in memory are named and placed by the code that reads them, not by the order in which
// bufferization came to it.
#include "ppc/Transforms/Memory/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_ORDERCONSTANTSPASS
#include "ppc/Transforms/Memory/Passes.h.inc"

namespace {
struct OrderConstantsPass : impl::OrderConstantsPassBase<OrderConstantsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::MapVector<StringAttr, SmallVector<memref::GetGlobalOp, 1>> reads; // in the order of the first one
    module.walk([&](memref::GetGlobalOp read) { reads[read.getNameAttr().getAttr()].push_back(read); });

    DenseMap<StringAttr, memref::GlobalOp> constants;
    llvm::SmallDenseSet<StringAttr> taken;
    for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
      auto global = dyn_cast<memref::GlobalOp>(op);
      if (!global || !global.getConstant() || !global.isPrivate()) {
        if (auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
          taken.insert(name);
      } else if (reads.contains(global.getSymNameAttr())) {
        constants[global.getSymNameAttr()] = global;
      } else {
        global.erase();
      }
    }

    Builder builder(&getContext());
    int64_t number = 0;
    Operation *last = nullptr;
    for (auto &[name, users] : reads) {
      memref::GlobalOp constant = constants.lookup(name);
      if (!constant)
        continue;
      StringAttr ordered;
      do
        ordered = builder.getStringAttr("constant_" + Twine(number++));
      while (taken.contains(ordered));
      constant.setSymNameAttr(ordered);
      for (memref::GetGlobalOp read : users)
        read.setNameAttr(FlatSymbolRefAttr::get(ordered));
      if (last)
        constant->moveAfter(last);
      else
        constant->moveBefore(module.getBody(), module.getBody()->begin());
      last = constant;
    }
  }
};
} // namespace
} // namespace mlir::ppc
