// Attention by tensor cores: a warp has 16 queries of a head, a block four warps and tiles of keys and values, which
// are copied while the ones before them are used (Dao, FlashAttention-2, 2023: one pass over keys, rows scaled again
// when their maximum grows). Sums are in a fixed order: the same bits from run to run.
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
    while (2 * bytesOfStage() > kStaticSharedBytes)
      keysOfTile /= 2;
    t.emplace(w);
    SmallVector<Value> at = w.delinearize(w.asIndex(w.block()), {p.batch, p.heads, p.groups, tiles});
    batch = at[0], head = at[1], group = at[2];
    firstOfBlock = times(at[3], rowsOfBlock);
    start = p.start(w);
    Value own = w.asIndex(arith::ShRUIOp::create(b, t->lane, w.i32(2)));
    rows[0] = plus(plus(firstOfBlock, times(w.asIndex(t->warp), rowsOfWarp)), own);
    rows[1] = plus(rows[0], w.index(8));
    shared = t->declareShared(2 * bytesOfStage());
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

  Tile keyTile(Value stage) { return {stage, keysOfTile, p.keyDim}; }
  Tile valueTile(Value stage) { return {t->at(stage, keyTile({}).bytes()), keysOfTile, p.valueDim}; }
  int64_t bytesOfStage() { return keyTile({}).bytes() + Tile{{}, keysOfTile, p.valueDim}.bytes(); }

  /// Begins the copies of a tile of keys and values.
  void copyTile(Value tile) {
    Value stage = stageOf(tile), first = times(tile, keysOfTile);
    auto indices = [&](Value key) { return SmallVector<Value>{batch, key, head}; };
    t->copyRows(keyTile(stage), p.ins[1], first, p.keys, indices);
    t->copyRows(valueTile(stage), p.ins[2], first, p.keys, indices);
  }
  Value stageOf(Value tile) {
    Value odd = arith::AndIOp::create(b, tile, w.index(1));
    return t->at(shared, arith::IndexCastOp::create(b, b.getI32Type(), times(odd, bytesOfStage())));
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

  /// What is carried: of both rows the largest score and this lane's sum of powers; the result's fragments.
  ValueRange overTiles() {
    auto [from, to] = tilesOfBlock();
    copyTile(from); // of keys past the end, if no query sees one: the last one, which is not used
    t->endGroup();
    Registers carried{t->number(kHidden), t->number(kHidden), t->number(0), t->number(0)};
    carried.append(t->zeros(p.valueDim / 2));
    auto loop = scf::ForOp::create(b, from, to, w.index(1), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getInductionVar(), next = plus(tile, w.index(1));
    {
      OpBuilder::InsertionGuard inner(b);
      auto more = scf::IfOp::create(b, compare(arith::CmpIPredicate::slt, next, to), /*withElseRegion=*/false);
      b.setInsertionPointToStart(more.thenBlock());
      copyTile(next);
    }
    t->endGroup();
    t->waitForGroups(1);
    t->barrier();
    Registers result = useTile(tile, loop.getRegionIterArgs());
    t->barrier(); // its place is written in the next turn
    scf::YieldOp::create(b, result);
    return loop.getResults();
  }

  Registers useTile(Value tile, ValueRange so) {
    Value stage = stageOf(tile);
    SmallVector<Registers> scores = scoresOf(keyTile(stage), tile);
    Registers result;
    Value shrink[2], largest[2], sum[2];
    for (int row : {0, 1}) {
      largest[row] = t->number(kHidden);
      for (Registers &of : scores)
        for (int column : {0, 1})
          largest[row] = t->max(largest[row], of[2 * row + column]);
      largest[row] = t->max(so[row], t->maximumOfRow(largest[row]));
      shrink[row] = t->exp2(t->sub(so[row], largest[row]));
      sum[row] = t->mul(so[2 + row], shrink[row]);
      for (Registers &of : scores)
        for (int column : {0, 1}) {
          Value &element = of[2 * row + column];
          element = t->exp2(t->sub(element, largest[row]));
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
        Registers values = t->rightOfColumns(valueTile(stage), k, n);
        sums[n] = t->multiply(powers, values[0], values[1], sums[n]);
        sums[n + 1] = t->multiply(powers, values[2], values[3], sums[n + 1]);
      }
    }
    for (const Registers &of : sums)
      result.append(of);
    return result;
  }

  /// Scores in powers of two, [8 keys] with the fragments of both rows.
  SmallVector<Registers> scoresOf(Tile keys, Value tile) {
    SmallVector<Registers> scores;
    Value lane = w.asIndex(arith::AndIOp::create(b, t->lane, w.i32(3)));
    Value firstKey = plus(times(tile, keysOfTile), times(lane, 2));
    for (int64_t n = 0; n < keysOfTile / 8; ++n) {
      Registers sum = t->zeros();
      for (int64_t k = 0; k < p.keyDim / 16; k += 2) {
        Registers right = t->rightOfRows(keys, n, k);
        sum = t->multiply(query[k], right[0], right[1], sum);
        if (right.size() > 2)
          sum = t->multiply(query[k + 1], right[2], right[3], sum);
      }
      for (int element = 0; element < 4; ++element) {
        Value key = plus(firstKey, w.index(8 * n + element % 2));
        sum[element] = visible(sum[element], key, plus(start, rows[element / 2]));
      }
      scores.push_back(sum);
    }
    return scores;
  }

  /// The score of a query at `place` with `key`, scaled; kHidden where it does not see it.
  Value visible(Value score, Value key, Value place) {
    score = t->mul(score, t->number(float(p.scale * kLog2E)));
    if (slope) {
      Value distance = arith::IndexCastOp::create(b, b.getI32Type(), minus(key, place));
      score = t->fma(slope, arith::SIToFPOp::create(b, b.getF32Type(), distance), score);
    }
    Value seen;
    if (p.keys % keysOfTile)
      seen = both(seen, compare(arith::CmpIPredicate::slt, key, w.index(p.keys)));
    if (p.causal)
      seen = both(seen, compare(arith::CmpIPredicate::sle, key, place));
    if (p.window)
      seen = both(seen, compare(arith::CmpIPredicate::sgt, key, minus(place, w.index(*p.window))));
    return seen ? arith::SelectOp::create(b, seen, score, t->number(kHidden)).getResult() : score;
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
