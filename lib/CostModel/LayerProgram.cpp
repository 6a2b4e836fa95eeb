#include "ppc/CostModel/LayerProgram.h"

#include <cmath>

using namespace mlir::ppc;

llvm::StringRef mlir::ppc::toString(OpClass kind) {
  static constexpr llvm::StringRef names[] = {"matmul", "attention", "memory", "communication"};
  return names[static_cast<int>(kind)];
}

template <typename T, typename Field> static T sum(const LayerProgram &program, Field field) {
  T total{};
  for (const LayerOp &op : program.ops)
    total += field(op);
  return total;
}

Seconds LayerProgram::forward() const {
  return sum<Seconds>(*this, [](const LayerOp &op) { return op.forward; });
}
Seconds LayerProgram::backward() const {
  return sum<Seconds>(*this, [](const LayerOp &op) { return op.backward; });
}
Seconds LayerProgram::weightGradient() const {
  return sum<Seconds>(*this, [](const LayerOp &op) { return op.weightGradient; });
}
Seconds LayerProgram::recomputePartial(bool selective) const {
  return sum<Seconds>(*this, [&](const LayerOp &op) {
    return op.recomputed || (selective && op.attentionCore) ? op.forward : Seconds(0);
  });
}
Seconds LayerProgram::recomputeFull() const {
  size_t end = ops.size();
  if (recomputeStopsEarly) {
    while (end > 0 && ops[end - 1].saved.value == 0)
      --end;
    if (end > 0 && ops[end - 1].kind == OpClass::Gemm) // it keeps its operand; nobody reads its result
      --end;
  }
  Seconds total;
  for (size_t i = 0; i < end; ++i)
    total += ops[i].endsLayer ? Seconds(0) : ops[i].forward;
  for (const LayerOp &op : ops)
    total -= op.gatheredAgain;
  return total;
}
Seconds LayerProgram::communication() const {
  return sum<Seconds>(*this,
                      [](const LayerOp &op) { return op.kind == OpClass::Communication ? op.forward : Seconds(0); });
}
// Less what then need not be gathered again, as recomputeFull.
Seconds LayerProgram::communicationAgain() const {
  return sum<Seconds>(*this, [](const LayerOp &op) {
    if (op.kind != OpClass::Communication)
      return Seconds(0);
    return (op.endsLayer ? Seconds(0) : op.forward) - op.gatheredAgain;
  });
}
Bytes LayerProgram::saved() const {
  return sum<Bytes>(*this, [](const LayerOp &op) { return op.saved; });
}
Bytes LayerProgram::weightInputs() const {
  return sum<Bytes>(*this, [](const LayerOp &op) { return op.weightInputs; });
}

Bytes LayerProgram::weightOperands() const {
  return sum<Bytes>(*this, [](const LayerOp &op) { return op.weightOperands; });
}
Bytes LayerProgram::savedSelective() const {
  return sum<Bytes>(*this, [](const LayerOp &op) { return op.attentionCore ? Bytes(0) : op.saved; });
}
int LayerProgram::forwardKernels(bool recorded) const {
  return sum<int>(*this, [&](const LayerOp &op) { return recorded && !op.unrecorded ? 0 : op.forwardKernels; });
}
int LayerProgram::backwardKernels(bool recorded) const {
  return sum<int>(*this, [&](const LayerOp &op) { return recorded && !op.unrecorded ? 0 : op.backwardKernels; });
}

double PricingContext::paddedVocabulary() const {
  double multiple = stack.vocabularyMultiple * double(layout.tensorColumns());
  return std::ceil(double(model.vocab) / multiple) * multiple;
}

PricingContext::PricingContext(const PricingContext &like, const ParallelLayout &layout)
    : model(like.model), job(like.job), cluster(like.cluster), layout(layout), stack(like.stack), slices(like.slices),
      message(like.message), isTransformer(like.isTransformer), tensorGroup(like.tensorGroup),
      contextGroup(like.contextGroup), expertGroup(like.expertGroup), expertTensorGroup(like.expertTensorGroup) {}

PricingContext::PricingContext(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                               const ParallelLayout &layout, const Stack &stack, int64_t slices)
    : model(model), job(job), cluster(cluster), layout(layout), stack(stack), slices(slices),
      tensorGroup(placeGroup(cluster.levels(), 1, layout.tp)),
      contextGroup(placeGroup(cluster.levels(), layout.tp, layout.cp)),
      expertGroup(placeGroup(cluster.levels(), layout.etp, layout.ep)),
      expertTensorGroup(placeGroup(cluster.levels(), 1, layout.etp)) {
  if (layout.precision == Precision::Fp16 && stack.fp16GradientBytes > 0) {
    this->stack.gradientBytes = this->stack.gradientReduceBytes = stack.fp16GradientBytes;
    this->stack.lowPrecisionGradientBytes = 0;
  }
}
