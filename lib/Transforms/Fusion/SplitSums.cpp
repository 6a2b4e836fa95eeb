// ppc-split-sums: sums over rows, of the gradients of weights of norms and of biases, and over whole tensors, of
// squares, in two steps.
#include "ppc/Transforms/Fusion/BufferAccess.h"
#include "ppc/Transforms/Fusion/Passes.h"
#include "ppc/Transforms/Fusion/RowRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SPLITSUMSPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {

/// Upper bound on the number of chunks, two for a multiprocessor, and lower bound on the rows of one: partial sums
/// are written and read once.
constexpr int64_t kMostChunks = 256, kFewestRows = 8;

/// Split of rows: before loop `loop`, which is split into `outer` parts.
struct Cut {
  unsigned loop = 0;
  int64_t outer = 1, chunks = 1;
};

Cut cutRows(ArrayRef<int64_t> rows) {
  int64_t most = std::min(kMostChunks, ShapedType::getNumElements(rows) / kFewestRows), before = 1;
  Cut best;
  for (auto [loop, size] : llvm::enumerate(rows)) {
    for (int64_t outer = 1; outer <= size && before * outer <= most; ++outer)
      if (size % outer == 0 && before * outer > best.chunks)
        best = {unsigned(loop), outer, before * outer};
    before *= size;
  }
  return best;
}

/// The number of leading reductions of a sum in f32 that has no others, and whose result moves with the loops after
/// them; 0 for other ops.
unsigned summedRows(linalg::GenericOp op) {
  SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
  auto isReduction = [](utils::IteratorType type) { return type == utils::IteratorType::reduction; };
  unsigned rows = unsigned(llvm::find_if_not(types, isReduction) - types.begin());
  auto combination = combinationOf(op);
  if (rows == 0 || rows == types.size() || llvm::any_of(ArrayRef(types).drop_front(rows), isReduction) ||
      !combination || !isa<arith::AddFOp>(combination->op) || op.hasIndexSemantics() || !op.hasPureBufferSemantics())
    return 0;
  for (OpOperand *input : op.getDpsInputOperands())
    if (auto type = dyn_cast<MemRefType>(input->get().getType());
        !op.getMatchingIndexingMap(input).isProjectedPermutation() || (type && !type.getLayout().isIdentity()))
      return 0;
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  return out.isProjectedPermutation() && out.getNumResults() == types.size() - rows ? rows : 0;
}

/// The op that alone reads `buffer` after `sum`, if it adds it to the contents of its result; then the sum can
/// start from these. `start`: the op that fills `buffer` with zeros for the sum.
struct Accumulation {
  linalg::LinalgOp start;
  linalg::GenericOp add;
  Value into;
};

bool isZero(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return number && number.getValue().isZero();
}

std::optional<Accumulation> accumulationOf(linalg::GenericOp sum) {
  Value buffer = sum.getDpsInits()[0];
  if (!buffer.getDefiningOp<memref::AllocOp>())
    return std::nullopt;
  Accumulation found;
  for (Operation *user : buffer.getUsers()) {
    if (user == sum || user->getBlock() != sum->getBlock())
      continue;
    if (auto fill = dyn_cast<linalg::FillOp>(user); fill && fill->isBeforeInBlock(sum) && isZero(fill.getInputs()[0]))
      found.start = fill;
    else if (auto add = dyn_cast<linalg::GenericOp>(user); add && sum->isBeforeInBlock(add))
      found.add = add;
  }
  linalg::GenericOp add = found.add;
  if (!found.start || !add || !llvm::hasNItems(buffer.getUses(), 3) || add.getNumLoops() != add.getNumParallelLoops() ||
      add.getNumDpsInputs() != 2 || add.getNumDpsInits() != 1)
    return std::nullopt;
  Value into = add.getDpsInits()[0];
  Block &body = *add.getBody();
  auto sumOp = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  bool addsBoth = sumOp && &body.front() == sumOp && body.getArgument(2).use_empty() &&
                  llvm::is_contained(sumOp->getOperands(), body.getArgument(0)) &&
                  llvm::is_contained(sumOp->getOperands(), body.getArgument(1));
  bool isInPlace = llvm::is_contained(add.getDpsInputs(), into) && llvm::is_contained(add.getDpsInputs(), buffer) &&
                   into.getType() == buffer.getType() &&
                   llvm::all_of(add.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); });
  if (!addsBoth || !isInPlace)
    return std::nullopt;
  // The addend must not be accessed between the sum and the addition.
  for (Operation *op = sum; op != add; op = op->getNextNode())
    for (const BufferAccess &access : accessesOf(op))
      if (access.root == rootBuffer(into))
        return std::nullopt;
  found.into = into;
  return found;
}

