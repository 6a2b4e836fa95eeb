// Gradients of attention by warpgroups, in two passes without atomic additions: the same bits from run to run. With
// scores computed again:
//   P = 2^(scale q k - logarithm),  dP = dout v,  dS = P (dP - delta),  delta = the sum of out dout,
//   dq = scale dS k,  dk = scale dS' q,  dv = P' dout
// (Dao, FlashAttention-2, 2023, algorithm 2). A block keeps 128 queries and goes over tiles of 128 keys, from the last
// one to the first; or it keeps 128 keys with their values and goes over tiles of 64 queries. The latter computes P'
// and dS' themselves, from products with keys on the left, so that both are left operands of the next products as they
// are in registers.
#include "AttentionWarpgroups.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::ppc::cuda {
namespace {

constexpr int64_t kUsers = 2, kWarpsThatUse = kUsers * kWarpgroup / kWarp;

class QueryGradientWarpgroups : AttentionWarpgroups {
public:
  static constexpr int64_t keysOfTile = 128;

  QueryGradientWarpgroups(KernelWriter &w, const AttentionProblem &problem) : AttentionWarpgroups(w, problem) {}

  void write() {
    addTile(queryTile, rowsOfBlock, p.keyDim);
    addTile(gradientTile, rowsOfBlock, p.valueDim);
    addTile(keyTile, keysOfTile, p.keyDim, stages);
    addTile(valueTile, keysOfTile, p.valueDim, stages);
    addBarriers(rowsThere, 1, 2);
    addBarriers(keysThere, stages, 2);
    addBarriers(keysFree, stages, kWarpsThatUse);
    int64_t tiles = llvm::divideCeil(p.queries, rowsOfBlock);
    begin(p.batch * heads * tiles);
    SmallVector<Value> at = w.delinearize(w.asIndex(w.block()), {tiles, p.batch, p.heads, p.groups});
    batch = at[1], head = at[2], group = at[3];
    firstOfBlock = times(minus(w.index(tiles - 1), at[0]), rowsOfBlock); // blocks with most keys first
    start = p.start(w);
    chooseTiles();
    queryMap = mapOf(p.ins[0], p.queries, heads, p.keyDim, rowsOfBlock);
    gradientMap = mapOf(p.ins[5], p.queries, heads, p.valueDim, rowsOfBlock);
    keyMap = mapOf(p.ins[1], p.keys, p.heads, p.keyDim, keysOfTile);
    valueMap = mapOf(p.ins[2], p.keys, p.heads, p.valueDim, keysOfTile);
    run([&] { copyTiles(); }, [&] { useTiles(); });
  }

private:
  SmallVector<Value> indicesOf(Value query) { return {batch, query, head, group}; }
  Value clamped(Value query) { return least(query, w.index(p.queries - 1)); }

  void chooseTiles() {
    auto [all, whole] = keyTiles(start, firstOfBlock, keysOfTile, /*leastKeys=*/0);
    if (p.first) { // rows that are padding are in some blocks
      Value real =
          compare(arith::CmpIPredicate::sle, plus(plus(start, firstOfBlock), w.index(rowsOfBlock)), w.index(p.keys));
      whole = arith::SelectOp::create(b, real, whole, w.index(0));
    }
    count = narrow(all);
    looked = narrow(minus(all, least(whole, all)));
  }
  bool looksAtKeys() const { return p.causal || p.keys % keysOfTile || p.first; }
  Value firstKey(Value n) { return mul(sub(sub(count, w.i32(1)), n), keysOfTile); }

