#include "ppc/Analysis/ModuleFile.h"

#include "mlir/Parser/Parser.h"
#include "ppc/Support/InputFile.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/ModuleText.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::ppc;

OwningOpRef<ModuleOp> mlir::ppc::readModuleFile(StringRef path, MLIRContext &context) {
  Location place = UnknownLoc::get(&context); // what is said here names the file itself
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer = readInputFile(path, limits::moduleBytes);
  if (!buffer) {
    emitError(place) << path << ": " << llvm::toString(buffer.takeError());
    return nullptr;
  }
  if (llvm::Error error = checkModuleText(path, (*buffer)->getBuffer())) {
    emitError(place) << llvm::toString(std::move(error));
    return nullptr;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return nullptr;
  int64_t ops = 0;
  module->walk([&](Operation *) { ++ops; });
  if (ops <= limits::moduleOps)
    return module;
  emitError(place) << path << ": " << ops << " ops; expected at most " << limits::moduleOps;
  return nullptr;
}
