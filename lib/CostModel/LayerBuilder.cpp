#include "LayerBuilder.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

Seconds mlir::ppc::runTogether(const Device &device, Seconds compute, Seconds communication) {
  // While both run, each is slowed; the one that ends first frees the other.
  double computeRate = 1 - device.communicationShare, communicationRate = 1 - device.communicationSlowdown;
  double computeAlone = compute.value / computeRate, communicationAlone = communication.value / communicationRate;
  if (computeAlone <= communicationAlone)
    return Seconds(computeAlone + communication.value - communicationRate * computeAlone);
  return Seconds(communicationAlone + compute.value - computeRate * communicationAlone);
}

LayerOp &LayerBuilder::add(llvm::StringRef name, OpClass kind) {
  LayerOp &op = program.ops.emplace_back();
  op.name = name;
  op.kind = kind;
  return op;
}

/// Products of 8 bits keep their quantised operand for the weight gradient, given in bytes of 16-bit elements.
static double keptShare(Precision precision) { return std::min(1.0, std::max(1.0, elementBytes(precision)) / 2); }

static int64_t extent(double value) { return std::max<int64_t>(1, std::llround(std::ceil(value - 1e-9))); }

Seconds mlir::ppc::productTime(const Device &device, const LayerProduct &product) {
  const GemmShape &shape = product.shape;
  Seconds each = product.groups ? groupedGemmTime(device, product.precision, product.groups, shape.m, shape.n, shape.k)
                                : gemmTime(device, product.precision, shape);
  return double(product.calls) * each;
}

void LayerBuilder::multiply(LayerOp &op, const LayerProduct &product) {
  Seconds time = productTime(context.device(), product);
  (product.when == When::Forward    ? op.forward
   : product.when == When::Backward ? op.backward
                                    : op.weightGradient) += time;
  if (context.stack.arena)
    op.products.push_back(product);
}

void LayerBuilder::readLater(double columns) {
  if (LayerOp &op = program.ops.back(); context.slices > 1 && !op.products.empty())
    op.products.front().readLater = extent(columns);
}

LayerOp &LayerBuilder::product(llvm::StringRef name, Precision precision, double rows, double n, double k, Bytes saved,
                               int kernels) {
  const Device &device = context.device();
  int slices = int(context.slices);
  kernels *= slices;
  int64_t m = extent(rows / slices), columns = extent(n * slices / kernels), depth = extent(k);
  LayerOp &op = add(name, OpClass::Gemm);
  multiply(op, {When::Forward, precision, {1, m, columns, depth}, 0, 0, kernels});
  multiply(op, {When::Backward, precision, {1, m, depth, columns}, 0, 0, kernels});
  multiply(op, {When::WeightGradient, precision, {1, columns, depth, m, /*outerK=*/true}, 0, 0, kernels});
  op.forwardCut = op.forward;
  op.backwardCut = op.backward;
  if (context.stack.overlapTensorParallel && context.layout.tp > 2) {
    // Pieces run on streams of their own, so that two fill the multiprocessors together.
    int64_t pairs = context.layout.tp / 2, part = extent(rows / double(pairs * slices));
    op.forwardCut = (kernels * pairs) * gemmTime(device, precision, {1, part, columns, depth});
    op.backwardCut = (kernels * pairs) * gemmTime(device, precision, {1, part, depth, columns});
  }
  op.forwardKernels = kernels;
  op.backwardKernels = 2 * kernels;
  double weights = n * k;
  if (!context.stack.fusedGradientAccumulation) {
    // Each micro-batch but the first adds its gradient to the accumulator: read both, write one.
    double microBatches = context.layout.microBatches(context.job);
    double share = (microBatches - 1) / std::max(1.0, microBatches);
    op.weightGradient += share * streamTime(device, Bytes(weights * (elementBytes(context.activationPrecision()) +
                                                                     2 * context.stack.gradientBytes)));
    op.backwardKernels += kernels;
  }
  op.flops = Flops(2 * rows * n * k);
  op.traffic = Bytes(elementBytes(context.activationPrecision()) * (rows * (n + k) + weights));
  op.saved = saved * (keptShare(precision) * context.activationScale());
  op.weightInputs = Bytes(2 * rows * k * keptShare(precision)) * context.activationScale();
  op.weightOperands = op.weightInputs + Bytes(2 * rows * n) * context.activationScale();
  program.parameters += weights;
  program.roundedParameters += weights;
  return op;
}

