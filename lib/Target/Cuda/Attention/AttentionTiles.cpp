// Attention by tensor cores: a warp has 32 queries of a head (16 of heads wider than 128), a block four warps and a
// tile of keys and one of values, each of which is copied while the other one is used (Dao, FlashAttention-2, 2023: one
// pass over keys, rows scaled again when their maximum grows). What is read of keys and values serves both halves of a
// warp's queries; these are in registers where heads are at most 64 wide, else in shared memory. Tiles of which each
// query sees all keys come first, and are not looked at key by key. Sums are in a fixed order: the same bits from run
// to run.
#include "AttentionProblem.h"
#include "lib/Target/Cuda/Writer/TensorTiles.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::ppc::cuda {

constexpr double kLn2 = 0.69314718055994530942;
/// Of a key that is not seen: far below every score, and finite, so that differences are numbers.
constexpr float kHidden = -1e30f;

bool fitsTensorCores(const AttentionProblem &problem) {
  for (auto [i, operand] : llvm::enumerate(problem.ins)) {
    auto type = cast<MemRefType>(operand.getType());
    bool isLogarithms = i == 4;
    if (!type.getLayout().isIdentity() || (!type.getElementType().isBF16() && !isLogarithms))
      return false;
  }
  auto fits = [](int64_t dim) { return dim % 16 == 0 && dim <= 256; };
  return fits(problem.keyDim) && fits(problem.valueDim) && problem.keys < (int64_t(1) << 30);
}

namespace {

class AttentionTiles : TileIndices {
public:
  static constexpr int64_t warps = 4;

  AttentionTiles(KernelWriter &w, const AttentionProblem &problem)
      : TileIndices(w), p(problem), parts(std::max(p.keyDim, p.valueDim) <= 128 ? 2 : 1), rowsOfWarp(16 * parts),
        rowsOfBlock(warps * rowsOfWarp), isQueryShared(parts > 1 && std::max(p.keyDim, p.valueDim) > 64) {}

  void write() {
    int64_t tiles = llvm::divideCeil(p.queries, rowsOfBlock);
    w.kernel.threads = warps * kWarp;
    w.kernel.blocks = p.batch * p.heads * p.groups * tiles;
    keysOfTile = 64;
    while (!isQueryShared && bytesOfTiles() > kStaticSharedBytes)
      keysOfTile /= 2;
    t.emplace(w);
    findPlace(w.block());
    start = p.start(w);
    shared = isQueryShared ? t->dynamicShared(bytesOfTiles()) : t->declareShared(bytesOfTiles());
    if (p.slopes)
      slope = t->mul(w.load(p.slopes, {head, group}), t->number(float(kLog2E)));
    if (isQueryShared)
      t->copyRows(queryTile(), p.ins[0], firstOfBlock,
                  p.queries % rowsOfBlock ? std::optional(p.queries) : std::nullopt,
                  [&](Value row) { return indicesOf(row); });
    for (int64_t k = 0; k < p.keyDim / 16 && !isQueryShared; ++k)
      for (int64_t part = 0; part < parts; ++part)
        query.push_back(
            t->left(p.ins[0], indicesOf(clamped(rowAt(2 * part))), indicesOf(clamped(rowAt(2 * part + 1))), k));
    Registers carried = overTiles();
    findPlace(w.blockAgain());
    finish(carried);
  }

private:
  using Registers = TensorTiles::Registers;

  void findPlace(Value block) {
    int64_t tiles = llvm::divideCeil(p.queries, rowsOfBlock);
    SmallVector<Value> at = w.delinearize(w.asIndex(block), {tiles, p.batch, p.heads, p.groups});
    batch = at[1], head = at[2], group = at[3];
    // Those with most keys begin first.
    firstOfBlock = times(p.causal ? minus(w.index(tiles - 1), at[0]) : at[0], rowsOfBlock);
    Value own = w.asIndex(arith::ShRUIOp::create(b, t->lane, w.i32(2)));
    firstRow = plus(plus(firstOfBlock, times(w.asIndex(t->warp), rowsOfWarp)), own);
  }

  /// This lane's queries, each eight behind the one before it.
  size_t rowCount() const { return size_t(2 * parts); }
  Value rowAt(int64_t row) { return plus(firstRow, w.index(8 * row)); }
  Value clamped(Value query) { return least(query, w.index(p.queries - 1)); }
  SmallVector<Value> indicesOf(Value query) { return {batch, query, head, group}; }

