// Gradients of attention by tensor cores. A block keeps 16 rows for each warp: queries with the gradients of their
// results, or keys with their values; and goes over tiles of the other two, in their order. With scores computed again:
//   P = 2^(scale q k - logarithm),  dP = dout v,  dS = P (dP - delta),  delta = the sum of out dout,
//   dq = scale dS k,  dk = scale dS' q,  dv = P' dout
// (Dao, FlashAttention-2, 2023, algorithm 2, with two passes in the place of sums in memory): the same bits from run to
// run.
#include "AttentionProblem.h"
#include "lib/Target/Cuda/Writer/TensorTiles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::ppc::cuda {
namespace {

/// Two tiles of the same rows: of keys and values, or of queries and the gradients of their results.
struct TilePair {
  Tile first, second;
  int64_t bytes() const { return first.bytes() + second.bytes(); }
};

class GradientTiles : TileIndices {
public:
  using Registers = TensorTiles::Registers;

  GradientTiles(KernelWriter &w, const AttentionProblem &problem, bool ofQueries, bool ofKeys, bool ofValues)
      : TileIndices(w), p(problem), ofQueries(ofQueries), ofKeys(ofKeys), ofValues(ofValues) {}

  void write() {
    chooseSizes();
    int64_t rows = ofQueries ? p.queries : p.keys, tiles = llvm::divideCeil(rows, kept());
    w.kernel.threads = warps * kWarp;
    w.kernel.blocks = p.batch * p.heads * (ofQueries ? p.groups : 1) * tiles;
    t.emplace(w);
    SmallVector<Value> at = w.delinearize(w.asIndex(w.block()), {p.batch, p.heads, ofQueries ? p.groups : 1, tiles});
    batch = at[0], head = at[1], group = at[2];
    firstOfBlock = times(at[3], kept());
    start = p.start(w);
    keptRow = arith::MulIOp::create(b, t->warp, w.i32(16));
    Value own = w.asIndex(arith::ShRUIOp::create(b, t->lane, w.i32(2)));
    ownRows[0] = plus(plus(firstOfBlock, w.asIndex(keptRow)), own);
    ownRows[1] = plus(ownRows[0], w.index(8));
    shared = t->declareShared(sharedBytes());
    if (ofQueries) {
      slope = slopeOf(group);
      for (int row : {0, 1}) {
        Value query = clamped(ownRows[row]);
        logarithm[row] = t->mul(w.load(p.ins[4], queryAt(query)), t->number(float(kLog2E)));
      }
    }
    copy(ofQueries, keptTiles(), firstOfBlock);
    t->endGroup();
    if (ofQueries) {
      t->waitForGroups(0);
      t->barrier();
      for (int row : {0, 1})
        delta[row] = deltaOfRow(clamped(ownRows[row]));
    }
    finish(ofQueries ? overTiles(zeroSums()) : overGroups());
  }

private:
  int64_t kept() const { return 16 * warps; }
  static TilePair pairOf(Value base, int64_t rows, int64_t keyDim, int64_t valueDim, TensorTiles *t) {
    Tile first{base, rows, keyDim};
    return {first, {t ? t->at(base, first.bytes()) : Value(), rows, valueDim}};
  }
  TilePair keptTiles() { return pairOf(shared, kept(), p.keyDim, p.valueDim, &*t); }
  int64_t bytesOf(int64_t rows) const { return pairOf({}, rows, p.keyDim, p.valueDim, nullptr).bytes(); }
  /// Behind the tiles: deltas and logarithms of a tile of queries.
  int64_t statisticsBytes() const { return ofQueries ? 0 : 2 * int64_t(sizeof(float)) * moved; }
  int64_t sharedBytes() const { return bytesOf(kept()) + stages * bytesOf(moved) + statisticsBytes(); }

