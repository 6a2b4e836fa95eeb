// ppc-overlap-reductions: reduces buckets of gradients in actions that overlap with the runs that compute the next
// ones.
#include "GradientReductions.h"
#include "RunTimes.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Scheduling/ReductionBuckets.h"
#include "ppc/Transforms/Overlap/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

namespace mlir::ppc {
#define GEN_PASS_DEF_OVERLAPREDUCTIONSPASS
#include "ppc/Transforms/Overlap/Passes.h.inc"

namespace {

using namespace ppcrt;

/// For each kind and group: routines of the CPU backend have at most 64 entries of `early`.
constexpr size_t kMostBuckets = 32;

/// A reduction, and the time in the step when its operand is complete.
struct Ready {
  GradientReduction reduction;
  size_t run;                   ///< index in the step of the last run that adds to it
  std::optional<int64_t> layer; ///< layer of that run's code after which it is complete; none: at the end of the run
  Seconds at;                   ///< from the beginning of the step
};

/// Reductions that one collective does.
struct Bucket {
  FlatSymbolRefAttr group;
  StringRef stream;
  SmallVector<const Ready *> parts; ///< in the order in which they are ready
  std::optional<unsigned> early;    ///< the token of the last part's run that it waits for; none: the last
  const Ready &last() const { return *parts.back(); }
};

/// Overlaps the reductions of one device.
class DeviceOverlap {
public:
  DeviceOverlap(DeviceOp device, const ProgramSymbols &symbols, const SymbolTable &functions, const Cluster &machine,
                int64_t count)
      : device(device), symbols(symbols), functions(functions), machine(machine), count(count),
        precision(precisionOf(cast<ModuleOp>(functions.getOp()))) {}

  void run();

private:
  void findRuns();
  void findReady();
  const LayerTimes &timesOf(RunOp run);
  void chooseBuckets(ArrayRef<const Ready *> parts);
  Seconds timeOf(const Ready &part, Bytes bytes) const;
  void makeEarly();
  void addCollectives();
  void report(ArrayRef<const Ready *> parts, const ReductionBuckets &chosen, Seconds alone);
  RoutineOp routineOf(RunOp run) const { return symbols.routine(device, run.getRoutineAttr().getAttr()); }
  func::FuncOp codeOf(RoutineOp routine) { return functions.lookup<func::FuncOp>(routine.getCodeAttr().getAttr()); }

