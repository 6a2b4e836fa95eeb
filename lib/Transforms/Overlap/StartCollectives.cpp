// ppc-start-collectives: starts collectives of compiled functions as early and waits for them as late as their
// buffers allow, if there is work in between.
#include "dialects/ppcrt/Epilogue.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Transforms/Overlap/AccessOrder.h"
#include "ppc/Transforms/Overlap/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_STARTCOLLECTIVESPASS
#include "ppc/Transforms/Overlap/Passes.h.inc"

namespace {

/// A collective on buffers, as ppcrt.start takes it.
struct Transfer {
  ppcrt::CollectiveKind kind;
  ppcrt::ReductionKindAttr reduction;
  FlatSymbolRefAttr group;
  SmallVector<Value> ins, outs;
  IntegerAttr shift = {}; ///< only for a permute
};

std::optional<Transfer> transferOf(Operation *op) {
  auto reductionOf = [&](ppcrt::ReductionKind kind) { return ppcrt::ReductionKindAttr::get(op->getContext(), kind); };
  using Kind = ppcrt::CollectiveKind;
  auto found =
      llvm::TypeSwitch<Operation *, std::optional<Transfer>>(op)
          .Case([&](ppcrt::AllReduceOp reduce) -> std::optional<Transfer> {
            return Transfer{
                Kind::AllReduce, reductionOf(reduce.getKind()), reduce.getGroupAttr(), {}, {reduce.getOut()}};
          })
          .Case([&](ppcrt::AllGatherOp gather) -> std::optional<Transfer> {
            return Transfer{Kind::AllGather, {}, gather.getGroupAttr(), {gather.getX()}, {gather.getOut()}};
          })
          .Case([&](ppcrt::ReduceScatterOp scatter) -> std::optional<Transfer> {
            return Transfer{Kind::ReduceScatter,
                            reductionOf(scatter.getKind()),
                            scatter.getGroupAttr(),
                            {scatter.getX()},
                            {scatter.getOut()}};
          })
          .Case([&](ppcrt::PermuteOp permute) -> std::optional<Transfer> {
            return Transfer{Kind::Permute,         {}, permute.getGroupAttr(), {permute.getX()}, {permute.getOut()},
                            permute.getShiftAttr()};
          })
          .Default(std::nullopt);
  if (!found || op->getNumResults() || !isa<MemRefType>(found->outs.front().getType()))
    return std::nullopt;
  return found;
}

/// The buffer that `value` is a view of.
Value rootOf(Value value) { return memref::skipViewLikeOps(cast<MemrefValue>(value)); }

/// Range of elements of the root buffer of a view.
struct Part {
  Value root;
  int64_t begin, end;
  bool mayBeRead = false; ///< while it is in flight: the source of a permute

  bool overlaps(const Part &other) const { return root == other.root && begin < other.end && other.begin < end; }
};

Part partOf(Value buffer, bool mayBeRead = false) {
  Value root = rootOf(buffer);
  auto [begin, end] = ppcrt::elementsIn(buffer, root);
  return {root, begin, end, mayBeRead};
}

/// Buffers of communication in flight.
class InFlight {
public:
  void add(Value buffer, bool mayBeRead = false) { parts.push_back(partOf(buffer, mayBeRead)); }
  /// Whether some of `buffer` is in flight; buffers that may be read conflict only with writes.
  bool touches(Value buffer, bool isWritten = true) const {
    return isa<BaseMemRefType>(buffer.getType()) && llvm::any_of(parts, [&, own = partOf(buffer)](const Part &part) {
             return part.overlaps(own) && (isWritten || !part.mayBeRead);
           });
  }

private:
  SmallVector<Part, 4> parts;
};

/// Whether communication of this kind gathers an argument of the function. Such gathers start in place, and other
/// communication overlaps with them.
bool isPrefetched(ppcrt::CollectiveKind kind, ValueRange ins) {
  return kind == ppcrt::CollectiveKind::AllGather && isa<BlockArgument>(rootOf(ins.front()));
}
bool isPrefetched(const Transfer &transfer) { return isPrefetched(transfer.kind, transfer.ins); }

/// Whether `op` communicates over ranks and touches nothing that has these roots.
bool communicatesApart(Operation *op, const InFlight &inFlight) {
  return (transferOf(op) || isa<ppcrt::StartOp, ppcrt::WaitOp>(op)) &&
         llvm::none_of(op->getOperands(), [&](Value operand) { return inFlight.touches(operand); });
}

/// Whether `op` is, starts or ends a gather that other communication overlaps with.
bool isOfPrefetched(Operation *op) {
  if (auto wait = dyn_cast<ppcrt::WaitOp>(op))
    op = wait.getToken().getDefiningOp();
  if (auto start = dyn_cast<ppcrt::StartOp>(op))
    return isPrefetched(start.getKind(), start.getIns());
  std::optional<Transfer> transfer = transferOf(op);
  return transfer && isPrefetched(*transfer);
}

/// Whether `op` may run while communication on these roots is in flight: it neither accesses them, nor communicates
/// itself, which has an order.
bool isIndependent(Operation *op, const InFlight &inFlight) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return false;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [&](const MemoryEffects::EffectInstance &effect) {
           return effect.getValue() &&
                  !inFlight.touches(effect.getValue(), !isa<MemoryEffects::Read>(effect.getEffect()));
         });
}