  /// As many rows as fit, and two stages, so that one is filled while the other one is used, where they do.
  void chooseSizes() {
    for (warps = 4; warps >= 1; warps /= 2)
      for (int64_t rows : {32, 16})
        for (int64_t count : {2, 1}) {
          moved = rows, stages = count;
          if (sharedBytes() <= kStaticSharedBytes)
            return;
        }
  }

  Value clamped(Value query) { return least(query, w.index(p.queries - 1)); }
  SmallVector<Value> queryAt(Value query) { return {batch, query, head, group}; }
  Value slopeOf(Value ofGroup) {
    return p.slopes ? t->mul(w.load(p.slopes, {head, ofGroup}), t->number(float(kLog2E))) : Value();
  }
  Value column() { return w.asIndex(arith::MulIOp::create(b, laneOfRow(), w.i32(2))); }
  Value laneOfRow() { return arith::AndIOp::create(b, t->lane, w.i32(3)); }

  /// `isThere`: the tile has a row.
  void copy(bool queries, TilePair tiles, Value first, bool isThere = false) {
    auto query = [&](Value row) { return queryAt(row); };
    auto key = [&](Value row) { return SmallVector<Value>{batch, row, head}; };
    function_ref<SmallVector<Value>(Value)> place = key;
    if (queries)
      place = query;
    int64_t rows = queries ? p.queries : p.keys;
    std::optional<int64_t> limit;
    if (!isThere || rows % tiles.first.rows)
      limit = rows;
    t->copyRows(tiles.first, p.ins[queries ? 0 : 1], first, limit, place);
    t->copyRows(tiles.second, p.ins[queries ? 5 : 2], first, limit, place);
  }
  TilePair movedTiles(Value tile) {
    Value base = t->at(shared, bytesOf(kept()));
    if (stages > 1) {
      Value odd = arith::AndIOp::create(b, tile, w.index(1));
      base = t->at(base, arith::IndexCastOp::create(b, b.getI32Type(), times(odd, bytesOf(moved))));
    }
    return pairOf(base, moved, p.keyDim, p.valueDim, &*t);
  }

  /// The sum of a query's result times its gradient, by the four lanes of its row.
  Value deltaOfRow(Value query) { return t->sumOfRow(partOfDelta(query, column(), 8)); }
  Value partOfDelta(Value query, Value first, int64_t step) {
    auto loop = scf::ForOp::create(b, first, w.index(p.valueDim), w.index(step), t->number(0));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> place = queryAt(query);
    place.push_back(loop.getInductionVar());
    auto wide = [&](Value memref) {
      return arith::ExtFOp::create(b, VectorType::get({2}, b.getF32Type()), w.load(memref, place, 2)).getResult();
    };
    Value x = wide(p.ins[3]), y = wide(p.ins[5]), sum = loop.getRegionIterArgs()[0];
    for (int64_t i : {0, 1})
      sum = t->fma(LLVM::ExtractElementOp::create(b, x, w.i32(i)), LLVM::ExtractElementOp::create(b, y, w.i32(i)), sum);
    scf::YieldOp::create(b, sum);
    return loop.getResult(0);
  }

  // ---- What is gone over ----

  /// The rows of the other kind that meet a row of the block, as tiles [from, to).
  std::pair<Value, Value> tilesOfBlock() {
    Value from = w.index(0), to = w.index(ofQueries ? p.keys : p.queries), none = from, end = to;
    if (ofQueries && p.causal) {
      Value place = plus(start, firstOfBlock);
      to = most(least(plus(place, w.index(kept())), end), none);
      if (p.window)
        from = least(most(plus(place, w.index(1 - *p.window)), none), end);
    }
    if (!ofQueries) {
      if (p.first) // the others are padding
        to = most(least(minus(w.index(p.keys), start), end), none);
      if (p.causal)
        from = most(minus(firstOfBlock, start), none);
      if (p.window)
        to = most(least(minus(plus(firstOfBlock, w.index(kept() - 1 + *p.window)), start), to), none);
    }
    auto tile = [&](Value row) { return arith::DivUIOp::create(b, row, w.index(moved)).getResult(); };
    return {tile(from), tile(plus(to, w.index(moved - 1)))};
  }

