#include "ppc/Planning/Chain/TemplateProgram.h"

#include "ppc/CostModel/Overlap.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir::ppc;

namespace {
class ProgramBuilder {
public:
  ProgramBuilder(const TemplatePricing &pricing, const PricingContext &context, const OpTemplate &layer,
                 const TemplateChoice &choice, std::vector<Movement> movements)
      : pricing(pricing), context(context), layer(layer), choice(choice), movements(std::move(movements)),
        makers(layer.values.size(), -1), users(layer.values.size()), places(layer.ops.size(), -1) {
    for (auto [number, op] : llvm::enumerate(layer.ops)) {
      for (int value : op.results)
        makers[value] = int(number);
      for (int value : op.operands)
        if (!llvm::is_contained(users[value], int(number)))
          users[value].push_back(int(number));
    }
    moved.assign(layer.values.size(), nullptr);
    for (const Movement &movement : this->movements)
      moved[movement.value] = &movement;
  }

  TemplateProgram run() {
    result.program.recomputeStopsEarly = context.stack.recomputeStopsEarly;
    for (size_t number = 0; number < layer.ops.size(); ++number) {
      for (const Movement &movement : movements)
        if (movement.user == int(number))
          move(movement);
      compute(int(number));
    }
    for (const Movement &movement : movements)
      if (movement.user < 0)
        move(movement);
    for (const Movement &movement : movements)
      keep(movement);
    overlap();
    for (auto [number, value] : llvm::enumerate(layer.values)) {
      if (value.kind == TemplateValueKind::Parameter)
        result.program.parameters += localBytes(int(number)) / double(value.elementBytes) / value.sharers;
      if (value.kind == TemplateValueKind::Boundary)
        result.program.input += Bytes(localBytes(int(number)));
      if (value.kind == TemplateValueKind::Computed && value.hasGradient)
        result.program.backwardWorkspace = std::max(result.program.backwardWorkspace, Bytes(localBytes(int(number))));
    }
    return std::move(result);
  }

private:
  double localBytes(int value) const {
    double bytes = double(layer.values[value].elementBytes);
    for (int64_t extent : localShape(layer.values[value].shape, choice.layouts[value], pricing.grid))
      bytes *= double(extent);
    return bytes;
  }

  LayerOp &add(llvm::StringRef name, OpClass kind) {
    LayerOp &op = result.program.ops.emplace_back();
    op.name = name;
    op.kind = kind;
    return op;
  }

  void move(const Movement &movement) {
    if (movement.forward.value <= 0 && movement.gradient.value <= 0)
      return;
    LayerOp &op = add(layer.values[movement.value].name, OpClass::Communication);
    op.forward = movement.forward;
    op.backward = movement.gradient;
    op.forwardLink = op.forward;
    op.backwardLink = op.backward;
    op.traffic = movement.traffic;
    op.forwardKernels = movement.forward.value > 0;
    op.backwardKernels = (movement.gradient.value > 0) + (movement.again.value > 0);
    addTransfers(movement, op);
    transfers.push_back({&movement, result.program.ops.size() - 1});
  }

  /// The rows of a compiled program's ledger. What parameters' gradients move is once per step (ChainLedger.h).
  void addTransfers(const Movement &movement, LayerOp &op) const {
    const TemplateValue &value = layer.values[movement.value];
    using When = LayerTransfer::When;
    for (const ReshardStep &step : movement.forwardSteps)
      if (std::optional<LayerTransfer> transfer = transferOf(step, value.shape, value.elementBytes, pricing.grid))
        op.transfers.push_back(*transfer);
    for (const ReshardStep &step : movement.againSteps)
      if (std::optional<LayerTransfer> transfer = transferOf(step, value.shape, value.elementBytes, pricing.grid)) {
        transfer->when = movement.againForWeights ? When::AgainForWeights : When::Again;
        op.transfers.push_back(*transfer);
      }
    if (value.kind == TemplateValueKind::Parameter)
      return;
    for (const ReshardStep &step : movement.gradientSteps)
      if (std::optional<LayerTransfer> transfer = transferOf(step, value.shape, value.elementBytes, pricing.grid)) {
        transfer->when = When::Backward;
        op.transfers.push_back(*transfer);
      }
  }

  /// Written and read by fused elementwise kernels only, so that it never reaches memory.
  bool isInside(int value) const {
    if (!context.stack.fusedActivation || makers[value] < 0 || users[value].size() != 1 ||
        llvm::is_contained(layer.outputs, value))
      return false;
    const Movement *movement = moved[value];
    return isElementwise(layer.ops[makers[value]]) && isElementwise(layer.ops[users[value].front()]) &&
           (!movement || movement->forward.value + movement->gradient.value <= 0);
  }
  static bool isElementwise(const TemplateOp &op) {
    return op.kernel == TemplateKernel::Stream && op.results.size() == 1 &&
           llvm::none_of(op.factors, [](const TemplateFactor &factor) { return factor.needsReplication; }) &&
           llvm::all_of(op.operandFactors, [&](const DimFactors &dims) { return dims == op.resultFactors.front(); });
  }

