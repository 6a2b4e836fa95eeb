// ppc-cut-products: chunks matmuls and the collectives on their results, so that one chunk is communicated while the
// next one is computed.
#include "PieceTimes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Analysis/OpSharding.h"
#include "ppc/Transforms/Overlap/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

namespace mlir::ppc {
#define GEN_PASS_DEF_CUTPRODUCTSPASS
#include "ppc/Transforms/Overlap/Passes.h.inc"

namespace {

/// Rows of a chunk are a multiple of this if there are enough of them: tiles of matmuls are not split.
constexpr int64_t kRows = 128;

/// Numbers of chunks whose cost is compared.
constexpr int64_t kPieces[] = {2, 3, 4, 6, 8};

/// Splits `extent` elements of `rows` GEMM rows each into `parts` chunks, as equal as full tiles allow.
SmallVector<int64_t> partsOf(int64_t extent, int64_t parts, int64_t rows) {
  parts = std::min(parts, extent);
  int64_t tile = llvm::divideCeil(kRows, rows), unit = extent >= parts * tile ? tile : 1,
          units = llvm::divideCeil(extent, unit);
  SmallVector<int64_t> sizes;
  for (int64_t part = 0, first = 0; part < parts; ++part) {
    int64_t end = std::min(extent, (units * (part + 1) / parts) * unit);
    sizes.push_back(end - first);
    first = end;
  }
  return sizes;
}

/// Dimensions of a collective's result along which rows are split: the outermost that has several elements, and the
/// one after it if that has fewer than there are to be chunks. Along a dimension that is scattered over ranks a chunk
/// is a part of each rank's block: matmuls see it as `runs` runs.
struct RowCut {
  unsigned dim;
  SmallVector<int64_t> sizes;
  /// Sizes along dimension dim + 1 of every part, which has one element along `dim`; empty: not split.
  SmallVector<int64_t> inner;

  int64_t runs = 1, innerRuns = 1;

  size_t pieces() const { return sizes.size() * std::max<size_t>(1, inner.size()); }
};

/// A collective, and the matmuls whose result or sum of results it reduces.
class CutProduct {
public:
  /// Returns std::nullopt if the collective cannot be chunked.
  static std::optional<CutProduct> find(Operation *collective, GridAttr grid);

  std::optional<RowCut> rows(int64_t pieces) const;
  void rewrite(const RowCut &rows);
  /// Bytes read and written to make the rows of each chunk contiguous, in all.
  int64_t bytesCopied(const RowCut &rows) const;

  Operation *collective;
  SmallVector<MatmulOp, 2> products;

private:
  bool addTree(Value value);
  SmallVector<Value> cut(OpBuilder &b, Value value, unsigned dim, const RowCut &rows) const;
  SmallVector<Value> piecesOf(OpBuilder &b, Value value, const RowCut &rows);
  Value join(OpBuilder &b, ArrayRef<Value> pieces, RankedTensorType type, const RowCut &rows) const;
  template <typename OpTy, typename... Args> OpTy create(OpBuilder &b, Args &&...args) const {
    auto op = OpTy::create(b, collective->getLoc(), std::forward<Args>(args)...);
    op->setDiscardableAttrs(collective->getDiscardableAttrDictionary());
    return op;
  }

