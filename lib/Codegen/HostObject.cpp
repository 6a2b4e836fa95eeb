// The object file of a program: its code, its manifest and the table of its entries.
#include "ppc/Codegen/HostObject.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace mlir::ppc {

static llvm::GlobalVariable *addConstant(llvm::Module &module, llvm::Constant *value, StringRef name,
                                         llvm::GlobalValue::LinkageTypes linkage = llvm::GlobalValue::PrivateLinkage) {
  return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true, linkage, value, name);
}

/// Adds `ppc_program`: struct { u32 version; char *manifest; u64 size; { char *name; function } *entries; u64 count; }.
static void addProgram(llvm::Module &module, StringRef manifest) {
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *i32 = llvm::Type::getInt32Ty(context), *i64 = llvm::Type::getInt64Ty(context);
  auto *entryType = llvm::StructType::get(context, {pointer, pointer});
  SmallVector<llvm::Constant *> entries;
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && function.hasExternalLinkage()) {
      auto *name =
          addConstant(module, llvm::ConstantDataArray::getString(context, function.getName()), "ppc_entry_name");
      entries.push_back(llvm::ConstantStruct::get(entryType, {name, &function}));
    }
  auto *table = addConstant(module, llvm::ConstantArray::get(llvm::ArrayType::get(entryType, entries.size()), entries),
                            "ppc_entries");
  auto *text = addConstant(module, llvm::ConstantDataArray::getString(context, manifest), "ppc_manifest");
  text->setSection(".ppc.manifest"); // so that objcopy can show it
  llvm::Constant *program = llvm::ConstantStruct::getAnon(context, {llvm::ConstantInt::get(i32, kAbiVersion), text,
                                                                    llvm::ConstantInt::get(i64, manifest.size()), table,
                                                                    llvm::ConstantInt::get(i64, entries.size())});
  addConstant(module, program, "ppc_program", llvm::GlobalValue::ExternalLinkage);
  // The runtime reaches entries by the table only: nothing else of the object can clash with other code.
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
}

llvm::Error emitHostObject(ModuleOp module, StringRef manifest, const HostTargetOptions &options, raw_ostream &object) {
  llvm::LLVMContext context;
  auto machine = hostTargetMachine(options);
  if (!machine)
    return machine.takeError();
  auto code = translateForHost(module, context, **machine);
  if (!code)
    return code.takeError();
  addProgram(**code, manifest);
  optimizeForHost(**code, **machine, options.optimize);
  SmallVector<char, 0> bytes; // its header is written last
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "this machine's code generator cannot write object files");
  passes.run(**code);
  object << stream.str();
  return llvm::Error::success();
}

} // namespace mlir::ppc
