// Elementwise ops after a matmul, and the bytes that each would move as part of its epilogue.
#ifndef PPC_TRANSFORMS_FUSION_EPILOGUECHAIN_H
#define PPC_TRANSFORMS_FUSION_EPILOGUECHAIN_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {

/// The runs of ops of a block that will be kernels between the same two anchors: matmuls, attention, communication,
/// calls.
class BlockRuns {
public:
  explicit BlockRuns(Block &block);
  /// The number of anchors before `op`, as the block was.
  int64_t runOf(Operation *op) const { return runs.lookup(op); }
  /// Whether `op` becomes a loop, which may be one kernel with others of its run.
  static bool isLoop(Operation *op);

private:
  llvm::DenseMap<Operation *, int64_t> runs;
};

/// An op after a matmul that can be part of it: `op` computes the next value from the one before.
struct EpilogueStage {
  enum Kind { Bias, Addend, Rounding, Gelu, GeluGradient };
  Kind kind;
  Operation *op;
  Value operand; // the bias before it is broadcast, the addend, or the operand of gelu's gradient; else null
};

/// The first `stages` of a chain; `splits`: and the split after all of them, as a matmul for each part.
struct EpilogueChoice {
  unsigned stages = 0;
  bool splits = false;
};

class EpilogueChain {
public:
  /// `product` is in the block of `runs`.
  EpilogueChain(ppcrt::GemmOp product, const BlockRuns &runs);

  ppcrt::GemmOp product() const { return gemm; }
  ArrayRef<EpilogueStage> stages() const { return found; }
  SplitOp split() const { return parts; }
  /// The value of the matmul (0) or of stage number - 1.
  Value value(unsigned number) const;
  /// The second result of a matmul with the first `stages` stages: the operand of its gelu, if it has other uses.
  Value keptBy(unsigned stages) const;

  bool isPossible() const { return !found.empty() || parts; }
  EpilogueChoice longest() const { return {unsigned(found.size()), bool(parts)}; }
  /// The cheapest choice, of equal ones the shortest.
  EpilogueChoice choose() const;
  /// Bytes that the result of the matmul, its epilogue and the kernels after it move, of which those of a run count
  /// as one; a launch counts as 1 MiB. Terms that all choices have in common may be left out.
  int64_t cost(EpilogueChoice choice) const;
  int64_t saving(EpilogueChoice choice) const { return cost({}) - cost(choice); }
  /// " bias, rounding, gelu in addition to its sum"
  std::string describe(EpilogueChoice choice) const;

private:
  bool takesEpilogue() const;
  void findStages();
  bool addStage(Operation *user);
  bool addSum(AddOp add);
  void findSplit();
  bool hasStage(EpilogueStage::Kind kind) const;
  int64_t epilogueBytes(unsigned stages) const;
  bool isReadInRun(Value value, Operation *except = nullptr) const;
  bool isReadBehind(Value value) const;

  ppcrt::GemmOp gemm;
  const BlockRuns &runs;
  SmallVector<EpilogueStage> found;
  SplitOp parts;
  int64_t run = 0; // in which the op after the matmul is computed
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_FUSION_EPILOGUECHAIN_H
