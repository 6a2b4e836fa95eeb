// Mutations of the programs of devices: actions, messages, buffers. Tokens are left alone, since neither the proof nor
// the executor that it is compared with reads them.
#include "ProgramMutation.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::ppc::test {

using namespace ppcrt;

namespace {

std::string describe(Operation *op) {
  std::string result;
  llvm::raw_string_ostream(result) << *op;
  return result;
}

/// The micro-batch that an action is for; none of the whole step.
IntegerAttr microBatchOf(Operation *action) { return action->getAttrOfType<IntegerAttr>("micro_batch"); }

/// The message of a send or a receive.
FlatSymbolRefAttr messageOf(Operation *action) {
  if (auto send = dyn_cast<SendOp>(action))
    return send.getMessageAttr();
  auto receive = dyn_cast<ReceiveOp>(action);
  return receive ? receive.getMessageAttr() : FlatSymbolRefAttr();
}
void setMessage(Operation *action, FlatSymbolRefAttr message) {
  if (auto send = dyn_cast<SendOp>(action))
    send.setMessageAttr(message);
  else
    cast<ReceiveOp>(action).setMessageAttr(message);
}

class StageMutation {
public:
  StageMutation(ModuleOp module, Random &random)
      : module(module), random(random), builder(module.getContext()), program(findProgram(module)) {
    for (DeviceOp device : program.getDevices()) {
      devices.push_back(device);
      for (Operation &action : device.getStep().getBody().front())
        action.setOperands({});
    }
    stage = random() % devices.size();
    device = devices[stage];
    actions = &device.getStep().getBody().front();
  }

  std::optional<std::string> run(StringRef kind) {
    std::optional<std::string> what = mutate(kind);
    if (!what)
      return std::nullopt;
    return "device " + std::to_string(stage) + ": " + *what;
  }

private:
  Operation *pick() { return &*std::next(actions->begin(), random() % actions->getOperations().size()); }
  SmallVector<BufferOp> buffers() { return llvm::to_vector(device.getBody().front().getOps<BufferOp>()); }

  std::optional<std::string> mutate(StringRef kind) {
    Operation *action = pick();
    std::string was = describe(action);
    if (kind == "micro-batch") {
      int64_t count = program.getMicroBatches();
      IntegerAttr own = microBatchOf(action);
      if (count < 2 || !own)
        return std::nullopt;
      action->setAttr("micro_batch",
                      builder.getI64IntegerAttr((own.getInt() + 1 + int64_t(random() % (count - 1))) % count));
      return "another micro-batch in " + was;
    }
    if (kind == "swap-actions")
      return swapActions(action, was);
    if (kind == "drop-action") {
      action->erase();
      return "dropped " + was;
    }
    if (kind == "repeat-action") {
      OpBuilder(action).clone(*action);
      return "repeated " + was;
    }
    if (kind == "drop-message")
      return dropMessage(action, was);
    if (kind == "swap-messages")
      return swapMessages(action, was);
    if (kind == "message-buffer")
      return moveMessage(action, was);
    if (kind == "fewer-slots") {
      int64_t slots = 1;
      for (BufferOp buffer : buffers())
        slots = std::max(slots, buffer.getSlotCount());
      if (slots < 2)
        return std::nullopt;
      for (BufferOp buffer : buffers())
        if (buffer.hasSlots()) {
          buffer.setSlots(slots - 1);
          if (auto places = buffer.getPlaces())
            buffer.setPlaces(llvm::map_to_vector(*places, [&](int64_t place) { return place % (slots - 1); }));
        }
      return "one slot less than " + std::to_string(slots);
    }
    if (kind == "buffer-name" || kind == "buffer-sharding")
      return changeBuffer(kind == "buffer-name");
    if (kind == "swap-results" || kind == "swap-arguments")
      return swapBuffers(kind == "swap-results");
    return std::nullopt;
  }

  std::optional<std::string> swapActions(Operation *action, StringRef was) {
    Operation *other = pick();
    if (describe(other) == was)
      return std::nullopt;
    Operation *after = action->getNextNode();
    if (after == other) {
      other->moveBefore(action);
    } else {
      action->moveBefore(other);
      if (after)
        other->moveBefore(after);
      else
        other->moveBefore(actions, actions->end());
    }
    return "swapped " + was.str() + " and " + describe(other);
  }

  std::optional<std::string> dropMessage(Operation *action, StringRef was) {
    FlatSymbolRefAttr message = messageOf(action);
    if (!message)
      return std::nullopt;
    IntegerAttr microBatch = microBatchOf(action);
    for (DeviceOp each : devices)
      for (Operation &op : llvm::make_early_inc_range(each.getStep().getBody().front()))
        if (messageOf(&op) == message && microBatchOf(&op) == microBatch)
          op.erase();
    return "dropped both ends of " + was.str();
  }

  /// Two messages between the same devices change places in one list.
  std::optional<std::string> swapMessages(Operation *action, StringRef was) {
    FlatSymbolRefAttr mine = messageOf(action);
    auto ends = [&](FlatSymbolRefAttr name) {
      auto message = program.lookupSymbol<MessageOp>(name.getAttr());
      return std::pair(message.getSender(), message.getReceiver());
    };
    for (Operation &other : *actions) {
      FlatSymbolRefAttr theirs = messageOf(&other);
      if (!mine || !theirs || &other == action || other.getName() != action->getName() || ends(mine) != ends(theirs) ||
          (mine == theirs && random() % 2))
        continue;
      std::string peer = describe(&other);
      setMessage(action, theirs);
      setMessage(&other, mine);
      IntegerAttr own = microBatchOf(action);
      action->setAttr("micro_batch", microBatchOf(&other));
      other.setAttr("micro_batch", own);
      return "swapped messages of " + was.str() + " and " + peer;
    }
    return std::nullopt;
  }

