// Layers whose weights do not change, or only by adapters beside them.
#include "ppc/CostModel/LayerProgram.h"

using namespace mlir::ppc;

/// An adapter is two products of its rank: their FLOPs run at the rate of a skinny one.
static void addAdapter(const PricingContext &context, LayerOp &op) {
  const Device &device = context.device();
  double rank = double(context.stack.adapterRank);
  // Of a product of r x n x k FLOPs and its traffic follow the rows and n + k.
  double bytes = elementBytes(context.activationPrecision());
  double rows = double(context.layout.microBatch) * double(context.job.sequence) / double(context.layout.cp);
  double weights = op.flops.value / (2 * rows);
  Bytes once(bytes * (rows * rank * 2 - weights) + op.traffic.value);
  Seconds narrow = 2 * device.productFloor + streamTime(device, once);
  op.forward += narrow;
  op.backward += narrow;
  op.weightGradient = narrow;
  op.forwardCut += narrow;
  op.backwardCut += narrow;
  op.forwardKernels += 2;
  op.backwardKernels += 2;
}

void mlir::ppc::freezeWeights(const PricingContext &context, LayerProgram &program, bool isLayer) {
  const Stack &stack = context.stack;
  if (stack.adapterRank) {
    for (LayerOp &op : program.ops)
      if (op.weightGradient.value > 0) {
        op.weightGradient = Seconds(0);
        op.passes = 2;
        if (op.kind == OpClass::Gemm && isLayer)
          addAdapter(context, op);
      }
    if (stack.frozenBits < 16 && isLayer) {
      // Read narrow, written wide; in forward, and again in backward.
      LayerOp &widen = program.ops.emplace_back();
      widen.name = "widening of frozen weights";
      double elements = program.parameters + program.expertParameters;
      widen.traffic = Bytes(elements * (stack.frozenBits / 8 + 2));
      widen.forward = widen.backward = streamTime(context.device(), widen.traffic);
      widen.forwardKernels = widen.backwardKernels = 7;
      // The widest product's weights.
      program.backwardWorkspace += Bytes(2 * elements / 3);
    }
  }
  if (stack.backwardShare < 1 && isLayer) {
    for (LayerOp &op : program.ops) {
      op.passes = 1 + 2 * stack.backwardShare;
      op.backward.value *= stack.backwardShare;
      op.weightGradient.value *= stack.backwardShare;
      op.backwardCut.value *= stack.backwardShare;
      op.backwardLink.value *= stack.backwardShare;
      op.saved.value *= stack.backwardShare;
      op.weightOperands.value *= stack.backwardShare;
      op.weightInputs.value *= stack.backwardShare;
    }
    program.input.value *= stack.backwardShare;
  }
}