  void copyTiles() {
    Value inRow = narrow(plus(times(head, p.groups), group)), row = narrow(firstOfBlock);
    copyTile(queryTile, queryMap, inRow, row, rowsThere);
    copyTile(gradientTile, gradientMap, inRow, row, rowsThere);
    auto loop = scf::ForOp::create(b, w.i32(0), count, w.i32(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value n = loop.getInductionVar(), there = barrierOf(keysThere, stageOf(n));
    waitUntilFree(keysFree, n);
    copyTile(inStage(keyTile, stageOf(n)), keyMap, narrow(head), firstKey(n), there);
    copyTile(inStage(valueTile, stageOf(n)), valueMap, narrow(head), firstKey(n), there);
  }

  void useTiles() {
    rows[0] = plus(firstOfBlock, w.asIndex(laneRow()));
    rows[1] = plus(rows[0], w.index(8));
    for (int row : {0, 1}) {
      Value query = clamped(rows[row]);
      logarithm[row] = t->mul(w.load(p.ins[4], indicesOf(query)), t->number(float(kLog2OfE)));
      delta[row] = deltaOf(query);
    }
    beginTurns();
    groups.waitFor(rowsThere, w.i32(0));
    Registers sums = t->zeros(p.keyDim / 2);
    if (looksAtKeys())
      sums = overTiles(w.i32(0), looked, sums, /*whole=*/false);
    sums = overTiles(looksAtKeys() ? looked : w.i32(0), count, sums, /*whole=*/true);
    endTurns();
    finish(sums);
  }

  /// The sum of a query's result times its gradient, by the four lanes of its row.
  Value deltaOf(Value query) {
    Value column = w.asIndex(mul(arith::AndIOp::create(b, t->lane, w.i32(3)), 8));
    Value sum = t->number(0);
    for (int64_t first = 0; first < p.valueDim; first += 32) {
      SmallVector<Value> place = indicesOf(query);
      place.push_back(plus(column, w.index(first)));
      auto wide = [&](Value memref) {
        return arith::ExtFOp::create(b, VectorType::get({8}, b.getF32Type()), w.load(memref, place, 8)).getResult();
      };
      Value x = wide(p.ins[3]), y = wide(p.ins[5]);
      for (int64_t i = 0; i < 8; ++i)
        sum =
            t->fma(LLVM::ExtractElementOp::create(b, x, w.i32(i)), LLVM::ExtractElementOp::create(b, y, w.i32(i)), sum);
    }
    return t->sumOfRow(sum);
  }

  Registers overTiles(Value from, Value to, const Registers &before, bool whole) {
    auto loop = scf::ForOp::create(b, from, to, w.i32(1), before);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value n = loop.getInductionVar(), stage = stageOf(n);
    waitForTurn();
    waitUntilThere(keysThere, n);
    Registers scores = groups.multiplyRows(queryTile, groupRow(), inStage(keyTile, stage));
    Registers gradients = groups.multiplyRows(gradientTile, groupRow(), inStage(valueTile, stage));
    letOtherBegin();
    scores = groups.waitFor(1, scores);
    raise(scores, n, whole);
    gradients = groups.waitFor(0, gradients);
    for (auto [i, gradient] : llvm::enumerate(gradients))
      gradient = t->mul(scores[i], t->sub(gradient, delta[i / 2 % 2]));
    ValueRange so = loop.getRegionIterArgs();
    Registers sums = groups.waitFor(0, groups.addColumns(fragments(gradients), inStage(keyTile, stage), so));
    free(keysFree, n);
    scf::YieldOp::create(b, sums);
    return Registers(loop.getResults().begin(), loop.getResults().end());
  }

  /// Scores become powers; 0 of keys that a query does not see.
  void raise(Registers &scores, Value n, bool whole) {
    Value scale = t->number(float(p.scale * kLog2OfE));
    Value first = add(firstKey(n), mul(arith::AndIOp::create(b, t->lane, w.i32(3)), 2));
    for (int row : {0, 1}) {
      Value limit;
      if (!whole) {
        Value end = w.index(p.keys), place = plus(start, rows[row]);
        if (p.causal)
          end = least(plus(place, w.index(1)), end);
        if (p.first) // padding
          end = arith::SelectOp::create(b, compare(arith::CmpIPredicate::slt, place, w.index(p.keys)), end, w.index(0));
        limit = sub(narrow(end), first);
      }
      Value minus = arith::NegFOp::create(b, logarithm[row]);
      for (size_t i = 0; i < scores.size() / 4; ++i)
        for (int inPair : {0, 1}) {
          Value &score = scores[4 * i + size_t(2 * row + inPair)];
          score = t->exp2(t->fma(score, scale, minus));
          if (limit) {
            Value isSeen = compare(arith::CmpIPredicate::sgt, limit, w.i32(int64_t(8 * i) + inPair));
            score = arith::SelectOp::create(b, isSeen, score, t->number(0));
          }
        }
    }
  }

  void finish(ValueRange sums) {
    Value column = mul(arith::AndIOp::create(b, t->lane, w.i32(3)), 2), scale = t->number(float(p.scale));
    for (int row : {0, 1}) {
      OpBuilder::InsertionGuard guard(b);
      Value inside = compare(arith::CmpIPredicate::slt, rows[row], w.index(p.queries));
      b.setInsertionPointToStart(scf::IfOp::create(b, inside, /*withElseRegion=*/false).thenBlock());
      for (int64_t n = 0; n < p.keyDim / 8; ++n) {
        SmallVector<Value> place = indicesOf(rows[row]);
        place.push_back(w.asIndex(add(column, w.i32(8 * n))));
        ValueRange of = sums.slice(4 * n + 2 * row, 2);
        w.store(t->bf16Pair(t->mul(of[0], scale), t->mul(of[1], scale)), p.outs[0], place, 2);
      }
    }
  }

  SwizzledTile queryTile, gradientTile, keyTile, valueTile; // the first ones
  Value rowsThere, keysThere, keysFree;                     // a stage has keys and values
  Value queryMap, gradientMap, keyMap, valueMap;
  Value head, group, firstOfBlock, start;
  Value count, looked;                   // tiles of the block, and those at whose keys it looks one by one
  Value rows[2], logarithm[2], delta[2]; // of this lane
};

class KeyGradientWarpgroups : AttentionWarpgroups {
public:
  static constexpr int64_t queriesOfTile = 64;

  KeyGradientWarpgroups(KernelWriter &w, const AttentionProblem &problem) : AttentionWarpgroups(w, problem) {}

  void write() {
    addTile(keyTile, rowsOfBlock, p.keyDim);
    addTile(valueTile, rowsOfBlock, p.valueDim);
    addTile(queryTile, queriesOfTile, p.keyDim, stages);
    addTile(gradientTile, queriesOfTile, p.valueDim, stages);
    addTile(resultTile, queriesOfTile, p.valueDim, stages);
    addBytes(statistics, stages * statisticsBytes);
    addBarriers(rowsThere, 1, 2);
    addBarriers(queriesThere, stages, 3);
    addBarriers(queriesFree, stages, kWarpsThatUse + queriesOfTile / kWarp);
    addBarriers(statisticsThere, stages, queriesOfTile);
    int64_t tiles = llvm::divideCeil(p.keys, rowsOfBlock);
    begin(p.batch * p.heads * tiles);
    SmallVector<Value> at = w.delinearize(w.asIndex(w.block()), {tiles, p.batch, p.heads});
    batch = at[1], head = at[2];
    firstOfBlock = times(at[0], rowsOfBlock); // blocks with most queries first
    start = p.start(w);
    chooseTiles();
    logarithms = w.address(p.ins[4], {batch, w.index(0), head, w.index(0)});
    keyMap = mapOf(p.ins[1], p.keys, p.heads, p.keyDim, rowsOfBlock);
    valueMap = mapOf(p.ins[2], p.keys, p.heads, p.valueDim, rowsOfBlock);
    queryMap = mapOf(p.ins[0], p.queries, heads, p.keyDim, queriesOfTile);
    gradientMap = mapOf(p.ins[5], p.queries, heads, p.valueDim, queriesOfTile);
    resultMap = mapOf(p.ins[3], p.queries, heads, p.valueDim, queriesOfTile);
    run([&] { copyTiles(); }, [&] { useTiles(); }, [&] { computeStatistics(); });
  }

private:
  static constexpr int64_t statisticsBytes = 2 * int64_t(sizeof(float)) * queriesOfTile; // deltas, then logarithms

  /// Of each group: the tiles of queries [from, to), of which those before `middle` are looked at one by one.
  void chooseTiles() {
    Value none = w.index(0), end = w.index(p.queries), real = end;
    if (p.first) // the others are padding
      real = most(least(minus(w.index(p.keys), start), end), none);
    auto up = [&](Value row) {
      return arith::DivUIOp::create(b, plus(row, w.index(queriesOfTile - 1)), w.index(queriesOfTile)).getResult();
    };
    Value to = up(real), from = none, middle = none;
    if (p.causal) {
      Value ahead = minus(firstOfBlock, start); // the query at the first key
      from = least(arith::DivUIOp::create(b, most(ahead, none), w.index(queriesOfTile)), to);
      middle = most(least(up(most(plus(ahead, w.index(rowsOfBlock - 1)), none)), to), from);
    }
    first = narrow(from), this->middle = narrow(middle), this->end = narrow(to), realQueries = narrow(real);
  }

  /// Calls `body` in a loop over the groups, with its number and how many tiles were before.
  Registers overGroups(const Registers &before, function_ref<Registers(Value group, Value done, ValueRange so)> body) {
    Value count = sub(end, first);
    auto loop = scf::ForOp::create(b, w.i32(0), w.i32(p.groups), w.i32(1), before);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value group = loop.getInductionVar();
    Registers after = body(group, arith::MulIOp::create(b, group, count), loop.getRegionIterArgs());
    if (!before.empty())
      scf::YieldOp::create(b, after);
    return Registers(loop.getResults().begin(), loop.getResults().end());
  }
  /// Tiles from..to - 1 of a group; n is the number of the tile among all.
  Registers overTiles(Value from, Value to, Value done, const Registers &before,
                      function_ref<Registers(Value tile, Value n, ValueRange so)> body) {
    auto loop = scf::ForOp::create(b, from, to, w.i32(1), before);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getInductionVar();
    Registers after = body(tile, add(done, sub(tile, first)), loop.getRegionIterArgs());
    if (!before.empty())
      scf::YieldOp::create(b, after);
    return Registers(loop.getResults().begin(), loop.getResults().end());
  }

  void copyTiles() {
    copyTile(keyTile, keyMap, narrow(head), narrow(firstOfBlock), rowsThere);
    copyTile(valueTile, valueMap, narrow(head), narrow(firstOfBlock), rowsThere);
    overGroups({}, [&](Value group, Value done, ValueRange) {
      return overTiles(first, end, done, {}, [&](Value tile, Value n, ValueRange) {
        waitUntilFree(queriesFree, n);
        Value stage = stageOf(n), there = barrierOf(queriesThere, stage), row = mul(tile, queriesOfTile);
        Value inRow = add(narrow(times(head, p.groups)), group);
        copyTile(inStage(queryTile, stage), queryMap, inRow, row, there);
        copyTile(inStage(gradientTile, stage), gradientMap, inRow, row, there);
        copyTile(inStage(resultTile, stage), resultMap, inRow, row, there);
        return Registers();
      });
    });
  }

  // ---- Deltas and logarithms of a tile's queries, by a thread each of the warpgroup that copies ----

  Value pointer(Value address) {
    return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace), address);
  }
  Value statistic(Value n, int64_t bytes) {
    return plusBytes(add(statistics, mul(stageOf(n), statisticsBytes)), bytes);
  }

