// ppc-prefetch-gathers: sharded parameters are gathered while earlier ops still run.
#include "RunTimes.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Transforms/Overlap/Passes.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace mlir::ppc {
#define GEN_PASS_DEF_PREFETCHGATHERSPASS
#include "ppc/Transforms/Overlap/Passes.h.inc"

namespace {

/// How early gathers start.
struct Reach {
  int64_t ahead = 0;         ///< maximal number of gathers that have started and are not used yet
  bool crossesLayers = true; ///< else a gather starts in the layer that uses it
};
/// Candidates in the order in which they are tried. If none crosses layers, the code of a layer does not depend on
/// its neighbours.
constexpr Reach kReaches[] = {{1, false}, {2, false}, {1, true}, {2, true}};
/// Fraction of the time of all gathers that a larger reach must save.
constexpr double kLeastSaved = 0.01;

/// Kind and axes of a collective, for `collectiveTime`; std::nullopt for other ops.
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
  size_t place;     ///< its position: index of the op of the work that it precedes
  size_t first = 0; ///< op of the work that uses it first
  size_t last = 0;  ///< and last
  Bytes bytes;
};

class GatherPrefetch {
public:
  /// `lasting`: arguments of the code that are the same in every micro-batch, as parameters are.
  GatherPrefetch(func::FuncOp code, BitVector lasting, GridAttr grid, const Cluster &machine, Precision precision)
      : code(code), lasting(std::move(lasting)), grid(grid), machine(machine), precision(precision) {}