/// out += the sum of `partial`.
void addUp(ImplicitLocOpBuilder &b, Value partial, Value out, ArrayRef<AffineMap> maps,
           ArrayRef<utils::IteratorType> types) {
  linalg::GenericOp::create(b, TypeRange(), partial, out, maps, types,
                            [](OpBuilder &builder, Location place, ValueRange arguments) {
                              Value added = arith::AddFOp::create(builder, place, arguments[1], arguments[0]);
                              linalg::YieldOp::create(builder, place, added);
                            });
}

class Splitter {
public:
  Splitter(linalg::GenericOp sum, unsigned rows)
      : sum(sum), rows(rows), sizes(sum.getStaticLoopRanges()), cut(cutRows(ArrayRef(sizes).take_front(rows))),
        b(sum.getLoc(), sum) {}

  void run() {
    if (cut.chunks < 2)
      return;
    Value partial = partialSums();
    addUpChunks(partial);
    sum.erase();
  }

private:
  /// The sum of each chunk.
  Value partialSums() {
    MLIRContext *context = sum.getContext();
    SmallVector<int64_t> shape(ArrayRef(sizes).take_front(cut.loop));
    shape.push_back(cut.outer);
    llvm::append_range(shape, ArrayRef(sizes).drop_front(rows));
    auto type = MemRefType::get(shape, b.getF32Type());
    Value partial = memref::AllocOp::create(b, type, b.getI64IntegerAttr(64));
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    linalg::FillOp::create(b, zero, partial);
    // Loop `cut.loop` becomes two, as does the dimension along which it moves in each input.
    unsigned loops = unsigned(sizes.size()) + 1;
    SmallVector<AffineExpr> results;
    SmallVector<AffineMap> maps;
    SmallVector<Value> inputs;
    for (OpOperand *input : sum.getDpsInputOperands()) {
      AffineMap map = sum.getMatchingIndexingMap(input);
      SmallVector<AffineExpr> places;
      for (AffineExpr place : map.getResults()) {
        unsigned loop = cast<AffineDimExpr>(place).getPosition();
        places.push_back(getAffineDimExpr(loop <= cut.loop ? loop : loop + 1, context));
        if (loop == cut.loop)
          places.push_back(getAffineDimExpr(loop + 1, context));
      }
      maps.push_back(AffineMap::get(loops, 0, places, context));
      inputs.push_back(expanded(input->get(), map));
    }
    SmallVector<utils::IteratorType> types;
    for (unsigned loop = 0; loop < loops; ++loop) {
      bool isChunk = loop <= cut.loop, isRow = loop <= rows;
      types.push_back(isChunk || !isRow ? utils::IteratorType::parallel : utils::IteratorType::reduction);
      if (isChunk || !isRow)
        results.push_back(getAffineDimExpr(loop, context));
    }
    maps.push_back(AffineMap::get(loops, 0, results, context));
    auto inner = linalg::GenericOp::create(b, TypeRange(), inputs, partial, maps, types);
    IRMapping mapping;
    sum.getRegion().cloneInto(&inner.getRegion(), mapping);
    return partial;
  }

  /// A view of the buffer with the dimension of loop `cut.loop` split in two.
  Value expanded(Value buffer, AffineMap map) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    auto dim = map.getResultPosition(getAffineDimExpr(cut.loop, sum.getContext()));
    if (!type || !dim)
      return buffer;
    SmallVector<int64_t> shape;
    SmallVector<ReassociationIndices> groups;
    for (auto [number, size] : llvm::enumerate(type.getShape())) {
      groups.push_back({int64_t(shape.size())});
      if (number == *dim) {
        groups.back().push_back(int64_t(shape.size()) + 1);
        shape.append({cut.outer, size / cut.outer});
      } else {
        shape.push_back(size);
      }
    }
    return memref::ExpandShapeOp::create(b, shape, buffer, groups);
  }

  /// Adds the sums of chunks to the initial contents of the result.
  void addUpChunks(Value partial) {
    MLIRContext *context = sum.getContext();
    Value out = sum.getDpsInits()[0];
    if (auto accumulation = accumulationOf(sum)) {
      out = accumulation->into;
      accumulation->start->erase();
      accumulation->add->erase();
    }
    unsigned chunkLoops = cut.loop + 1, loops = chunkLoops + unsigned(sizes.size()) - rows;
    SmallVector<AffineExpr> replacements(sizes.size(), getAffineConstantExpr(0, context));
    SmallVector<utils::IteratorType> types(chunkLoops, utils::IteratorType::reduction);
    for (unsigned loop = rows; loop < sizes.size(); ++loop) {
      replacements[loop] = getAffineDimExpr(chunkLoops + loop - rows, context);
      types.push_back(utils::IteratorType::parallel);
    }
    AffineMap outMap =
        sum.getMatchingIndexingMap(sum.getDpsInitOperand(0)).replaceDimsAndSymbols(replacements, {}, loops, 0);
    addUp(b, partial, out, {AffineMap::getMultiDimIdentityMap(loops, context), outMap}, types);
  }

  linalg::GenericOp sum;
  unsigned rows;
  SmallVector<int64_t> sizes;
  Cut cut;
  ImplicitLocOpBuilder b;
};

