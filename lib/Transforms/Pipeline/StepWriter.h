// Writes the actions of one device, each with tokens of its dependences.
#ifndef PPC_TRANSFORMS_PIPELINE_STEPWRITER_H
#define PPC_TRANSFORMS_PIPELINE_STEPWRITER_H

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/Builders.h"

namespace mlir::ppc {

/// Actions are added in the order in which they are issued. Each comes after the last ones on other streams that it
/// must not overtake: who wrote what it reads, and who read or wrote what it writes. Tokens that follow from others, or
/// from the order on a stream, are not written.
class StepWriter {
public:
  /// Writes to `actions`, a block of `device`. Streams are added to the device as they are used.
  StepWriter(ppcrt::DeviceOp device, ppcrt::ProgramSymbols &symbols, Block &actions);

  /// Fills the inputs of a micro-batch, where the device has any.
  void load(int64_t microBatch);
  /// Issues a run; without a micro-batch for a routine of the whole step.
  void run(ppcrt::RoutineOp routine, std::optional<int64_t> microBatch = std::nullopt);
  /// Issues a send on streams "to..." and "from..." of `line`, the name of the line of messages between two
  /// devices.
  void send(ppcrt::MessageOp message, int64_t microBatch, const Twine &line);
  void receive(ppcrt::MessageOp message, int64_t microBatch, const Twine &line);

private:
  /// Completion of an action: its stream, its index on it, its token.
  struct End {
    unsigned stream;
    int64_t place;
    Value token;
  };
  struct Uses {
    std::optional<End> written;
    SmallVector<End> read; ///< since it was written
  };
  /// Accesses of a routine, for any micro-batch, and the slot count of each buffer (0: it has none).
  struct RoutineAccesses {
    SmallVector<ppcrt::Access, 0> accesses;
    SmallVector<int64_t, 0> slotCounts;
  };
  /// For each stream the index up to which all actions have completed.
  using Clock = SmallVector<int64_t>;

  /// The stream's number and name.
  std::pair<unsigned, FlatSymbolRefAttr> stream(const Twine &name);
  /// Gives the action just made the tokens that it needs, and records what it touches.
  void finish(ppcrt::ActionOpInterface action, unsigned stream);
  /// The accesses of `action`; valid until the next call.
  ArrayRef<ppcrt::Access> accessesOf(ppcrt::ActionOpInterface action);
  Type token() { return ppcrt::TokenType::get(builder.getContext()); }

  ppcrt::DeviceOp device;
  ppcrt::ProgramSymbols &symbols;
  OpBuilder builder;
  bool hasInputs;
  SmallVector<FlatSymbolRefAttr> streams;
  SmallVector<Clock> ended;                             ///< by stream: clock at the start of its last action
  SmallVector<std::vector<Clock>> past;                 ///< by stream and index: clock at the completion of that action
  DenseMap<std::pair<Operation *, int64_t>, Uses> uses; ///< by buffer and slot
  DenseMap<Attribute, RoutineAccesses> ofRoutines;      ///< by name
  SmallVector<ppcrt::Access> ofAction;
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PIPELINE_STEPWRITER_H
