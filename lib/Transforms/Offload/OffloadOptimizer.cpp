// ppc-offload-optimizer: state on the host, updated in buckets that are copied to the device and back.
#include "ActionTokens.h"
#include "OffloadedDevices.h"
#include "RoutineParts.h"
#include "mlir/IR/Remarks.h"
#include "ppc/CostModel/OffloadBucket.h"
#include "ppc/Transforms/Offload/Passes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_OFFLOADOPTIMIZERPASS
#include "ppc/Transforms/Offload/Passes.h.inc"

namespace {

using namespace ppcrt;

/// Ops that must stay together, in the order of their first one, and the host buffers that they use.
struct Piece {
  SmallVector<Operation *> ops;
  llvm::SetVector<Attribute> buffers; ///< on the host
  Bytes bytes;                        ///< of these
};

/// Tensors that are on the device together.
struct Bucket {
  RoutineOp routine;
  /// Buffers on the host, by their staging buffers on the device.
  llvm::MapVector<Attribute, Attribute> staged;
};

class DeviceOffload {
public:
  /// `withState`: offloads optimizer state; else only buffers that are on the host already are staged.
  DeviceOffload(DeviceOp device, SymbolTable &functions, bool withState)
      : device(device), functions(functions), buffers(device), context(device.getContext()), withState(withState) {}

  LogicalResult run();

private:
  func::FuncOp codeOf(RoutineOp routine) { return functions.lookup<func::FuncOp>(routine.getCodeAttr().getAttr()); }
  BufferOp buffer(Attribute name) { return buffers.lookup<BufferOp>(cast<FlatSymbolRefAttr>(name).getAttr()); }
  void findOffloaded();
  void takeMaskedGradients(RoutineOp update);
  SmallVector<Piece> piecesOf(RoutineOp routine, const DenseSet<Operation *> &ops);
  DenseSet<Operation *> opsOfOptimizers(RoutineOp update);
  DenseSet<Operation *> opsOfPrepared(RoutineOp prepare);
  void keepUsed(RoutineOp routine, const DenseSet<Operation *> &ops);
  /// Splits a routine; ops that belong to no bucket become the first part, if there are any (`head`).
  LogicalResult makeBuckets(RoutineOp routine, ArrayRef<Piece> pieces, RoutineOp &head, std::vector<Bucket> &buckets);
  /// Splits a routine and its actions; returns the number of buckets.
  FailureOr<size_t> split(RoutineOp routine, ArrayRef<Piece> pieces);
  void stage(Bucket &bucket);
  Attribute stagedBuffer(Attribute name, StringRef suffix);
  void addActions(Block &actions, RunOp run, RoutineOp head, ArrayRef<Bucket> buckets);
  void report(size_t bucketCount);

  DeviceOp device;
  SymbolTable &functions;
  SymbolTable buffers;
  MLIRContext *context;
  bool withState;
  FlatSymbolRefAttr stream;
  llvm::SetVector<Attribute> offloaded; ///< buffers
  Bytes all, largest;                   ///< of the optimizer, in all and of a tensor
};

} // namespace

/// Finds states, and parameters that only routines of the whole step use; or buffers that ppc-offload-parameters has
/// moved.
void DeviceOffload::findOffloaded() {
  llvm::SmallDenseSet<Attribute> usedOtherwise, written;
  for (auto routine : device.getBody().front().getOps<RoutineOp>())
    for (ArrayAttr names : {routine.getReads(), routine.getWrites()})
      for (Attribute name : names) {
        bool isStep = llvm::is_contained({RoutineKind::Prepare, RoutineKind::Update}, routine.getKind());
        (isStep ? written : usedOtherwise).insert(name);
      }
  for (auto one : device.getBody().front().getOps<BufferOp>()) {
    auto name = FlatSymbolRefAttr::get(one.getSymNameAttr());
    bool isOfOptimizer = withState && llvm::is_contained({BufferRole::State, BufferRole::Parameter}, one.getRole());
    if (written.contains(name) && !usedOtherwise.contains(name) && (isOfOptimizer || one.getMemory() == Memory::Host))
      offloaded.insert(name);
  }
}

