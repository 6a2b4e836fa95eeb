#include "ppc/Analysis/ProgramLedger.h"

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ppc {
namespace {

LedgerPhase phaseOf(ppcrt::RoutineKind kind) {
  switch (kind) {
  case ppcrt::RoutineKind::Prepare:
    return LedgerPhase::Prepare;
  case ppcrt::RoutineKind::Forward:
    return LedgerPhase::Forward;
  case ppcrt::RoutineKind::Backward:
    return LedgerPhase::Backward;
  case ppcrt::RoutineKind::WeightGradient:
    return LedgerPhase::WeightGradient;
  default:
    return LedgerPhase::Update;
  }
}

/// What a sum over ranks is a piece of (ppc-cut-products): the value that pieces are put together to. They are counted
/// as one sum of that, as they are priced. The sum itself where it is none.
template <typename SumOpTy> Value wholeOf(SumOpTy reduce) {
  Value value = reduce.getY();
  while (value.hasOneUse()) {
    auto concat = dyn_cast<ConcatOp>(*value.user_begin());
    bool areSums =
        concat && llvm::all_of(concat.getParts(), [&](Value part) {
          Operation *op = part.getDefiningOp();
          auto other = dyn_cast_or_null<SumOpTy>(op);
          return part == value || isa_and_nonnull<ConcatOp>(op) || (other && other.getAxes() == reduce.getAxes());
        });
    if (!areSums)
      break;
    value = concat.getY();
  }
  return value;
}

/// Whether no other piece of `whole` stands before it.
template <typename SumOpTy> bool isFirstPiece(SumOpTy reduce, Value whole) {
  Value first = whole;
  while (auto concat = first.getDefiningOp<ConcatOp>())
    first = concat.getParts().front();
  return first == reduce.getY();
}

int64_t bitsOf(ShapedType type) { return type.getElementTypeBitWidth(); }

class LedgerReader {
public:
  explicit LedgerReader(ppcrt::ProgramOp program)
      : program(program), module(program->getParentOfType<ModuleOp>()), symbols(program), functions(module) {
    int64_t stride = 1;
    GridAttr grid = program.getGrid();
    for (auto [name, size] : llvm::reverse(llvm::zip(grid.getNames(), grid.getSizes()))) {
      axes[name] = {size, stride};
      stride *= size;
    }
  }

  FailureOr<Ledger> read() {
    for (ppcrt::DeviceOp device : program.getDevices())
      if (failed(readStep(device)) || failed(readBuffers(device)))
        return failure();
    ledger.settle();
    return std::move(ledger);
  }

private:
  struct Axis {
    int64_t size, stride;
  };

  /// What ranks that differ in these axes are, of the first stages of `stages` where there are any.
  FailureOr<MemberSet> members(Operation *op, ArrayAttr names, DenseI64ArrayAttr stages = {}) {
    SmallVector<Axis> used;
    for (Attribute name : names) {
      auto axis = axes.find(cast<StringAttr>(name));
      if (axis == axes.end())
        return op->emitOpError() << "works over axis " << name << ", which the program's grid does not have";
      used.push_back(axis->second);
      if (stages && stages.size() > 1)
        used.back() = {stages.size(), axis->second.stride * (stages[1] - stages[0])};
    }
    llvm::sort(used, [](const Axis &a, const Axis &b) { return a.stride < b.stride; });
    MemberSet set;
    for (const Axis &axis : used)
      set.add(axis.size, axis.stride);
    return set;
  }

  LogicalResult addTransfer(Operation *op, TransferRow row, TransferKind kind, ArrayAttr axesOf, Value part,
                            bool isBlock, DenseI64ArrayAttr stages = {}) {
    return addTransfer(op, std::move(row), kind, axesOf, tensorType(part), isBlock, stages);
  }
  LogicalResult addTransfer(Operation *op, TransferRow row, TransferKind kind, ArrayAttr axesOf, RankedTensorType type,
                            bool isBlock, DenseI64ArrayAttr stages = {}) {
    FailureOr<MemberSet> set = members(op, axesOf, stages);
    if (failed(set))
      return failure();
    row.kind = kind;
    row.elementBits = bitsOf(type);
    row.elements = type.getNumElements() * (isBlock ? set->size() : 1);
    row.members = std::move(*set);
    ledger.transfers.push_back(std::move(row));
    return success();
  }

  void addWork(const TransferRow &place, bool attention, double flops) {
    ledger.work.push_back({place.device, place.phase, attention, int64_t(flops) * place.calls});
  }

  /// Products of an attention op: per pair of a query and a key that it sees, `keyWidths` times the width of a key and
  /// `valueWidths` times that of a value.
  template <typename OpTy>
  void addAttention(const TransferRow &place, OpTy op, int64_t keyWidths, int64_t valueWidths) {
    ArrayRef<int64_t> q = tensorType(op.getQ()).getShape(), k = tensorType(op.getK()).getShape();
    int64_t queries = op.getQueries() ? op.getQueries()->getExtent() : q[1], pairs = 0;
    for (int64_t first = 0; first < queries; first += q[1]) { // of the block that has most
      int64_t own = 0;
      for (int64_t query = first; query < std::min(first + q[1], queries); ++query) {
        int64_t last = op.getCausal() ? query + 1 + k[1] - queries : k[1];
        own += op.getWindow() ? std::min<int64_t>(last, *op.getWindow()) : last;
      }
      pairs = std::max(pairs, own);
    }
    int64_t width = keyWidths * k[3] + valueWidths * tensorType(op.getV()).getDimSize(3);
    addWork(place, true, 2.0 * double(pairs * q[0] * q[2] * q[3] * width));
  }

  /// One op of a routine; `place` says where and how often.
  LogicalResult readOp(Operation &op, const TransferRow &place) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
        .Case([&](AllReduceOp reduce) {
          Value whole = wholeOf(reduce);
          if (!isFirstPiece(reduce, whole))
            return success();
          return addTransfer(&op, place, TransferKind::AllReduce, reduce.getAxes(), whole, false,
                             reduce.getStagesAttr());
        })
        .Case([&](AllGatherOp gather) {
          if (gather.getRotated()) { // each block goes to the next rank until all have had it
            int64_t block = tensorType(gather.getX()).getDimSize(gather.getDim());
            TransferRow steps = place;
            steps.calls *= gather.getType().getDimSize(gather.getDim()) / block - 1;
            return addTransfer(&op, steps, TransferKind::Permute, gather.getAxes(), gather.getX(), false);
          }
          return addTransfer(&op, place, TransferKind::AllGather, gather.getAxes(), gather.getX(), true);
        })
        .Case([&](ReduceScatterOp scatter) {
          Value whole = wholeOf(scatter);
          if (!isFirstPiece(scatter, whole))
            return success();
          return addTransfer(&op, place, TransferKind::ReduceScatter, scatter.getAxes(), whole, true);
        })
        .Case([&](AllToAllOp exchange) {
          return addTransfer(&op, place, TransferKind::AllToAll, exchange.getAxes(), exchange.getX(), false);
        })
        .Case([&](MatmulOp product) {
          addWork(place, false, product.getCost().flops);
          return success();
        })
        .Case([&](AttentionOp attention) {
          addAttention(place, attention, 1, 1);
          return success();
        })
        .Case([&](AttentionBackwardOp attention) { // scores again and both gradients of them; of values and of powers
          addAttention(place, attention, 3, 2);
          return success();
        })
        .Default(success());
  }

  LogicalResult readRoutine(ppcrt::RoutineOp routine, int64_t device, int64_t runs) {
    auto code = functions.lookup<func::FuncOp>(routine.getCodeAttr().getAttr());
    if (!code)
      return routine.emitOpError() << "has code " << routine.getCodeAttr() << ", which is not a function of the module";
    TransferRow place;
    place.device = device;
    place.phase = phaseOf(routine.getKind());
    place.calls = runs;
    WalkResult result = code.walk(
        [&](Operation *op) { return failed(readOp(*op, place)) ? WalkResult::interrupt() : WalkResult::advance(); });
    return failure(result.wasInterrupted());
  }

  LogicalResult readStep(ppcrt::DeviceOp device) {
    ppcrt::StepOp step = device.getStep();
    if (!step)
      return device.emitOpError() << "has no step";
    llvm::MapVector<StringAttr, int64_t> runs, sends;
    for (Operation &action : step.getBody().front()) {
      if (auto run = dyn_cast<ppcrt::RunOp>(action))
        ++runs[run.getRoutineAttr().getAttr()];
      else if (auto send = dyn_cast<ppcrt::SendOp>(action))
        ++sends[send.getMessageAttr().getAttr()];
      else if (auto collective = dyn_cast<ppcrt::CollectiveOp>(action)) {
        if (failed(addBucket(device, collective)))
          return failure();
      } else if (!isa<ppcrt::LoadOp, ppcrt::ReceiveOp, ppcrt::CopyOp>(action)) // copies stay in the rank
        return action.emitOpError() << "is not counted: programs load, run, send, receive and reduce buckets";
    }
    for (auto [name, count] : runs)
      if (failed(readRoutine(symbols.routine(device, name), device.getAt(), count)))
        return failure();
    for (auto [name, count] : sends)
      addMessage(device, symbols.message(name), count);
    return success();
  }

  /// A row for each buffer, in the phase of the update, where the price has them.
  LogicalResult addBucket(ppcrt::DeviceOp device, ppcrt::CollectiveOp collective) {
    auto group = module.lookupSymbol<ppcrt::GroupOp>(collective.getGroup());
    bool isScatter = collective.getKind() == ppcrt::CollectiveKind::ReduceScatter;
    if (!group || !group.getAxes() || (!isScatter && collective.getKind() != ppcrt::CollectiveKind::AllReduce))
      return collective.emitOpError("is not counted: buckets are reduced over axes");
    TransferRow place;
    place.device = device.getAt();
    place.phase = LedgerPhase::Update;
    place.calls = 1;
    for (Attribute name : collective.getWrites()) {
      ppcrt::BufferOp buffer = symbols.buffer(device, cast<FlatSymbolRefAttr>(name).getAttr());
      if (failed(addTransfer(collective, place, isScatter ? TransferKind::ReduceScatter : TransferKind::AllReduce,
                             group.getAxesAttr(), buffer.getTensorType(), isScatter, group.getStagesAttr())))
        return failure();
    }
    return success();
  }

  void addMessage(ppcrt::DeviceOp device, ppcrt::MessageOp message, int64_t count) {
    ppcrt::DeviceOp receiver = symbols.device(message.getReceiver());
    RankedTensorType type = symbols.sent(message).getTensorType();
    TransferRow row;
    row.device = device.getAt();
    row.phase = phaseOf(symbols.routine(device, message.getMadeAttr().getAttr()).getKind());
    row.kind = TransferKind::Message;
    row.members = MemberSet(2, int64_t(receiver.getAt() - device.getAt()) * program.getDeviceGrid().deviceCount());
    row.elementBits = bitsOf(type);
    row.elements = type.getNumElements();
    row.calls = count;
    ledger.transfers.push_back(std::move(row));
  }

  /// Whether an update writes it.
  static bool isOfUpdate(ppcrt::DeviceOp device, ppcrt::BufferOp buffer) {
    return llvm::any_of(device.getBody().front().getOps<ppcrt::RoutineOp>(), [&](ppcrt::RoutineOp routine) {
      return routine.getKind() == ppcrt::RoutineKind::Update &&
             llvm::is_contained(routine.getWrites(), FlatSymbolRefAttr::get(buffer.getSymNameAttr()));
    });
  }

  LogicalResult readBuffers(ppcrt::DeviceOp device) {
    for (auto buffer : device.getBody().front().getOps<ppcrt::BufferOp>()) {
      if (buffer.getShares()) // the slots of another one
        continue;
      MemoryRow row;
      row.device = device.getAt();
      row.bytes = buffer.getBytes() * buffer.getSlotCount();
      switch (buffer.getRole()) {
      case ppcrt::BufferRole::Parameter:
        row.kind = MemoryRow::Kind::Parameters;
        break;
      case ppcrt::BufferRole::State:
        row.kind = MemoryRow::Kind::State;
        break;
      case ppcrt::BufferRole::Gradient:
      case ppcrt::BufferRole::Accumulator:
        row.kind = MemoryRow::Kind::Gradients;
        break;
      case ppcrt::BufferRole::Prepared:
        if (isOfUpdate(device, buffer)) // crosses between parts of an update on the host
          continue;
        row.kind = MemoryRow::Kind::Prepared;
        break;
      case ppcrt::BufferRole::Input:
      case ppcrt::BufferRole::Saved:
      case ppcrt::BufferRole::Message:
        row.kind = buffer.getMemory() == ppcrt::Memory::Host ? MemoryRow::Kind::HostSlots : MemoryRow::Kind::Slots;
        break;
      default:
        continue;
      }
      if (llvm::is_contained({ppcrt::BufferRole::Accumulator, ppcrt::BufferRole::Prepared}, buffer.getRole()) &&
          buffer.getTensorType().getRank() == 0)
        continue; // sums of the loss, and the scale of gradients
      ledger.memory.push_back(row);
    }
    return success();
  }

  ppcrt::ProgramOp program;
  ModuleOp module;
  ppcrt::ProgramSymbols symbols;
  SymbolTable functions;
  DenseMap<StringAttr, Axis> axes;
  Ledger ledger;
};

} // namespace

FailureOr<Ledger> programLedger(ModuleOp module) {
  ppcrt::ProgramOp program = ppcrt::findProgram(module);
  if (!program)
    return module.emitError() << "has no ppcrt.program: run ppc-phase-partition first";
  return LedgerReader(program).read();
}

} // namespace mlir::ppc
