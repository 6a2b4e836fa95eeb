// Attention forward by warpgroups. A block has 128 queries of a head, and goes over tiles of 128 keys and their values,
// from the last one to the first: those of which some keys are hidden come first, the others are not looked at key by
// key. A warpgroup has its queries in registers, begins the product with the keys of one tile and that with the values
// of the tile before, and raises its scores to powers beside the latter. Sums are in a fixed order: the same bits from
// run to run.
#include "AttentionWarpgroups.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::ppc::cuda {
namespace {

class ForwardWarpgroups : AttentionWarpgroups {
public:
  static constexpr int64_t keysOfTile = 128;

  ForwardWarpgroups(KernelWriter &w, const AttentionProblem &problem) : AttentionWarpgroups(w, problem) {}

  void write() {
    constexpr int64_t warps = users * kWarpgroup / kWarp;
    addTile(keyTile, keysOfTile, p.keyDim, stages);
    addTile(valueTile, keysOfTile, p.valueDim, stages);
    addBarriers(keysThere, stages, 1);
    addBarriers(keysFree, stages, warps);
    addBarriers(valuesThere, stages, 1);
    addBarriers(valuesFree, stages, warps);
    int64_t tiles = llvm::divideCeil(p.queries, rowsOfBlock);
    begin(p.batch * heads * tiles);
    // Blocks with most keys first.
    SmallVector<Value> at = w.delinearize(w.asIndex(w.block()), {tiles, p.batch, p.heads, p.groups});
    batch = at[1], head = at[2], group = at[3];
    firstOfBlock = times(minus(w.index(tiles - 1), at[0]), rowsOfBlock);
    start = p.start(w);
    chooseTiles();
    keyMap = mapOf(p.ins[1], p.keys, p.heads, p.keyDim, keysOfTile);
    valueMap = mapOf(p.ins[2], p.keys, p.heads, p.valueDim, keysOfTile);
    run([&] { copyTiles(); }, [&] { useTiles(); });
  }

private:
  SmallVector<Value> indicesOf(Value query) { return {batch, query, head, group}; }

  /// How many tiles the block goes over, and for how many of them it looks at single keys.
  void chooseTiles() {
    auto [all, whole] = keyTiles(start, firstOfBlock, keysOfTile, /*leastKeys=*/1);
    // Straight code of a few tiles would want more registers than there are.
    count = groups.unknown(narrow(all));
    looked = narrow(minus(all, least(whole, all)));
  }
  bool looksAtKeys() const { return p.causal || p.keys % keysOfTile; }
  /// The first key of the n-th tile.
  Value firstKey(Value n) { return mul(sub(sub(count, w.i32(1)), n), keysOfTile); }

  // ---- The thread that copies ----

  void copyKeys(Value n) { copyToStage(keyTile, keyMap, narrow(head), firstKey(n), keysThere, keysFree, n); }
  void copyValues(Value n) { copyToStage(valueTile, valueMap, narrow(head), firstKey(n), valuesThere, valuesFree, n); }
  void copyTiles() {
    copyKeys(w.i32(0));
    auto loop = scf::ForOp::create(b, w.i32(1), count, w.i32(1));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      copyKeys(loop.getInductionVar());
      copyValues(sub(loop.getInductionVar(), w.i32(1)));
    }
    copyValues(sub(count, w.i32(1)));
  }

  // ---- Warpgroups that use them ----

  /// Of the tiles so far: of both rows the largest score, not scaled, and this lane's sum of powers; what the last
  /// tile's powers are, as fragments of 16 keys; the result's sums without that tile.
  struct State {
    Value largest[2], sum[2];
    SmallVector<Registers> powers;
    Registers sums;

    Registers values() const {
      Registers all{largest[0], largest[1], sum[0], sum[1]};
      for (const Registers &of : powers)
        all.append(of);
      all.append(sums);
      return all;
    }
    static State of(ValueRange all) {
      State state;
      for (int row : {0, 1})
        state.largest[row] = all[row], state.sum[row] = all[2 + row];
      for (int64_t k = 0; k < keysOfTile / 16; ++k)
        state.powers.push_back(Registers(all.slice(4 + 4 * k, 4)));
      ValueRange rest = all.drop_front(4 + keysOfTile / 4);
      state.sums.assign(rest.begin(), rest.end());
      return state;
    }
  };

  void useTiles() {
    rows[0] = plus(firstOfBlock, w.asIndex(laneRow()));
    rows[1] = plus(rows[0], w.index(8));
    auto clamped = [&](Value query) { return indicesOf(least(query, w.index(p.queries - 1))); };
    for (int64_t k = 0; k < p.keyDim / 16; ++k)
      query.push_back(t->left(p.ins[0], clamped(rows[0]), clamped(rows[1]), k));
    beginTurns();
    State state = firstTile();
    Value middle = looksAtKeys() ? arith::MaxSIOp::create(b, looked, w.i32(1)).getResult() : w.i32(1);
    if (looksAtKeys())
      state = overTiles(w.i32(1), middle, state, /*whole=*/false);
    state = overTiles(middle, count, state, /*whole=*/true);
    Registers sums = groups.waitFor(0, beginValues(sub(count, w.i32(1)), state));
    endTurns();
    finish(state, sums);
  }

  Registers beginScores(Value n) {
    waitUntilThere(keysThere, n);
    return groups.multiplyRows(query, inStage(keyTile, stageOf(n)));
  }
  Registers beginValues(Value n, const State &state) {
    waitUntilThere(valuesThere, n);
    return groups.addColumns(state.powers, inStage(valueTile, stageOf(n)), state.sums);
  }

