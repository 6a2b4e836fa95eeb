// Lines of messages by the order in which devices make and use them.
#include "MessageLines.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace mlir::ppc {

using namespace ppcrt;

namespace {

/// Indices of a routine's runs in the actions of its device, by micro-batch; kNowhere if it does not run for one.
using Places = SmallVector<size_t>;
constexpr size_t kNowhere = -1;

/// Messages that the same routine makes and the same routine uses; both ends come to them in one order.
struct MessageClass {
  SmallVector<std::pair<MessageOp, size_t>> messages; ///< with their numbers in the program
  Places made, used;
};

/// Runs of routines of pipeline ranks in the order of their schedules.
class RunPlaces {
public:
  RunPlaces(const PipelineSchedule &schedule, ArrayRef<int64_t> chunks) {
    for (auto [number, actions] : llvm::enumerate(schedule.devices))
      for (auto [place, action] : llvm::enumerate(actions)) {
        Places &own = places[{int64_t(number), int64_t(action.kind), chunks[schedule.slicedIndex(action)]}];
        if (own.size() <= size_t(action.microBatch))
          own.resize(action.microBatch + 1, kNowhere);
        own[action.microBatch] = place;
      }
  }
  const Places &of(DeviceOp device, RoutineOp routine) {
    return places[{device.getAt(), kindOf(routine), routine.getChunk()}];
  }

private:
  static int64_t kindOf(RoutineOp routine) {
    switch (routine.getKind()) {
    case RoutineKind::Backward:
      return int64_t(PipelineActionKind::Backward);
    case RoutineKind::WeightGradient:
      return int64_t(PipelineActionKind::WeightGradient);
    default: // messages are of routines of micro-batches
      return int64_t(PipelineActionKind::Forward);
    }
  }

  std::map<std::tuple<int64_t, int64_t, int64_t>, Places> places; ///< by device, kind of action, chunk
};

/// Whether the two ends process the messages of these classes in one order; messages of one run in the order of the
/// program.
bool haveOneOrder(ArrayRef<const MessageClass *> classes) {
  using Event = std::tuple<size_t, size_t, size_t>; // index of the run, number of the message, micro-batch
  std::vector<Event> made, used;
  for (const MessageClass *own : classes)
    for (size_t microBatch = 0; microBatch < std::min(own->made.size(), own->used.size()); ++microBatch)
      for (auto [message, number] : own->messages) {
        if (own->made[microBatch] == kNowhere)
          continue;
        made.emplace_back(own->made[microBatch], number, microBatch);
        used.emplace_back(own->used[microBatch], number, microBatch);
      }
  llvm::sort(made);
  llvm::sort(used);
  return llvm::equal(made, used, [](const Event &a, const Event &b) {
    return std::tie(std::get<1>(a), std::get<2>(a)) == std::tie(std::get<1>(b), std::get<2>(b));
  });
}

/// Assigns each class to the first line whose order it preserves.
SmallVector<SmallVector<const MessageClass *>> makeLines(ArrayRef<const MessageClass *> classes) {
  SmallVector<SmallVector<const MessageClass *>> lines;
  for (const MessageClass *own : classes) {
    auto line = llvm::find_if(lines, [&](SmallVector<const MessageClass *> &known) {
      known.push_back(own);
      bool fits = haveOneOrder(known);
      known.pop_back();
      return fits;
    });
    if (line == lines.end())
      line = &lines.emplace_back();
    line->push_back(own);
  }
  return lines;
}

} // namespace

MessageLines::MessageLines(ProgramOp program, const ProgramSymbols &symbols, const PipelineSchedule &schedule,
                           ArrayRef<int64_t> chunks) {
  RunPlaces places(schedule, chunks);
  using Direction = std::pair<Attribute, Attribute>; // sender, receiver
  llvm::MapVector<std::tuple<Attribute, Attribute, Attribute, Attribute>, MessageClass> classes;
  llvm::MapVector<std::pair<Direction, int>, SmallVector<const MessageClass *>> kinds; // 1: forwards make it
  for (auto [number, message] : llvm::enumerate(program.getBody().front().getOps<MessageOp>())) {
    auto &own = classes[{message.getSender(), message.getReceiver(), message.getMadeAttr(), message.getUsedAttr()}];
    own.messages.emplace_back(message, number);
  }
  DenseMap<Direction, int> kindsBetween;
  for (auto &[key, own] : classes) {
    MessageOp first = own.messages.front().first;
    DeviceOp sender = symbols.device(first.getSender()), receiver = symbols.device(first.getReceiver());
    RoutineOp made = symbols.routine(sender, first.getMadeAttr().getAttr());
    own.made = places.of(sender, made);
    own.used = places.of(receiver, symbols.routine(receiver, first.getUsedAttr().getAttr()));
    Direction direction(first.getSender(), first.getReceiver());
    auto &kind = kinds[{direction, int(made.getKind() == RoutineKind::Forward)}];
    kindsBetween[direction] += kind.empty();
    kind.push_back(&own);
  }
  for (auto &[key, own] : kinds) {
    std::string kind = kindsBetween[key.first] == 1 ? "" : key.second ? ".forward" : ".backward";
    for (auto [number, line] : llvm::enumerate(makeLines(own)))
      for (const MessageClass *ownClass : line)
        for (auto [message, place] : ownClass->messages)
          names[message] = number ? kind + "." + std::to_string(number + 1) : kind;
  }
}

StringRef MessageLines::nameOf(MessageOp message) const { return names.find(message)->second; }

} // namespace mlir::ppc
