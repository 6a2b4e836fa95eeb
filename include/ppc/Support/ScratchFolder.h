// Folders for intermediate files, which are gone when the command is: at its end, and when a signal ends it.
#ifndef PPC_SUPPORT_SCRATCHFOLDER_H
#define PPC_SUPPORT_SCRATCHFOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <system_error>

namespace mlir::ppc {

/// A folder of its own in the system's folder for temporary files. It and all that is in it are removed by the
/// destructor, and when SIGINT, SIGTERM or SIGHUP ends the process; the status is then that of the signal.
class ScratchFolder {
public:
  explicit ScratchFolder(llvm::StringRef prefix);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  /// Error if the folder could not be made.
  std::error_code failure() const { return problem; }
  std::string file(llvm::StringRef name) const { return (path + "/" + name).str(); }
  llvm::StringRef name() const { return path; }

private:
  llvm::SmallString<128> path;
  std::error_code problem;
  int slot = -1;
};

} // namespace mlir::ppc

#endif // PPC_SUPPORT_SCRATCHFOLDER_H