  Tile keyTile() { return {shared, keysOfTile, p.keyDim}; }
  Tile valueTile() { return {shared ? t->at(shared, keyTile().bytes()) : Value(), keysOfTile, p.valueDim}; }
  int64_t bytesOfKeys() { return keyTile().bytes() + valueTile().bytes(); }
  Tile queryTile() { return {shared ? t->at(shared, bytesOfKeys()) : Value(), rowsOfBlock, p.keyDim}; }
  /// Where queries are, the largest scores and the sums of powers of a thread's rows are, too, between tiles.
  int64_t rowsPlace() { return bytesOfKeys() + queryTile().bytes(); }
  static constexpr int64_t rowsBytes = 4 * 4; // of a thread
  int64_t bytesOfTiles() { return isQueryShared ? rowsPlace() + 2 * rowsBytes * warps * kWarp : bytesOfKeys(); }
  /// Columns 16 k to 16 k + 15 of the warp's queries 16 part to 16 part + 15.
  Registers queryAt(int64_t part, int64_t k) {
    if (!isQueryShared)
      return query[size_t(parts * k + part)];
    Value row = arith::MulIOp::create(b, t->warp, w.i32(rowsOfWarp));
    return t->left(queryTile(), arith::AddIOp::create(b, row, w.i32(16 * part)), k);
  }

  /// Begins to copy keys or values of a tile, as a group. `isThere`: it has a key.
  void copyTile(Tile to, Value memref, Value tile, bool isThere = true) {
    auto indices = [&](Value key) { return SmallVector<Value>{batch, key, head}; };
    std::optional<int64_t> limit;
    if (!isThere || p.keys % keysOfTile)
      limit = p.keys;
    t->copyRows(to, memref, times(tile, keysOfTile), limit, indices);
  }

  /// The tiles of keys that some query of the block sees, [from, to).
  std::pair<Value, Value> tilesOfBlock() {
    Value from = w.index(0), to = w.index(p.keys);
    if (p.causal) {
      Value place = plus(start, firstOfBlock);
      to = most(least(plus(place, w.index(rowsOfBlock)), to), from);
      if (p.window)
        from = least(most(plus(place, w.index(1 - *p.window)), from), to);
    }
    auto tile = [&](Value key) { return arith::DivUIOp::create(b, key, w.index(keysOfTile)).getResult(); };
    return {tile(from), tile(plus(to, w.index(keysOfTile - 1)))};
  }

  /// The end of the tiles from `from` on of which every query of the block sees all keys.
  Value wholeTiles(Value from, Value to) {
    Value whole = least(to, w.index(p.keys / keysOfTile));
    if (p.causal) {
      Value seen = most(plus(plus(start, firstOfBlock), w.index(1)), w.index(0)); // keys of its first query
      whole = least(whole, arith::DivUIOp::create(b, seen, w.index(keysOfTile)));
    }
    return most(whole, from);
  }

  /// What is carried: of each row the largest score, then this lane's sums of powers, then the result's fragments.
  Registers overTiles() {
    auto [from, to] = tilesOfBlock();
    copyTile(keyTile(), p.ins[1], from, /*isThere=*/false); // if no query sees one, it is not used
    t->endGroup();
    Registers carried(rowCount(), t->number(kHidden));
    carried.append(t->zeros(int64_t(rowCount())));
    carried = keepRows(carried);
    carried.append(t->zeros(parts * p.valueDim / 2));
    Value middle = p.window ? from : wholeTiles(from, to);
    if (!p.window)
      carried = overTiles(from, middle, to, carried, /*whole=*/true);
    if (p.window || p.causal || p.keys % keysOfTile) {
      findPlace(w.blockAgain());
      carried = overTiles(middle, to, to, carried, /*whole=*/false);
    }
    return carried;
  }

  Value rowsAt(int64_t which) {
    Value own = arith::MulIOp::create(b, w.thread(), w.i32(rowsBytes));
    return t->at(t->at(shared, own), rowsPlace() + which * rowsBytes * warps * kWarp);
  }
  /// Largest scores and sums of powers: stored, or what carries them.
  Registers keepRows(ArrayRef<Value> rows) {
    if (!isQueryShared)
      return Registers(rows);
    for (int64_t which : {0, 1}) {
      Value all = LLVM::PoisonOp::create(b, VectorType::get({4}, b.getF32Type()));
      for (int64_t i = 0; i < 4; ++i)
        all = LLVM::InsertElementOp::create(b, all, rows[size_t(4 * which + i)], w.i32(i));
      LLVM::StoreOp::create(b, all, rowsAt(which), rowsBytes);
    }
    return {};
  }
  Registers keptRows(ValueRange carried) {
    if (!isQueryShared)
      return llvm::to_vector(carried.take_front(2 * rowCount()));
    Registers rows;
    for (int64_t which : {0, 1}) {
      Value all = LLVM::LoadOp::create(b, VectorType::get({4}, b.getF32Type()), rowsAt(which), rowsBytes);
      for (int64_t i = 0; i < 4; ++i)
        rows.push_back(LLVM::ExtractElementOp::create(b, all, w.i32(i)));
    }
    return rows;
  }
  size_t carriedRows() const { return isQueryShared ? 0 : 2 * rowCount(); }