  int64_t ranks = 1;             ///< number of ranks over which the result is scattered
  SmallVector<Operation *> tree; ///< ops that compute the operand of the collective, operands before users
};

/// The operand of a matmul that has an index of its result, and the dimension there; std::nullopt if both have it.
std::optional<std::pair<unsigned, unsigned>> operandWith(MatmulOp product, char letter) {
  size_t left = product.lhsLetters().find(letter), right = product.rhsLetters().find(letter);
  if ((left == StringRef::npos) == (right == StringRef::npos))
    return std::nullopt;
  return left != StringRef::npos ? std::pair(0u, unsigned(left)) : std::pair(1u, unsigned(right));
}

/// Whether it sums a weight gradient, which other work of backward hides.
bool isOfWeights(Operation *collective) {
  auto part = collective->getAttrOfType<PartAttr>(attr::part);
  return part && part.getValue() == Part::WeightGradient;
}

bool CutProduct::addTree(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse() || op->getBlock() != collective->getBlock() ||
      op->getAttr(attr::layer) != collective->getAttr(attr::layer))
    return false;
  if (auto product = dyn_cast<MatmulOp>(op)) {
    for (Value operand : product->getOperands()) // a ring matmul needs the full gather
      if (auto gather = operand.getDefiningOp<AllGatherOp>(); gather && gather.getRotated())
        return false;
    products.push_back(product);
  } else if (!isa<AddOp, SumOp, ConvertOp>(op) ||
             !llvm::all_of(op->getOperands(), [&](Value v) { return addTree(v); })) {
    return false;
  }
  tree.push_back(op);
  return true;
}

std::optional<CutProduct> CutProduct::find(Operation *collective, GridAttr grid) {
  CutProduct found;
  if (auto reduce = dyn_cast<AllReduceOp>(collective)) {
    if (reduce.getCombiner() != Combiner::Sum || reduce.getStages())
      return std::nullopt;
  } else {
    auto scatter = cast<ReduceScatterOp>(collective);
    if (scatter.getCombiner() != Combiner::Sum)
      return std::nullopt;
    for (StringRef axis : axisNames(scatter.getAxes()))
      found.ranks *= grid.size(axis);
  }
  found.collective = collective;
  if (!found.addTree(collective->getOperand(0)))
    return std::nullopt;
  return found;
}

std::optional<RowCut> CutProduct::rows(int64_t pieces) const {
  auto type = cast<RankedTensorType>(collective->getResult(0).getType()),
       source = cast<RankedTensorType>(collective->getOperand(0).getType());
  auto areRows = [&](unsigned dim) { // rows of every matmul, in one of its operands alone
    return llvm::all_of(
        products, [&](MatmulOp product) { return operandWith(product, product.resultLetters()[dim]).has_value(); });
  };
  RowCut rows{0, {}, {}};
  while (rows.dim + 1 < type.getRank() && type.getDimSize(rows.dim) == 1)
    ++rows.dim;
  if (rows.dim + 1 >= type.getRank() || !areRows(rows.dim))
    return std::nullopt;
  // Rows of the operands that have the rows of the dimension before, adjacent to these.
  auto areRowsOfEach = [&](unsigned dim) {
    return areRows(dim) && llvm::all_of(products, [&](MatmulOp product) {
             auto outer = *operandWith(product, product.resultLetters()[dim - 1]);
             return operandWith(product, product.resultLetters()[dim]) == std::pair(outer.first, outer.second + 1);
           });
  };
  auto runsOf = [&](unsigned dim) { return source.getDimSize(dim) / type.getDimSize(dim); };
  auto areWhole = [&](unsigned dim) { // every rank's block; a last one may be padded, or nothing but padding
    return source.getDimSize(dim) == type.getDimSize(dim) || source.getDimSize(dim) == type.getDimSize(dim) * ranks;
  };
  int64_t extent = type.getDimSize(rows.dim);
  rows.runs = runsOf(rows.dim);
  rows.sizes = partsOf(extent, pieces, rows.runs);
  if (extent < pieces && rows.dim + 2 < type.getRank() && areRowsOfEach(rows.dim + 1) && areWhole(rows.dim + 1)) {
    rows.innerRuns = runsOf(rows.dim + 1);
    rows.inner = partsOf(type.getDimSize(rows.dim + 1), llvm::divideCeil(pieces, extent), rows.innerRuns);
  }
  return rows.pieces() > 1 && areWhole(rows.dim) ? std::optional(rows) : std::nullopt;
}

/// The chunks of `value`, whose dimensions from `dim` on are the rows.
SmallVector<Value> CutProduct::cut(OpBuilder &b, Value value, unsigned dim, const RowCut &rows) const {
  auto split = [&](Value whole, unsigned dim, ArrayRef<int64_t> sizes, int64_t runs) -> SmallVector<Value> {
    if (sizes.size() == 1)
      return {whole};
    SmallVector<Type> types;
    for (int64_t size : sizes) {
      SmallVector<int64_t> shape(tensorType(whole).getShape());
      shape[dim] = size * runs;
      types.push_back(withShape(tensorType(whole), shape));
    }
    auto op = create<SplitOp>(b, types, whole, b.getI64IntegerAttr(dim), b.getI64IntegerAttr(runs));
    return llvm::to_vector_of<Value>(op.getParts());
  };
  SmallVector<Value> parts;
  for (Value part : split(value, dim, rows.sizes, rows.runs))
    llvm::append_range(parts, rows.inner.empty() ? SmallVector<Value>{part}
                                                 : split(part, dim + 1, rows.inner, rows.innerRuns));
  return parts;
}

int64_t CutProduct::bytesCopied(const RowCut &rows) const {
  int64_t bytes = 0;
  if (rows.runs > 1 || rows.innerRuns > 1)
    for (MatmulOp product : products) {
      unsigned operand = operandWith(product, product.resultLetters()[rows.dim])->first;
      RankedTensorType type = tensorType(product->getOperand(operand));
      bytes += 2 * type.getNumElements() * type.getElementTypeBitWidth() / 8;
    }
  return bytes;
}

SmallVector<Value> CutProduct::piecesOf(OpBuilder &b, Value value, const RowCut &rows) {
  auto product = value.getDefiningOp<MatmulOp>();
  auto [operand, dim] = *operandWith(product, product.resultLetters()[rows.dim]);
  return cut(b, product->getOperand(operand), dim, rows);
}

Value CutProduct::join(OpBuilder &b, ArrayRef<Value> pieces, RankedTensorType type, const RowCut &rows) const {
  auto concat = [&](ArrayRef<Value> parts, RankedTensorType type, unsigned dim) -> Value {
    return parts.size() == 1 ? parts[0] : create<ConcatOp>(b, type, parts, b.getI64IntegerAttr(dim)).getResult();
  };
  if (rows.inner.empty())
    return concat(pieces, type, rows.dim);
  SmallVector<int64_t> shape(type.getShape());
  shape[rows.dim] = 1;
  SmallVector<Value> parts;
  for (size_t first = 0; first < pieces.size(); first += rows.inner.size())
    parts.push_back(concat(pieces.slice(first, rows.inner.size()), withShape(type, shape), rows.dim + 1));
  return concat(parts, type, rows.dim);
}

/// Changes the result type of `op` from the full tensor to a chunk.
void setPiece(Operation *op, const RowCut &rows, size_t piece, int64_t runs, int64_t innerRuns) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[rows.dim] = runs * (rows.inner.empty() ? rows.sizes[piece] : 1);
  if (!rows.inner.empty())
    shape[rows.dim + 1] = innerRuns * rows.inner[piece % rows.inner.size()];
  op->getResult(0).setType(withShape(type, shape));
}