  /// Its place, from one address for all: this warpgroup has few registers.
  Value logarithmOf(Value query, Value group) {
    auto wide = [&](Value x) { return arith::ExtUIOp::create(b, b.getI64Type(), x).getResult(); };
    Value heads = arith::ConstantOp::create(b, b.getI64IntegerAttr(this->heads));
    Value place = arith::AddIOp::create(b, arith::MulIOp::create(b, wide(query), heads), wide(group));
    return LLVM::GEPOp::create(b, logarithms.getType(), b.getF32Type(), logarithms, ValueRange(place));
  }

  void computeStatistics() {
    constexpr int64_t first = kWarpgroup - queriesOfTile;
    OpBuilder::InsertionGuard guard(b);
    Value isOne = compare(arith::CmpIPredicate::sge, w.thread(), w.i32(first));
    b.setInsertionPointToStart(scf::IfOp::create(b, isOne, /*withElseRegion=*/false).thenBlock());
    overGroups({}, [&](Value group, Value done, ValueRange) {
      return overTiles(this->first, end, done, {}, [&](Value tile, Value n, ValueRange) {
        waitUntilThere(queriesThere, n);
        Value own = sub(groups.threadAgain(), w.i32(first)); // what follows from it needs no registers between tiles
        Value delta = deltaOf(n, own), query = add(mul(tile, queriesOfTile), own);
        Value inside = compare(arith::CmpIPredicate::slt, query, realQueries);
        Value clamped = arith::MinSIOp::create(b, query, w.i32(p.queries - 1));
        Value logarithm = LLVM::LoadOp::create(b, b.getF32Type(), logarithmOf(clamped, group), sizeof(float));
        // Powers of queries that are not there are 0.
        logarithm = arith::SelectOp::create(b, inside, t->mul(logarithm, t->number(float(kLog2OfE))), t->number(1e30f));
        Value place = add(statistic(n, 0), mul(own, sizeof(float)));
        LLVM::StoreOp::create(b, delta, pointer(place));
        LLVM::StoreOp::create(b, logarithm, pointer(plusBytes(place, statisticsBytes / 2)));
        groups.syncWarp(); // all of its lanes have read and written
        groups.arrive(barrierOf(statisticsThere, stageOf(n)));
        free(queriesFree, n);
        return Registers();
      });
    });
  }