  /// Finds work and gathers; whether there is something to do.
  bool read();
  Seconds timeWith(Reach reach) const { return timeOf(orderOf(places(reach))); }
  Seconds gatheringTime() const { return gathering; }
  size_t gatherCount() const { return gathers.size(); }
  func::FuncOp getCode() const { return code; }
  void move(Reach reach);

private:
  SmallVector<size_t> places(Reach reach) const;
  SmallVector<Operation *> orderOf(ArrayRef<size_t> places) const;
  Seconds timeOf(ArrayRef<Operation *> ops) const;
  size_t beginOfLayer(size_t place) const;
  IntegerAttr layerBefore() const;

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

/// For each gather the op of `work` before which it starts, if it starts at the first use of the gather
/// `reach.ahead` before it.
SmallVector<size_t> GatherPrefetch::places(Reach reach) const {
  SmallVector<double> held(work.size(), 0); // bytes that are gathered at each op
  auto hold = [&](const Gather &gather, size_t place) {
    for (size_t at = place; at <= gather.last; ++at)
      held[at] += gather.bytes.value;
  };
  for (const Gather &gather : gathers)
    hold(gather, gather.place);
  SmallVector<double> limit(work.size()); // limit of the layer, equal for all of its ops
  for (size_t begin = 0, end; begin < work.size(); begin = end) {
    for (end = begin; end < work.size() && work[end]->getAttr(attr::layer) == work[begin]->getAttr(attr::layer);)
      ++end;
    std::fill(limit.begin() + begin, limit.begin() + end, 2 * *std::max_element(&held[begin], &held[0] + end));
  }
  SmallVector<size_t> result;
  held.assign(work.size(), 0);
  for (auto [number, gather] : llvm::enumerate(gathers)) {
    size_t place = gather.place;
    if (reach.ahead > 0) {
      size_t earliest = size_t(reach.ahead) > number ? 0 : gathers[number - reach.ahead].first;
      if (!result.empty())
        earliest = std::max(earliest, result.back());
      place = gather.first;
      if (!reach.crossesLayers)
        earliest = std::max(earliest, beginOfLayer(place));
      while (place > earliest && held[place - 1] + gather.bytes.value <= limit[place - 1])
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

/// Time of ops in this order: gathers run until they are used, other collectives also until the next one of them
/// starts.
Seconds GatherPrefetch::timeOf(ArrayRef<Operation *> ops) const {
  double clock = 0, link = 0;
  DenseMap<Operation *, double> ends; // by collective
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

/// Index of the first op of the layer of an op of the work.
size_t GatherPrefetch::beginOfLayer(size_t place) const {
  Attribute layer = work[place]->getAttr(attr::layer);
  while (place > 0 && work[place - 1]->getAttr(attr::layer) == layer)
    --place;
  return place;
}

/// A layer in front of the first one.
IntegerAttr GatherPrefetch::layerBefore() const {
  auto numberOf = [](Operation *op) { return op->getAttrOfType<IntegerAttr>(attr::layer); };
  IntegerAttr first = numberOf(work.front()), last = numberOf(work.back());
  if (!first || !last)
    return {};
  return IntegerAttr::get(first.getType(), first.getInt() + (first.getInt() > last.getInt() ? 1 : -1));
}

/// Gathers that start before all other ops, where a later layer has the gathers of its predecessor, form a layer of
/// their own: the first layer is then like the others.
void GatherPrefetch::move(Reach reach) {
  SmallVector<size_t> places = this->places(reach);
  Operation *terminator = code.front().getTerminator();
  IntegerAttr before = layerBefore();
  for (auto [number, gather, place] : llvm::enumerate(gathers, places)) {
    bool isCarried = reach.crossesLayers && int64_t(number) < reach.ahead && place == 0;
    if (Attribute layer = isCarried && before ? before : work[place]->getAttr(attr::layer))
      gather.op->setAttr(attr::layer, layer);
    else
      gather.op->removeAttr(attr::layer);
  }
  for (Operation *op : orderOf(places))
    op->moveBefore(terminator);
}

/// The reach that saves most, each farther one enough to be worth it.
static Reach chooseReach(ArrayRef<GatherPrefetch> functions) {
  auto timeWith = [&](Reach reach) {
    double sum = 0;
    for (const GatherPrefetch &function : functions)
      sum += function.timeWith(reach).value;
    return sum;
  };
  double gathering = 0;
  for (const GatherPrefetch &function : functions)
    gathering += function.gatheringTime().value;
  Reach best;
  double least = timeWith(best);
  for (Reach reach : kReaches)
    if (double time = timeWith(reach); time < least - kLeastSaved * gathering)
      least = time, best = reach;
  return best;
}

static void noteReach(const GatherPrefetch &function, Reach reach) {
  Seconds saved = function.timeWith({}) - function.timeWith(reach);
  func::FuncOp code = function.getCode();
  remark::passed(code.getLoc(), remark::RemarkOpts::name("gathers").category("ppc-overlap"))
      << llvm::formatv("{0}: {1} gathers of parameters begin {2} ahead{3}; of {4} that they take, {5} are saved",
                       code.getSymName(), function.gatherCount(), reach.ahead,
                       reach.crossesLayers ? "" : " in their layer", toString(function.gatheringTime()),
                       toString(saved))
             .str();
}

/// Arguments to which no routine binds a buffer with slots. Gathers of saved values of a micro-batch, as in
/// sequence parallelism, stay in place: gathered earlier they would take more memory than the planner estimates.
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
    // Functions of a kind together: a layer that one of them has as another one has it is compiled once.
    std::map<ppcrt::RoutineKind, std::vector<GatherPrefetch>> kinds;
    for (auto code : module.getOps<func::FuncOp>())
      if (std::optional<ppcrt::RoutineKind> kind = ppcrt::routineKindOf(code);
          kind && !ppcrt::isOfStep(*kind) && !code.isExternal())
        if (GatherPrefetch function(code, lastingArguments(program, code), program.getGrid(), *machine,
                                    precisionOf(module));
            function.read())
          kinds[*kind].push_back(std::move(function));
    for (auto &[kind, functions] : kinds) {
      Reach reach = ahead < 0 ? chooseReach(functions) : Reach{ahead};
      if (reach.ahead == 0)
        continue;
      for (GatherPrefetch &function : functions) {
        noteReach(function, reach);
        function.move(reach);
      }
    }
  }
};
} // namespace

} // namespace mlir::ppc