/// Emits, chunk by chunk, matmuls and the ops that sum them, then the collective. They are inserted at the last op
/// of the tree: ops between it and the collective overlap with the last chunk.
void CutProduct::rewrite(const RowCut &rows) {
  OpBuilder b(tree.back());
  DenseMap<Operation *, SmallVector<Value>> operands; // operands of matmuls, in chunks
  for (MatmulOp product : products)
    operands[product] = piecesOf(b, product.getResult(), rows);
  SmallVector<Value> done;
  for (size_t piece = 0; piece < rows.pieces(); ++piece) {
    IRMapping mapping;
    for (Operation *op : tree) {
      auto product = dyn_cast<MatmulOp>(op);
      auto own = product ? operandWith(product, product.resultLetters()[rows.dim]) : std::nullopt;
      Operation *copy = b.clone(*op, mapping);
      if (own)
        copy->setOperand(own->first, operands[op][piece]);
      setPiece(copy, rows, piece, rows.runs, rows.innerRuns);
    }
    Operation *copy = b.clone(*collective, mapping);
    setPiece(copy, rows, piece, 1, 1);
    done.push_back(copy->getResult(0));
  }
  Value whole = join(b, done, cast<RankedTensorType>(collective->getResult(0).getType()), rows);
  collective->getResult(0).replaceAllUsesWith(whole);
  collective->erase();
  for (Operation *op : llvm::reverse(tree))
    op->erase();
}

struct CutProductsPass : impl::CutProductsPassBase<CutProductsPass> {
  using CutProductsPassBase::CutProductsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    ppcrt::ProgramOp program = ppcrt::requireProgram(module);
    if (!program)
      return signalPassFailure();
    PlanAttr plan = planOf(module);
    int64_t wanted = plan ? plan.pieces() : 0;
    if (wanted == 1 || (!wanted && cluster.empty())) // too close to call on a machine that was not measured
      return;
    llvm::Expected<Cluster> machine = machineOf(cluster, program.getGrid().deviceCount());
    if (!machine) {
      module.emitError() << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    PieceTimes times(*machine, program.getGrid(), precisionOf(module));
    bool anySum = false, anyCut = false;
    for (auto code : module.getOps<func::FuncOp>())
      if (std::optional<ppcrt::RoutineKind> kind = ppcrt::routineKindOf(code);
          kind && !ppcrt::isOfStep(*kind) && !code.isExternal())
        anyCut |= run(code, wanted, times, anySum);
    if (wanted && !anyCut)
      remark::missed(module.getLoc(), remark::RemarkOpts::name("pieces").category("ppc-overlap"))
          << llvm::formatv("product_pieces {0} does nothing: {1}", wanted, whyIdle(plan, anySum)).str();
  }

