// Entries: the functions that the runtime calls with an array of addresses.
#include "Patterns.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ppc {

/// `void name(void **buffers)`, which loads the addresses and calls `body`.
static void addEntry(LLVM::LLVMFuncOp body, StringAttr name) {
  ImplicitLocOpBuilder b(body.getLoc(), body);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto entry = LLVM::LLVMFuncOp::create(b, name.getValue(), LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), pointer));
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> addresses;
  for (unsigned i = 0; i < body.getNumArguments(); ++i) {
    Value place = LLVM::GEPOp::create(b, pointer, pointer, block->getArgument(0), ArrayRef<LLVM::GEPArg>{int32_t(i)});
    addresses.push_back(LLVM::LoadOp::create(b, pointer, place));
  }
  LLVM::CallOp::create(b, body, addresses);
  LLVM::ReturnOp::create(b, ValueRange());
}

void makeEntries(ModuleOp module) {
  SmallVector<LLVM::LLVMFuncOp> functions;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal())
      functions.push_back(function);
  for (LLVM::LLVMFuncOp function : functions) {
    function.setLinkage(LLVM::Linkage::Internal);
    if (!function->hasAttr("ppc.action")) {
      // Buffers of one call never overlap: each argument has its own, and scratch is none of them. Said of bodies only:
      // an entry has hundreds of buffers and passes them on, and LLVM's time for such scopes is quadratic.
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (isa<LLVM::LLVMPointerType>(function.getArgument(i).getType()))
          function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), UnitAttr::get(module.getContext()));
      continue;
    }
    // Little but calls, as many as the stage has layers: not worth LLVM's time, which grows faster than they do.
    function.setNoInline(true);
    function.setOptimizeNone(true);
    StringAttr name = function.getSymNameAttr();
    function.setSymName((name.getValue() + ".body").str());
    addEntry(function, name);
  }
}

} // namespace mlir::ppc
