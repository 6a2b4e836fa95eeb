// Derives the relations of an op's results from the relations of its operands.
#ifndef PPC_LIB_EQUIVALENCE_DERIVATION_H
#define PPC_LIB_EQUIVALENCE_DERIVATION_H

#include "OpLoops.h"
#include "Relation.h"

namespace mlir::ppc {

/// Relations of the results, or the reason why they are unknown.
struct Derived {
  SmallVector<Relation> results;
  std::string error;

  static Derived fail(const Twine &error) { return {{}, error.str()}; }
  bool failed() const { return !error.empty(); }
};

class Derivation {
public:
  /// `isLogical`: the program defines the terms; else its ops must compute known terms.
  Derivation(TermTable &terms, RankAxes axes, bool isLogical) : terms(terms), axes(axes), isLogical(isLogical) {}

  /// `operands` are of one op, which is not an accumulate, terminator or all-reduce over "pp".
  Derived derive(Operation *op, ArrayRef<Relation> operands);

  /// The relation of `x`, in a buffer of type `from`, after communication of full buffers over `group`: every rank
  /// then has its block of type `to`. Blocks are split and concatenated along dimension 0, where they are contiguous.
  Derived reduced(Relation x, ArrayRef<StringAttr> group, Combiner combiner, RankedTensorType to);
  Derived reducedAndCut(Relation x, ArrayRef<StringAttr> group, Combiner combiner, RankedTensorType from,
                        RankedTensorType to);
  Derived joined(Relation x, ArrayRef<StringAttr> group, RankedTensorType from, RankedTensorType to);
  /// The relation of the sum of values of one local type.
  Derived sumOf(SmallVector<Relation> parts);

  TermTable &terms;
  const RankAxes axes;

private:
  /// Facts about one loop of an op.
  struct Loop {
    char letter = 0;
    bool isInTerm = false; ///< some operand varies along it, or only results have it
    /// Whether its sharding is known: from an operand that varies along it, or has padding, or from a block.
    bool isKnown = false;
    int64_t extent = kAnyExtent, local = 0;
    SmallVector<StringAttr, 2> axes;
    bool allZero = true, isFed = false; ///< all float operands that have it have zeros in its padding; there is one
  };
  struct Joined {
    SmallVector<Loop> loops;
    SmallVector<std::pair<StringAttr, Combiner>, 2> pending; ///< passing from operands to results

    Loop *find(char letter) {
      auto it = llvm::find_if(loops, [&](const Loop &loop) { return loop.letter == letter; });
      return it == loops.end() ? nullptr : &*it;
    }
  };

  Derived deriveFromLoops(Operation *op, ArrayRef<Relation> given, const OpLoops &loops);
  std::string joinLoops(Operation *op, ArrayRef<Relation> operands, const OpLoops &loops, Joined &joined);
  /// Makes operands that are shares partial sums if others are.
  std::string passPending(Operation *op, MutableArrayRef<Relation> operands, const OpLoops &loops, Joined &joined);
  /// Makes `x`, complete over the axes of `pending` that it lacks, a partial sum over them; false if it is not a
  /// share.
  bool spread(Relation &x, ArrayRef<std::pair<StringAttr, Combiner>> pending);
  std::string checkCuts(const OpLoops &loops, Joined &joined);
  /// The relation of result `number` if its term is `term`.
  std::string resultRelation(Operation *op, unsigned number, TermId term, const OpLoops &loops, Joined &joined,
                             Relation &result);
  /// Per result its factor relative to the key, which receives the sizes of loops.
  SmallVector<double> factorsOf(Operation *op, const OpLoops &loops, ArrayRef<Loop> joined, double factor, OpKey &key);
  SmallVector<int64_t> logicalShape(Operation *op, unsigned number, const OpLoops &loops, Joined &joined);
  /// Whether the operands in which an op is linear, or that it maps to zero, are zero, and with them each result.
  bool isZeroOfZeros(Operation *op, ArrayRef<Relation> operands, const OpLoops &loops) const;
  /// The term of an op that is linear, or known by algebra; std::nullopt for others.
  std::optional<TermId> algebra(Operation *op, ArrayRef<Relation> operands, ArrayRef<int64_t> shape);

  Derived deriveAsIs(Operation *op, ArrayRef<Relation> operands);
  /// Rules for chunks, into which only the partitioned program splits values (PieceRules.cpp).
  Derived piecesOf(SplitOp op, const Relation &x);
  Derived deriveOfPieces(Operation *op, ArrayRef<Relation> operands);
  Derived joinPieces(ConcatOp op, ArrayRef<Relation> operands);
  Derived communicatePieces(Operation *op, const Relation &x);
  Derived deriveWhole(Operation *op, ArrayRef<Relation> operands, ArrayRef<SmallVector<Piece, 1>> resultPieces);
  /// Reason why the element type of `op`, f32 or wider, cannot hold a constant that it multiplies by, or the
  /// product of all factors so far; "" if it can.
  std::string lostFactor(Operation *op, ArrayRef<Relation> results) const;
  Derived reshapeRelation(const Relation &x, RankedTensorType fromType, RankedTensorType toType,
                          ArrayRef<int64_t> wanted, SmallVectorImpl<int64_t> &shape);
  SmallVector<Relation> viewsAs(const Relation &x, RankedTensorType from, RankedTensorType to);
  Derived reshape(ReshapeOp op, const Relation &x);
  Derived constant(ConstantOp op);
  Derived maskPadding(MaskPaddingOp op, const Relation &x);
  Derived crossEntropy(CrossEntropyOp op, ArrayRef<Relation> given);

  Derived allReduce(AllReduceOp op, Relation x);
  Derived allGather(AllGatherOp op, Relation x);
  Derived reduceScatter(ReduceScatterOp op, Relation x);
  Derived allToAll(AllToAllOp op, Relation x);
  Derived localSlice(LocalSliceOp op, Relation x);
  std::string takePending(Relation &x, ArrayRef<StringAttr> group, Combiner combiner);
  std::string cutFurther(Relation &x, int64_t dim, ArrayRef<StringAttr> group, int64_t from, int64_t size);
  std::string joinBlocks(Relation &x, int64_t dim, ArrayRef<StringAttr> group, int64_t blockSize, int64_t size);
  Derived checkedType(RankedTensorType type, Relation relation);

  std::optional<StringAttr> unknownAxis(Operation *op) const;
  OpKey keyOf(Operation *op, ArrayRef<Relation> operands, const OpLoops *loops, double &factor);
  std::string labelOf(Operation *op) const;
  std::string notComputed(Operation *op, ArrayRef<Relation> operands);

  bool isLogical;
};

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_DERIVATION_H