/// Optimizer ops, ops that depend on them, and ops on parameters that only they use.
DenseSet<Operation *> DeviceOffload::opsOfOptimizers(RoutineOp update) {
  func::FuncOp code = codeOf(update);
  auto isParameter = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && buffer(update.getReads()[argument.getArgNumber()]).getRole() == BufferRole::Parameter;
  };
  DenseSet<Operation *> ops;
  for (Operation &op : code.front().without_terminator())
    if (isa<AdamwOp>(op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return operand.getDefiningOp() && ops.contains(operand.getDefiningOp());
        }))
      ops.insert(&op);
  for (Operation &op : llvm::reverse(code.front().without_terminator()))
    if (op.getNumResults() == 1 && op.getResult(0).hasOneUse() && ops.contains(*op.user_begin()) &&
        op.getNumOperands() == 1 && isParameter(op.getOperand(0)))
      ops.insert(&op);
  return ops;
}

/// Ops that read offloaded parameters or compute offloaded values, and ops that depend on them.
DenseSet<Operation *> DeviceOffload::opsOfPrepared(RoutineOp prepare) {
  func::FuncOp code = codeOf(prepare);
  DenseSet<Operation *> ops;
  auto isOf = [&](Operation *op) { return op && !isa<ConstantOp>(op) && ops.contains(op); };
  for (auto [value, name] : llvm::zip_equal(code.front().getTerminator()->getOperands(), prepare.getWrites()))
    if (Operation *op = value.getDefiningOp(); op && offloaded.contains(name))
      ops.insert(op);
  for (Operation &op : llvm::reverse(code.front().without_terminator()))
    if (llvm::any_of(op.getUsers(), isOf))
      ops.insert(&op);
  for (Operation &op : code.front().without_terminator()) // in the order of uses
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          auto argument = dyn_cast<BlockArgument>(operand);
          return argument ? offloaded.contains(prepare.getReads()[argument.getArgNumber()])
                          : isOf(operand.getDefiningOp());
        }))
      ops.insert(&op);
  return ops;
}

/// Keeps buffers on the device that other ops of the routine use.
void DeviceOffload::keepUsed(RoutineOp routine, const DenseSet<Operation *> &ops) {
  for (auto [argument, name] : llvm::zip_equal(codeOf(routine).getArguments(), routine.getReads()))
    if (offloaded.contains(name) && llvm::any_of(argument.getUsers(), [&](Operation *user) {
          return !ops.contains(user) && !user->hasTrait<OpTrait::IsTerminator>();
        })) {
      offloaded.remove(name);
      buffer(name).removeMemoryAttr();
    }
}

/// If padding is masked in a gradient's buffer before its optimizer reads the unmasked gradient, lets the optimizer
/// read the masked one: nothing that is stored depends on the padding.
void DeviceOffload::takeMaskedGradients(RoutineOp update) {
  func::FuncOp code = codeOf(update);
  for (auto mask : code.getOps<MaskPaddingOp>())
    if (auto gradient = dyn_cast<BlockArgument>(mask.getX()))
      for (OpOperand &use : llvm::make_early_inc_range(gradient.getUses()))
        if (auto adamw = dyn_cast<AdamwOp>(use.getOwner());
            adamw && adamw.getGradient() == gradient && mask->isBeforeInBlock(adamw))
          use.set(mask.getResult());
}

SmallVector<Piece> DeviceOffload::piecesOf(RoutineOp routine, const DenseSet<Operation *> &ops) {
  func::FuncOp code = codeOf(routine);
  llvm::EquivalenceClasses<Operation *> together;
  DenseMap<Value, Operation *> userOf; // for each argument on the host: one of the ops that use it
  auto isOffloaded = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && offloaded.contains(routine.getReads()[argument.getArgNumber()]);
  };
  for (Operation &op : code.front().without_terminator()) {
    if (!ops.contains(&op))
      continue;
    together.insert(&op);
    for (Value operand : op.getOperands()) {
      if (isOffloaded(operand))
        together.unionSets(&op, userOf.try_emplace(operand, &op).first->second);
      else if (Operation *before = operand.getDefiningOp(); before && ops.contains(before))
        together.unionSets(&op, before);
    }
  }
  llvm::MapVector<Operation *, Piece> pieces; // by leader
  for (Operation &op : code.front().without_terminator()) {
    if (!ops.contains(&op))
      continue;
    Piece &piece = pieces[together.getLeaderValue(&op)];
    piece.ops.push_back(&op);
    for (Value operand : op.getOperands())
      if (isOffloaded(operand))
        piece.buffers.insert(routine.getReads()[cast<BlockArgument>(operand).getArgNumber()]);
  }
  for (auto [value, name] : llvm::zip_equal(code.front().getTerminator()->getOperands(), routine.getWrites()))
    if (Operation *op = value.getDefiningOp(); op && ops.contains(op) && offloaded.contains(name))
      pieces[together.getLeaderValue(op)].buffers.insert(name);
  SmallVector<Piece> result;
  for (auto &[leader, piece] : pieces) {
    for (Attribute name : piece.buffers)
      piece.bytes += Bytes(double(buffer(name).getBytes()));
    if (!piece.buffers.empty())
      result.push_back(std::move(piece));
  }
  return result;
}

