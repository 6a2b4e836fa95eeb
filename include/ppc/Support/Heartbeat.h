// Prints a tool's activity on standard error if it prints nothing else for long: `note: partition: 12 s so far`.
#ifndef PPC_SUPPORT_HEARTBEAT_H
#define PPC_SUPPORT_HEARTBEAT_H

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mlir::ppc {

/// One per program, alive while it works. A thread of its own speaks each time that limits::silentSeconds have passed
/// without a word.
class Heartbeat {
public:
  explicit Heartbeat(llvm::StringRef what);
  ~Heartbeat();
  Heartbeat(const Heartbeat &) = delete;
  Heartbeat &operator=(const Heartbeat &) = delete;

  /// Sets the activity of the program from now on. Does nothing if no Heartbeat exists.
  static void doing(llvm::StringRef what);
  /// How far that is; told with it. Counts as a word where `shown`: a progress bar shows it.
  static void progress(llvm::StringRef text, bool shown);

private:
  struct Thread;
  std::unique_ptr<Thread> thread;
};

} // namespace mlir::ppc

#endif // PPC_SUPPORT_HEARTBEAT_H