  /// The sum of a query's result times its gradient, from the tiles.
  Value deltaOf(Value n, Value row) {
    constexpr int64_t together = 8; // elements in 16 bytes
    Value sum = t->number(0), change = arith::AndIOp::create(b, row, w.i32(7));
    SwizzledTile tiles[2] = {inStage(resultTile, stageOf(n)), inStage(gradientTile, stageOf(n))};
    for (int64_t piece = 0; piece < tiles[0].pieces(); ++piece) {
      auto loop = scf::ForOp::create(b, w.i32(0), w.i32(SwizzledTile::pieceColumns / together), w.i32(1), sum);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value chunk = arith::XOrIOp::create(b, loop.getInductionVar(), change);
      Value offset = add(mul(row, SwizzledTile::rowBytes), mul(chunk, 2 * together));
      SmallVector<Value> numbers;
      for (const SwizzledTile &tile : tiles) {
        Value address = pointer(add(plusBytes(tile.address, piece * tile.pieceBytes()), offset));
        Value narrow = LLVM::LoadOp::create(b, VectorType::get({together}, b.getBF16Type()), address, 2 * together);
        numbers.push_back(arith::ExtFOp::create(b, VectorType::get({together}, b.getF32Type()), narrow));
      }
      Value inner = loop.getRegionIterArgs()[0];
      for (int64_t i = 0; i < together; ++i)
        inner = t->fma(LLVM::ExtractElementOp::create(b, numbers[0], w.i32(i)),
                       LLVM::ExtractElementOp::create(b, numbers[1], w.i32(i)), inner);
      scf::YieldOp::create(b, inner);
      sum = loop.getResult(0);
    }
    return sum;
  }