Attribute DeviceOffload::stagedBuffer(Attribute name, StringRef suffix) {
  BufferOp whole = buffer(name);
  OpBuilder builder(context);
  builder.setInsertionPointAfter(whole);
  auto staged = BufferOp::create(builder, whole.getLoc(), (whole.getSymName() + "." + suffix).str(),
                                 BufferRole::Gathered, whole.getBufferType());
  buffers.insert(staged);
  return FlatSymbolRefAttr::get(staged.getSymNameAttr());
}

/// Binds the routine of a bucket to buffers of the device.
void DeviceOffload::stage(Bucket &bucket) {
  StringRef suffix = stringifyRoutineKind(bucket.routine.getKind());
  auto replaced = [&](ArrayAttr names) {
    SmallVector<Attribute> result(names.getValue());
    for (Attribute &name : result)
      if (offloaded.contains(name)) {
        auto [staged, isNew] = bucket.staged.try_emplace(name);
        if (isNew)
          staged->second = stagedBuffer(name, suffix);
        name = staged->second;
      }
    return ArrayAttr::get(context, result);
  };
  bucket.routine.setReadsAttr(replaced(bucket.routine.getReads()));
  bucket.routine.setWritesAttr(replaced(bucket.routine.getWrites()));
}

LogicalResult DeviceOffload::makeBuckets(RoutineOp routine, ArrayRef<Piece> pieces, RoutineOp &head,
                                         std::vector<Bucket> &made) {
  Bytes capacity = offloadBucket(all, largest), held;
  func::FuncOp code = codeOf(routine);
  DenseSet<Operation *> ops;
  for (const Piece &piece : pieces)
    ops.insert(piece.ops.begin(), piece.ops.end());
  bool hasHead = llvm::any_of(code.front().without_terminator(),
                              [&](Operation &op) { return !isa<ConstantOp>(op) && !ops.contains(&op); });
  for (Value value : code.front().getTerminator()->getOperands())
    hasHead |= isa<BlockArgument>(value) || isa<ConstantOp>(value.getDefiningOp());
  PartOfOp partOf;
  unsigned count = hasHead;
  for (const Piece &piece : pieces) {
    if (count == unsigned(hasHead) || held + piece.bytes > capacity) {
      ++count;
      held = Bytes(0);
    }
    held += piece.bytes;
    for (Operation *op : piece.ops)
      partOf[op] = count - 1;
  }
  FailureOr<SmallVector<RoutineOp>> parts = splitRoutine(routine, functions, partOf, count);
  if (failed(parts))
    return failure();
  head = hasHead ? parts->front() : RoutineOp();
  for (RoutineOp part : llvm::drop_begin(*parts, hasHead)) {
    made.push_back({part, {}});
    stage(made.back());
  }
  return success();
}