  Registers zeroSums() { return t->zeros(((ofQueries || ofKeys ? p.keyDim : 0) + (ofValues ? p.valueDim : 0)) / 2); }

  ValueRange overGroups() {
    auto loop = scf::ForOp::create(b, w.index(0), w.index(p.groups), w.index(1), zeroSums());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    group = loop.getInductionVar();
    slope = slopeOf(group);
    ValueRange sums = overTiles(Registers(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end()));
    scf::YieldOp::create(b, sums);
    return loop.getResults();
  }

  ValueRange overTiles(Registers carried) {
    auto [from, to] = tilesOfBlock();
    if (stages > 1) {
      copy(!ofQueries, movedTiles(from), times(from, moved));
      t->endGroup();
    }
    auto loop = scf::ForOp::create(b, from, to, w.index(1), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getInductionVar();
    if (stages > 1) {
      Value next = plus(tile, w.index(1));
      OpBuilder::InsertionGuard inner(b);
      auto more = scf::IfOp::create(b, compare(arith::CmpIPredicate::slt, next, to), /*withElseRegion=*/false);
      b.setInsertionPointToStart(more.thenBlock());
      copy(!ofQueries, movedTiles(next), times(next, moved), /*isThere=*/true);
    } else {
      copy(!ofQueries, movedTiles(tile), times(tile, moved), /*isThere=*/true);
    }
    t->endGroup();
    if (!ofQueries)
      storeStatistics(tile);
    t->waitForGroups(stages > 1 ? 1 : 0);
    t->barrier();
    Registers sums = useTile(tile, loop.getRegionIterArgs());
    t->barrier();
    scf::YieldOp::create(b, sums);
    return loop.getResults();
  }

  /// Logarithms and deltas of a tile of queries, by eight lanes each.
  void storeStatistics(Value tile) {
    Value thread = plus(times(w.asIndex(t->warp), kWarp), w.asIndex(t->lane));
    constexpr int64_t lanes = 8;
    Value part = arith::RemUIOp::create(b, thread, w.index(lanes));
    for (int64_t done = 0; done < moved * lanes; done += w.kernel.threads) {
      Value own = plus(arith::DivUIOp::create(b, thread, w.index(lanes)), w.index(done / lanes));
      Value inTile = least(own, w.index(moved - 1));
      Value query = clamped(plus(times(tile, moved), inTile));
      Value sum = t->sumOfRow(partOfDelta(query, times(part, 2), 2 * lanes));
      sum = t->add(sum, NVVM::ShflOp::create(b, b.getF32Type(), w.i32(-1), sum, w.i32(4), w.i32(kWarp - 1),
                                             NVVM::ShflKind::bfly, UnitAttr()));
      Value base = t->at(shared, bytesOf(kept()) + stages * bytesOf(moved));
      auto at = [&](Value row) {
        return t->at(base, arith::IndexCastOp::create(b, b.getI32Type(), times(row, sizeof(float))));
      };
      OpBuilder::InsertionGuard guard(b);
      Value leads = arith::AndIOp::create(b, compare(arith::CmpIPredicate::eq, part, w.index(0)),
                                          compare(arith::CmpIPredicate::ult, own, w.index(moved)));
      b.setInsertionPointToStart(scf::IfOp::create(b, leads, /*withElseRegion=*/false).thenBlock());
      Value logarithm = t->mul(w.load(p.ins[4], queryAt(query)), t->number(float(kLog2E)));
      LLVM::StoreOp::create(b, sum, at(own));
      LLVM::StoreOp::create(b, logarithm, at(plus(own, w.index(moved))));
    }
  }
  /// The delta (0) or the logarithm (1) of a query of the tile.
  Value statistic(int which, Value row) {
    Value base = t->at(shared, bytesOf(kept()) + stages * bytesOf(moved));
    Value place = times(plus(row, w.index(which * moved)), sizeof(float));
    return LLVM::LoadOp::create(b, b.getF32Type(), t->at(base, arith::IndexCastOp::create(b, b.getI32Type(), place)));
  }

  /// left' right, [8 columns]: the kept rows of one tile times the rows of another.
  SmallVector<Registers> products(Tile left, Tile right) {
    SmallVector<Registers> sums(moved / 8, t->zeros());
    for (int64_t k = 0; k < left.dim / 16; k += 2) {
      Registers one = t->left(left, keptRow, k), other;
      if (16 * (k + 2) <= left.dim)
        other = t->left(left, keptRow, k + 1);
      for (int64_t n = 0; n < moved / 8; ++n) {
        Registers columns = t->rightOfRows(right, n, k);
        sums[n] = t->multiply(one, columns[0], columns[1], sums[n]);
        if (columns.size() > 2)
          sums[n] = t->multiply(other, columns[2], columns[3], sums[n]);
      }
    }
    return sums;
  }

  Registers useTile(Value tile, ValueRange so) {
    TilePair kept = keptTiles(), other = movedTiles(tile);
    SmallVector<Registers> powers = products(kept.first, other.first);
    SmallVector<Registers> gradients = products(kept.second, other.second);
    Value firstColumn = column(), firstMoved = plus(times(tile, moved), firstColumn);
    Columns seen[2] = {columnsOf(ownRows[0], firstMoved), columnsOf(ownRows[1], firstMoved)};
    for (int64_t n = 0; n < moved / 8; ++n)
      for (int element = 0; element < 4; ++element) {
        int64_t number = 8 * n + element % 2;
        Value inTile = plus(firstColumn, w.index(number));
        Value minusDelta = ofQueries ? delta[element / 2] : statistic(0, inTile);
        Value distance = minus(ownRows[element / 2], plus(firstMoved, w.index(number)));
        Value power = powerOf(powers[n][element], counts(seen[element / 2], number),
                              ofQueries ? logarithm[element / 2] : statistic(1, inTile), distance);
        gradients[n][element] = t->mul(power, t->sub(gradients[n][element], minusDelta));
        powers[n][element] = power;
      }
    Registers sums(so.begin(), so.end());
    if (ofQueries || ofKeys)
      addTo(sums, 0, gradients, other.first);
    if (ofValues)
      addTo(sums, ofKeys ? p.keyDim / 2 : 0, powers, other.second);
    return sums;
  }

  /// The rows from `firstMoved` on that meet one of the block's: queries that see the key, or keys that the query sees.
  Columns columnsOf(Value own, Value firstMoved) {
    Columns seen;
    int64_t movedRows = ofQueries ? p.keys : p.queries, ownRows = ofQueries ? p.queries : p.keys;
    Value ahead = ofQueries ? minus(plus(start, own), firstMoved) : minus(minus(own, start), firstMoved);
    if (movedRows % moved)
      limitTo(seen, minus(w.index(movedRows), firstMoved));
    if (ofQueries && p.causal)
      limitTo(seen, plus(ahead, w.index(1)));
    if (ofQueries && p.window)
      seen.from = plus(ahead, w.index(1 - *p.window));
    if (!ofQueries && p.causal)
      seen.from = ahead;
    if (!ofQueries && p.window)
      limitTo(seen, plus(ahead, w.index(*p.window)));
    if (!ofQueries && p.first) // the others are padding
      limitTo(seen, minus(minus(w.index(p.keys), start), firstMoved));
    Value isThere;
    if (ownRows % kept())
      isThere = compare(arith::CmpIPredicate::slt, own, w.index(ownRows));
    if (ofQueries && p.first)
      isThere = both(isThere, compare(arith::CmpIPredicate::slt, plus(start, own), w.index(p.keys)));
    if (isThere)
      seen.to = arith::SelectOp::create(b, isThere, seen.to ? seen.to : w.index(moved), w.index(0));
    return seen;
  }

  /// 2^(score - logarithm); 0 where `seen`, which may be null, is not true. `distance`: of the kept row's number from
  /// the moved one's.
  Value powerOf(Value score, Value seen, Value logarithm, Value distance) {
    Value minus = arith::NegFOp::create(b, logarithm);
    if (slope) {
      Value away = ofQueries ? plus(start, distance) : this->minus(start, distance); // of the query from the key
      away = arith::IndexCastOp::create(b, b.getI32Type(), this->minus(w.index(0), away));
      minus = t->fma(slope, arith::SIToFPOp::create(b, b.getF32Type(), away), minus);
    }
    Value power = t->exp2(t->fma(score, t->number(float(p.scale * kLog2E)), minus));
    return seen ? arith::SelectOp::create(b, seen, power, t->number(0)).getResult() : power;
  }

  /// Adds factors (rounded) times the rows of a tile to the sums from `first` on.
  void addTo(Registers &sums, int64_t first, ArrayRef<Registers> factors, Tile tile) {
    for (int64_t k = 0; k < moved / 16; ++k) {
      Registers left = t->leftOfSums(factors, k);
      for (int64_t n = 0; n < tile.dim / 8; n += 2) {
        Registers columns = t->rightOfColumns(tile, k, n);
        for (int64_t half : {0, 1}) {
          MutableArrayRef<Value> sum = MutableArrayRef<Value>(sums).slice(first + 4 * (n + half), 4);
          llvm::copy(t->multiply(left, columns[2 * half], columns[2 * half + 1], SmallVector<Value>(sum)), sum.begin());
        }
      }
    }
  }

  void finish(ValueRange sums) {
    for (int row : {0, 1}) {
      OpBuilder::InsertionGuard guard(b);
      Value inside = compare(arith::CmpIPredicate::slt, ownRows[row], w.index(ofQueries ? p.queries : p.keys));
      b.setInsertionPointToStart(scf::IfOp::create(b, inside, /*withElseRegion=*/false).thenBlock());
      auto write = [&](Value memref, int64_t dim, int64_t first, float factor) {
        for (int64_t n = 0; n < dim / 8; ++n) {
          SmallVector<Value> place = ofQueries ? queryAt(ownRows[row]) : SmallVector<Value>{batch, ownRows[row], head};
          place.push_back(plus(column(), w.index(8 * n)));
          ValueRange of = sums.slice(first + 4 * n + 2 * row, 2);
          Value by = t->number(factor);
          w.store(t->bf16Pair(t->mul(of[0], by), t->mul(of[1], by)), memref, place, 2);
        }
      };
      if (ofQueries)
        write(p.outs[0], p.keyDim, 0, float(p.scale));
      if (ofKeys)
        write(p.outs[1], p.keyDim, 0, float(p.scale));
      if (ofValues)
        write(p.outs[2], p.valueDim, ofKeys ? p.keyDim / 2 : 0, 1);
    }
  }

  const AttentionProblem &p;
  bool ofQueries, ofKeys, ofValues;
  int64_t warps = 0, moved = 0, stages = 0; // rows of a tile that moves, and how many such tiles there are
  std::optional<TensorTiles> t;
  Value batch, head, group, firstOfBlock, start, shared, slope;
  Value keptRow;                            // of this warp, the first one
  Value ownRows[2], logarithm[2], delta[2]; // of this lane; the last two of queries
};

} // namespace

void writeTiledQueryGradient(KernelWriter &w, const AttentionProblem &problem) {
  GradientTiles(w, problem, true, false, false).write();
}

void writeTiledKeyGradients(KernelWriter &w, const AttentionProblem &problem, bool ofKeys, bool ofValues) {
  GradientTiles(w, problem, false, ofKeys, ofValues).write();
}

} // namespace mlir::ppc::cuda
