// ppc-offload-parameters: parameters that one virtual stage reads are on the host while others are computed.
#include "ActionTokens.h"
#include "OffloadedDevices.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/IR/Remarks.h"
#include "ppc/CostModel/OffloadWindow.h"
#include "ppc/Support/Units.h"
#include "ppc/Transforms/Offload/Passes.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace mlir::ppc {
#define GEN_PASS_DEF_OFFLOADPARAMETERSPASS
#include "ppc/Transforms/Offload/Passes.h.inc"

namespace {

using namespace ppcrt;

/// Runs of one virtual stage with none of another one between them.
struct Visit {
  int64_t chunk;
  SmallVector<RunOp> runs;
};

/// A virtual stage whose parameters leave.
struct OffloadedChunk {
  SmallVector<BufferOp> onHost;
  SmallVector<BufferOp> forward, backward; ///< their staging buffers on the device; equal if one visit has both
};

class ParametersOffload {
public:
  explicit ParametersOffload(DeviceOp device) : device(device), buffers(device) {}

  /// Whether any leave.
  bool run();

private:
  RoutineOp routineOf(RunOp run) { return buffers.lookup<RoutineOp>(run.getRoutineAttr().getAttr()); }
  std::vector<Visit> visitsOf(Block &actions);
  /// The virtual stages that are visited once, or once forward and once backward.
  std::map<int64_t, bool> hasOneVisit();
  void findParameters(const std::map<int64_t, bool> &once);
  SmallVector<BufferOp> stage(ArrayRef<BufferOp> parameters, StringRef suffix);
  void bind(int64_t chunk, const OffloadedChunk &offloaded);
  void addCopies(Block &actions);

  DeviceOp device;
  SymbolTable buffers;
  FlatSymbolRefAttr stream;
  std::map<int64_t, OffloadedChunk> chunks;
};

} // namespace

static bool isForwardVisit(ArrayRef<RoutineKind> kinds) {
  return llvm::all_of(kinds, [](RoutineKind kind) { return kind == RoutineKind::Forward; });
}

std::vector<Visit> ParametersOffload::visitsOf(Block &actions) {
  std::vector<Visit> visits;
  for (auto run : actions.getOps<RunOp>()) {
    RoutineOp routine = routineOf(run);
    if (routine.isOfStep())
      continue;
    if (visits.empty() || visits.back().chunk != int64_t(routine.getChunk()))
      visits.push_back({int64_t(routine.getChunk()), {}});
    visits.back().runs.push_back(run);
  }
  return visits;
}

std::map<int64_t, bool> ParametersOffload::hasOneVisit() {
  std::map<int64_t, SmallVector<SmallVector<RoutineKind>>> kinds; // by chunk: the kinds of routines of each visit
  for (const Visit &visit : visitsOf(device.getStep().getBody().front())) {
    auto &own = kinds[visit.chunk].emplace_back();
    for (RunOp run : visit.runs)
      own.push_back(routineOf(run).getKind());
  }
  std::map<int64_t, bool> once;
  for (auto &[chunk, visits] : kinds) {
    bool isSplit =
        visits.size() == 2 && isForwardVisit(visits[0]) && !llvm::is_contained(visits[1], RoutineKind::Forward);
    if (visits.size() == 1 || isSplit)
      once[chunk] = visits.size() == 1;
  }
  for (Operation &op : device.getBody().front())
    if (auto evaluate = dyn_cast<EvaluateOp>(op)) {
      std::map<int64_t, int64_t> counts;
      for (const Visit &visit : visitsOf(evaluate.getBody().front()))
        if (++counts[visit.chunk] > 1)
          once.erase(visit.chunk);
    }
  return once;
}

/// Finds parameters, and values prepared from them, that only routines of one virtual stage read in micro-batches.
void ParametersOffload::findParameters(const std::map<int64_t, bool> &once) {
  DenseMap<Attribute, llvm::SmallDenseSet<int64_t>> readers;
  for (auto routine : device.getBody().front().getOps<RoutineOp>())
    if (!routine.isOfStep()) {
      for (Attribute name : routine.getReads())
        readers[name].insert(routine.getChunk());
      for (Attribute name : routine.getWrites())
        readers[name].insert(-1);
    }
  for (auto buffer : device.getBody().front().getOps<BufferOp>()) {
    auto found = readers.find(FlatSymbolRefAttr::get(buffer.getSymNameAttr()));
    bool isParameter = llvm::is_contained({BufferRole::Parameter, BufferRole::Prepared}, buffer.getRole());
    if (isParameter && buffer.getTensorType().getRank() > 0 && found != readers.end() && found->second.size() == 1 &&
        once.count(*found->second.begin()))
      chunks[*found->second.begin()].onHost.push_back(buffer);
  }
}

