// The actions of a device as numbers, short because training repeats itself.
#ifndef PPC_LIB_CODEGEN_ACTIONCODE_H
#define PPC_LIB_CODEGEN_ACTIONCODE_H

#include "dialects/ppcrt/PpcRt.h"
#include "llvm/Support/JSON.h"

namespace mlir::ppc {

/// One action: what it does, on which stream, with which routine or message, for which micro-batch (-1: none), and how
/// many actions before it in the list those are that it comes after.
struct CodedAction {
  enum What : int64_t { Load, Run, Send, Receive };
  int64_t what, stream, number, microBatch;
  SmallVector<int64_t> after;

  /// Whether the other does the same for a micro-batch that is `step` later.
  bool isRepeatedBy(const CodedAction &other, int64_t step) const {
    return what == other.what && stream == other.stream && number == other.number && after == other.after &&
           (microBatch < 0 ? other.microBatch < 0 : other.microBatch == microBatch + step);
  }
};
using ActionCode = std::vector<CodedAction>;

struct DeviceCode {
  /// An end of a message: it goes `to` or comes `from` another device; -1 for the end that is here.
  struct Message {
    int64_t to, from;
    StringAttr buffer;
    int64_t tag; ///< the same at both ends
  };
  SmallVector<Message> messages;
  ActionCode step, evaluate;
};

/// Fails at an action or buffer that programs for hosts do not have yet.
FailureOr<DeviceCode> encodeActions(ppcrt::ProgramOp program, ppcrt::DeviceOp device);

/// Writes an array's items: `[what, stream, number, micro-batch, after...]`, and for `count` times the same items, each
/// time for micro-batches that are `step` later, `{"repeat": count, "step": step, "actions": [...]}` (docs/Runtime.md).
void writeActionCode(const ActionCode &actions, llvm::json::OStream &out);

} // namespace mlir::ppc

#endif // PPC_LIB_CODEGEN_ACTIONCODE_H
