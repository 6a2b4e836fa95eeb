// Attention by tensor cores: a warp has 16 queries of a head, a block four warps and a tile of keys and one of values,
// each of which is copied while the other one is used (Dao, FlashAttention-2, 2023: one pass over keys, rows scaled
// again when their maximum grows). Tiles of which each query sees all keys come first, and are not looked at key by
// key. Sums are in a fixed order: the same bits from run to run.
#include "AttentionProblem.h"
#include "TensorTiles.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::ppc::cuda {

constexpr double kLog2E = 1.44269504088896340736, kLn2 = 0.69314718055994530942;
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
  static constexpr int64_t warps = 4, rowsOfWarp = 16, rowsOfBlock = warps * rowsOfWarp;

  AttentionTiles(KernelWriter &w, const AttentionProblem &problem) : TileIndices(w), p(problem) {}

  void write() {
    int64_t tiles = llvm::divideCeil(p.queries, rowsOfBlock);
    w.kernel.threads = warps * kWarp;
    w.kernel.blocks = p.batch * p.heads * p.groups * tiles;
    keysOfTile = 64;
    while (bytesOfTiles() > kStaticSharedBytes)
      keysOfTile /= 2;
    t.emplace(w);
    SmallVector<Value> at = w.delinearize(w.asIndex(w.block()), {p.batch, p.heads, p.groups, tiles});
    batch = at[0], head = at[1], group = at[2];
    firstOfBlock = times(at[3], rowsOfBlock);
    start = p.start(w);
    Value own = w.asIndex(arith::ShRUIOp::create(b, t->lane, w.i32(2)));
    rows[0] = plus(plus(firstOfBlock, times(w.asIndex(t->warp), rowsOfWarp)), own);
    rows[1] = plus(rows[0], w.index(8));
    shared = t->declareShared(bytesOfTiles());
    if (p.slopes)
      slope = t->mul(w.load(p.slopes, {head, group}), t->number(float(kLog2E)));
    for (int64_t k = 0; k < p.keyDim / 16; ++k)
      query.push_back(t->left(p.ins[0], indicesOf(clamped(rows[0])), indicesOf(clamped(rows[1])), k));
    finish(overTiles());
  }