SmallVector<BufferOp> ParametersOffload::stage(ArrayRef<BufferOp> parameters, StringRef suffix) {
  SmallVector<BufferOp> staged;
  for (BufferOp whole : parameters) {
    OpBuilder builder(device.getContext());
    builder.setInsertionPointAfter(whole);
    staged.push_back(BufferOp::create(builder, whole.getLoc(), (whole.getSymName() + "." + suffix).str(),
                                      BufferRole::Gathered, whole.getBufferType()));
  }
  return staged;
}

void ParametersOffload::bind(int64_t chunk, const OffloadedChunk &offloaded) {
  for (auto routine : device.getBody().front().getOps<RoutineOp>()) {
    if (routine.isOfStep() || int64_t(routine.getChunk()) != chunk)
      continue;
    ArrayRef<BufferOp> staged = routine.getKind() == RoutineKind::Forward ? offloaded.forward : offloaded.backward;
    SmallVector<Attribute> reads(routine.getReads().getValue());
    for (auto [host, own] : llvm::zip_equal(offloaded.onHost, staged))
      llvm::replace(reads, Attribute(FlatSymbolRefAttr::get(BufferOp(host).getSymNameAttr())),
                    Attribute(FlatSymbolRefAttr::get(BufferOp(own).getSymNameAttr())));
    routine.setReadsAttr(ArrayAttr::get(device.getContext(), reads));
  }
}

/// Copies the parameters of a visit to the device when the visit before the last has completed: two are on the
/// device at a time.
void ParametersOffload::addCopies(Block &actions) {
  std::vector<Visit> visits = visitsOf(actions);
  ActionTokens tokens;
  for (size_t number = 0; number < visits.size(); ++number) {
    const Visit &visit = visits[number];
    auto found = chunks.find(visit.chunk);
    if (found == chunks.end())
      continue;
    bool isForward = routineOf(visit.runs.front()).getKind() == RoutineKind::Forward;
    Operation *before =
        number < kParametersAtOnce ? nullptr : visits[number - kParametersAtOnce].runs.back().getOperation();
    OpBuilder at(visits.front().runs.front()); // no action has to complete before
    if (Operation *behind = before) {
      while (isa_and_nonnull<SendOp>(behind->getNextNode()))
        behind = behind->getNextNode();
      at.setInsertionPointAfter(behind);
    }
    auto [first, last] = copyAt(at, found->second.onHost, isForward ? found->second.forward : found->second.backward,
                                IntegerAttr(), stream);
    if (before)
      tokens.require(first, before);
    tokens.require(visit.runs.front(), last);
  }
  tokens.write(actions);
}

bool ParametersOffload::run() {
  std::map<int64_t, bool> once = hasOneVisit();
  findParameters(once);
  if (chunks.size() <= kParametersAtOnce)
    return false; // all of them would be on the device anyway
  stream = getStream(device, "copies");
  Bytes onHost, most;
  for (auto &[chunk, offloaded] : chunks) {
    bool isOne = once[chunk];
    Bytes own;
    offloaded.forward = stage(offloaded.onHost, isOne ? "fetched" : "forward");
    offloaded.backward = isOne ? offloaded.forward : stage(offloaded.onHost, "backward");
    bind(chunk, offloaded);
    for (BufferOp parameter : offloaded.onHost) {
      parameter.setMemory(Memory::Host);
      own += Bytes(double(parameter.getBytes()));
    }
    onHost += own;
    most = std::max(most, own);
  }
  for (Operation &op : device.getBody().front())
    if (isa<StepOp, EvaluateOp>(op))
      addCopies(op.getRegion(0).front());
  remark::passed(device.getLoc(), remark::RemarkOpts::name("parameters").category("ppc-offload"))
      << llvm::formatv("device {0}: {1} of {2} virtual stages have their parameters offloaded to the host, at most {3} "
                       "of one of them",
                       int64_t(device.getAt()), toString(onHost), chunks.size(), toString(most))
             .str();
  return true;
}

namespace {
struct OffloadParametersPass : impl::OffloadParametersPassBase<OffloadParametersPass> {
  void runOnOperation() override {
    std::string idle =
        llvm::formatv("offload parameters does nothing: no device has more than {0} virtual stages that it computes in "
                      "one go in each direction, as with schedule breadth-first and a vp above {0}",
                      kParametersAtOnce);
    if (failed(forEachDevice(
            getOperation(), [](PlanAttr plan) { return plan.offloadsParameters(); },
            [](DeviceOp device) { return ParametersOffload(device).run(); }, "parameters", idle)))
      signalPassFailure();
  }
};
} // namespace

} // namespace mlir::ppc