  void compute(int number) {
    const TemplateOp &data = layer.ops[number];
    if (data.kernel == TemplateKernel::None)
      return;
    OpSeconds seconds = kernelSeconds(pricing, layer, data, choice.strategies[number]);
    std::vector<int64_t> local = localFactorSizes(data, choice.strategies[number], pricing.grid);
    OpClass kind = data.kernel == TemplateKernel::Product     ? OpClass::Gemm
                   : data.kernel == TemplateKernel::Attention ? OpClass::Attention
                                                              : OpClass::Stream;
    LayerOp &op = add(data.name, kind);
    places[number] = int(result.program.ops.size()) - 1;
    if (pricing.compiled)
      op.products = productsOf(pricing, layer, data, choice.strategies[number]);
    op.forward = seconds.forward;
    op.weightGradient = seconds.ofWeights;
    op.backward = seconds.backward - seconds.ofWeights;
    op.forwardCut = op.forward;
    op.backwardCut = op.backward;
    op.attentionCore = kind == OpClass::Attention;
    op.backwardKernels = kind == OpClass::Gemm ? 2 : kind == OpClass::Attention ? 3 : seconds.backward.value > 0;
    double work = 1;
    for (int64_t size : local)
      work *= double(size);
    if (kind == OpClass::Gemm)
      op.flops = Flops(2 * work);
    if (seconds.ofWeights.value > 0) // the gradient of the result and the other operand
      for (int value : llvm::concat<const int>(data.operands, data.results))
        if (layer.values[value].kind != TemplateValueKind::Parameter) {
          op.weightOperands += Bytes(localBytes(value));
          if (!llvm::is_contained(data.results, value))
            op.weightInputs += Bytes(localBytes(value));
        }
    if (kind == OpClass::Attention) { // both products walk all loops but the other one's width
      auto size = [&](int factor) { return factor >= 0 ? double(local[factor]) : 1.0; };
      double values = data.attention.valueDim >= 0 ? size(data.attention.valueDim) : size(data.attention.headDim);
      double pairs = work / size(data.attention.headDim) / (data.attention.valueDim >= 0 ? values : 1);
      op.flops = Flops(2 * pairs * (size(data.attention.headDim) + values));
    }
    addTraffic(data, local, op);
    if (kind == OpClass::Stream)
      fuse(data, op);
    if (!context.stack.fusedGradientAccumulation && seconds.ofWeights.value > 0)
      accumulate(data, op);
    for (auto [index, value] : llvm::enumerate(data.results))
      if (data.savedResults[index] && !isKeptByUsers(value))
        op.saved += Bytes(localBytes(value));
  }

  bool isKeptByUsers(int value) const {
    for (int user : users[value])
      for (auto [operand, saved] : llvm::zip_equal(layer.ops[user].operands, layer.ops[user].savedOperands))
        if (operand == value && saved)
          return true;
    return false;
  }

  void addTraffic(const TemplateOp &data, llvm::ArrayRef<int64_t> local, LayerOp &op) const {
    auto visit = [&](int number, const DimFactors &dims) {
      double bytes = double(layer.values[number].elementBytes);
      for (auto [extent, factor] : llvm::zip_equal(layer.values[number].shape, dims))
        bytes *= double(factor >= 0 ? local[factor] : extent);
      op.traffic += Bytes(bytes);
    };
    for (auto [number, dims] : llvm::zip_equal(data.operands, data.operandFactors))
      visit(number, dims);
    for (auto [number, dims] : llvm::zip_equal(data.results, data.resultFactors))
      visit(number, dims);
  }

  /// Takes out what fused kernels pass on in registers: the value, its gradient, and the copy that backward makes
  /// again.
  void fuse(const TemplateOp &data, LayerOp &op) {
    double inside = 0, saved = 0;
    for (auto [index, value] : llvm::enumerate(data.operands))
      if (isInside(value)) {
        inside += localBytes(value);
        saved += data.savedOperands[index] ? localBytes(value) : 0;
      }
    for (int value : data.results)
      if (isInside(value))
        inside += localBytes(value);
    if (inside == 0)
      return;
    bool launched = !isInside(data.results.front()); // the last of a fused chain is the kernel
    const Device &device = context.device();
    double rate = device.memoryBandwidth.value * device.memoryEfficiency * device.elementwiseShare;
    auto less = [&](Seconds time, double bytes) {
      Seconds gone = Seconds(bytes / rate) + (launched ? 0.0 : 0.5) * device.launchFloor;
      return std::max(time - gone, Seconds(0));
    };
    op.forward = less(op.forward, inside);
    op.backward = less(op.backward, inside + saved);
    op.traffic -= Bytes(inside);
    if (!launched)
      op.forwardKernels = op.backwardKernels = 0;
  }

