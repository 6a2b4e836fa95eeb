// What attention and its gradients are given (ppcrt.attention, ppcrt.attention_backward).
#ifndef PPC_LIB_TARGET_CUDA_ATTENTIONPROBLEM_H
#define PPC_LIB_TARGET_CUDA_ATTENTIONPROBLEM_H

#include "dialects/ppcrt/PpcRt.h"
#include "lib/Target/Cuda/Writer/KernelWriter.h"

namespace mlir::ppc::cuda {

constexpr double kLog2E = 1.44269504088896340736;

struct AttentionProblem {
  explicit AttentionProblem(ppcrt::AttentionOp op)
      : AttentionProblem(op.getIns(), op.getOuts(), 3, op.getFirst(), op.getScale(), op.getCausal(), op.getWindow()) {}
  explicit AttentionProblem(ppcrt::AttentionBackwardOp op)
      : AttentionProblem(op.getIns(), op.getOuts(), 6, op.getFirst(), op.getScale(), op.getCausal(), op.getWindow()) {
    if (outs.size() > 3)
      sums = outs.pop_back_val(), statistics = outs.pop_back_val();
  }

  SmallVector<Value> ins;  // q, k, v; of gradients also the result, its logarithms, its gradient
  SmallVector<Value> outs; // the result and its logarithms; the gradients of q, k, v
  Value slopes, first;     // may be null
  Value statistics, sums;  // scratch of gradients in one pass (AttentionOnePass.h), else null
  double scale;
  bool causal;
  std::optional<int64_t> window;
  int64_t batch, queries, heads, groups, keys, keyDim, valueDim;

  static ArrayRef<int64_t> shapeOf(Value memref) { return cast<MemRefType>(memref.getType()).getShape(); }

  /// The place of the first query among the keys, in the kernel that `w` writes.
  Value start(KernelWriter &w) const { return first ? w.map.lookup(first) : w.index(causal ? keys - queries : 0); }

private:
  AttentionProblem(ValueRange inputs, ValueRange outputs, size_t tensors, Value first, llvm::APFloat scale, bool causal,
                   std::optional<int64_t> window)
      : ins(inputs.take_front(tensors)), outs(outputs), slopes(inputs.size() > tensors ? inputs[tensors] : Value()),
        first(first), scale(scale.convertToDouble()), causal(causal), window(window) {
    ArrayRef<int64_t> q = shapeOf(ins[0]), v = shapeOf(ins[2]);
    batch = q[0], queries = q[1], heads = q[2], groups = q[3], keyDim = q[4];
    keys = v[1], valueDim = v[3];
  }
};

/// Whether tensor cores can do it: bf16, heads of multiples of 16 up to 256, rows without gaps.
bool fitsTensorCores(const AttentionProblem &problem);
/// Whether warpgroups of sm_90a can, and tensor memory of sm_100a forward: heads of 64 or 128 as well, a scale above 0,
/// no window and no slopes.
bool fitsWarpgroups(const AttentionProblem &problem);
void writeWarpgroupAttention(KernelWriter &w, const AttentionProblem &problem);
void writeTensorMemoryAttention(KernelWriter &w, const AttentionProblem &problem);
void writeWarpgroupQueryGradient(KernelWriter &w, const AttentionProblem &problem);
void writeWarpgroupKeyGradients(KernelWriter &w, const AttentionProblem &problem);
/// By tensor cores. `w` has begun.
void writeTiledAttention(KernelWriter &w, const AttentionProblem &problem);
/// The gradient of queries; of keys and values, or of one of both where registers do not hold the sums of both.
void writeTiledQueryGradient(KernelWriter &w, const AttentionProblem &problem);
void writeTiledKeyGradients(KernelWriter &w, const AttentionProblem &problem, bool ofKeys, bool ofValues);

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_ATTENTIONPROBLEM_H