bool isWork(Operation *op) {
  return isa<ppcrt::GemmOp, ppcrt::EpilogueGemmOp, ppcrt::AttentionOp, ppcrt::AttentionBackwardOp, linalg::LinalgOp,
             scf::ExecuteRegionOp>(op);
}

/// Effects of an op that may move to a later point: a loop over elements, as the addition of a reduced gradient to
/// its sum. Ops inside it may read buffers that are not operands.
std::optional<SmallVector<MemoryEffects::EffectInstance>> effectsOfLater(Operation *op) {
  auto loops = dyn_cast<linalg::LinalgOp>(op);
  if (!loops || op->getNumResults() != 0 || loops.getNumParallelLoops() != loops.getNumLoops())
    return std::nullopt;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  if (!effects ||
      llvm::any_of(*effects, [](const MemoryEffects::EffectInstance &effect) { return !effect.getValue(); }))
    return std::nullopt;
  return effects;
}

bool isLoop(Operation *op) { return isa<linalg::LinalgOp, memref::CopyOp, scf::ExecuteRegionOp, scf::ForOp>(op); }

/// Whether `op` only defines buffers or views.
bool isPlace(Operation *op) { return isa<memref::AllocOp>(op) || isMemoryEffectFree(op); }

/// The first of the adjacent loops before the loop `op` that do not access these roots; `op` itself if there are
/// none, or it is not a loop. Loops are compiled together: with a call between them they might round otherwise.
Operation *firstOfRun(Operation *op, const InFlight &roots) {
  Operation *first = op;
  if (isLoop(op))
    for (Operation *previous = op->getPrevNode(); previous; previous = previous->getPrevNode()) {
      if (isLoop(previous) && isIndependent(previous, roots))
        first = previous;
      else if (!isPlace(previous))
        break;
    }
  return first;
}

/// Moves `op` before `place`, together with the ops that define its buffers.
void moveWithPlaces(Operation *op, Operation *place) {
  for (Value operand : op->getOperands())
    if (Operation *made = operand.getDefiningOp(); made && !made->isBeforeInBlock(place))
      moveWithPlaces(made, place);
  op->moveBefore(place);
}

/// How far before its position a collective can start, and how far after it the wait can be.
struct Flight {
  Operation *behind = nullptr;    ///< it starts after this op; null: at the beginning of the block
  Operation *before = nullptr;    ///< it is waited for before this op
  SmallVector<Operation *> later; ///< loops between that use its result, and run between the wait and `before`
  int64_t work = 0;               ///< ops that do work meanwhile
};

/// Finds the end of the collective `op` on buffers with these roots. Loops that use its result move after the wait
/// as far as there is independent work after them.
void findEnd(Operation *op, bool isPrefetched, InFlight roots, Flight &flight) {
  flight.before = op->getNextNode();
  size_t needed = 0; // number of loops of flight.later that move
  for (Operation *next = flight.before;; next = next->getNextNode()) {
    if ((isPrefetched || isOfPrefetched(next)) && communicatesApart(next, roots))
      continue;
    if (isIndependent(next, roots)) {
      if (isWork(next)) {
        ++flight.work;
        needed = flight.later.size();
      }
    } else if (std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = effectsOfLater(next)) {
      flight.later.push_back(next);
      for (const MemoryEffects::EffectInstance &effect : *effects)
        roots.add(effect.getValue(), isa<MemoryEffects::Read>(effect.getEffect()));
    } else {
      flight.before = needed < flight.later.size() ? flight.later[needed] : next;
      flight.later.truncate(needed);
      return;
    }
  }
}

InFlight rootsOf(const Transfer &transfer) {
  InFlight roots;
  for (Value value : transfer.ins)
    roots.add(value, transfer.kind == ppcrt::CollectiveKind::Permute);
  for (Value value : transfer.outs)
    roots.add(value);
  return roots;
}