  /// Each micro-batch but the first adds its gradient to the accumulator: read both, write one.
  void accumulate(const TemplateOp &data, LayerOp &op) const {
    double microBatches = double(pricing.microBatches), share = (microBatches - 1) / microBatches;
    for (int value : data.operands)
      if (layer.values[value].kind == TemplateValueKind::Parameter) {
        double elements = localBytes(value) / double(layer.values[value].elementBytes);
        op.weightGradient +=
            share *
            streamTime(context.device(),
                       Bytes(elements * (double(layer.values[value].elementBytes) + 2 * context.stack.gradientBytes)));
        ++op.backwardKernels;
      }
  }

  /// Where what a value keeps is counted: at the product that uses it, so that recomputing attention does not free it.
  void keep(const Movement &movement) {
    if (layer.values[movement.value].kind == TemplateValueKind::Parameter) {
      result.copies += movement.kept;
      return;
    }
    if (movement.kept.value <= 0 || isInside(movement.value))
      return;
    int user = movement.user >= 0 ? places[movement.user] : -1,
        maker = makers[movement.value] >= 0 ? places[makers[movement.value]] : -1;
    bool isCore = user >= 0 && result.program.ops[user].attentionCore;
    int place = user >= 0 && (!isCore || maker < 0) ? user : maker >= 0 ? maker : user;
    if (place >= 0)
      result.program.ops[place].saved += movement.kept;
  }

  void overlap() {
    const Stack &stack = context.stack;
    const Device &device = context.device();
    for (auto [movement, place] : transfers) {
      LayerOp &op = result.program.ops[place];
      Seconds weights, gradients;
      for (int user : users[movement->value])
        if (layer.ops[user].kernel == TemplateKernel::Product) {
          weights += result.program.ops[places[user]].weightGradient;
          gradients += result.program.ops[places[user]].backward;
        }
      bool isParameter = layer.values[movement->value].kind == TemplateValueKind::Parameter;
      bool hides = (stack.asyncTensorBackward || stack.overlapTensorParallel) && !isParameter;
      if (hides && weights.value > 0 && op.backward.value > 0)
        op.backward = runTogether(device, weights, op.backward) - weights;
      if (movement->again.value > 0) {
        Seconds again = movement->again;
        if (hides && gradients.value > 0)
          again = runTogether(device, gradients, again) - gradients;
        op.backward += again;
        op.gatheredAgain = again;
      }
    }
  }

  const TemplatePricing &pricing;
  const PricingContext &context;
  const OpTemplate &layer;
  const TemplateChoice &choice;
  std::vector<Movement> movements;
  std::vector<int> makers;             // op per value; -1: none
  std::vector<std::vector<int>> users; // ops per value
  std::vector<int> places;             // of ops in the program
  std::vector<const Movement *> moved; // per value
  std::vector<std::pair<const Movement *, size_t>> transfers;
  TemplateProgram result;
};
} // namespace

std::optional<LayerTransfer> mlir::ppc::transferOf(const ReshardStep &step, llvm::ArrayRef<int64_t> shape,
                                                   int64_t elementBytes, llvm::ArrayRef<LayoutAxis> grid,
                                                   int64_t stride) {
  LayerTransfer transfer;
  transfer.ranks = groupSize(step.axes, grid);
  transfer.elementBits = 8 * elementBytes;
  if (step.kind == ReshardKind::Slice || transfer.ranks == 1)
    return std::nullopt;
  transfer.stride = stride;
  int innermost = *llvm::max_element(step.axes); // axes lie next to each other: there are two at most, or all
  for (size_t axis = innermost + 1; axis < grid.size(); ++axis)
    transfer.stride *= grid[axis].size;
  Layout part = step.result;
  switch (step.kind) {
  case ReshardKind::AllReduce:
    transfer.kind = TransferKind::AllReduce;
    break;
  case ReshardKind::ReduceScatter:
    transfer.kind = TransferKind::ReduceScatter;
    transfer.elements = transfer.ranks;
    break;
  case ReshardKind::AllGather: // the block that each had
    transfer.kind = TransferKind::AllGather;
    transfer.elements = transfer.ranks;
    llvm::append_range(part.dims[step.dim], step.axes);
    break;
  default: // what each had
    transfer.kind = TransferKind::AllToAll;
    part.dims[step.dim].resize(part.dims[step.dim].size() - step.axes.size());
    llvm::append_range(part.dims[step.fromDim], step.axes);
  }
  transfer.elements = std::max<int64_t>(1, transfer.elements);
  for (int64_t extent : localShape(shape, part, grid))
    transfer.elements *= extent;
  return transfer;
}

TemplateProgram mlir::ppc::buildTemplateProgram(const TemplatePricing &pricing, const PricingContext &context,
                                                const OpTemplate &layer, TemplateNetwork &network,
                                                const TemplateChoice &choice, double pricePerByte) {
  return ProgramBuilder(pricing, context, layer, choice, network.movements(choice.assignment, pricePerByte)).run();
}
