// Entries: the functions that the runtime calls with a rank and an array of addresses.
#include "Patterns.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ppc {

/// `void name(ppcrt_rank *rank, void **buffers)`, which loads the addresses and calls `body` with both.
static LLVM::LLVMFuncOp addEntry(LLVM::LLVMFuncOp body, StringRef name) {
  ImplicitLocOpBuilder b(body.getLoc(), body);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type none = LLVM::LLVMVoidType::get(b.getContext());
  auto entry = LLVM::LLVMFuncOp::create(b, name, LLVM::LLVMFunctionType::get(none, {pointer, pointer}));
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> arguments{block->getArgument(0)};
  for (unsigned i = 0; i + 1 < body.getNumArguments(); ++i) {
    Value place = LLVM::GEPOp::create(b, pointer, pointer, block->getArgument(1), ArrayRef<LLVM::GEPArg>{int32_t(i)});
    arguments.push_back(LLVM::LoadOp::create(b, pointer, place));
  }
  LLVM::CallOp::create(b, body, arguments);
  LLVM::ReturnOp::create(b, ValueRange());
  return entry;
}

void makeEntries(ModuleOp module, CallTables &tables) {
  SmallVector<LLVM::LLVMFuncOp> functions;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal())
      functions.push_back(function);
  for (LLVM::LLVMFuncOp function : functions) {
    function.setLinkage(LLVM::Linkage::Internal);
    if (!function->hasAttr(ppcrt::kRoutineAttr)) {
      // Buffers of one call never overlap: each argument has its own, and scratch is none of them.
      for (unsigned i = 1; i < function.getNumArguments(); ++i)
        if (isa<LLVM::LLVMPointerType>(function.getArgument(i).getType()))
          function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), UnitAttr::get(module.getContext()));
      continue;
    }
    StringAttr name = function.getSymNameAttr();
    function.setSymName((name.getValue() + ".body").str());
    addEntry(function, name);
  }
  tables.emit(module, [](LLVM::LLVMFuncOp body, StringRef name) {
    LLVM::LLVMFuncOp entry = addEntry(body, name);
    entry.setLinkage(LLVM::Linkage::Internal);
    return entry;
  });
}

} // namespace mlir::ppc