  DeviceOp device;
  const ProgramSymbols &symbols;
  const SymbolTable &functions;
  const Cluster &machine;
  int64_t count;
  Precision precision;
  RoutineOp update;
  SmallVector<RunOp> runs;     ///< runs of the step before the update, in order
  SmallVector<Seconds> begins; ///< start of each run, one after the other
  Seconds end{0};              ///< end of all runs
  RunOp updateRun;
  DenseMap<Operation *, std::unique_ptr<LayerTimes>> times; ///< by code
  std::vector<Ready> ready;
  std::vector<Bucket> buckets;
};

} // namespace

const LayerTimes &DeviceOverlap::timesOf(RunOp run) {
  func::FuncOp code = codeOf(routineOf(run));
  std::unique_ptr<LayerTimes> &known = times[code];
  if (!known)
    known = std::make_unique<LayerTimes>(code, machine.device(), precision);
  return *known;
}

void DeviceOverlap::findRuns() {
  for (auto run : device.getStep().getBody().front().getOps<RunOp>()) {
    if (run.getRoutineAttr().getAttr() == update.getSymNameAttr()) {
      updateRun = run;
      continue;
    }
    runs.push_back(run);
    begins.push_back(end);
    end += timesOf(run).total();
  }
}

void DeviceOverlap::findReady() {
  llvm::MapVector<Attribute, size_t> lastOf; // by routine
  for (auto [place, run] : llvm::enumerate(runs))
    lastOf[run.getRoutineAttr()] = place;
  DenseMap<Attribute, size_t> lastRun; // by buffer that is written
  for (auto [routine, place] : lastOf)
    for (Attribute name : routineOf(runs[place]).getWrites())
      lastRun[name] = std::max(lastRun.lookup(name), place);
  for (const GradientReduction &reduction : findReductions(update, codeOf(update), functions)) {
    auto name = FlatSymbolRefAttr::get(BufferOp(reduction.from).getSymNameAttr());
    auto run = lastRun.find(name);
    if (run == lastRun.end())
      continue;
    const LayerTimes &own = timesOf(runs[run->second]);
    RoutineOp routine = routineOf(runs[run->second]);
    func::FuncOp code = codeOf(routine);
    Value sum =
        code.front().getTerminator()->getOperand(llvm::find(routine.getWrites(), name) - routine.getWrites().begin());
    std::optional<int64_t> layer = own.layerOf(sum.getDefiningOp());
    if (layer && (own.isLast(*layer) || !sum.hasOneUse()))
      layer.reset();
    for (auto [argument, read] : llvm::zip_equal(code.getArguments(), routine.getReads()))
      if (read == name &&
          !llvm::all_of(argument.getUsers(), [&](Operation *user) { return own.layerOf(user) == layer; }))
        layer.reset();
    Seconds at = begins[run->second] + (layer ? own.endOf(*layer) : own.total());
    ready.push_back({reduction, run->second, layer, at});
  }
}

Seconds DeviceOverlap::timeOf(const Ready &part, Bytes bytes) const {
  auto kind = part.reduction.kind == ppcrt::CollectiveKind::AllReduce ? ppc::CollectiveKind::AllReduce
                                                                      : ppc::CollectiveKind::ReduceScatter;
  return timeOverAxes(machine, DeviceOp(device).getProgram().getGrid(), part.reduction.axes, kind, bytes);
}

/// Chooses buckets for reductions of one kind over one group, in the order in which they are ready.
void DeviceOverlap::chooseBuckets(ArrayRef<const Ready *> parts) {
  SmallVector<ReductionPiece> pieces;
  SmallVector<size_t> ends; // by entry of `pieces`: end of its range in `parts`
  for (auto [i, part] : llvm::enumerate(parts)) {
    Bytes bytes(double(BufferOp(part->reduction.from).getBytes()));
    if (i && part->run == parts[i - 1]->run && part->layer == parts[i - 1]->layer) {
      pieces.back().bytes += bytes;
      ends.back() = i + 1;
      continue;
    }
    pieces.push_back({part->at, bytes});
    ends.push_back(i + 1);
  }
  Bytes all(0);
  for (const ReductionPiece &piece : pieces)
    all += piece.bytes;
  auto time = [&](Bytes bytes) { return timeOf(*parts.front(), bytes); };
  Seconds alone = time(all);
  ReductionBuckets chosen =
      chooseReductionBuckets(pieces, time, alone * 0.01, count ? std::optional<size_t>(count) : std::nullopt);
  if (chosen.ends.size() > kMostBuckets)
    chosen = chooseReductionBuckets(pieces, time, alone * 0.01, kMostBuckets);
  bool isHidden = chosen.end.value < (end + alone * 0.99).value;
  if (!count && !isHidden)
    return;
  report(parts, chosen, alone);
  auto group = findOrAddGroup(cast<ModuleOp>(functions.getOp()), parts.front()->reduction.axes);
  Builder builder(device.getContext());
  std::string stream = llvm::join(axisNames(parts.front()->reduction.axes), "_") + "_comm";
  size_t first = 0;
  for (size_t end : chosen.ends) {
    Bucket &bucket = buckets.emplace_back();
    bucket.group = group;
    bucket.stream = builder.getStringAttr(stream).getValue();
    for (; first < ends[end - 1]; ++first)
      bucket.parts.push_back(parts[first]);
  }
}

void DeviceOverlap::report(ArrayRef<const Ready *> parts, const ReductionBuckets &chosen, Seconds alone) {
  Seconds exposed(std::max(0.0, (chosen.end - end).value));
  remark::passed(update.getLoc(), remark::RemarkOpts::name("reductions").category("ppc-overlap"))
      << llvm::formatv("device {0}: {1} gradients are reduced over [{2}] in {3} buckets, overlapped with the last "
                       "micro-batch; of {4} "
                       "for one reduction of all, {5} are left after it",
                       int64_t(device.getAt()), parts.size(),
                       llvm::join(axisNames(parts.front()->reduction.axes), ", "), chosen.ends.size(), toString(alone),
                       toString(exposed))
             .str();
}

/// Lets routines signal when they have finished with buckets, and the last runs return tokens for that.
void DeviceOverlap::makeEarly() {
  std::map<size_t, SmallVector<Bucket *>> byRun;
  for (Bucket &bucket : buckets)
    if (bucket.last().layer)
      byRun[bucket.last().run].push_back(&bucket);
  Builder builder(device.getContext());
  for (auto &[place, own] : byRun) {
    RunOp run = runs[place];
    RoutineOp routine = routineOf(run);
    func::FuncOp code = codeOf(routine);
    const LayerTimes &layers = timesOf(run);
    SmallVector<Attribute> entries;
    for (auto [entry, bucket] : llvm::enumerate(own)) {
      SmallVector<Attribute> names;
      SmallVector<Value> values;
      for (const Ready *part : bucket->parts) {
        if (part->run != place)
          continue;
        names.push_back(FlatSymbolRefAttr::get(BufferOp(part->reduction.from).getSymNameAttr()));
        unsigned number = llvm::find(routine.getWrites(), names.back()) - routine.getWrites().begin();
        values.push_back(code.front().getTerminator()->getOperand(number));
      }
      entries.push_back(builder.getArrayAttr(names));
      bucket->early = entry;
      Operation *behind = layers.lastOf(*bucket->last().layer);
      for (Value value : values)
        if (Operation *made = value.getDefiningOp(); made && behind->isBeforeInBlock(made))
          behind = made;
      OpBuilder at(device.getContext());
      at.setInsertionPointAfter(behind);
      while (isa<ReachOp>(*at.getInsertionPoint()))
        at.setInsertionPointAfter(&*at.getInsertionPoint());
      auto reach = ReachOp::create(at, routine.getLoc(), entry, values);
      reach->setAttr(attr::layer, builder.getI64IntegerAttr(*bucket->last().layer));
    }
    routine.setEarlyAttr(builder.getArrayAttr(entries));
    OpBuilder at(run);
    SmallVector<Type> tokens(entries.size() + 1, TokenType::get(device.getContext()));
    auto withTokens = RunOp::create(at, run.getLoc(), tokens, run.getRoutineAttr(), run.getMicroBatchAttr(),
                                    run.getAfter(), run.getStreamAttr());
    for (Value old : run.getTokens())
      old.replaceAllUsesWith(withTokens.getTokens().back());
    run.erase();
    runs[place] = withTokens;
  }
}

/// After the last run that they wait for, in the order in which they are ready.
void DeviceOverlap::addCollectives() {
  llvm::stable_sort(buckets, [](const Bucket &a, const Bucket &b) {
    return std::pair(a.last().run, a.last().at.value) < std::pair(b.last().run, b.last().at.value);
  });
  llvm::MapVector<StringRef, Value> lastOf; // by stream: the token of its last action
  DenseMap<size_t, Operation *> lastAfter;  // by run
  MLIRContext *context = device.getContext();
  Builder builder(context);
  for (const Bucket &bucket : buckets) {
    RunOp run = runs[bucket.last().run];
    Operation *&before = lastAfter.try_emplace(bucket.last().run, run).first->second;
    OpBuilder at(context);
    at.setInsertionPointAfter(before);
    SmallVector<Attribute> from, to;
    for (const Ready *part : bucket.parts) {
      from.push_back(FlatSymbolRefAttr::get(BufferOp(part->reduction.from).getSymNameAttr()));
      to.push_back(FlatSymbolRefAttr::get(BufferOp(part->reduction.to).getSymNameAttr()));
    }
    if (!lastOf.contains(bucket.stream)) {
      Block &parts = device.getBody().front();
      auto behind = llvm::find_if(parts, [](Operation &op) { return !isa<StreamOp>(op); });
      OpBuilder streams(&parts, behind);
      StreamOp::create(streams, device.getLoc(), bucket.stream);
    }
    Value token = bucket.early ? run.getTokens()[*bucket.early] : run.getTokens().back();
    auto collective = CollectiveOp::create(at, run.getLoc(), TypeRange{TokenType::get(context)},
                                           CollectiveKindAttr::get(context, bucket.last().reduction.kind),
                                           ReductionKindAttr::get(context, ReductionKind::Sum), bucket.group,
                                           builder.getArrayAttr(from), builder.getArrayAttr(to), IntegerAttr(), token,
                                           FlatSymbolRefAttr::get(context, bucket.stream));
    lastOf[bucket.stream] = collective->getResult(0);
    before = collective;
  }
  SmallVector<Value> tokens(updateRun.getAfter());
  for (auto [stream, token] : lastOf)
    tokens.push_back(token);
  updateRun->setOperands(tokens);
}

void DeviceOverlap::run() {
  update = device.routine(RoutineKind::Update);
  if (!update || !device.getStep())
    return;
  findRuns();
  if (!updateRun || runs.empty())
    return;
  findReady();
  llvm::MapVector<std::pair<Attribute, int>, SmallVector<const Ready *>> groups;
  for (const Ready &part : ready)
    groups[{part.reduction.axes, int(part.reduction.kind)}].push_back(&part);
  for (auto &[key, parts] : groups) {
    llvm::stable_sort(parts, [](const Ready *a, const Ready *b) {
      return std::pair(a->at.value, a->run) < std::pair(b->at.value, b->run);
    });
    chooseBuckets(parts);
  }
  if (buckets.empty())
    return;
  makeEarly();
  func::FuncOp code = codeOf(update);
  for (const Bucket &bucket : buckets)
    for (const Ready *part : bucket.parts)
      takeOut(part->reduction, update, code);
  addCollectives();
}

namespace {
struct OverlapReductionsPass : impl::OverlapReductionsPassBase<OverlapReductionsPass> {
  using OverlapReductionsPassBase::OverlapReductionsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    ProgramOp program = requireProgram(module);
    if (!program)
      return signalPassFailure();
    GridAttr grid = program.getGrid();
    llvm::Expected<Cluster> machine = machineOf(cluster, grid.deviceCount());
    if (!machine) {
      module.emitError() << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    SymbolTable functions(module);
    ProgramSymbols symbols(program);
    for (DeviceOp device : program.getDevices()) {
      DeviceOverlap(device, symbols, functions, *machine, buckets).run();
    }
  }
};
} // namespace

} // namespace mlir::ppc
