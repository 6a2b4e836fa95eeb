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

/// Builder of the symbol `ppc_program` (runtime/include/ppcrt.h).
class ProgramSymbol {
public:
  explicit ProgramSymbol(llvm::Module &module)
      : module(module), context(module.getContext()), pointer(llvm::PointerType::get(context, 0)),
        i32(llvm::Type::getInt32Ty(context)), i64(llvm::Type::getInt64Ty(context)) {}

  /// struct { u32 version; char *manifest; u64 size; entries; u64 count; images; u64 count; constants; u64 count; }
  void define(StringRef manifest, ArrayRef<DeviceImage> images, ArrayRef<DeviceConstant> constants) {
    auto *text = bytes(manifest, "ppc_manifest");
    text->setSection(".ppc.manifest"); // so that objcopy can show it
    SmallVector<llvm::Constant *> fields{llvm::ConstantInt::get(i32, kAbiVersion), text, number(manifest.size())};
    addTable(fields, "ppc_entries", entries());
    addTable(fields, "ppc_images", llvm::map_to_vector(images, [&](const DeviceImage &image) {
               return row({string(image.chip), llvm::ConstantInt::get(i32, image.isMachineCode),
                           bytes(image.content, "ppc_image"), number(image.content.size())});
             }));
    addTable(fields, "ppc_constants", llvm::map_to_vector(constants, [&](const DeviceConstant &constant) {
               StringRef content(constant.content.data(), constant.content.size());
               return row({string(constant.name), bytes(content, "ppc_constant"), number(content.size())});
             }));
    addConstant(module, row(fields), "ppc_program", llvm::GlobalValue::ExternalLinkage);
  }

private:
  llvm::Constant *number(uint64_t value) { return llvm::ConstantInt::get(i64, value); }
  llvm::Constant *row(ArrayRef<llvm::Constant *> fields) { return llvm::ConstantStruct::getAnon(context, fields); }
  llvm::Constant *string(StringRef text) {
    return addConstant(module, llvm::ConstantDataArray::getString(context, text), "ppc_name");
  }
  llvm::GlobalVariable *bytes(StringRef content, StringRef name) {
    auto *value = addConstant(module, llvm::ConstantDataArray::getString(context, content), name);
    value->setAlignment(llvm::Align(64));
    return value;
  }
  SmallVector<llvm::Constant *> entries() {
    SmallVector<llvm::Constant *> rows;
    for (llvm::Function &function : module)
      if (!function.isDeclaration() && function.hasExternalLinkage())
        rows.push_back(row({string(function.getName()), &function}));
    return rows;
  }
  void addTable(SmallVectorImpl<llvm::Constant *> &fields, StringRef name, ArrayRef<llvm::Constant *> rows) {
    if (rows.empty()) {
      fields.append({llvm::ConstantPointerNull::get(pointer), number(0)});
      return;
    }
    auto *type = llvm::ArrayType::get(rows.front()->getType(), rows.size());
    fields.append({addConstant(module, llvm::ConstantArray::get(type, rows), name), number(rows.size())});
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *pointer;
  llvm::IntegerType *i32, *i64;
};

static llvm::Error writeObject(llvm::Module &module, llvm::TargetMachine &machine, raw_ostream &object) {
  SmallVector<char, 0> bytes; // its header is written last
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "this machine's code generator cannot write object files");
  passes.run(module);
  object << stream.str();
  return llvm::Error::success();
}

llvm::Error emitHostObject(ModuleOp module, StringRef manifest, const HostTargetOptions &options, raw_ostream &object) {
  llvm::LLVMContext context;
  auto machine = hostTargetMachine(options);
  if (!machine)
    return machine.takeError();
  auto code = translateForHost(module, context, **machine);
  if (!code)
    return code.takeError();
  ProgramSymbol(**code).define(manifest, {}, {});
  // The runtime reaches entries by the table only: nothing else of the object can clash with other code.
  for (llvm::Function &function : **code)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  optimizeForHost(**code, **machine, options.optimize);
  return writeObject(**code, **machine, object);
}

llvm::Error emitDeviceObject(StringRef manifest, ArrayRef<DeviceImage> images, ArrayRef<DeviceConstant> constants,
                             raw_ostream &object) {
  // There is no code: the object is the same for each processor.
  HostTargetOptions options;
  options.cpu = "x86-64";
  auto machine = hostTargetMachine(options);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  llvm::Module module("ppc", context);
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple((*machine)->getTargetTriple());
  ProgramSymbol(module).define(manifest, images, constants);
  return writeObject(module, **machine, object);
}

} // namespace mlir::ppc
