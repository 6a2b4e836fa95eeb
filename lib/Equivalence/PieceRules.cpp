// Values that a program splits into chunks that the logical program does not have: matmuls overlapped with their
// collectives. The result of an op on chunks is that chunk of its result on the full values, if it works along their
// dimension element by element.
#include "Derivation.h"

namespace mlir::ppc {

Derived Derivation::piecesOf(SplitOp op, const Relation &x) {
  unsigned dim = op.getDim();
  bool isConstant = extentOf(x, dim, terms) == kAnyExtent; // all parts of it are equal
  if (x.piece(dim))
    return Derived::fail("splits a chunk again along the same dimension: " + describe(x, terms));
  Derived derived;
  Piece piece{dim, int64_t(op.getRuns()), 0, 0, tensorType(op.getX()).getDimSize(dim)};
  for (Value part : op.getParts()) {
    piece.size = tensorType(part).getDimSize(dim) / piece.runs;
    derived.results.push_back(x);
    if (!isConstant)
      derived.results.back().addPiece(piece);
    piece.first += piece.size;
  }
  return derived;
}

Derived Derivation::joinPieces(ConcatOp op, ArrayRef<Relation> operands) {
  unsigned dim = op.getDim();
  auto fail = [&](size_t number) {
    return Derived::fail("concatenates values that are not neighbouring chunks of one value: operand " + Twine(number) +
                         " is " + describe(operands[number], terms));
  };
  Relation whole = operands.front();
  whole.dropPiece(dim);
  int64_t next = 0;
  const Piece *first = operands.front().piece(dim);
  for (auto [number, operand] : llvm::enumerate(operands)) {
    const Piece *piece = operand.piece(dim);
    Relation other = operand;
    other.dropPiece(dim);
    if (!first || !piece || !(other == whole) || piece->runs != int64_t(op.getRuns()) || piece->runs != first->runs ||
        piece->whole != first->whole || piece->first != next)
      return fail(number);
    next += piece->size;
  }
  if (next * first->runs != first->whole)
    return Derived::fail("concatenates " + Twine(next * first->runs) + " of " + Twine(first->whole) + " elements of " +
                         describe(operands.back(), terms));
  return {{whole}, ""};
}

/// Along other dimensions than the dimension of its blocks, communication treats chunks like full values. Along
/// that one, a chunk of each block goes to or comes from the rank of the block.
Derived Derivation::communicatePieces(Operation *op, const Relation &x) {
  SmallVector<Piece, 1> results[1];
  for (Piece piece : x.pieces) {
    if (auto gather = dyn_cast<AllGatherOp>(op); gather && gather.getDim() == piece.dim) {
      int64_t ranks = axes.product(axes.several(gather.getAxes()));
      if (piece.runs != 1)
        return Derived::fail("gathers runs of a dimension: " + describe(x, terms));
      piece.runs = ranks;
      piece.whole *= ranks;
    } else if (auto scatter = dyn_cast<ReduceScatterOp>(op); scatter && scatter.getDim() == piece.dim) {
      int64_t ranks = axes.product(axes.several(scatter.getAxes()));
      if (piece.runs != ranks)
        return Derived::fail("scatters a value that is not a chunk of each block: " + describe(x, terms));
      piece.runs = 1;
      piece.whole /= ranks;
    } else if (auto exchange = dyn_cast<AllToAllOp>(op);
               exchange && (exchange.getSplitDim() == piece.dim || exchange.getConcatDim() == piece.dim)) {
      return Derived::fail("exchanges blocks of a dimension that is chunked: " + describe(x, terms));
    } else if (auto slice = dyn_cast<LocalSliceOp>(op); slice && slice.getDim() == piece.dim) {
      return Derived::fail("takes a block of a dimension that is chunked: " + describe(x, terms));
    }
    results[0].push_back(piece);
  }
  return deriveWhole(op, x, ArrayRef<SmallVector<Piece, 1>>(results));
}

Derived Derivation::deriveOfPieces(Operation *op, ArrayRef<Relation> operands) {
  if (auto split = dyn_cast<SplitOp>(op))
    return piecesOf(split, operands[0]);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return joinPieces(concat, operands);
  if (isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, LocalSliceOp>(op))
    return communicatePieces(op, operands[0]);
  std::optional<OpLoops> loops = isa<ReshapeOp, MaskPaddingOp, CrossEntropyOp>(op) ? std::nullopt : loopsOf(op);
  if (!loops)
    return Derived::fail(
        "cannot take a chunk: " +
        describe(*llvm::find_if(operands, [](const Relation &operand) { return !operand.pieces.empty(); }), terms));
  SmallVector<SmallVector<Piece, 1>> results(op->getNumResults());
  llvm::SmallDenseMap<char, Piece> pieces; // by loop; their dimensions are not set
  for (auto [operand, letters] : llvm::zip_equal(operands, loops->operands))
    for (const Piece &piece : operand.pieces) {
      char letter = letters[piece.dim];
      if ((loops->summed + loops->whole).find(letter) != std::string::npos || letter == loops->indexed)
        return Derived::fail("needs all of a dimension that is chunked: " + describe(operand, terms));
      pieces.try_emplace(letter, piece);
    }
  SmallVector<Relation> taken(operands);
  for (auto [operand, letters] : llvm::zip_equal(taken, loops->operands))
    for (auto [dim, letter] : llvm::enumerate(letters))
      if (auto found = pieces.find(letter); found != pieces.end()) {
        const Piece *own = operand.piece(dim);
        Piece expected = found->second;
        expected.dim = dim;
        if (own ? !(*own == expected) : extentOf(operand, dim, terms) != kAnyExtent)
          return Derived::fail("combines different chunks: " + describe(operand, terms));
        if (!own)
          operand.addPiece(expected);
      }
  for (auto [result, letters] : llvm::zip_equal(results, loops->results)) {
    for (auto [dim, letter] : llvm::enumerate(letters))
      if (auto found = pieces.find(letter); found != pieces.end()) {
        result.push_back(found->second);
        result.back().dim = dim;
      }
    if (result.size() != pieces.size())
      return Derived::fail("gives a result that depends on all of a dimension that is chunked");
  }
  return deriveWhole(op, taken, results);
}

/// The results of the op on the full values, restricted to `resultPieces`.
Derived Derivation::deriveWhole(Operation *op, ArrayRef<Relation> operands,
                                ArrayRef<SmallVector<Piece, 1>> resultPieces) {
  auto widened = [](Type type, ArrayRef<Piece> pieces) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(type).getShape());
    for (const Piece &piece : pieces)
      shape[piece.dim] = piece.whole;
    return withShape(cast<RankedTensorType>(type), shape);
  };
  Block arguments; // belongs to no function: only provides values of these types
  OperationState state(op->getLoc(), op->getName());
  state.addAttributes(op->getAttrs());
  SmallVector<Relation> wholes(operands);
  for (auto [value, relation] : llvm::zip_equal(op->getOperands(), wholes)) {
    state.operands.push_back(arguments.addArgument(widened(value.getType(), relation.pieces), op->getLoc()));
    relation.pieces.clear();
  }
  for (auto [type, pieces] : llvm::zip_equal(op->getResultTypes(), resultPieces))
    state.addTypes(widened(type, pieces));
  Operation *whole = Operation::create(state);
  Derived derived = derive(whole, wholes);
  whole->destroy();
  if (!derived.failed())
    for (auto [relation, pieces] : llvm::zip_equal(derived.results, resultPieces)) {
      for (const Piece &piece : pieces)
        if (extentOf(relation, piece.dim, terms) != kAnyExtent)
          relation.addPiece(piece);
    }
  return derived;
}

} // namespace mlir::ppc