private:
  using Registers = TensorTiles::Registers;

  Value clamped(Value query) { return least(query, w.index(p.queries - 1)); }
  SmallVector<Value> indicesOf(Value query) { return {batch, query, head, group}; }

  Tile keyTile() { return {shared, keysOfTile, p.keyDim}; }
  Tile valueTile() { return {shared ? t->at(shared, keyTile().bytes()) : Value(), keysOfTile, p.valueDim}; }
  int64_t bytesOfTiles() { return keyTile().bytes() + valueTile().bytes(); }

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

  /// What is carried: of both rows the largest score and this lane's sum of powers; the result's fragments.
  Registers overTiles() {
    auto [from, to] = tilesOfBlock();
    copyTile(keyTile(), p.ins[1], from, /*isThere=*/false); // if no query sees one, it is not used
    t->endGroup();
    Registers carried{t->number(kHidden), t->number(kHidden), t->number(0), t->number(0)};
    carried.append(t->zeros(p.valueDim / 2));
    Value middle = p.window ? from : wholeTiles(from, to);
    if (!p.window)
      carried = overTiles(from, middle, to, carried, /*whole=*/true);
    if (p.window || p.causal || p.keys % keysOfTile)
      carried = overTiles(middle, to, to, carried, /*whole=*/false);
    return carried;
  }

  /// The tiles [from, to) of those up to `end`; keys of the first one are under way.
  Registers overTiles(Value from, Value to, Value end, const Registers &carried, bool whole) {
    auto loop = scf::ForOp::create(b, from, to, w.index(1), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getInductionVar(), next = plus(tile, w.index(1));
    t->waitForGroups(0);
    t->barrier(); // keys are there, values of the tile before have been used
    copyTile(valueTile(), p.ins[2], tile);
    t->endGroup();
    SmallVector<Registers> scores = scoresOf();
    t->waitForGroups(0);
    t->barrier(); // values are there, keys have been used
    {
      OpBuilder::InsertionGuard inner(b);
      auto more = scf::IfOp::create(b, compare(arith::CmpIPredicate::slt, next, end), /*withElseRegion=*/false);
      b.setInsertionPointToStart(more.thenBlock());
      copyTile(keyTile(), p.ins[1], next);
    }
    t->endGroup();
    scf::YieldOp::create(b, useTile(tile, scores, loop.getRegionIterArgs(), whole));
    return Registers(loop.getResults().begin(), loop.getResults().end());
  }

  Registers useTile(Value tile, SmallVector<Registers> &scores, ValueRange so, bool whole) {
    // Scores of which none is hidden and that grow with their products are scaled as their maximum is subtracted.
    bool scaleLater = whole && !slope && p.scale > 0;
    Value scale = t->number(float(p.scale * kLog2E));
    if (!scaleLater)
      scaleScores(scores, tile, whole);
    Registers result;
    Value shrink[2], largest[2], sum[2];
    for (int row : {0, 1}) {
      Value most = scores[0][2 * row];
      for (Registers &of : scores)
        for (int column : {0, 1})
          most = t->max(most, of[2 * row + column]);
      most = t->maximumOfRow(most);
      largest[row] = t->max(so[row], scaleLater ? t->mul(most, scale) : most);
      Value minus = arith::NegFOp::create(b, largest[row]);
      shrink[row] = t->exp2(t->sub(so[row], largest[row]));
      sum[row] = t->mul(so[2 + row], shrink[row]);
      for (Registers &of : scores)
        for (int column : {0, 1}) {
          Value &element = of[2 * row + column];
          element = t->exp2(scaleLater ? t->fma(element, scale, minus) : t->add(element, minus));
          sum[row] = t->add(sum[row], element);
        }
    }
    result.append({largest[0], largest[1], sum[0], sum[1]});
    SmallVector<Registers> sums;
    for (int64_t n = 0; n < p.valueDim / 8; ++n) {
      ValueRange old = so.slice(4 + 4 * n, 4);
      sums.push_back(
          {t->mul(old[0], shrink[0]), t->mul(old[1], shrink[0]), t->mul(old[2], shrink[1]), t->mul(old[3], shrink[1])});
    }
    for (int64_t k = 0; k < keysOfTile / 16; ++k) {
      Registers powers = t->leftOfSums(scores, k);
      for (int64_t n = 0; n < p.valueDim / 8; n += 2) {
        Registers values = t->rightOfColumns(valueTile(), k, n);
        sums[n] = t->multiply(powers, values[0], values[1], sums[n]);
        sums[n + 1] = t->multiply(powers, values[2], values[3], sums[n + 1]);
      }
    }
    for (const Registers &of : sums)
      result.append(of);
    return result;
  }

  /// Products of queries and keys, [8 keys] with the fragments of both rows.
  SmallVector<Registers> scoresOf() {
    SmallVector<Registers> scores;
    for (int64_t n = 0; n < keysOfTile / 8; ++n) {
      Registers sum = t->zeros();
      for (int64_t k = 0; k < p.keyDim / 16; k += 2) {
        Registers right = t->rightOfRows(keyTile(), n, k);
        sum = t->multiply(query[k], right[0], right[1], sum);
        if (right.size() > 2)
          sum = t->multiply(query[k + 1], right[2], right[3], sum);
      }
      scores.push_back(sum);
    }
    return scores;
  }

  /// Scales them, in powers of two; kHidden where a query does not see a key.
  void scaleScores(SmallVector<Registers> &scores, Value tile, bool whole) {
    Value lane = w.asIndex(arith::AndIOp::create(b, t->lane, w.i32(3)));
    Value firstKey = plus(times(tile, keysOfTile), times(lane, 2));
    for (int row : {0, 1}) {
      Value beyond = minus(plus(start, rows[row]), firstKey); // keys up to the query's own place
      Columns seen;
      if (!whole && p.keys % keysOfTile)
        limitTo(seen, minus(w.index(p.keys), firstKey));
      if (!whole && p.causal)
        limitTo(seen, plus(beyond, w.index(1)));
      if (p.window)
        seen.from = plus(beyond, w.index(1 - *p.window));
      for (int64_t n = 0; n < keysOfTile / 8; ++n)
        for (int column : {0, 1}) {
          Value &score = scores[n][2 * row + column];
          score = t->mul(score, t->number(float(p.scale * kLog2E)));
          if (slope) {
            Value distance = arith::IndexCastOp::create(b, b.getI32Type(), minus(w.index(8 * n + column), beyond));
            score = t->fma(slope, arith::SIToFPOp::create(b, b.getF32Type(), distance), score);
          }
          if (Value is = counts(seen, 8 * n + column))
            score = arith::SelectOp::create(b, is, score, t->number(kHidden));
        }
    }
  }

  void finish(ValueRange carried) {
    Value lane = arith::AndIOp::create(b, t->lane, w.i32(3));
    for (int row : {0, 1}) {
      Value sum = t->sumOfRow(carried[2 + row]), factor = arith::DivFOp::create(b, t->number(1), sum);
      Value natural = t->fma(carried[row], t->number(float(kLn2)), math::LogOp::create(b, sum));
      OpBuilder::InsertionGuard guard(b);
      Value inside = compare(arith::CmpIPredicate::slt, rows[row], w.index(p.queries));
      b.setInsertionPointToStart(scf::IfOp::create(b, inside, /*withElseRegion=*/false).thenBlock());
      Value real;
      if (p.first)
        real = compare(arith::CmpIPredicate::slt, plus(start, rows[row]), w.index(p.keys));
      auto orZero = [&](Value value) {
        return real ? arith::SelectOp::create(b, real, value, t->number(0)).getResult() : value;
      };
      for (int64_t n = 0; n < p.valueDim / 8; ++n) {
        SmallVector<Value> place = indicesOf(rows[row]);
        place.push_back(w.asIndex(arith::AddIOp::create(b, arith::MulIOp::create(b, lane, w.i32(2)), w.i32(8 * n))));
        ValueRange of = carried.slice(4 + 4 * n + 2 * row, 2);
        w.store(t->bf16Pair(orZero(t->mul(of[0], factor)), orZero(t->mul(of[1], factor))), p.outs[0], place, 2);
      }
      Value leads = compare(arith::CmpIPredicate::eq, lane, w.i32(0));
      b.setInsertionPointToStart(scf::IfOp::create(b, leads, /*withElseRegion=*/false).thenBlock());
      w.store(orZero(natural), p.outs[1], indicesOf(rows[row]));
    }
  }

  const AttentionProblem &p;
  std::optional<TensorTiles> t;
  int64_t keysOfTile = 0;
  Value batch, head, group, firstOfBlock, start, shared, slope;
  Value rows[2];                // this lane's queries
  SmallVector<Registers> query; // [16 columns]
};

} // namespace

void writeTiledAttention(KernelWriter &w, const AttentionProblem &problem) { AttentionTiles(w, problem).write(); }

} // namespace mlir::ppc::cuda
