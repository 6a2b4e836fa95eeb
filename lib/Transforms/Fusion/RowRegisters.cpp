// Registers of a thread for elements of a row, phase by phase.
#include "ppc/Transforms/Fusion/BufferAccess.h"
#include "ppc/Transforms/Fusion/RowPhases.h"

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::ppc {
namespace {

/// The elements that a thread has of a row of a buffer, from when they are read or written until another member writes
/// there.
struct HeldValue {
  int64_t bytes;        // per element
  bool isLoaded;        // all at once at the start of the phase, else written group by group
  unsigned first, last; // phases in which it is used; both are the phase of its member if its value is not read
  bool isRead;
};

class Lifetimes {
public:
  Lifetimes(const RowRegion &region, ArrayRef<unsigned> phases) : region(region) {
    for (auto [member, phase] : llvm::zip_equal(region.members, phases))
      if (member.role != RowRole::ChunkStart && member.role != RowRole::Row)
        add(member, phase);
  }

  /// Bytes of elements that are held in `phase` at most, where a row has `groups` groups of `width` elements.
  int64_t heldIn(unsigned phase, int64_t width, int64_t groups) const {
    int64_t begin = 0, end = 0, between = 0; // per element: at the start of the phase, after it, within a group
    for (const HeldValue &value : values) {
      bool isHere = value.first <= phase && phase <= value.last;
      bool staysBefore = value.isLoaded ? isHere : isHere && value.first < phase,
           staysBehind = isHere && phase < value.last;
      begin += staysBefore ? value.bytes : 0;
      end += staysBehind ? value.bytes : 0;
      between += isHere && !staysBefore && !staysBehind && value.isRead ? value.bytes : 0;
    }
    return std::max(begin, end) * width * groups + between * width;
  }

private:
  void add(const RowMember &member, unsigned phase) {
    linalg::LinalgOp op = member.op;
    for (OpOperand &operand : op->getOpOperands()) {
      const auto &place = member.places[operand.getOperandNumber()];
      bool isUsed = !op.getMatchingBlockArgument(&operand).use_empty();
      if (isa<MemRefType>(operand.get().getType()) && place && !place->columns.empty() && isUsed &&
          !(op.isDpsInit(&operand) && member.role != RowRole::Element))
        read(operand.get(), *place, phase);
    }
    if (member.role == RowRole::Element)
      for (Value out : op.getDpsInits()) {
        current[wholeBuffer(out)] = values.size();
        values.push_back({bytesOf(out), /*isLoaded=*/false, phase, phase, /*isRead=*/false});
      }
  }

  void read(Value buffer, const RowPlace &place, unsigned phase) {
    auto known = current.find(wholeBuffer(buffer));
    if (known == current.end() && !region.isHeld(buffer, place)) { // once per phase and offset
      bool isKnown = llvm::any_of(readAgain, [&](const auto &other) {
        return other.buffer == wholeBuffer(buffer) && *other.place == place && other.phase == phase;
      });
      if (!isKnown) {
        readAgain.push_back({wholeBuffer(buffer), &place, phase});
        values.push_back({bytesOf(buffer), /*isLoaded=*/true, phase, phase, /*isRead=*/true});
      }
      return;
    }
    if (known == current.end()) {
      current[wholeBuffer(buffer)] = values.size();
      values.push_back({bytesOf(buffer), /*isLoaded=*/true, phase, phase, /*isRead=*/true});
      return;
    }
    HeldValue &value = values[known->second];
    value.isRead = true;
    value.first = std::min(value.first, phase); // members of an earlier phase may follow
    value.last = std::max(value.last, phase);
  }

  /// Two numbers of 16 bits share a register.
  static int64_t bytesOf(Value buffer) {
    return std::max<int64_t>(2, cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8);
  }

  struct ReadAgain {
    Value buffer;
    const RowPlace *place;
    unsigned phase;
  };

  const RowRegion &region;
  SmallVector<HeldValue> values;
  llvm::SmallDenseMap<Value, size_t> current; // -> the value in a buffer
  SmallVector<ReadAgain> readAgain;
};

} // namespace

int64_t heldRegisters(const RowRegion &region) {
  RowThreads threads = region.threads();
  SmallVector<unsigned> phases = phasesOf(region);
  Lifetimes lifetimes(region, phases);
  int64_t bytes = 0, sums = 0;
  for (unsigned phase = 0; phase <= *llvm::max_element(phases); ++phase)
    bytes = std::max(bytes, lifetimes.heldIn(phase, threads.width, threads.groups));
  for (const RowMember &member : region.members)
    sums += member.role == RowRole::ColumnSum;
  return llvm::divideCeil(bytes, 4) + sums * threads.elements();
}

} // namespace mlir::ppc