/// Adds the actions of the buckets in place of `run`. Buckets are issued in order; each reuses the memory of the
/// bucket two before.
void DeviceOffload::addActions(Block &actions, RunOp run, RoutineOp head, ArrayRef<Bucket> made) {
  OpBuilder at(run);
  Type token = TokenType::get(context);
  auto nameOf = [](RoutineOp routine) { return FlatSymbolRefAttr::get(routine.getSymNameAttr()); };
  auto copy = [&](Attribute from, Attribute to, Value after) -> Value {
    return CopyOp::create(at, run.getLoc(), TypeRange{token}, cast<FlatSymbolRefAttr>(from),
                          cast<FlatSymbolRefAttr>(to), IntegerAttr(), after ? ValueRange(after) : ValueRange(), stream)
        ->getResult(0);
  };
  SmallVector<Value> ins(made.size()), outs(made.size());
  auto bring = [&](size_t number, Value after) {
    for (auto [host, staged] : made[number].staged) {
      if (!llvm::is_contained(RoutineOp(made[number].routine).getReads(), staged))
        continue;
      ins[number] = copy(host, staged, after);
      after = Value(); // the stream keeps the order
    }
  };
  // The first buckets share bytes with the scratch of earlier actions.
  Value before;
  for (auto it = run->getIterator(); it != actions.begin();)
    if (auto earlier = dyn_cast<RunOp>(*--it); earlier && earlier.getStreamAttr() == run.getStreamAttr()) {
      before = earlier.getTokens().back();
      break;
    }
  for (size_t number = 0; number < std::min<size_t>(kOffloadBucketsAtOnce, made.size()); ++number)
    bring(number, number ? Value() : before);
  SmallVector<Value> waits(run.getAfter());
  auto issue = [&](RoutineOp routine, Value in) -> Value {
    SmallVector<Value> after = std::exchange(waits, {});
    if (in)
      after.push_back(in);
    return RunOp::create(at, run.getLoc(), TypeRange{token}, nameOf(routine), IntegerAttr(), after, run.getStreamAttr())
        ->getResult(0);
  };
  Value last;
  if (head)
    last = issue(head, Value());
  for (auto [number, bucket] : llvm::enumerate(made)) {
    // A bucket without copies to the device waits until its memory is free: until the earlier bucket is copied back.
    bool isFirst = number < size_t(kOffloadBucketsAtOnce);
    last = issue(bucket.routine, ins[number] || isFirst ? ins[number] : outs[number - kOffloadBucketsAtOnce]);
    Value after = last;
    for (auto [host, staged] : bucket.staged) {
      if (!llvm::is_contained(RoutineOp(bucket.routine).getWrites(), staged))
        continue;
      outs[number] = copy(staged, host, after);
      after = Value();
    }
    if (size_t next = number + kOffloadBucketsAtOnce; next < made.size())
      bring(next, after);
  }
  for (Value old : run.getTokens())
    old.replaceAllUsesWith(last);
  run.erase();
}

void DeviceOffload::report(size_t bucketCount) {
  remark::passed(device.getLoc(), remark::RemarkOpts::name("optimizer").category("ppc-offload"))
      << llvm::formatv(
             "device {0}: {1} of {2} optimizer tensors are offloaded to the host, and are updated in {3} buckets",
             int64_t(device.getAt()), toString(all), offloaded.size(), bucketCount)
             .str();
}

FailureOr<size_t> DeviceOffload::split(RoutineOp routine, ArrayRef<Piece> pieces) {
  if (pieces.empty())
    return size_t(0);
  SmallVector<RunOp> runs;
  device.walk([&](RunOp run) {
    if (run.getRoutineAttr().getAttr() == routine.getSymNameAttr())
      runs.push_back(run);
  });
  RoutineOp head;
  std::vector<Bucket> made;
  if (failed(makeBuckets(routine, pieces, head, made)))
    return failure();
  for (RunOp run : runs)
    addActions(*run->getBlock(), run, head, made);
  return made.size();
}

LogicalResult DeviceOffload::run() {
  RoutineOp update = device.routine(RoutineKind::Update), prepare = device.routine(RoutineKind::Prepare);
  if (!update)
    return success();
  findOffloaded();
  if (offloaded.empty())
    return success();
  takeMaskedGradients(update);
  DenseSet<Operation *> optimizers = opsOfOptimizers(update), preparing;
  keepUsed(update, optimizers);
  if (prepare) {
    preparing = opsOfPrepared(prepare);
    keepUsed(prepare, preparing);
  }
  if (offloaded.empty())
    return success();
  SmallVector<Piece> updated = piecesOf(update, optimizers), prepared;
  if (prepare)
    prepared = piecesOf(prepare, preparing);
  for (const Piece &piece : updated.empty() ? prepared : updated) {
    all += piece.bytes;
    largest = std::max(largest, piece.bytes);
  }
  stream = getStream(device, "copies");
  for (Attribute name : offloaded)
    buffer(name).setMemory(Memory::Host);
  FailureOr<size_t> count = split(update, updated);
  if (failed(count) || failed(split(prepare, prepared)))
    return failure();
  report(*count);
  return success();
}

namespace {
struct OffloadOptimizerPass : impl::OffloadOptimizerPassBase<OffloadOptimizerPass> {
  void runOnOperation() override {
    SymbolTable functions(getOperation());
    auto isAsked = [](PlanAttr plan) { return plan.offloadsOptimizer() || plan.offloadsParameters(); };
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan);
    auto offload = [&](DeviceOp device) -> FailureOr<bool> {
      if (failed(DeviceOffload(device, functions, plan.offloadsOptimizer()).run()))
        return failure();
      return true;
    };
    if (failed(forEachDevice(getOperation(), isAsked, offload)))
      signalPassFailure();
  }
};
} // namespace

} // namespace mlir::ppc