  /// A message leaves from, or arrives in, another buffer.
  std::optional<std::string> moveMessage(Operation *action, StringRef was) {
    FlatSymbolRefAttr name = messageOf(action);
    if (!name)
      return std::nullopt;
    auto message = program.lookupSymbol<MessageOp>(name.getAttr());
    SymbolRefAttr end = isa<SendOp>(action) ? message.getFrom() : message.getTo();
    BufferOp own = device.buffer(end.getLeafReference());
    SmallVector<BufferOp> candidates;
    for (BufferOp buffer : buffers())
      if (buffer != own && buffer.getType() == own.getType() && buffer.hasSlots() == own.hasSlots())
        candidates.push_back(buffer);
    if (candidates.empty())
      return std::nullopt;
    BufferOp other = candidates[random() % candidates.size()];
    auto moved = SymbolRefAttr::get(device.getSymNameAttr(), {FlatSymbolRefAttr::get(other.getSymNameAttr())});
    if (isa<SendOp>(action))
      message.setFromAttr(moved);
    else
      message.setToAttr(moved);
    return "another buffer for " + was.str();
  }

  /// Two results (or arguments) of one type of a routine change their buffers.
  std::optional<std::string> swapBuffers(bool ofResults) {
    auto routines = llvm::to_vector(device.getBody().front().getOps<RoutineOp>());
    RoutineOp routine = routines[random() % routines.size()];
    SmallVector<Attribute> names(ofResults ? routine.getWrites().getValue() : routine.getReads().getValue());
    if (names.size() < 2)
      return std::nullopt;
    size_t first = random() % names.size();
    auto typeOf = [&](Attribute name) { return device.buffer(cast<FlatSymbolRefAttr>(name).getAttr()).getType(); };
    SmallVector<size_t> others;
    for (size_t other = 0; other < names.size(); ++other)
      if (other != first && typeOf(names[other]) == typeOf(names[first]))
        others.push_back(other);
    if (others.empty())
      return std::nullopt;
    size_t second = others[random() % others.size()];
    std::swap(names[first], names[second]);
    if (ofResults)
      routine.setWritesAttr(builder.getArrayAttr(names));
    else
      routine.setReadsAttr(builder.getArrayAttr(names));
    return "swapped the buffers of " + std::string(ofResults ? "results " : "arguments ") + std::to_string(first) +
           " and " + std::to_string(second) + " of " + routine.getSymName().str();
  }

  /// A parameter or state is loaded as another one, or as other blocks.
  std::optional<std::string> changeBuffer(bool name) {
    SmallVector<BufferOp> all = buffers();
    BufferOp buffer = all[random() % all.size()];
    if (!llvm::is_contained({BufferRole::Parameter, BufferRole::State, BufferRole::Input}, buffer.getRole()))
      return std::nullopt;
    std::string what = "of " + describe(buffer);
    if (name) {
      llvm::erase_if(all, [&](BufferOp other) {
        return other == buffer || other.getType() != buffer.getType() || other.getRole() != buffer.getRole();
      });
      if (all.empty())
        return std::nullopt;
      BufferOp other = all[random() % all.size()];
      for (StringRef key : {"name", "state", "logical", "sharding", "init"}) {
        Attribute mine = buffer->getAttr(key), theirs = other->getAttr(key);
        if (mine && theirs) {
          buffer->setAttr(key, theirs);
          other->setAttr(key, mine);
        }
      }
      return "exchanged the name " + what;
    }
    ShardingAttr sharding = buffer.getShardingAttr();
    GridAttr grid = program.getDeviceGrid();
    if (!sharding || grid.getNames().size() < 2 || grid.getSizes()[0] != grid.getSizes()[1])
      return std::nullopt;
    auto exchanged = llvm::map_to_vector(sharding.getDims(), [&](ArrayAttr axes) -> ArrayAttr {
      return builder.getArrayAttr(llvm::map_to_vector(axes, [&](Attribute axis) -> Attribute {
        return axis == grid.getNames()[0]   ? grid.getNames()[1]
               : axis == grid.getNames()[1] ? grid.getNames()[0]
                                            : cast<StringAttr>(axis);
      }));
    });
    auto changed = ShardingAttr::get(module.getContext(), exchanged, {}, {});
    if (changed == sharding)
      return std::nullopt;
    buffer.setShardingAttr(changed);
    return "exchanged the axes " + what;
  }

  ModuleOp module;
  Random &random;
  Builder builder;
  ProgramOp program;
  SmallVector<DeviceOp> devices;
  size_t stage;
  DeviceOp device;          ///< the mutated one
  Block *actions = nullptr; ///< actions of its step
};

} // namespace

std::optional<std::string> mutateStages(ModuleOp module, StringRef kind, Random &random) {
  return StageMutation(module, random).run(kind);
}

} // namespace mlir::ppc::test