/// For a gather directly before its use, the wait precedes all loops of the run that contains its user.
Flight findFlightOfPrefetched(Operation *op, const Transfer &transfer) {
  InFlight roots = rootsOf(transfer);
  Flight flight;
  flight.behind = op->getPrevNode();
  findEnd(op, true, roots, flight);
  Operation *run = firstOfRun(flight.before, roots);
  if (run == flight.before || !flight.later.empty())
    return flight;
  flight.before = run;
  flight.work = 0;
  for (Operation *next = op->getNextNode(); next != run; next = next->getNextNode())
    flight.work += isWork(next);
  return flight;
}

Flight findFlight(Operation *op, const Transfer &transfer) {
  if (isPrefetched(transfer))
    return findFlightOfPrefetched(op, transfer);
  InFlight roots = rootsOf(transfer);
  llvm::SmallDenseSet<Value> values(transfer.ins.begin(), transfer.ins.end());
  values.insert(transfer.outs.begin(), transfer.outs.end());
  Flight flight;
  flight.behind = op->getPrevNode();
  while (flight.behind && isIndependent(flight.behind, roots) &&
         llvm::none_of(flight.behind->getResults(), [&](Value result) { return values.contains(result); })) {
    flight.work += isWork(flight.behind);
    flight.behind = flight.behind->getPrevNode();
  }
  findEnd(op, false, std::move(roots), flight);
  return flight;
}

/// Whether a group joins pipeline ranks. Their code differs, and with it the ops that can overlap with a
/// collective; for the program's order of events, a collective that one rank starts and another waits for in place are
/// two different ones.
bool joinsDevices(ppcrt::GroupOp group) {
  return !group || !group.getAxesAttr() ||
         llvm::any_of(group.getAxesAttr(), [](Attribute axis) { return cast<StringAttr>(axis).getValue() == "pp"; });
}

/// Moves gathers of arguments out of a run of loops, whether they are started or not, so that the loops round equally.
void leaveRun(Operation *op, const Transfer &transfer) {
  Operation *next = op->getNextNode();
  while (next && isPlace(next))
    next = next->getNextNode();
  Operation *previous = op->getPrevNode();
  while (previous && isPlace(previous))
    previous = previous->getPrevNode();
  InFlight roots = rootsOf(transfer);
  if (next && previous && isLoop(next) && isLoop(previous) && isIndependent(previous, roots))
    moveWithPlaces(op, firstOfRun(previous, roots));
}

struct StartCollectivesPass : impl::StartCollectivesPassBase<StartCollectivesPass> {
  using StartCollectivesPassBase::StartCollectivesPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      AccessOrder order(function.front());
      int64_t own = 0, work = 0;
      SmallVector<Operation *> collectives; // before loops move
      for (Operation &op : function.front())
        if (transferOf(&op))
          collectives.push_back(&op);
      for (Operation *op : collectives)
        if (Transfer transfer = *transferOf(op); isPrefetched(transfer))
          leaveRun(op, transfer);
      for (Operation *op : begin ? ArrayRef<Operation *>(collectives) : ArrayRef<Operation *>()) {
        Transfer transfer = *transferOf(op);
        if (Flight flight = findFlight(op, transfer);
            flight.work && !joinsDevices(symbols.lookup<ppcrt::GroupOp>(transfer.group.getAttr()))) {
          start(op, transfer, flight, order);
          ++own;
          work += flight.work;
        }
      }
      if (own)
        remark::passed(function.getLoc(), remark::RemarkOpts::name("collectives").category("ppc-overlap"))
            << llvm::formatv("{0}: {1} collectives are overlapped with {2} ops", function.getSymName(), own, work)
                   .str();
      if (failed(order.verify()))
        return signalPassFailure();
    }
  }

  void start(Operation *op, const Transfer &transfer, const Flight &flight, AccessOrder &order) {
    OpBuilder at(op);
    if (flight.behind)
      at.setInsertionPointAfter(flight.behind);
    else
      at.setInsertionPointToStart(op->getBlock());
    auto begun =
        ppcrt::StartOp::create(at, op->getLoc(), ppcrt::TokenType::get(op->getContext()),
                               ppcrt::CollectiveKindAttr::get(op->getContext(), transfer.kind), transfer.reduction,
                               transfer.group, transfer.shift, transfer.ins, transfer.outs);
    at.setInsertionPoint(flight.before);
    SmallVector<Value> buffers(transfer.ins);
    llvm::append_range(buffers, transfer.outs);
    auto ended = ppcrt::WaitOp::create(at, op->getLoc(), begun.getToken(), buffers);
    order.replace(op, begun, ended);
    for (Operation *loop : flight.later)
      loop->moveBefore(flight.before);
    op->erase();
  }
};

} // namespace
} // namespace mlir::ppc