  State firstTile() {
    Value n = w.i32(0);
    Registers scores = groups.waitFor(0, beginScores(n));
    free(keysFree, n);
    State state;
    for (int row : {0, 1})
      state.largest[row] = t->number(kHiddenScore), state.sum[row] = t->number(0);
    Value shrink[2];
    raise(scores, state, shrink, n, /*whole=*/!looksAtKeys());
    state.powers = fragments(scores);
    state.sums = t->zeros(p.valueDim / 2);
    return state;
  }

  /// Tiles from..to - 1.
  State overTiles(Value from, Value to, const State &before, bool whole) {
    auto loop = scf::ForOp::create(b, from, to, w.i32(1), before.values());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value n = loop.getInductionVar(), last = sub(n, w.i32(1));
      State state = State::of(loop.getRegionIterArgs());
      waitForTurn();
      Registers scores = beginScores(n), sums = beginValues(last, state);
      letOtherBegin();
      scores = groups.waitFor(1, scores);
      free(keysFree, n);
      Value shrink[2];
      raise(scores, state, shrink, n, whole);
      sums = groups.waitFor(0, sums);
      free(valuesFree, last);
      state.powers = fragments(scores);
      for (auto [i, sum] : llvm::enumerate(sums))
        sum = t->mul(sum, shrink[i / 2 % 2]);
      state.sums = sums;
      scf::YieldOp::create(b, state.values());
    }
    return State::of(loop.getResults());
  }

  /// Scores become powers of e^(scale (score - the largest one so far)); `shrink` is what sums so far have to be
  /// multiplied with.
  void raise(Registers &scores, State &state, Value (&shrink)[2], Value n, bool whole) {
    if (!whole)
      hide(scores, n);
    Value scale = t->number(float(p.scale * kLog2OfE));
    for (int row : {0, 1}) {
      SmallVector<Value *> of;
      for (size_t i = 0; i < scores.size(); i += 4)
        for (int column : {0, 1})
          of.push_back(&scores[i + size_t(2 * row + column)]);
      // Four chains, so that an instruction need not wait for the one before.
      Value most[4] = {*of[0], *of[1], *of[2], *of[3]};
      for (size_t i = 4; i < of.size(); ++i)
        most[i % 4] = t->max(most[i % 4], *of[i]);
      Value largest = t->maximumOfRow(t->max(t->max(most[0], most[1]), t->max(most[2], most[3])));
      largest = t->max(state.largest[row], largest);
      Value minus = arith::NegFOp::create(b, t->mul(largest, scale));
      shrink[row] = t->exp2(t->fma(state.largest[row], scale, minus));
      Value sums[4];
      for (auto [i, score] : llvm::enumerate(of)) {
        *score = t->exp2(t->fma(*score, scale, minus));
        sums[i % 4] = i < 4 ? *score : t->add(sums[i % 4], *score);
      }
      Value sum = t->add(t->add(sums[0], sums[1]), t->add(sums[2], sums[3]));
      state.sum[row] = t->fma(state.sum[row], shrink[row], sum);
      state.largest[row] = largest;
    }
  }

  void hide(Registers &scores, Value n) {
    Value first = add(firstKey(n), mul(arith::AndIOp::create(b, t->lane, w.i32(3)), 2));
    for (int row : {0, 1}) {
      Value end = w.index(p.keys);
      if (p.causal)
        end = least(plus(plus(start, rows[row]), w.index(1)), end);
      Value limit = sub(narrow(end), first);
      for (size_t i = 0; i < scores.size() / 4; ++i)
        for (int inPair : {0, 1}) {
          Value &score = scores[4 * i + size_t(2 * row + inPair)];
          Value isSeen = compare(arith::CmpIPredicate::sgt, limit, w.i32(int64_t(8 * i) + inPair));
          score = arith::SelectOp::create(b, isSeen, score, t->number(kHiddenScore));
        }
    }
  }

  void finish(const State &state, ValueRange sums) {
    Value lane = arith::AndIOp::create(b, t->lane, w.i32(3));
    for (int row : {0, 1}) {
      Value sum = t->sumOfRow(state.sum[row]), factor = arith::DivFOp::create(b, t->number(1), sum);
      Value natural = t->fma(state.largest[row], t->number(float(p.scale)), math::LogOp::create(b, sum));
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
        place.push_back(w.asIndex(add(mul(lane, 2), w.i32(8 * n))));
        ValueRange of = sums.slice(4 * n + 2 * row, 2);
        w.store(t->bf16Pair(orZero(t->mul(of[0], factor)), orZero(t->mul(of[1], factor))), p.outs[0], place, 2);
      }
      Value leads = compare(arith::CmpIPredicate::eq, lane, w.i32(0));
      b.setInsertionPointToStart(scf::IfOp::create(b, leads, /*withElseRegion=*/false).thenBlock());
      w.store(orZero(natural), p.outs[1], indicesOf(rows[row]));
    }
  }

  SwizzledTile keyTile, valueTile; // the first ones
  Value keysThere, keysFree, valuesThere, valuesFree;
  Value keyMap, valueMap;
  Value head, group, firstOfBlock, start;
  Value count, looked;          // tiles of the block, and those at whose keys it looks one by one
  Value rows[2];                // this lane's queries
  SmallVector<Registers> query; // fragments of 16 columns
};

} // namespace

void writeWarpgroupAttention(KernelWriter &w, const AttentionProblem &problem) {
  ForwardWarpgroups(w, problem).write();
}

} // namespace mlir::ppc::cuda
