#include "ppc/Planning/Chain/ChainLedger.h"

#include "ppc/CostModel/MixedStep.h"
#include "ppc/CostModel/StepParts.h"
#include "ppc/Scheduling/PipelineProgram.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir::ppc;

namespace {

class ChainRows {
public:
  /// `deviceOf`: of each stage, along the pipeline axis.
  ChainRows(const ChainPlan &plan, const StepSchedule &schedule, int64_t microBatches, std::vector<int64_t> deviceOf)
      : plan(plan), schedule(schedule), microBatches(microBatches), deviceOf(std::move(deviceOf)) {
    grid.push_back({"dp", plan.layout.dp});
    llvm::append_range(grid, plan.axes);
    for (const TemplateChain::Segment &segment : plan.chain->segments)
      templates.insert(templates.end(), segment.count, segment.index);
  }

  Ledger run();

private:
  const OpTemplate &layerAt(size_t layer) const { return plan.chain->templates[templates[layer]]; }
  const TemplateChoice &choiceAt(size_t layer) const {
    const TemplateSearchResult::Layer &place = plan.shardings.layers[layer];
    return plan.shardings.choices[place.index][place.choice];
  }
  int64_t localElements(const TemplateValue &value, const Layout &layout) const {
    int64_t elements = 1;
    for (int64_t extent : localShape(value.shape, layout, plan.axes))
      elements *= extent;
    return elements;
  }
  bool isRecomputed(size_t layer) const {
    return plan.layout.recompute == Recompute::Full && layer > 0 && layer + 1 < templates.size();
  }

  void addLayer(size_t layer);
  void addMessages(size_t layer, int64_t from);
  void addParameters(size_t layer, std::set<int> &sharedHere);
  void addUpdate(const TemplateValue &value, const Layout &gradient, const Layout &stored);
  void addNumbers();
  Layout gradientLayout(size_t layer, int value) const;
  std::vector<int> lossAxes() const;
  void transfer(TransferKind kind, const MemberSet &members, int64_t elements, int64_t calls) {
    if (members.size() > 1)
      ledger.transfers.push_back({device, LedgerPhase::Update, kind, members, 32, elements, calls});
  }