void LayerBuilder::quantize(double operands, double gradients, double weights, int kernels) {
  double narrow = elementBytes(context.layout.precision);
  if (narrow >= 2)
    return;
  // Read in bf16, written by rows for this product and by columns for the weight gradient; weights once a step. 4 bits
  // have a scale of the whole tensor besides: read once more for its maximum. Compilers fuse what is read with what
  // produced it.
  double bytes = 2 + 2 * narrow, microBatches = double(context.layout.microBatches(context.job));
  if (narrow < 1)
    bytes += 2;
  else if (context.stack.execution == Execution::Compiled)
    bytes -= 2;
  if (narrow < 1)
    kernels *= 2;
  LayerOp &op = stream("quantization", (operands + weights / microBatches) * bytes, gradients * bytes, kernels, kernels,
                       Bytes(0));
  if (context.stack.execution == Execution::Eager) // to the host it is making tensors with scales, too
    op.forwardKernels = op.backwardKernels = 8 * kernels;
}

void LayerBuilder::linear(llvm::StringRef name, double rows, double n, double k, Bytes saved, int kernels) {
  product(name, context.layout.precision, rows, n, k, saved, kernels);
  quantize(rows * k, rows * n, n * k, 1);
}

LayerOp &LayerBuilder::linearBf16(llvm::StringRef name, double rows, double n, double k, Bytes saved) {
  Precision precision = context.layout.precision;
  return product(name, elementBytes(precision) < 2 ? Precision::Bf16 : precision, rows, n, k, saved, 1);
}

LayerOp &LayerBuilder::experts(llvm::StringRef name, int64_t groups, double rows, double n, double k, Bytes saved) {
  Precision precision = context.layout.precision;
  int slices = int(context.slices);
  int64_t m = extent(rows / slices), columns = extent(n), depth = extent(k);
  LayerOp &op = add(name, OpClass::Gemm);
  multiply(op, {When::Forward, precision, {1, m, columns, depth}, groups, 0, slices});
  multiply(op, {When::Backward, precision, {1, m, depth, columns}, groups, 0, slices});
  int64_t each = extent(rows / slices / double(groups));
  multiply(op, {When::WeightGradient, precision, {groups, columns, depth, each, /*outerK=*/true}, 0, 0, slices});
  op.byExpert = true;
  op.forwardKernels = slices;
  op.backwardKernels = 2 * slices;
  op.flops = Flops(2 * rows * n * k);
  op.traffic = Bytes(elementBytes(context.activationPrecision()) * (rows * (n + k) + double(groups) * n * k));
  op.saved = saved * (keptShare(precision) * context.activationScale());
  op.weightInputs = Bytes(2 * rows * k * keptShare(precision)) * context.activationScale();
  op.weightOperands = op.weightInputs + Bytes(2 * rows * n) * context.activationScale();
  program.expertParameters += double(groups) * n * k;
  program.roundedParameters += double(groups) * n * k;
  return op;
}

void LayerBuilder::quantizeExperts(int64_t groups, double rows, double n, double k, bool operand, bool gradient) {
  double weights = double(groups) * n * k;
  bool fused = context.stack.fusedExperts;
  size_t before = program.ops.size();
  quantize(operand ? rows * k : 0, gradient ? rows * n : 0, weights, fused ? 1 : int(groups));
  if (program.ops.size() == before)
    return;
  program.ops.back().byExpert = true;
  if (fused)
    return;
  // Each expert's operands are tensors of their own to the framework: made, quantised, and the scales of blocks brought
  // into the order that the product wants.
  Precision precision = context.layout.precision;
  bool blocks = precision == Precision::Mxfp8 || precision == Precision::Fp4;
  LayerOp &op = program.ops.back();
  op.forwardKernels = (blocks ? 10 : 4) * int(groups);
  op.backwardKernels = 2 * op.forwardKernels;
}

LayerOp &LayerBuilder::batched(llvm::StringRef name, double batch, double m, double n, double k, Bytes saved,
                               int64_t skipped) {
  int64_t b = extent(batch), rows = extent(m), columns = extent(n), depth = extent(k);
  Precision precision = context.activationPrecision();
  LayerOp &op = add(name, OpClass::Gemm);
  multiply(op, {When::Forward, precision, {b, rows, columns, depth}, 0, skipped});
  multiply(op, {When::Backward, precision, {b, rows, depth, columns}, 0, skipped});
  multiply(op, {When::Backward, precision, {b, columns, depth, rows, /*outerK=*/true}, 0, skipped});
  op.backwardKernels = 2;
  op.flops = Flops(2 * batch * (m * n * k - double(skipped)));
  op.traffic = Bytes(elementBytes(context.activationPrecision()) * batch * (m * n + m * k + n * k));
  op.saved = saved * context.activationScale();
  return op;
}