  // ---- Warpgroups that use them ----

  void useTiles() {
    rows[0] = plus(firstOfBlock, w.asIndex(laneRow()));
    rows[1] = plus(rows[0], w.index(8));
    beginTurns();
    groups.waitFor(rowsThere, w.i32(0));
    Registers sums = overGroups(t->zeros((p.keyDim + p.valueDim) / 2), [&](Value, Value done, ValueRange so) {
      Registers sums(so.begin(), so.end());
      if (p.causal)
        sums = overTiles(first, middle, done, sums,
                         [&](Value tile, Value n, ValueRange so) { return useTile(tile, n, so, /*whole=*/false); });
      return overTiles(p.causal ? middle : first, end, done, sums,
                       [&](Value tile, Value n, ValueRange so) { return useTile(tile, n, so, /*whole=*/true); });
    });
    endTurns();
    finish(p.outs[1], ValueRange(sums).take_front(p.keyDim / 2), p.keyDim, float(p.scale));
    finish(p.outs[2], ValueRange(sums).drop_front(p.keyDim / 2), p.valueDim, 1);
  }

  /// Of a column pair: two numbers of the tile's queries.
  std::pair<Value, Value> statisticsOf(Value n, int64_t bytes, size_t column) {
    Value lane = mul(arith::AndIOp::create(b, t->lane, w.i32(3)), 2 * sizeof(float));
    Value address = pointer(add(statistic(n, bytes + int64_t(8 * column * sizeof(float))), lane));
    Value both = LLVM::LoadOp::create(b, VectorType::get({2}, b.getF32Type()), address, 2 * sizeof(float));
    return {LLVM::ExtractElementOp::create(b, both, w.i32(0)), LLVM::ExtractElementOp::create(b, both, w.i32(1))};
  }