  const ChainPlan &plan;
  const StepSchedule &schedule;
  int64_t microBatches, device = 0;
  std::vector<int64_t> deviceOf;
  std::vector<LayoutAxis> grid;    // dp around the axes
  std::vector<int> templates;      // of each layer
  std::set<std::vector<int>> cuts; // axes of the grid that cut gradients, of all devices
  Ledger ledger;
};

void ChainRows::addLayer(size_t layer) {
  const TemplateSearchResult::Layer &place = plan.shardings.layers[layer];
  LedgerPhase weights = schedule.splitBackward ? LedgerPhase::WeightGradient : LedgerPhase::Backward;
  for (const LayerOp &op : plan.programs[place.index][place.choice].program.ops) {
    bool again = isRecomputed(layer) || (plan.layout.recompute == Recompute::Selective && op.attentionCore);
    for (const LayerTransfer &transfer : op.transfers) {
      using When = LayerTransfer::When;
      bool forward = transfer.when == When::Forward;
      if (transfer.when >= When::Again && isRecomputed(layer)) // what is gathered for the recomputation serves
        continue;
      TransferRow row = rowOf(transfer);
      row.device = device;
      row.calls *= microBatches;
      if (transfer.when == When::AgainForWeights)
        row.phase = weights;
      ledger.transfers.push_back(row);
      row.phase = LedgerPhase::Backward;
      if (forward && isRecomputed(layer))
        ledger.transfers.push_back(row);
    }
    for (const LayerProduct &product : op.products) {
      auto row = [&](LedgerPhase phase) {
        ledger.work.push_back({device, phase, op.attentionCore, product.flops() * product.calls * microBatches});
      };
      row(product.when == LayerProduct::When::Forward    ? LedgerPhase::Forward
          : product.when == LayerProduct::When::Backward ? LedgerPhase::Backward
                                                         : weights);
      if (again && product.when == LayerProduct::When::Forward)
        row(LedgerPhase::Backward);
    }
  }
}

/// What enters the first layer of a stage, and its gradient on the way back.
void ChainRows::addMessages(size_t layer, int64_t from) {
  if (from == device) // it stays where it is
    return;
  int64_t stride = (device - from) * plan.layout.dp * plan.layout.tp;
  const OpTemplate &reader = layerAt(layer);
  for (int input : reader.inputs) {
    const TemplateValue &value = reader.values[input];
    int64_t elements = localElements(value, choiceAt(layer).layouts[input]), bits = 8 * value.elementBytes;
    ledger.transfers.push_back(
        {from, LedgerPhase::Forward, TransferKind::Message, MemberSet(2, stride), bits, elements, microBatches});
    if (value.hasGradient)
      ledger.transfers.push_back(
          {device, LedgerPhase::Backward, TransferKind::Message, MemberSet(2, -stride), bits, elements, microBatches});
  }
}

/// In which the ops of a layer give the gradient of one of its parameters: the first that uses it.
Layout ChainRows::gradientLayout(size_t layer, int value) const {
  const OpTemplate &code = layerAt(layer);
  for (auto [op, strategy] : llvm::zip_equal(code.ops, choiceAt(layer).strategies))
    for (auto [number, operand] : llvm::enumerate(op.operands))
      if (operand == value)
        return operandGradientLayout(op, strategy, int(number));
  return {};
}

/// Once per step: the sum over data-parallel ranks and over what is left open, as the reshard planner has it.
void ChainRows::addUpdate(const TemplateValue &value, const Layout &gradient, const Layout &stored) {
  auto outer = [](const Layout &layout) { // axes of `grid`
    Layout result = layout;
    for (std::vector<int> &axes : result.dims)
      for (int &axis : axes)
        ++axis;
    for (int &axis : result.partial)
      ++axis;
    return result;
  };
  Layout from = outer(gradient), to = outer(stored);
  if (plan.layout.dp > 1)
    from.partial.insert(from.partial.begin(), 0);
  llvm::Expected<ReshardPlan> steps = planReshard(grid, value.shape, 4, from, to);
  if (!steps) { // not priced either
    llvm::consumeError(steps.takeError());
    return;
  }
  for (const ReshardStep &step : steps->steps)
    if (std::optional<LayerTransfer> moved = transferOf(step, value.shape, 4, grid)) {
      TransferRow row = rowOf(*moved);
      row.device = device;
      row.phase = LedgerPhase::Update;
      ledger.transfers.push_back(row);
    }
  std::vector<int> axes;
  for (const std::vector<int> &dim : to.dims)
    llvm::append_range(axes, dim);
  llvm::sort(axes);
  cuts.insert(axes);
}

void ChainRows::addParameters(size_t layer, std::set<int> &sharedHere) {
  const OpTemplate &code = layerAt(layer);
  for (auto [number, value] : llvm::enumerate(code.values)) {
    if (value.kind != TemplateValueKind::Parameter || (value.shared >= 0 && !sharedHere.insert(value.shared).second))
      continue;
    const Layout &stored = choiceAt(layer).layouts[number];
    Layout gradient = gradientLayout(layer, int(number));
    int64_t own = localElements(value, stored), sum = localElements(value, gradient);
    auto memory = [&](MemoryRow::Kind kind, int64_t elements) {
      ledger.memory.push_back({device, kind, 4 * elements});
    };
    memory(MemoryRow::Kind::Parameters, own);
    memory(MemoryRow::Kind::State, 2 * own);
    memory(MemoryRow::Kind::Gradients, sum + (gradient.dims == stored.dims ? 0 : own));
    addUpdate(value, gradient, stored);
  }
}

/// Axes of the grid over which the loss is summed once per step: dp, and what the last op leaves open.
std::vector<int> ChainRows::lossAxes() const {
  std::vector<int> axes = {0};
  const OpTemplate &code = layerAt(templates.size() - 1);
  const TemplateChoice &choice = choiceAt(templates.size() - 1);
  if (!code.ops.empty())
    for (int axis : resultLayout(code.ops.back(), choice.strategies.back(), 0).partial)
      axes.push_back(axis + 1);
  return axes;
}

/// The squared norm of all gradients: of those that are cut alike together, over what not all are cut over; then over
/// the rest; and the loss.
void ChainRows::addNumbers() {
  auto over = [&](llvm::ArrayRef<int> axes) {
    MemberSet members;
    int64_t stride = 1;
    for (size_t axis = grid.size(); axis-- > 0; stride *= grid[axis].size)
      if (llvm::is_contained(axes, int(axis)))
        members.add(grid[axis].size, stride);
    return members;
  };
  std::vector<int> common = cuts.empty() ? std::vector<int>() : *cuts.begin();
  for (const std::vector<int> &axes : cuts)
    llvm::erase_if(common, [&](int axis) { return !llvm::is_contained(axes, axis); });
  int64_t stride = plan.layout.dp * plan.layout.tp;
  for (device = 0; device < plan.layout.pp; ++device) {
    for (const std::vector<int> &axes : cuts) {
      std::vector<int> own;
      llvm::copy_if(axes, std::back_inserter(own), [&](int axis) { return !llvm::is_contained(common, axis); });
      transfer(TransferKind::AllReduce, over(own), 1, 1);
    }
    transfer(TransferKind::AllReduce, over(common), 1, 1);
    if (device == deviceOf.back())
      transfer(TransferKind::AllReduce, over(lossAxes()), 1, 1);
    transfer(TransferKind::AllReduce, MemberSet(plan.layout.pp, stride), 1, 1 + int64_t(cuts.size()));
  }
}

Ledger ChainRows::run() {
  size_t layer = 0;
  std::vector<std::set<int>> shared(plan.layout.pp); // parameters of several layers, seen on each device
  for (size_t stage = 0; stage < deviceOf.size(); ++stage) {
    size_t end = templates.size();
    if (deviceOf.size() > 1)
      end = layer + size_t(plan.layout.stageLayers[stage]) + (stage == 0) + (stage + 1 == deviceOf.size());
    device = deviceOf[stage];
    if (stage > 0)
      addMessages(layer, deviceOf[stage - 1]);
    for (; layer < end; ++layer) {
      addLayer(layer);
      addParameters(layer, shared[device]);
    }
  }
  addNumbers();
  ledger.settle();
  return std::move(ledger);
}

} // namespace

llvm::Expected<Ledger> mlir::ppc::chainLedger(const ChainPlan &plan, int64_t batch) {
  TrainingJob job{1, batch};
  llvm::Expected<StepSchedule> schedule = resolveSchedule(job, plan.layout);
  if (!schedule)
    return schedule.takeError();
  PipelinePrograms programs;
  llvm::Expected<const PipelineProgram *> program = programs.getLoads(*schedule->kind, schedule->shape);
  if (!program)
    return program.takeError();
  return ChainRows(plan, *schedule, plan.layout.microBatches(job), stageDevices((*program)->chunks)).run();
}
