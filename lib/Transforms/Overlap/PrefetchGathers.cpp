// ppc-prefetch-gathers: parameters that are cut over ranks are gathered while what comes before their use still runs.
#include "RunTimes.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Transforms/Overlap/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_PREFETCHGATHERSPASS
#include "ppc/Transforms/Overlap/Passes.h.inc"

namespace {

/// Gathers that have begun and are not used yet.
constexpr int64_t kMostAhead = 2;

/// What a collective moves, as `collectiveTime` has it; nothing for other ops.
std::optional<std::pair<CollectiveKind, ArrayAttr>> collectiveOf(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return std::pair(CollectiveKind::AllReduce, reduce.getAxes());
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return std::pair(CollectiveKind::AllGather, gather.getAxes());
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return std::pair(CollectiveKind::ReduceScatter, scatter.getAxes());
  if (auto exchange = dyn_cast<AllToAllOp>(op))
    return std::pair(CollectiveKind::AllToAll, exchange.getAxes());
  return std::nullopt;
}

Bytes bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return Bytes(double(type.getNumElements()) * type.getElementTypeBitWidth() / 8);
}

/// A gather of a value that the code is given, so that nothing in the code has to come before it.
struct Gather {
  AllGatherOp op;
  size_t place;     ///< where it stands: the op of the work in front of which it is
  size_t first = 0; ///< op of the work that uses it first
  size_t last = 0;  ///< and last
  Bytes bytes;
};

class GatherPrefetch {
public:
  /// `lasting`: arguments of the code that are the same in every micro-batch, as parameters are.
  GatherPrefetch(func::FuncOp code, BitVector lasting, GridAttr grid, const Cluster &machine, Precision precision)
      : code(code), lasting(std::move(lasting)), grid(grid), machine(machine), precision(precision) {}

  void run(int64_t ahead);

private:
  bool read();
  SmallVector<size_t> places(int64_t ahead) const;
  SmallVector<Operation *> orderOf(ArrayRef<size_t> places) const;
  Seconds timeOf(ArrayRef<Operation *> ops) const;
  void move(ArrayRef<size_t> places);

  func::FuncOp code;
  BitVector lasting;
  GridAttr grid;
  const Cluster &machine;
  Precision precision;
  std::vector<Operation *> work; ///< all ops but gathers and constants, in the order in which they run
  std::vector<Gather> gathers;   ///< in the order in which they are used
  DenseMap<Operation *, Seconds> times;
  Seconds gathering{0}; ///< all gathers, by themselves
};

} // namespace

/// Finds work and gathers; whether there is something to do.
bool GatherPrefetch::read() {
  auto isGather = [&](Operation *op) {
    auto gather = dyn_cast<AllGatherOp>(op);
    if (!gather || gather.getRotated())
      return false;
    auto argument = dyn_cast<BlockArgument>(gather.getX());
    return argument && lasting.test(argument.getArgNumber()) &&
           !llvm::is_contained(axisNames(gather.getAxes()), "pp") && !gather->use_empty() &&
           llvm::all_of(gather->getUsers(), [](Operation *user) { return !user->hasTrait<OpTrait::IsTerminator>(); });
  };
  SmallVector<Operation *> ops;
  for (Operation &op : code.front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      ops.push_back(&op);
  if (llvm::none_of(ops, isGather))
    return false;
  if (SmallVector<int64_t> order = orderOfLayers(code); !order.empty()) {
    DenseMap<int64_t, size_t> ranks;
    for (auto [rank, layer] : llvm::enumerate(order))
      ranks[layer] = rank;
    llvm::stable_sort(ops, [&](Operation *a, Operation *b) {
      auto rankOf = [&](Operation *op) { return ranks.lookup(op->getAttrOfType<IntegerAttr>(attr::layer).getInt()); };
      return rankOf(a) < rankOf(b);
    });
  }
  DenseMap<Operation *, size_t> placeOf;
  for (Operation *op : ops) {
    if (isGather(op)) {
      auto gather = cast<AllGatherOp>(op);
      gathers.push_back({gather, work.size(), work.size(), 0, bytesOf(gather.getY())});
    } else {
      placeOf[op] = work.size();
      work.push_back(op);
    }
    Seconds time = ppc::timeOf(op, machine.device(), precision);
    if (auto collective = collectiveOf(op)) {
      auto [kind, axes] = *collective;
      Value whole = kind == CollectiveKind::AllGather ? op->getResult(0) : op->getOperand(0);
      time = timeOverAxes(machine, grid, axes, kind, bytesOf(whole));
    }
    times[op] = time;
    if (isGather(op))
      gathering += time;
  }
  for (Gather &gather : gathers) {
    gather.first = work.size();
    for (Operation *user : gather.op->getUsers()) {
      gather.first = std::min(gather.first, placeOf.lookup(user));
      gather.last = std::max(gather.last, placeOf.lookup(user));
    }
  }
  llvm::stable_sort(gathers, [](const Gather &a, const Gather &b) { return a.first < b.first; });
  return !work.empty();
}

/// In front of which work each gather begins, when it does where the one so many before it is used first.
SmallVector<size_t> GatherPrefetch::places(int64_t ahead) const {
  SmallVector<double> held(work.size(), 0); // bytes that are gathered at each op
  auto hold = [&](const Gather &gather, size_t place) {
    for (size_t at = place; at <= gather.last; ++at)
      held[at] += gather.bytes.value;
  };
  for (const Gather &gather : gathers)
    hold(gather, gather.place);
  double limit = 2 * *llvm::max_element(held);
  SmallVector<size_t> result;
  held.assign(work.size(), 0);
  for (auto [number, gather] : llvm::enumerate(gathers)) {
    size_t place = gather.place;
    if (ahead > 0) {
      size_t earliest = size_t(ahead) > number ? 0 : gathers[number - ahead].first;
      if (!result.empty())
        earliest = std::max(earliest, result.back());
      place = gather.first;
      while (place > earliest && held[place - 1] + gather.bytes.value <= limit)
        --place;
    }
    result.push_back(place);
    hold(gather, place);
  }
  return result;
}

SmallVector<Operation *> GatherPrefetch::orderOf(ArrayRef<size_t> places) const {
  std::vector<SmallVector<Operation *>> before(work.size());
  for (auto [gather, place] : llvm::zip_equal(gathers, places))
    before[place].push_back(gather.op);
  SmallVector<Operation *> order;
  for (auto [op, own] : llvm::zip_equal(work, before)) {
    llvm::append_range(order, own);
    order.push_back(op);
  }
  return order;
}

/// Of ops in this order: gathers go on until they are used, other collectives also until the next one of them begins.
Seconds GatherPrefetch::timeOf(ArrayRef<Operation *> ops) const {
  double clock = 0, link = 0;
  DenseMap<Operation *, double> ends; // of collectives
  llvm::SmallDenseSet<Operation *> begunEarly;
  for (const Gather &gather : gathers)
    begunEarly.insert(gather.op);
  Operation *last = nullptr;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (auto end = ends.find(operand.getDefiningOp()); end != ends.end())
        clock = std::max(clock, end->second);
    if (!collectiveOf(op)) {
      clock += times.lookup(op).value;
      continue;
    }
    if (!begunEarly.contains(op)) {
      if (last)
        clock = std::max(clock, ends.lookup(last));
      last = op;
    }
    link = ends[op] = std::max(clock, link) + times.lookup(op).value;
  }
  return Seconds(std::max(clock, link));
}