/// Rows of a sum over a whole tensor, at most, and how long they are at least.
constexpr int64_t kMostRows = 1024, kShortestRow = 256;

/// The number of equal rows into which a sum in f32 of all elements of its inputs is split; 1 for other ops.
int64_t wholeRows(linalg::GenericOp op) {
  auto combination = combinationOf(op);
  if (!combination || !isa<arith::AddFOp>(combination->op) || op.getNumParallelLoops() || op.hasIndexSemantics() ||
      !op.hasPureBufferSemantics())
    return 1;
  for (OpOperand *input : op.getDpsInputOperands())
    if (auto type = dyn_cast<MemRefType>(input->get().getType()))
      if ((type.getRank() && !op.getMatchingIndexingMap(input).isIdentity()) || !type.getLayout().isIdentity())
        return 1;
  int64_t elements = ShapedType::getNumElements(op.getStaticLoopRanges());
  int64_t rows = std::max<int64_t>(1, std::min(kMostRows, elements / kShortestRow));
  while (elements % rows)
    --rows;
  return rows;
}

/// The sums of rows, and then their sum.
void splitWhole(linalg::GenericOp sum, int64_t rows) {
  ImplicitLocOpBuilder b(sum.getLoc(), sum);
  MLIRContext *context = sum.getContext();
  int64_t length = ShapedType::getNumElements(sum.getStaticLoopRanges()) / rows;
  Value partial = memref::AllocOp::create(b, MemRefType::get({rows}, b.getF32Type()), b.getI64IntegerAttr(64));
  linalg::FillOp::create(b, Value(arith::ConstantOp::create(b, b.getF32FloatAttr(0))), partial);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (Value input : sum.getDpsInputs()) {
    auto type = dyn_cast<MemRefType>(input.getType());
    bool isTensor = type && type.getRank();
    if (isTensor && type.getRank() > 1) {
      ReassociationIndices all = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
      input = memref::CollapseShapeOp::create(b, input, ArrayRef<ReassociationIndices>{all});
    }
    if (isTensor)
      input = memref::ExpandShapeOp::create(b, ArrayRef<int64_t>{rows, length}, input,
                                            ArrayRef<ReassociationIndices>{ReassociationIndices{0, 1}});
    inputs.push_back(input);
    maps.push_back(isTensor ? AffineMap::getMultiDimIdentityMap(2, context) : AffineMap::get(2, 0, context));
  }
  maps.push_back(AffineMap::getMultiDimIdentityMap(2, context).dropResult(1));
  constexpr auto parallel = utils::IteratorType::parallel, reduction = utils::IteratorType::reduction;
  auto inner = linalg::GenericOp::create(b, TypeRange(), inputs, partial, maps,
                                         ArrayRef<utils::IteratorType>{parallel, reduction});
  IRMapping mapping;
  sum.getRegion().cloneInto(&inner.getRegion(), mapping);
  addUp(b, partial, sum.getDpsInits()[0],
        {AffineMap::getMultiDimIdentityMap(1, context), AffineMap::get(1, 0, context)}, {reduction});
  sum.erase();
}

struct SplitSumsPass : impl::SplitSumsPassBase<SplitSumsPass> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> sums; // others may go on the way
    getOperation().walk([&](linalg::GenericOp op) {
      if (wholeRows(op) > 1 || summedRows(op))
        sums.push_back(op);
    });
    for (linalg::GenericOp sum : sums)
      if (int64_t rows = wholeRows(sum); rows > 1)
        splitWhole(sum, rows);
      else
        Splitter(sum, summedRows(sum)).run();
  }
};

} // namespace
} // namespace mlir::ppc
