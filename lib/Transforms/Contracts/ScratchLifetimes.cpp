// Lifetimes of temporaries in the final code of functions.
#include "ScratchLifetimes.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::ppc {

namespace {

/// A temporary.
struct Temporary {
  memref::ViewOp view;
  int64_t begin, end;                                ///< range of bytes of the argument
  Operation *firstUse = nullptr, *lastUse = nullptr; ///< in the block of the function
  int64_t first = 0, last = -1;                      ///< indices of these ops; last < first if it is not used
};

class ScratchCheck {
public:
  explicit ScratchCheck(func::FuncOp function) : block(function.front()) {
    for (auto [place, op] : llvm::enumerate(block))
      places[&op] = place;
  }

  LogicalResult run();

private:
  LogicalResult read(memref::ViewOp view);
  LogicalResult follow(Temporary &temporary);
  LogicalResult compare();
  LogicalResult verifyFlight(ppcrt::StartOp start);
  Value origin(Value buffer) const;
  void use(Temporary &temporary, Operation *user);

  Block &block;
  DenseMap<Operation *, int64_t> places;
  std::vector<Temporary> temporaries;
};

void ScratchCheck::use(Temporary &temporary, Operation *user) {
  Operation *top = block.findAncestorOpInBlock(*user);
  int64_t place = places.lookup(top);
  if (!temporary.firstUse || place < temporary.first)
    temporary.first = place, temporary.firstUse = top;
  if (!temporary.lastUse || place > temporary.last)
    temporary.last = place, temporary.lastUse = top;
}

LogicalResult ScratchCheck::follow(Temporary &temporary) {
  SmallVector<Value> aliases{temporary.view};
  while (!aliases.empty()) {
    for (Operation *user : aliases.pop_back_val().getUsers()) {
      bool isView = isa<ViewLikeOpInterface>(user);
      for (Value result : user->getResults())
        if (isa<BaseMemRefType>(result.getType())) {
          if (!isView)
            return user->emitOpError("forwards a buffer in a way that its uses cannot be followed");
          aliases.push_back(result);
        }
      if (isView)
        continue; // reads and writes nothing
      use(temporary, user);
      if (auto start = dyn_cast<ppcrt::StartOp>(user)) // in flight until it is waited for
        for (Operation *wait : start.getToken().getUsers())
          use(temporary, wait);
    }
  }
  return success();
}

LogicalResult ScratchCheck::read(memref::ViewOp view) {
  auto source = dyn_cast<BlockArgument>(view.getSource());
  if (!source || source.getOwner() != &block)
    return success(); // a view of a view is part of that temporary
  APInt shift;
  MemRefType type = view.getType();
  if (!matchPattern(view.getByteShift(), m_ConstantInt(&shift)) || !type.hasStaticShape() ||
      !type.getElementType().isIntOrFloat() || !cast<MemRefType>(source.getType()).hasStaticShape())
    return view.emitOpError("has an offset that is not known before the program runs");
  int64_t begin = shift.getSExtValue(),
          bytes = type.getNumElements() * int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8)),
          size = cast<MemRefType>(source.getType()).getNumElements();
  if (begin < 0 || begin + bytes > size)
    return view.emitOpError() << "is bytes " << begin << " to " << begin + bytes << " of " << size;
  Temporary temporary{view, begin, begin + bytes};
  if (failed(follow(temporary)))
    return failure();
  if (temporary.firstUse && bytes)
    temporaries.push_back(temporary);
  return success();
}

LogicalResult ScratchCheck::compare() {
  llvm::sort(temporaries, [](const Temporary &a, const Temporary &b) {
    return std::pair(a.first, a.begin) < std::pair(b.first, b.begin);
  });
  SmallVector<const Temporary *> living;
  for (const Temporary &self : temporaries) {
    llvm::erase_if(living, [&](const Temporary *other) { return other->last < self.first; });
    for (const Temporary *other : living) {
      memref::ViewOp there = other->view, here = self.view;
      if (there.getSource() != here.getSource() || other->begin >= self.end || self.begin >= other->end)
        continue;
      InFlightDiagnostic error = here.emitOpError()
                                 << "shares bytes " << std::max(self.begin, other->begin) << " to "
                                 << std::min(self.end, other->end) << " of its scratch with another temporary that is "
                                 << "still used when it is first used";
      error.attachNote(there.getLoc()) << "the other temporary";
      error.attachNote(self.firstUse->getLoc()) << "used first here";
      error.attachNote(other->lastUse->getLoc()) << "the other one is used last here";
      return error;
    }
    living.push_back(&self);
  }
  return success();
}

/// The argument or temporary that a buffer is a view of.
Value ScratchCheck::origin(Value buffer) const {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    bool isTemporary = isa<memref::ViewOp>(view) && isa<BlockArgument>(view.getViewSource());
    if (isTemporary)
      break;
    buffer = view.getViewSource();
  }
  return buffer;
}

/// Whether `op` may write `buffer`: true unless it only declares reads of it.
static bool mayWrite(Operation *op, Value buffer) {
  auto memory = dyn_cast<MemoryEffectOpInterface>(op);
  if (!memory)
    return true;
  SmallVector<MemoryEffects::EffectInstance> effects;
  memory.getEffectsOnValue(buffer, effects);
  return effects.empty() || llvm::any_of(effects, [](const MemoryEffects::EffectInstance &effect) {
           return !isa<MemoryEffects::Read>(effect.getEffect());
         });
}

/// Checks that until the wait of communication its source is not written, and its destination not used at all.
LogicalResult ScratchCheck::verifyFlight(ppcrt::StartOp start) {
  auto isOf = [&](Value buffer, ValueRange inFlight) {
    Value root = origin(buffer);
    auto [begin, end] = ppcrt::elementsIn(buffer, root);
    return llvm::any_of(inFlight, [&, begin = begin, end = end](Value other) {
      if (origin(other) != root)
        return false;
      auto [first, last] = ppcrt::elementsIn(other, root);
      return begin < last && first < end;
    });
  };
  auto wait = cast<ppcrt::WaitOp>(*start.getToken().user_begin()); // start_c5
  auto verify = [&](Operation *op) -> WalkResult {
    for (Value operand : op->getOperands()) {
      if (!isa<BaseMemRefType>(operand.getType()) || isa<ViewLikeOpInterface>(op))
        continue;
      bool isOut = isOf(operand, start.getOuts());
      if (!isOut && (!isOf(operand, start.getIns()) || !mayWrite(op, operand)))
        continue;
      InFlightDiagnostic error = op->emitOpError() << (isOut ? "uses" : "may write") << " a buffer in flight";
      error.attachNote(start.getLoc()) << "from here";
      error.attachNote(wait.getLoc()) << "to here";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  };
  for (Operation *op = start->getNextNode(); op && op != wait; op = op->getNextNode())
    if (op->walk(verify).wasInterrupted())
      return failure();
  return success();
}

LogicalResult ScratchCheck::run() {
  WalkResult result = block.walk([&](Operation *op) {
    auto view = dyn_cast<memref::ViewOp>(op);
    auto start = dyn_cast<ppcrt::StartOp>(op);
    bool wrong = (view && failed(read(view))) || (start && failed(verifyFlight(start)));
    return wrong ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted() || failed(compare()));
}

} // namespace

LogicalResult verifyScratchLifetimes(func::FuncOp function) {
  if (function.isExternal())
    return success();
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("has several blocks, so that lifetimes in its scratch have no order");
  return ScratchCheck(function).run();
}

} // namespace mlir::ppc