LayerOp &LayerBuilder::stream(llvm::StringRef name, double forwardBytes, double backwardBytes, int forwardKernels,
                              int backwardKernels, Bytes saved) {
  const Device &device = context.device();
  forwardKernels *= int(context.slices);
  backwardKernels *= int(context.slices);
  LayerOp &op = add(name, OpClass::Stream);
  auto time = [&](double bytes, int kernels) {
    return kernels ? kernels * streamTime(device,
                                          Bytes(context.activationScale() * bytes / kernels / device.elementwiseShare))
                   : Seconds(0);
  };
  op.forward = time(forwardBytes, forwardKernels);
  op.backward = time(backwardBytes, backwardKernels);
  op.forwardKernels = forwardKernels;
  op.backwardKernels = backwardKernels;
  op.traffic = Bytes(context.activationScale() * forwardBytes);
  op.saved = saved * context.activationScale();
  return op;
}

LayerOp &LayerBuilder::collective(llvm::StringRef name, const GroupPlacement &group, CollectiveKind forward,
                                  Bytes forwardBytes, CollectiveKind backward, Bytes backwardBytes) {
  LayerOp &op = add(name, OpClass::Communication);
  op.group = &group == &context.expertGroup         ? OpGroup::Expert
             : &group == &context.expertTensorGroup ? OpGroup::ExpertTensor
             : &group == &context.contextGroup      ? OpGroup::Context
                                                    : OpGroup::Tensor;
  double slices = double(context.slices);
  auto time = [&](CollectiveKind kind, Bytes bytes) {
    return slices * (collectiveTime(context.cluster, kind, bytes * (context.activationScale() / slices), group) /
                         context.device().collectiveShare +
                     context.device().collectiveMeeting);
  };
  if (forwardBytes.value > 0)
    op.forward = time(forward, forwardBytes);
  if (backwardBytes.value > 0)
    op.backward = time(backward, backwardBytes);
  op.forwardLink = op.forward;
  op.backwardLink = op.backward;
  op.leavesUnit = group.size() > group.members.front();
  op.traffic = forwardBytes * context.activationScale();
  op.forwardKernels = forwardBytes.value > 0 ? int(slices) : 0;
  op.backwardKernels = backwardBytes.value > 0 ? int(slices) : 0;
  return op;
}

static CollectiveKind collectiveKind(TransferKind kind) {
  switch (kind) {
  case TransferKind::AllGather:
    return CollectiveKind::AllGather;
  case TransferKind::ReduceScatter:
    return CollectiveKind::ReduceScatter;
  case TransferKind::AllToAll:
    return CollectiveKind::AllToAll;
  default:
    return CollectiveKind::AllReduce;
  }
}

TransferRow mlir::ppc::rowOf(const LayerTransfer &transfer) {
  TransferRow row;
  row.phase = transfer.when == LayerTransfer::When::Forward ? LedgerPhase::Forward : LedgerPhase::Backward;
  row.kind = transfer.kind;
  row.members = transfer.members();
  row.elementBits = transfer.elementBits;
  row.elements = transfer.elements;
  row.calls = transfer.calls;
  return row;
}

static GroupPlacement placementOf(const PricingContext &context, const MemberSet &members) {
  return placeGroup(context.cluster.levels(), std::max<int64_t>(1, members.innerStride()), members.size());
}

Seconds mlir::ppc::transferTime(const PricingContext &context, const TransferRow &row) {
  Seconds each = collectiveTime(context.cluster, collectiveKind(row.kind), Bytes(double(row.bytes())),
                                placementOf(context, row.members));
  return double(row.calls) * (each / context.device().collectiveShare + context.device().collectiveMeeting);
}

void LayerBuilder::addTransfer(LayerOp &op, const LayerTransfer &transfer) {
  op.transfers.push_back(transfer);
  TransferRow row = rowOf(transfer);
  Seconds time = transferTime(context, row);
  bool forward = transfer.when == LayerTransfer::When::Forward;
  (forward ? op.forward : op.backward) += time;
  (forward ? op.forwardLink : op.backwardLink) += time;
  (forward ? op.forwardKernels : op.backwardKernels) += int(transfer.calls);
  if (transfer.when >= LayerTransfer::When::Again)
    op.gatheredAgain += time;
  if (forward)
    op.traffic += Bytes(double(row.calls * row.bytes()));
  GroupPlacement group = placementOf(context, row.members);
  op.leavesUnit |= group.size() > group.members.front();
}

LayerOp &LayerBuilder::transfers(llvm::StringRef name, llvm::ArrayRef<LayerTransfer> transfers) {
  LayerOp &op = add(name, OpClass::Communication);
  op.forwardKernels = op.backwardKernels = 0;
  for (const LayerTransfer &transfer : transfers)
    addTransfer(op, transfer);
  return op;
}

void LayerBuilder::hide(Seconds &communication, Seconds compute) const {
  communication = runTogether(context.device(), compute, communication) - compute;
}