  /// The tiles [from, to) of those up to `end`; keys of the first one are under way.
  Registers overTiles(Value from, Value to, Value end, const Registers &carried, bool whole) {
    auto narrow = [&](Value x) { return arith::IndexCastOp::create(b, b.getI32Type(), x).getResult(); };
    auto loop = scf::ForOp::create(b, narrow(from), narrow(to), w.i32(1), carried); // of 32 bits: fewer registers
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar(), after = arith::AddIOp::create(b, number, w.i32(1));
    Value tile = w.asIndex(number), next = w.asIndex(after);
    t->waitForGroups(0);
    t->barrier(); // keys are there, values of the tile before have been used
    copyTile(valueTile(), p.ins[2], tile);
    t->endGroup();
    Fragments scores = scoresOf();
    t->waitForGroups(0);
    t->barrier(); // values are there, keys have been used
    {
      OpBuilder::InsertionGuard inner(b);
      auto more =
          scf::IfOp::create(b, compare(arith::CmpIPredicate::slt, after, narrow(end)), /*withElseRegion=*/false);
      b.setInsertionPointToStart(more.thenBlock());
      copyTile(keyTile(), p.ins[1], next);
    }
    t->endGroup();
    scf::YieldOp::create(b, useTile(tile, scores, loop.getRegionIterArgs(), whole));
    return Registers(loop.getResults().begin(), loop.getResults().end());
  }

  using Fragments = SmallVector<SmallVector<Registers>>; // [16 queries][8 keys or columns], both rows of a lane in each

  Registers useTile(Value tile, Fragments &scores, ValueRange so, bool whole) {
    // Scores of which none is hidden and that grow with their products are scaled as their maximum is subtracted.
    bool scaleLater = whole && !slope && p.scale > 0;
    Value scale = t->number(float(p.scale * kLog2E));
    if (!scaleLater)
      scaleScores(scores, tile, whole);
    Registers rows = keptRows(so);
    SmallVector<Value> shrink, largest, sum;
    for (size_t row = 0; row < rowCount(); ++row) {
      SmallVector<Registers> &own = scores[row / 2];
      Value most = own[0][2 * (row % 2)];
      for (Registers &of : own)
        for (int column : {0, 1})
          most = t->max(most, of[2 * (row % 2) + size_t(column)]);
      most = t->maximumOfRow(most);
      largest.push_back(t->max(rows[row], scaleLater ? t->mul(most, scale) : most));
      Value minus = arith::NegFOp::create(b, largest[row]);
      shrink.push_back(t->exp2(t->sub(rows[row], largest[row])));
      sum.push_back(t->mul(rows[rowCount() + row], shrink[row]));
      for (Registers &of : own)
        for (int column : {0, 1}) {
          Value &element = of[2 * (row % 2) + size_t(column)];
          element = t->exp2(scaleLater ? t->fma(element, scale, minus) : t->add(element, minus));
          sum[row] = t->add(sum[row], element);
        }
    }
    llvm::append_range(largest, sum);
    Registers result = keepRows(largest);
    Fragments sums((size_t(parts)));
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t n = 0; n < p.valueDim / 8; ++n) {
        ValueRange old = fragmentOf(so, part, n);
        Value upper = shrink[size_t(2 * part)], lower = shrink[size_t(2 * part + 1)];
        sums[part].push_back(
            {t->mul(old[0], upper), t->mul(old[1], upper), t->mul(old[2], lower), t->mul(old[3], lower)});
      }
    for (int64_t k = 0; k < keysOfTile / 16; ++k) {
      SmallVector<Registers> powers;
      for (int64_t part = 0; part < parts; ++part)
        powers.push_back(t->leftOfSums(scores[part], k));
      for (int64_t n = 0; n < p.valueDim / 8; n += 2) {
        Registers values = t->rightOfColumns(valueTile(), k, n);
        for (int64_t second : {0, 1})
          for (int64_t part = 0; part < parts; ++part)
            sums[part][n + second] =
                t->multiply(powers[part], values[2 * second], values[2 * second + 1], sums[part][n + second]);
      }
    }
    for (const SmallVector<Registers> &of : sums)
      for (const Registers &fragment : of)
        result.append(fragment);
    return result;
  }

  ValueRange fragmentOf(ValueRange carried, int64_t part, int64_t n) {
    return carried.slice(carriedRows() + size_t(4 * (part * (p.valueDim / 8) + n)), 4);
  }

