// Reading of files that a user names. Tools read files through this header only (tools/dev/check-files.py), so that no
// file makes a tool hang or take all memory, and no output can destroy an input.
#ifndef PPC_SUPPORT_INPUTFILE_H
#define PPC_SUPPORT_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem/UniqueID.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace mlir::ppc {

/// Returns the content of a file, null-terminated. Pipes and devices are read to their end; while the writer of a pipe
/// writes nothing, a note on standard error reports that. Errors, without the path: the system's message ("No such file
/// or directory", "Is a directory"); more than `limit` bytes (ppc/Support/Limits.h); a pipe without data for 3 seconds,
/// or one that has been read before.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readInputFile(llvm::StringRef path, int64_t limit);

/// Reads the rest of standard input.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readStandardInput(int64_t limit);

/// Whether this process has read the file through `readInputFile`.
bool hasReadFile(llvm::sys::fs::UniqueID file);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_INPUTFILE_H
