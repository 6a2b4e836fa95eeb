// What follows a product value by value, and what each part of it would move as an epilogue.
#ifndef PPC_TRANSFORMS_FUSION_EPILOGUECHAIN_H
#define PPC_TRANSFORMS_FUSION_EPILOGUECHAIN_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {

/// Which ops of a block will be kernels between the same two anchors: products, attention, communication, calls.
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

/// An op behind a product that can be part of it: `op` makes the next value of the one before.
struct EpilogueStage {
  enum Kind { Bias, Addend, Rounding, Gelu, GeluGradient };
  Kind kind;
  Operation *op;
  Value operand; // the bias as it is before it is repeated, what is added, or where the gradient is; else null
};

/// The first `stages` of a chain; `splits`: and the split behind all of them, as a product for each part.
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
  /// The value of the product (0) or of stage number - 1.
  Value value(unsigned number) const;
  /// The second result of a product with the first `stages` stages: what its gelu is taken of, if anything else uses
  /// that.
  Value keptBy(unsigned stages) const;

  bool isPossible() const { return !found.empty() || parts; }
  EpilogueChoice longest() const { return {unsigned(found.size()), bool(parts)}; }
  /// The cheapest choice, of equal ones the shortest.
  EpilogueChoice choose() const;
  /// Bytes that the result of the product, its epilogue and the kernels behind it move, of which those of a run count
  /// as one; a launch counts as 1 MiB. What all choices have in common may be left out.
  int64_t cost(EpilogueChoice choice) const;
  int64_t saving(EpilogueChoice choice) const { return cost({}) - cost(choice); }
  /// " bias, rounding, gelu beside its sum"
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
  int64_t run = 0; // in which what follows the product is computed
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_FUSION_EPILOGUECHAIN_H
