#include "ppc/Target/Cuda/Assembler.h"

#include "ppc/Codegen/RunTool.h"
#include "ppc/Support/CudaTools.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/Signals.h"

namespace mlir::ppc::cuda {

std::optional<std::string> findAssembler() { return findCudaTool("ptxas"); }

std::vector<KernelResources> readResources(StringRef log) {
  std::vector<KernelResources> kernels;
  llvm::Regex entry("Compiling entry function '([^']+)'"), spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill"),
      registers("Used ([0-9]+) registers"), shared("([0-9]+) bytes smem");
  SmallVector<StringRef> found;
  auto number = [&](unsigned i) {
    int64_t value = 0;
    found[i].getAsInteger(10, value);
    return value;
  };
  for (StringRef line : llvm::split(log, '\n')) {
    if (entry.match(line, &found))
      kernels.push_back({found[1].str()});
    if (kernels.empty())
      continue;
    if (spills.match(line, &found))
      kernels.back().spillBytes = number(1) + number(2);
    if (registers.match(line, &found))
      kernels.back().registers = number(1);
    if (shared.match(line, &found))
      kernels.back().sharedBytes = number(1);
  }
  return kernels;
}

llvm::Expected<Assembled> assemble(StringRef assembler, StringRef ptx, const Chip &chip) {
  SmallString<128> source, result;
  int descriptor = 0;
  if (std::error_code failure = llvm::sys::fs::createTemporaryFile("ppc-kernels", "ptx", descriptor, source))
    return llvm::createStringError("cannot make a temporary file: " + failure.message());
  llvm::sys::RemoveFileOnSignal(source);
  llvm::scope_exit removeSource([&] {
    llvm::sys::fs::remove(source);
    llvm::sys::DontRemoveFileOnSignal(source);
  });
  llvm::raw_fd_ostream text(descriptor, /*shouldClose=*/true);
  text << ptx;
  text.close();
  if (std::error_code failure = text.error()) {
    text.clear_error();
    return llvm::createStringError("cannot write '" + source.str() + "': " + failure.message());
  }
  if (std::error_code failure = llvm::sys::fs::createTemporaryFile("ppc-kernels", "cubin", result))
    return llvm::createStringError("cannot make a temporary file: " + failure.message());
  llvm::sys::RemoveFileOnSignal(result);
  llvm::scope_exit removeResult([&] {
    llvm::sys::fs::remove(result);
    llvm::sys::DontRemoveFileOnSignal(result);
  });
  llvm::Expected<std::string> log = runTool({assembler, "-v", "-arch", chip.name, source, "-o", result});
  if (!log)
    return log.takeError();
  auto code = llvm::MemoryBuffer::getFile(result, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!code)
    return llvm::createStringError("cannot read '" + result.str() + "': " + code.getError().message());
  return Assembled{(*code)->getBuffer().str(), readResources(*log)};
}

} // namespace mlir::ppc::cuda