  /// Products of queries and keys.
  Fragments scoresOf() {
    Fragments scores(size_t(parts), SmallVector<Registers>(keysOfTile / 8, t->zeros()));
    for (int64_t k = 0; k < p.keyDim / 16; ++k) {
      SmallVector<Registers> left;
      for (int64_t part = 0; part < parts; ++part)
        left.push_back(queryAt(part, k));
      for (int64_t n = 0; n < keysOfTile / 8; n += 2) {
        Registers right = t->rightOfRowPairs(keyTile(), n, k);
        for (int64_t second : {0, 1})
          for (int64_t part = 0; part < parts; ++part)
            scores[part][n + second] =
                t->multiply(left[part], right[2 * second], right[2 * second + 1], scores[part][n + second]);
      }
    }
    return scores;
  }

  /// Scales them, in powers of two; kHidden where a query does not see a key.
  void scaleScores(Fragments &scores, Value tile, bool whole) {
    Value lane = w.asIndex(arith::AndIOp::create(b, t->lane, w.i32(3)));
    Value firstKey = plus(times(tile, keysOfTile), times(lane, 2));
    Value beyond = minus(plus(start, firstRow), firstKey); // keys up to the first query's own place
    Columns there, seen;                                   // seen: by the first query
    if (!whole && p.keys % keysOfTile)
      limitTo(there, minus(w.index(p.keys), firstKey));
    if (!whole && p.causal)
      limitTo(seen, plus(beyond, w.index(1)));
    if (p.window)
      seen.from = plus(beyond, w.index(1 - *p.window));
    for (size_t row = 0; row < rowCount(); ++row)
      for (int64_t n = 0; n < keysOfTile / 8; ++n)
        for (int column : {0, 1}) {
          int64_t later = 8 * int64_t(row), number = 8 * n + column;
          Value &score = scores[row / 2][n][2 * (row % 2) + size_t(column)];
          score = t->mul(score, t->number(float(p.scale * kLog2E)));
          if (slope) {
            Value distance = arith::IndexCastOp::create(b, b.getI32Type(), minus(w.index(number - later), beyond));
            score = t->fma(slope, arith::SIToFPOp::create(b, b.getF32Type(), distance), score);
          }
          Value is = counts(there, number);
          if (Value bySeeing = counts(seen, number - later))
            is = both(is, bySeeing);
          if (is)
            score = arith::SelectOp::create(b, is, score, t->number(kHidden));
        }
  }

  void finish(ValueRange carried) {
    Value lane = arith::AndIOp::create(b, t->lane, w.i32(3));
    Registers rows = keptRows(carried);
    for (size_t row = 0; row < rowCount(); ++row) {
      Value sum = t->sumOfRow(rows[rowCount() + row]), factor = arith::DivFOp::create(b, t->number(1), sum);
      Value natural = t->fma(rows[row], t->number(float(kLn2)), math::LogOp::create(b, sum));
      OpBuilder::InsertionGuard guard(b);
      Value own = rowAt(int64_t(row));
      Value inside = compare(arith::CmpIPredicate::slt, own, w.index(p.queries));
      b.setInsertionPointToStart(scf::IfOp::create(b, inside, /*withElseRegion=*/false).thenBlock());
      Value real;
      if (p.first)
        real = compare(arith::CmpIPredicate::slt, plus(start, own), w.index(p.keys));
      auto orZero = [&](Value value) {
        return real ? arith::SelectOp::create(b, real, value, t->number(0)).getResult() : value;
      };
      for (int64_t n = 0; n < p.valueDim / 8; ++n) {
        SmallVector<Value> place = indicesOf(own);
        place.push_back(w.asIndex(arith::AddIOp::create(b, arith::MulIOp::create(b, lane, w.i32(2)), w.i32(8 * n))));
        ValueRange of = fragmentOf(carried, int64_t(row / 2), n).slice(2 * (row % 2), 2);
        w.store(t->bf16Pair(orZero(t->mul(of[0], factor)), orZero(t->mul(of[1], factor))), p.outs[0], place, 2);
      }
      Value leads = compare(arith::CmpIPredicate::eq, lane, w.i32(0));
      b.setInsertionPointToStart(scf::IfOp::create(b, leads, /*withElseRegion=*/false).thenBlock());
      w.store(orZero(natural), p.outs[1], indicesOf(own));
    }
  }

  const AttentionProblem &p;
  std::optional<TensorTiles> t;
  int64_t parts, rowsOfWarp, rowsOfBlock; // parts of a warp's queries, 16 each
  bool isQueryShared;                     // else queries are in registers
  int64_t keysOfTile = 0;
  Value batch, head, group, firstOfBlock, start, shared, slope;
  Value firstRow;               // this lane's first query
  SmallVector<Registers> query; // [16 columns][part]
};

} // namespace

void writeTiledAttention(KernelWriter &w, const AttentionProblem &problem) { AttentionTiles(w, problem).write(); }

} // namespace mlir::ppc::cuda
