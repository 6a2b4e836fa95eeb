// NVVM dialect -> LLVM IR -> PTX.
#include "ppc/Target/Cuda/Writer/Ptx.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace mlir::ppc::cuda {

ArrayRef<Chip> knownChips() {
  static const Chip chips[] = {{"sm_80", 80}, {"sm_90a", 80}, {"sm_100a", 86}};
  return chips;
}

llvm::Expected<Chip> chipNamed(StringRef name) {
  for (const Chip &chip : knownChips())
    if (chip.name == name)
      return chip;
  std::string names;
  for (const Chip &chip : knownChips())
    names += (names.empty() ? "" : ", ") + chip.name;
  return llvm::createStringError("unknown chip '" + name.str() + "'; PPC compiles for " + names);
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machineOf(const Chip &chip) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError("LLVM has no NVPTX back end here: " + message);
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, chip.name, "+ptx" + std::to_string(chip.version), llvm::TargetOptions(),
                                  std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return llvm::createStringError("no code generator for " + chip.name);
  return machine;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

llvm::Expected<std::string> emitPtx(ModuleOp kernels, const Chip &chip) {
  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  registerNVVMDialectTranslation(*kernels.getContext());
  auto machine = machineOf(chip);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, context, "ppc-kernels");
  if (!module)
    return llvm::createStringError("the kernels are not in the LLVM dialect");
  module->setDataLayout((*machine)->createDataLayout());
  module->setTargetTriple((*machine)->getTargetTriple());
  optimize(*module, **machine);
  // What is called and not there would be a symbol that nobody links.
  for (const llvm::Function &function : *module)
    if (function.isDeclaration() && !function.isIntrinsic())
      return llvm::createStringError("kernels call '" + function.getName().str() + "', which no target has");
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("the NVPTX back end cannot write PTX");
  passes.run(*module);
  return stream.str().str();
}

} // namespace mlir::ppc::cuda
