// The actions of a device as numbers.
#include "ActionCode.h"

namespace mlir::ppc {

using namespace ppcrt;

namespace {

class ActionEncoder {
public:
  ActionEncoder(ProgramOp program, DeviceOp device) : program(program), device(device) {}

  FailureOr<DeviceCode> run();

private:
  void numberParts();
  void addMessages();
  FailureOr<ActionCode> encode(Block &actions);
  FailureOr<int64_t> numberOf(CollectiveOp op);
  static CodedAction::Dependence dependence(Value token, int64_t distance);
  int64_t place(StringAttr name) { return devices.lookup(name); }

  ProgramOp program;
  DeviceOp device;
  DeviceCode code;
  DenseMap<Attribute, int64_t> devices, routines, streams, messages; ///< numbers, by name
  DenseMap<std::pair<Attribute, Attribute>, int64_t> copies;         ///< numbers, by buffers
  DenseMap<DictionaryAttr, int64_t> collectives;                     ///< numbers, by all but the micro-batch
};

void ActionEncoder::numberParts() {
  for (DeviceOp other : program.getDevices())
    devices[other.getSymNameAttr()] = other.getAt();
  for (auto routine : device.getBody().front().getOps<RoutineOp>())
    routines[routine.getSymNameAttr()] = routines.size();
  for (auto stream : device.getBody().front().getOps<StreamOp>())
    streams[stream.getSymNameAttr()] = streams.size();
}

void ActionEncoder::addMessages() {
  for (auto [tag, message] : llvm::enumerate(program.getBody().front().getOps<MessageOp>())) {
    bool isSent = message.getSender() == device.getSymNameAttr();
    if (!isSent && message.getReceiver() != device.getSymNameAttr())
      continue;
    messages[message.getSymNameAttr()] = code.messages.size();
    SymbolRefAttr end = isSent ? message.getFrom() : message.getTo();
    code.messages.push_back({isSent ? place(message.getReceiver()) : -1, isSent ? -1 : place(message.getSender()),
                             end.getLeafReference(), int64_t(tag)});
  }
}

FailureOr<int64_t> ActionEncoder::numberOf(CollectiveOp op) {
  if (op.getKind() == CollectiveKind::RaggedAllToAll || op.getKind() == CollectiveKind::Permute)
    return op.emitOpError("is not supported by the CPU backend: collective ") << stringifyCollectiveKind(op.getKind());
  Builder builder(op.getContext());
  SmallVector<NamedAttribute> fields{
      builder.getNamedAttr("kind", op.getKindAttr()), builder.getNamedAttr("group", op.getGroupAttr()),
      builder.getNamedAttr("reads", op.getReadsAttr()), builder.getNamedAttr("writes", op.getWritesAttr())};
  if (op.getReductionAttr())
    fields.push_back(builder.getNamedAttr("reduction", op.getReductionAttr()));
  auto [place, isNew] = collectives.try_emplace(builder.getDictionaryAttr(fields), int64_t(code.collectives.size()));
  if (isNew)
    code.collectives.push_back(
        {op.getKindAttr(), op.getReductionAttr(), op.getGroupAttr(), op.getReadsAttr(), op.getWritesAttr()});
  return place->second;
}

CodedAction::Dependence ActionEncoder::dependence(Value token, int64_t distance) {
  auto result = cast<OpResult>(token);
  bool isEnd = result.getResultNumber() + 1 == result.getOwner()->getNumResults();
  return {distance, isEnd ? std::nullopt : std::optional<int64_t>(result.getResultNumber())};
}

FailureOr<ActionCode> ActionEncoder::encode(Block &actions) {
  ActionCode result;
  DenseMap<Operation *, int64_t> places;
  for (Operation &op : actions) {
    auto action = cast<ActionOpInterface>(op);
    CodedAction coded{CodedAction::Load, streams.lookup(action.getStreamAttr().getAttr()), 0, -1, {}};
    if (auto load = dyn_cast<LoadOp>(op)) {
      coded.microBatch = load.getMicroBatch();
    } else if (auto run = dyn_cast<RunOp>(op)) {
      coded.what = CodedAction::Run;
      coded.number = routines.lookup(run.getRoutineAttr().getAttr());
      coded.microBatch = run.getMicroBatch() ? int64_t(*run.getMicroBatch()) : -1;
    } else if (auto send = dyn_cast<SendOp>(op)) {
      coded.what = CodedAction::Send;
      coded.number = messages.lookup(send.getMessageAttr().getAttr());
      coded.microBatch = send.getMicroBatch();
    } else if (auto receive = dyn_cast<ReceiveOp>(op)) {
      coded.what = CodedAction::Receive;
      coded.number = messages.lookup(receive.getMessageAttr().getAttr());
      coded.microBatch = receive.getMicroBatch();
    } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
      FailureOr<int64_t> number = numberOf(collective);
      if (failed(number))
        return failure();
      coded.what = CodedAction::Collective;
      coded.number = *number;
      coded.microBatch = collective.getMicroBatch() ? int64_t(*collective.getMicroBatch()) : -1;
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      auto [place, isNew] = copies.try_emplace({copy.getFromAttr(), copy.getToAttr()}, int64_t(code.copies.size()));
      if (isNew)
        code.copies.push_back({copy.getFromAttr().getAttr(), copy.getToAttr().getAttr()});
      coded.what = CodedAction::Copy;
      coded.number = place->second;
      coded.microBatch = copy.getMicroBatch() ? int64_t(*copy.getMicroBatch()) : -1;
    } else {
      return op.emitOpError("is not supported by the CPU backend"), failure();
    }
    int64_t own = places.size();
    for (Value token : action.getAfter())
      coded.after.push_back(dependence(token, own - places.lookup(token.getDefiningOp())));
    places[&op] = own;
    result.push_back(std::move(coded));
  }
  return result;
}

FailureOr<DeviceCode> ActionEncoder::run() {
  for (auto buffer : device.getBody().front().getOps<BufferOp>())
    if (!buffer.getOffset())
      return buffer.emitOpError("has no offset in memory: run ppc-assign-arena first"), failure();
  numberParts();
  addMessages();
  FailureOr<ActionCode> step = encode(device.getStep().getBody().front());
  if (failed(step))
    return failure();
  code.step = std::move(*step);
  if (EvaluateOp evaluate = device.getEvaluate()) {
    FailureOr<ActionCode> actions = encode(evaluate.getBody().front());
    if (failed(actions))
      return failure();
    code.evaluate = std::move(*actions);
  }
  return code;
}

/// `count` times the `length` actions from some index on, each time `step` micro-batches later.
struct Repetition {
  size_t length = 1, count = 1;
  int64_t step = 0;
};

/// The longest run of repetitions from `begin` on.
Repetition repetitionAt(const ActionCode &actions, size_t begin) {
  constexpr size_t kLongest = 4096; // actions that are repeated together
  Repetition best;
  for (size_t length = 1; length <= std::min(kLongest, (actions.size() - begin) / 2); ++length) {
    const CodedAction &first = actions[begin], &again = actions[begin + length];
    int64_t step = first.microBatch < 0 ? 0 : again.microBatch - first.microBatch;
    size_t same = 0;
    while (begin + same + length < actions.size() &&
           actions[begin + same].isRepeatedBy(actions[begin + same + length], step))
      ++same;
    size_t count = same / length + 1;
    if (count > 1 && count * length > best.count * best.length)
      best = {length, count, step};
    if (same > 8 * length && length > 64) // not worth looking on
      break;
  }
  return best;
}

} // namespace

FailureOr<DeviceCode> encodeActions(ProgramOp program, DeviceOp device) { return ActionEncoder(program, device).run(); }

void writeActionCode(const ActionCode &actions, llvm::json::OStream &out) {
  auto write = [&](const CodedAction &action) {
    out.array([&] {
      for (int64_t number : {action.what, action.stream, action.number, action.microBatch})
        out.value(number);
      for (const CodedAction::Dependence &after : action.after) {
        if (!after.token) {
          out.value(after.distance);
          continue;
        }
        out.array([&] {
          out.value(after.distance);
          out.value(*after.token);
        });
      }
    });
  };
  for (size_t i = 0; i < actions.size();) {
    Repetition repetition = repetitionAt(actions, i);
    if (repetition.count < 3) {
      write(actions[i++]);
      continue;
    }
    out.object([&] {
      out.attribute("repeat", int64_t(repetition.count));
      out.attribute("step", repetition.step);
      out.attributeArray("actions", [&] {
        for (size_t j = 0; j < repetition.length; ++j)
          write(actions[i + j]);
      });
    });
    i += repetition.length * repetition.count;
  }
}

} // namespace mlir::ppc