void GatherPrefetch::move(ArrayRef<size_t> places) {
  Operation *terminator = code.front().getTerminator();
  for (auto [gather, place] : llvm::zip_equal(gathers, places)) {
    if (Attribute layer = work[place]->getAttr(attr::layer))
      gather.op->setAttr(attr::layer, layer);
    else
      gather.op->removeAttr(attr::layer);
  }
  for (Operation *op : orderOf(places))
    op->moveBefore(terminator);
}

void GatherPrefetch::run(int64_t ahead) {
  if (!read())
    return;
  Seconds before = timeOf(orderOf(places(0))), best = before;
  if (ahead < 0) {
    ahead = 0;
    for (int64_t tried = 1; tried <= kMostAhead; ++tried)
      if (Seconds time = timeOf(orderOf(places(tried))); time.value < best.value - 0.01 * gathering.value) {
        best = time;
        ahead = tried;
      }
  } else {
    best = timeOf(orderOf(places(ahead)));
  }
  if (ahead == 0)
    return;
  move(places(ahead));
  remark::passed(code.getLoc(), remark::RemarkOpts::name("gathers").category("ppc-overlap"))
      << llvm::formatv("{0}: {1} gathers of parameters begin {2} ahead; of {3} that they take, {4} are saved",
                       code.getSymName(), gathers.size(), ahead, toString(gathering), toString(before - best))
             .str();
}

/// Arguments to which no routine binds a buffer with slots. What is kept of a micro-batch, whose gathers sequence
/// parallelism has, stays where it is: gathered earlier it would take more memory than the planner prices.
static BitVector lastingArguments(ppcrt::ProgramOp program, func::FuncOp code) {
  ppcrt::ProgramSymbols symbols(program);
  BitVector lasting(code.getNumArguments(), true);
  for (ppcrt::DeviceOp device : program.getDevices())
    for (auto routine : device.getBody().front().getOps<ppcrt::RoutineOp>())
      if (routine.getCode() == code.getSymName())
        for (auto [number, name] : llvm::enumerate(routine.getReads().getAsRange<FlatSymbolRefAttr>()))
          if (symbols.buffer(device, name.getAttr()).hasSlots())
            lasting.reset(number);
  return lasting;
}

namespace {
struct PrefetchGathersPass : impl::PrefetchGathersPassBase<PrefetchGathersPass> {
  using PrefetchGathersPassBase::PrefetchGathersPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    ppcrt::ProgramOp program = ppcrt::requireProgram(module);
    if (!program)
      return signalPassFailure();
    llvm::Expected<Cluster> machine = machineOf(cluster, program.getGrid().deviceCount());
    if (!machine) {
      module.emitError() << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    for (auto code : module.getOps<func::FuncOp>())
      if (std::optional<ppcrt::RoutineKind> kind = ppcrt::routineKindOf(code);
          kind && !ppcrt::isOfStep(*kind) && !code.isExternal())
        GatherPrefetch(code, lastingArguments(program, code), program.getGrid(), *machine, precisionOf(module))
            .run(ahead);
  }
};
} // namespace

} // namespace mlir::ppc