  Registers useTile(Value tile, Value n, ValueRange so, bool whole) {
    Value stage = stageOf(n);
    SwizzledTile queries = inStage(queryTile, stage), results = inStage(gradientTile, stage);
    waitForTurn();
    waitUntilThere(queriesThere, n);
    Registers powers = groups.multiplyRows(keyTile, groupRow(), queries);
    Registers gradients = groups.multiplyRows(valueTile, groupRow(), results);
    letOtherBegin();
    waitUntilThere(statisticsThere, n);
    powers = groups.waitFor(1, powers);
    raise(powers, tile, n, whole);
    Registers values = groups.addColumns(fragments(powers), results, so.drop_front(p.keyDim / 2));
    gradients = groups.waitFor(1, gradients);
    for (size_t i = 0; i < gradients.size() / 4; ++i) {
      auto [left, right] = statisticsOf(n, 0, i);
      for (size_t element = 0; element < 4; ++element) {
        Value &gradient = gradients[4 * i + element];
        gradient = t->mul(powers[4 * i + element], t->sub(gradient, element % 2 ? right : left));
      }
    }
    Registers keys = groups.addColumns(fragments(gradients), queries, so.take_front(p.keyDim / 2));
    values = groups.waitFor(1, values);
    keys = groups.waitFor(0, keys);
    free(queriesFree, n);
    keys.append(values);
    return keys;
  }

  void raise(Registers &powers, Value tile, Value n, bool whole) {
    Value scale = t->number(float(p.scale * kLog2OfE));
    Value column = mul(arith::AndIOp::create(b, t->lane, w.i32(3)), 2);
    Value from[2]; // of the columns: queries that see the key
    for (int row : {0, 1})
      if (!whole)
        from[row] = sub(narrow(minus(rows[row], start)), add(mul(tile, queriesOfTile), column));
    for (size_t i = 0; i < powers.size() / 4; ++i) {
      auto [left, right] = statisticsOf(n, statisticsBytes / 2, i);
      for (size_t element = 0; element < 4; ++element) {
        Value &power = powers[4 * i + element];
        power = t->exp2(t->fma(power, scale, arith::NegFOp::create(b, element % 2 ? right : left)));
        if (!whole) {
          Value isSeen =
              compare(arith::CmpIPredicate::sle, from[element / 2], w.i32(int64_t(8 * i) + int64_t(element % 2)));
          power = arith::SelectOp::create(b, isSeen, power, t->number(0));
        }
      }
    }
  }

  void finish(Value memref, ValueRange sums, int64_t dim, float factor) {
    Value column = mul(arith::AndIOp::create(b, t->lane, w.i32(3)), 2), by = t->number(factor);
    for (int row : {0, 1}) {
      OpBuilder::InsertionGuard guard(b);
      Value inside = compare(arith::CmpIPredicate::slt, rows[row], w.index(p.keys));
      b.setInsertionPointToStart(scf::IfOp::create(b, inside, /*withElseRegion=*/false).thenBlock());
      for (int64_t n = 0; n < dim / 8; ++n) {
        ValueRange of = sums.slice(4 * n + 2 * row, 2);
        w.store(t->bf16Pair(t->mul(of[0], by), t->mul(of[1], by)), memref,
                {batch, rows[row], head, w.asIndex(add(column, w.i32(8 * n)))}, 2);
      }
    }
  }

  SwizzledTile keyTile, valueTile, queryTile, gradientTile, resultTile; // the first ones
  Value statistics;                                                     // an address
  Value rowsThere, queriesThere, queriesFree, statisticsThere;          // a stage has all of its queries
  Value keyMap, valueMap, queryMap, gradientMap, resultMap;
  Value head, firstOfBlock, start;
  Value first, middle, end; // tiles of queries
  Value realQueries;        // how many are no padding
  Value logarithms;         // where those of the head begin
  Value rows[2];            // this lane's keys
};

} // namespace

void writeWarpgroupQueryGradient(KernelWriter &w, const AttentionProblem &problem) {
  QueryGradientWarpgroups(w, problem).write();
}
void writeWarpgroupKeyGradients(KernelWriter &w, const AttentionProblem &problem) {
  KeyGradientWarpgroups(w, problem).write();
}

} // namespace mlir::ppc::cuda
