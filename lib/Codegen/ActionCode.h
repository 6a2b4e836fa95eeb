// The actions of a device as numbers, short because training repeats itself.
#ifndef PPC_LIB_CODEGEN_ACTIONCODE_H
#define PPC_LIB_CODEGEN_ACTIONCODE_H

#include "dialects/ppcrt/PpcRt.h"
#include "llvm/Support/JSON.h"

namespace mlir::ppc {

/// One action: its kind, stream, routine, message, collective or copy, and micro-batch (-1: none), and the completions
/// that it waits for.
struct CodedAction {
  enum What : int64_t { Load, Run, Send, Receive, Collective, Copy };
  /// Completion of the action `distance` before it in the list, or of entry `token` of its `early`.
  struct Dependence {
    int64_t distance;
    std::optional<int64_t> token;
    bool operator==(const Dependence &other) const { return distance == other.distance && token == other.token; }
  };
  int64_t what, stream, number, microBatch;
  SmallVector<Dependence> after;

  /// Whether the other does the same for a micro-batch that is `step` later.
  bool isRepeatedBy(const CodedAction &other, int64_t step) const {
    return what == other.what && stream == other.stream && number == other.number && after == other.after &&
           (microBatch < 0 ? other.microBatch < 0 : other.microBatch == microBatch + step);
  }
};
using ActionCode = std::vector<CodedAction>;

struct DeviceCode {
  /// One end of a message: sent `to` or received `from` another device; -1 for this device.
  struct Message {
    int64_t to, from;
    StringAttr buffer;
    int64_t tag; ///< equal at both ends
  };
  /// Communication of a group on buffers of the device; equal actions share one.
  struct Collective {
    ppcrt::CollectiveKindAttr kind;
    ppcrt::ReductionKindAttr reduction; ///< null: none
    FlatSymbolRefAttr group;
    ArrayAttr reads, writes;
  };
  /// A copy from one buffer to another.
  struct Copy {
    StringAttr from, to;
  };
  SmallVector<Copy> copies;
  SmallVector<Message> messages;
  SmallVector<Collective> collectives;
  ActionCode step, evaluate;
};

/// Fails at an action or buffer that the CPU backend does not support.
FailureOr<DeviceCode> encodeActions(ppcrt::ProgramOp program, ppcrt::DeviceOp device);

/// Writes an array's items: `[what, stream, number, micro-batch, after...]`, where `after` has a distance for the
/// completion of an action, and `[distance, token]` for an entry of its `early`; and for `count` repetitions of the
/// same items, each for micro-batches that are `step` later, `{"repeat": count, "step": step, "actions": [...]}`
/// (docs/internals/Runtime.md).
void writeActionCode(const ActionCode &actions, llvm::json::OStream &out);

} // namespace mlir::ppc

#endif // PPC_LIB_CODEGEN_ACTIONCODE_H
