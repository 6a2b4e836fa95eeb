#include "ModuleReader.h"

#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir::ppc;

std::string mlir::ppc::moduleLibraryPath() {
  // <prefix>/bin/ppc-plan and <prefix>/lib/ppc-module-reader.so.
  static char anchor;
  std::string program = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
  llvm::SmallString<256> library(llvm::sys::path::parent_path(llvm::sys::path::parent_path(program)));
  llvm::sys::path::append(library, "lib", "ppc-module-reader.so");
  return library.str().str();
}

llvm::Expected<ModuleModel> mlir::ppc::readModule(llvm::StringRef path, TrainingJob job) {
  std::string library = moduleLibraryPath();
  std::string problem;
  llvm::sys::DynamicLibrary opened = llvm::sys::DynamicLibrary::getPermanentLibrary(library.c_str(), &problem);
  if (!opened.isValid())
    return llvm::createStringError(path + ": what reads models in MLIR cannot be opened: " + problem);
  auto read = reinterpret_cast<ReadModuleFunction>(opened.getAddressOfSymbol(readModuleName));
  if (!read)
    return llvm::createStringError(library + " is not of this ppc-plan");
  ModuleModel model;
  if (!read(path.str().c_str(), &job, &model, &problem))
    return llvm::createStringError(problem);
  return model;
}