  /// Reason why no matmul is chunked.
  static StringRef whyIdle(PlanAttr plan, bool anySum) {
    if (anySum)
      return plan.rotates() ? "ring matmuls (rotate) are not split into chunks"
                            : "no matmul that is summed over ranks has rows to split";
    return "no result of a matmul is summed over ranks, as with tp above 1";
  }

  /// Estimated times of collectives and the ops before them.
  struct Tally {
    int64_t number = 0;
    double whole = 0, pieces = 0;                                  // exposed
    double products = 0, collectives = 0, collectivesInPieces = 0; // alone

    void add(const PieceTimes &times, const CutProduct &product, double exposed, double exposedInPieces,
             ArrayRef<double> shares) {
      ++number;
      whole += exposed;
      pieces += exposedInPieces;
      for (MatmulOp op : product.products)
        products += times.product(op, 1);
      collectives += times.collective(product.collective, 1);
      for (double share : shares)
        collectivesInPieces += times.collective(product.collective, share);
    }
  };

  /// Returns whether anything is chunked; sets `anySum` if a result of matmuls is summed over ranks.
  bool run(func::FuncOp code, int64_t wanted, const PieceTimes &times, bool &anySum) {
    SmallVector<Operation *> collectives;
    for (Operation &op : code.front())
      if (isa<AllReduceOp>(op) || (isa<ReduceScatterOp>(op) && !isOfWeights(&op)))
        collectives.push_back(&op);
    Tally cut, left;
    for (Operation *op : collectives) {
      anySum |= op->getOperand(0).getDefiningOp<MatmulOp>() != nullptr;
      std::optional<CutProduct> product = CutProduct::find(op, times.gridOf());
      if (!product)
        continue;
      anySum = true;
      double hiding = times.hidingBehind(op), whole = times.exposed(product->products, op, {1.0}, hiding, 0),
             best = whole, nearest = HUGE_VAL;
      std::optional<RowCut> chosen, least;
      for (int64_t pieces : wanted ? ArrayRef(wanted) : ArrayRef(kPieces)) {
        std::optional<RowCut> rows = product->rows(pieces);
        if (!rows)
          continue;
        double exposed = times.exposed(product->products, op, sharesOf(*rows), hiding, product->bytesCopied(*rows));
        if (exposed < nearest) {
          nearest = exposed;
          least = rows;
        }
        if (!wanted && exposed >= best - times.leastSaving() * times.collective(op, 1))
          continue;
        best = exposed;
        chosen = rows;
      }
      if (chosen) {
        cut.add(times, *product, whole, best, sharesOf(*chosen));
        product->rewrite(*chosen);
      } else if (least) {
        left.add(times, *product, whole, nearest, sharesOf(*least));
      }
    }
    report(code, cut, left);
    return cut.number > 0;
  }

  static void report(func::FuncOp code, const Tally &cut, const Tally &left) {
    auto opts = remark::RemarkOpts::name("pieces").category("ppc-overlap");
    auto text = [](double seconds) { return toString(Seconds(seconds)); };
    if (cut.number)
      remark::passed(code.getLoc(), opts)
          << llvm::formatv(
                 "{0}: {1} collectives are chunked and overlapped with their matmuls, which leaves {2} of them "
                 "exposed instead of {3}",
                 code.getSymName(), cut.number, text(cut.pieces), text(cut.whole))
                 .str();
    if (left.number)
      remark::analysis(code.getLoc(), opts)
          << llvm::formatv(
                 "{0}: {1} collectives run unchunked after their matmuls, which leaves {2} of them exposed; {3} "
                 "would be if chunked: the matmuls take {4}, the collectives {5}, and {6} if chunked",
                 code.getSymName(), left.number, text(left.whole), text(left.pieces), text(left.products),
                 text(left.collectives), text(left.collectivesInPieces))
                 .str();
  }

  /// Share of the rows of each chunk.
  static SmallVector<double> sharesOf(const RowCut &rows) {
    int64_t outer = std::accumulate(rows.sizes.begin(), rows.sizes.end(), int64_t(0)),
            inner = std::accumulate(rows.inner.begin(), rows.inner.end(), int64_t(0));
    SmallVector<double> shares;
    for (int64_t size : rows.sizes) {
      if (rows.inner.empty())
        shares.push_back(double(size) / double(outer));
      for (int64_t part : rows.inner)
        shares.push_back(double(part) / double(inner * outer));
    }
    return shares;
  }
};

} // namespace
} // namespace mlir::ppc
