#include "ppc/Codegen/RunTool.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"

namespace mlir::ppc {

llvm::Expected<std::string> runTool(ArrayRef<StringRef> arguments) {
  SmallString<128> log;
  if (std::error_code failure = llvm::sys::fs::createTemporaryFile("ppc-tool", "log", log))
    return llvm::createStringError("cannot make a temporary file: " + failure.message());
  llvm::sys::RemoveFileOnSignal(log);
  llvm::scope_exit removeLog([&] {
    llvm::sys::fs::remove(log);
    llvm::sys::DontRemoveFileOnSignal(log);
  });
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log), StringRef(log)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(arguments.front(), arguments, std::nullopt, redirects, 0, 0, &message);
  std::string printed;
  if (auto text = llvm::MemoryBuffer::getFile(log))
    printed = (*text)->getBuffer().str();
  if (status == 0)
    return printed;
  return llvm::createStringError("failed: " + llvm::join(arguments, " ") + "\n" + message +
                                 StringRef(printed).rtrim().str());
}

} // namespace mlir::ppc
