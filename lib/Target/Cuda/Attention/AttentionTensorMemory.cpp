// Attention forward by products in tensor memory (sm_100a). A block has two tiles of 128 queries of a head, and goes
// over tiles of 128 keys and their values, from the last one to the first, as by warpgroups. Its warps have roles
// (Zadouri et al., FlashAttention-4, 2026): one thread copies tiles, one begins products; a warpgroup for each tile of
// queries raises scores to powers, a row a thread, while the products of the other tile run; another one scales the
// sums of results where the largest score of a row has grown, and writes results. Scores are in tensor memory, powers
// in bf16 in their place, sums of results beside them. Sums are in a fixed order: the same bits from run to run.
#include "AttentionWarpgroups.h"
#include "lib/Target/Cuda/Writer/TensorMemory.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::ppc::cuda {
namespace {

/// The largest score that counts for a row is raised when powers would be above 2 to this.
constexpr float kLargestPower = 8;
/// Registers of a thread by role: together what a multiprocessor has, 65,536.
constexpr int64_t kRegistersToRaise = 184, kRegistersToScale = 88, kRegistersToBegin = 56;
constexpr int64_t kRoles = 4; // warpgroups: two raise, one scales; of the last one a warp multiplies, another copies

class ForwardTensorMemory : AttentionWarpgroups {
public:
  static constexpr int64_t rowsOfTile = TensorMemory::rows, tiles = 2, rowsOfAll = tiles * rowsOfTile;
  static constexpr int64_t keysOfTile = 128;

  ForwardTensorMemory(KernelWriter &w, const AttentionProblem &problem)
      : AttentionWarpgroups(w, problem), memory(w, groups) {}

  void write() {
    addShared();
    int64_t blocksOfHead = llvm::divideCeil(p.queries, rowsOfAll);
    begin(p.batch * heads * blocksOfHead, kRoles * kWarpgroup);
    w.takeAllRegisters();
    // Blocks with most keys first.
    SmallVector<Value> at = w.delinearize(w.asIndex(w.block()), {blocksOfHead, p.batch, p.heads, p.groups});
    batch = at[1], head = at[2], group = at[3];
    firstOfBlock = times(minus(w.index(blocksOfHead - 1), at[0]), rowsOfAll);
    start = p.start(w);
    // Straight code of a few tiles would want more registers than there are.
    all = keyTiles(start, firstOfBlock, keysOfTile, /*leastKeys=*/1, rowsOfAll).first;
    count = groups.unknown(narrow(all));
    queryMap = mapOf(p.ins[0], p.queries, heads, p.keyDim, rowsOfTile);
    keyMap = mapOf(p.ins[1], p.keys, p.heads, p.keyDim, keysOfTile);
    valueMap = mapOf(p.ins[2], p.keys, p.heads, p.valueDim, keysOfTile);
    run();
  }

private:
  SmallVector<Value> indicesOf(Value query) { return {batch, query, head, group}; }
  bool looksAtKeys() const { return p.causal || p.keys % keysOfTile; }
  /// The first key of the n-th tile.
  Value firstKey(Value n) { return mul(sub(sub(count, w.i32(1)), n), keysOfTile); }

  void addShared() {
    constexpr int64_t warps = kWarpgroup / kWarp;
    addTile(queryTile, rowsOfTile, p.keyDim, tiles);
    addTile(keyTile, keysOfTile, p.keyDim, stages);
    addTile(valueTile, keysOfTile, p.valueDim, stages);
    addBytes(factors, rowsOfAll * 4);
    addBytes(divisors, rowsOfAll * 4);
    addBytes(memoryPlace, 4);
    addBarriers(queriesThere, tiles, 1);
    addBarriers(keysThere, stages, 1);
    addBarriers(keysFree, stages, 1);
    addBarriers(valuesThere, stages, 1);
    addBarriers(valuesFree, stages, 1);
    addBarriers(scoresThere, tiles, 1);
    addBarriers(mayAdd, tiles, 2 * warps); // powers are there, and sums are scaled
    addBarriers(factorsThere, tiles, warps);
    addBarriers(divisorsThere, tiles, warps);
    addBarriers(resultsThere, tiles, 1);
  }

  void run() {
    Value thread = w.thread(), warp = t->warp;
    constexpr int64_t multiplies = 12, copies = 13; // warps
    initializeBarriers(compare(arith::CmpIPredicate::eq, thread, w.i32(0)));
    Value isMultiplying = compare(arith::CmpIPredicate::eq, warp, w.i32(multiplies));
    onlyIf(isMultiplying, [&] { memory.allocate(memoryPlace); });
    memory.beforeTelling();
    t->barrier();
    memory.afterBeingTold();
    scores = LLVM::LoadOp::create(b, b.getI32Type(), sharedWord(memoryPlace), 4);
    results = add(scores, w.i32(tiles * keysOfTile));

    Value role = groups.number(thread);
    auto isRole = [&](int64_t number) { return compare(arith::CmpIPredicate::eq, role, w.i32(number)); };
    auto isFirst = [&](int64_t of) { return compare(arith::CmpIPredicate::eq, thread, w.i32(of * kWarp)); };
    onlyIf(isRole(3), [&] {
      groups.setRegisters(kRegistersToBegin, /*takes=*/false);
      onlyIf(isFirst(multiplies), [&] { multiply(); });
      onlyIf(isFirst(copies), [&] { copyTiles(); });
    });
    onlyIf(isRole(2), [&] {
      groups.setRegisters(kRegistersToScale, /*takes=*/false);
      scaleAndWrite();
    });
    onlyIf(compare(arith::CmpIPredicate::ult, role, w.i32(tiles)), [&] {
      groups.setRegisters(kRegistersToRaise, /*takes=*/true);
      own = role;
      raiseTiles();
    });
    syncWarp();
    memory.beforeTelling();
    t->barrier();
    memory.afterBeingTold();
    onlyIf(isMultiplying, [&] { memory.release(scores); });
  }

  void onlyIf(Value condition, function_ref<void()> then) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(scf::IfOp::create(b, condition, /*withElseRegion=*/false).thenBlock());
    then();
  }
  void forTiles(Value from, Value to, function_ref<void(Value n)> body) {
    auto loop = scf::ForOp::create(b, from, to, w.i32(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
  Value sharedWord(Value address) {
    return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace), address);
  }
  Value odd(Value n) { return arith::AndIOp::create(b, n, w.i32(1)); }

  // ---- The thread that copies ----

  void copyQueries(int64_t tile) {
    SwizzledTile to = queryTile;
    to.address = plusBytes(to.address, tile * to.bytes());
    Value row = narrow(plus(firstOfBlock, w.index(tile * rowsOfTile)));
    copyTile(to, queryMap, add(mul(narrow(head), p.groups), narrow(group)), row, plusBytes(queriesThere, tile * 8));
  }
  void copyKeys(Value n) { copyToStage(keyTile, keyMap, narrow(head), firstKey(n), keysThere, keysFree, n); }
  void copyValues(Value n) { copyToStage(valueTile, valueMap, narrow(head), firstKey(n), valuesThere, valuesFree, n); }
  void copyTiles() {
    copyQueries(0);
    copyKeys(w.i32(0));
    copyQueries(1);
    forTiles(w.i32(1), count, [&](Value n) {
      copyKeys(n);
      copyValues(sub(n, w.i32(1)));
    });
    copyValues(sub(count, w.i32(1)));
  }

  // ---- The thread that begins products ----

  Value scoresOf(int64_t tile) { return add(scores, w.i32(tile * keysOfTile)); }
  Value resultsOf(int64_t tile) { return add(results, w.i32(tile * p.valueDim)); }

  void beginScores(int64_t tile, Value n) {
    SwizzledTile queries = queryTile;
    queries.address = plusBytes(queries.address, tile * queries.bytes());
    memory.multiplyRows(scoresOf(tile), queries, inStage(keyTile, stageOf(n)));
    memory.commit(plusBytes(scoresThere, tile * 8));
  }
  void beginResults(int64_t tile, Value n) {
    groups.waitFor(plusBytes(mayAdd, tile * 8), odd(n));
    memory.afterBeingTold();
    memory.addColumns(resultsOf(tile), scoresOf(tile), inStage(valueTile, stageOf(n)), n);
  }
  void multiply() {
    waitUntilThere(keysThere, w.i32(0));
    for (int64_t tile = 0; tile < tiles; ++tile) {
      groups.waitFor(plusBytes(queriesThere, tile * 8), w.i32(0));
      beginScores(tile, w.i32(0));
    }
    memory.commit(barrierOf(keysFree, w.i32(0)));
    Value last = sub(count, w.i32(1));
    forTiles(w.i32(0), last, [&](Value n) {
      Value next = add(n, w.i32(1));
      waitUntilThere(valuesThere, n);
      waitUntilThere(keysThere, next);
      for (int64_t tile = 0; tile < tiles; ++tile) {
        beginResults(tile, n);
        if (tile == tiles - 1)
          memory.commit(barrierOf(valuesFree, stageOf(n)));
        beginScores(tile, next); // where the powers were
      }
      memory.commit(barrierOf(keysFree, stageOf(next)));
    });
    waitUntilThere(valuesThere, last);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      beginResults(tile, last);
      memory.commit(plusBytes(resultsThere, tile * 8));
    }
  }

  // ---- Warpgroups that raise scores to powers, a row a thread ----

  /// Of the row: the score that powers are relative to, not scaled, and the sum of powers.
  struct Row {
    Value largest, sum;
  };

  /// An op, of which compilers make no copies for some lanes.
  void syncWarp() { NVVM::SyncWarpOp::create(b, w.i32(-1)); }
  /// Inline PTX under a condition, without a branch: behind one compilers would make copies of what whole warps have to
  /// execute together, and lanes could wait for what another one of their warp has not said yet.
  void emitIf(Value condition, StringRef text, StringRef constraints, ValueRange operands) {
    SmallVector<Value> all{arith::ExtUIOp::create(b, b.getI32Type(), condition)};
    llvm::append_range(all, operands);
    LLVM::InlineAsmOp::create(b, TypeRange(), all,
                              ("{\n.reg .pred holds;\nsetp.ne.b32 holds, $0, 0;\n@holds " + text + "\n}").str(),
                              ("r," + constraints + ",~{memory}").str(), /*has_side_effects=*/true,
                              /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  }
  /// Of the whole warp.
  void arrive(Value barrier) {
    syncWarp();
    emitIf(compare(arith::CmpIPredicate::eq, t->lane, w.i32(0)), "mbarrier.arrive.shared::cta.b64 _, [$1];", "r",
           barrier);
  }
  Value ofOwn(Value first) { return add(first, mul(own, 8)); }
  Value rowOf(Value array) { return sharedWord(add(array, mul(add(mul(own, rowsOfTile), rowInTile()), 4))); }
  Value rowInTile() { return arith::AndIOp::create(b, w.thread(), w.i32(kWarpgroup - 1)); }

  void raiseTiles() {
    Value firstOfTile = plus(firstOfBlock, times(w.asIndex(own), rowsOfTile));
    query = plus(firstOfTile, w.asIndex(rowInTile()));
    ownScores = memory.ofWarp(add(scores, mul(own, keysOfTile)), t->warp);
    Row row{t->number(kHiddenScore), t->number(0)};
    Value looked = w.i32(0);
    if (looksAtKeys()) {
      Value whole = keyTiles(start, firstOfTile, keysOfTile, /*leastKeys=*/1, rowsOfTile).second;
      looked = narrow(minus(all, least(whole, all)));
      row = overTiles(w.i32(0), looked, row, /*whole=*/false);
    }
    row = overTiles(looked, count, row, /*whole=*/true);
    finish(row);
  }

  Row overTiles(Value from, Value to, Row before, bool whole) {
    auto loop = scf::ForOp::create(b, from, to, w.i32(1), ValueRange{before.largest, before.sum});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Row row{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
    row = raise(loop.getInductionVar(), row, whole);
    scf::YieldOp::create(b, ValueRange{row.largest, row.sum});
    return {loop.getResult(0), loop.getResult(1)};
  }

  Row raise(Value n, Row row, bool whole) {
    groups.waitFor(ofOwn(scoresThere), odd(n));
    memory.afterBeingTold();
    Registers values = memory.load(ownScores, keysOfTile);
    if (!whole)
      hide(values, n);
    Value scale = t->number(float(p.scale * kLog2OfE));
    // Four chains, so that an instruction need not wait for the one before.
    Value most[4] = {values[0], values[1], values[2], values[3]};
    for (size_t i = 4; i < values.size(); ++i)
      most[i % 4] = t->max(most[i % 4], values[i]);
    Value largest = t->max(t->max(t->max(most[0], most[1]), t->max(most[2], most[3])), row.largest);
    Value growth = t->mul(t->sub(largest, row.largest), scale);
    Value grows = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, growth, t->number(kLargestPower));
    largest = arith::SelectOp::create(b, grows, largest, row.largest);
    Value shrink = t->exp2(arith::NegFOp::create(b, growth));
    shrink = arith::SelectOp::create(b, grows, shrink, t->number(1));
    LLVM::StoreOp::create(b, shrink, rowOf(factors), 4);
    arrive(ofOwn(factorsThere));
    return {largest, t->fma(row.sum, shrink, storePowers(values, largest, scale))};
  }

  /// Where the scores were; returns their sum.
  Value storePowers(const Registers &values, Value largest, Value scale) {
    constexpr size_t together = 32;
    Value minus = arith::NegFOp::create(b, t->mul(largest, scale)), sums[4];
    Registers words;
    for (size_t i = 0; i < values.size(); i += 2) {
      Value pair[2];
      for (size_t j = 0; j < 2; ++j) {
        pair[j] = t->exp2(t->fma(values[i + j], scale, minus));
        Value &of = sums[(i + j) % 4];
        of = of ? t->add(of, pair[j]) : pair[j];
      }
      words.push_back(t->pair(pair[0], pair[1]));
      if (words.size() == together / 2) {
        memory.store(plusBytes(ownScores, int64_t(i + 2 - together) / 2), words);
        words.clear();
      }
    }
    memory.waitForStores();
    memory.beforeTelling();
    arrive(ofOwn(mayAdd));
    return t->add(t->add(sums[0], sums[1]), t->add(sums[2], sums[3]));
  }

  void hide(Registers &values, Value n) {
    Value end = w.index(p.keys);
    if (p.causal)
      end = least(plus(plus(start, query), w.index(1)), end);
    Value limit = sub(narrow(end), firstKey(n));
    for (auto [i, value] : llvm::enumerate(values)) {
      Value isSeen = compare(arith::CmpIPredicate::sgt, limit, w.i32(int64_t(i)));
      value = arith::SelectOp::create(b, isSeen, value, t->number(kHiddenScore));
    }
  }

  /// The row's divisor, and its logarithm.
  void finish(Row row) {
    LLVM::StoreOp::create(b, arith::DivFOp::create(b, t->number(1), row.sum), rowOf(divisors), 4);
    arrive(ofOwn(divisorsThere));
    Value natural = t->fma(row.largest, t->number(float(p.scale)), math::LogOp::create(b, row.sum));
    onlyIf(compare(arith::CmpIPredicate::slt, query, w.index(p.queries)),
           [&] { w.store(orZero(natural), p.outs[1], indicesOf(query)); });
  }

  /// Of a row that is padding: 0.
  Value orZero(Value value) {
    if (!p.first)
      return value;
    Value isReal = compare(arith::CmpIPredicate::slt, plus(start, query), w.index(p.keys));
    return arith::SelectOp::create(b, isReal, value, t->number(0));
  }

  // ---- The warpgroup that scales sums of results, and writes them ----

  static constexpr int64_t columnsTogether = 32;

  void scaleAndWrite() {
    forTiles(w.i32(0), count, [&](Value n) {
      Value isLater = compare(arith::CmpIPredicate::ne, n, w.i32(0)); // the first products do not add
      for (int64_t tile = 0; tile < tiles; ++tile) {
        own = w.i32(tile);
        // Who raised the scores has seen that the products before are done.
        groups.waitFor(plusBytes(factorsThere, tile * 8), odd(n));
        memory.afterBeingTold();
        Value factor = LLVM::LoadOp::create(b, b.getF32Type(), rowOf(factors), 4);
        Value shrinks = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factor, t->number(1));
        shrinks = arith::AndIOp::create(b, isLater, shrinks);
        Value any = NVVM::VoteSyncOp::create(b, b.getI1Type(), w.i32(-1), shrinks, NVVM::VoteSyncKind::any);
        onlyIf(any, [&] { scaleResults(tile, factor); });
        memory.beforeTelling();
        arrive(plusBytes(mayAdd, tile * 8));
      }
    });
    for (int64_t tile = 0; tile < tiles; ++tile) {
      own = w.i32(tile);
      groups.waitFor(plusBytes(divisorsThere, tile * 8), w.i32(0));
      Value factor = LLVM::LoadOp::create(b, b.getF32Type(), rowOf(divisors), 4);
      groups.waitFor(plusBytes(resultsThere, tile * 8), w.i32(0));
      memory.afterBeingTold();
      writeResults(tile, factor);
    }
  }

  void scaleResults(int64_t tile, Value factor) {
    Value place = memory.ofWarp(resultsOf(tile), t->warp);
    for (int64_t column = 0; column < p.valueDim; column += columnsTogether) {
      Registers values = memory.load(plusBytes(place, column), columnsTogether);
      for (Value &value : values)
        value = t->mul(value, factor);
      memory.store(plusBytes(place, column), values);
    }
    memory.waitForStores();
  }

  void writeResults(int64_t tile, Value factor) {
    constexpr int64_t width = 8; // of a store
    Value place = memory.ofWarp(resultsOf(tile), t->warp);
    query = plus(firstOfBlock, plus(w.index(tile * rowsOfTile), w.asIndex(rowInTile())));
    Value isInside = compare(arith::CmpIPredicate::slt, query, w.index(p.queries));
    for (int64_t column = 0; column < p.valueDim; column += columnsTogether) {
      Registers values = memory.load(plusBytes(place, column), columnsTogether), words;
      for (size_t i = 0; i < values.size(); i += 2)
        words.push_back(t->pair(orZero(t->mul(values[i], factor)), orZero(t->mul(values[i + 1], factor))));
      for (int64_t first = 0; first < columnsTogether; first += width) {
        SmallVector<Value> to = indicesOf(query);
        to.push_back(w.index(column + first));
        SmallVector<Value> operands{w.address(p.outs[0], to)};
        llvm::append_range(operands, ArrayRef(words).slice(size_t(first / 2), size_t(width / 2)));
        emitIf(isInside, "st.global.v4.b32 [$1], {$2, $3, $4, $5};", "l,r,r,r,r", operands);
      }
    }
  }

  TensorMemory memory;
  SwizzledTile queryTile, keyTile, valueTile; // the first ones
  Value factors, divisors, memoryPlace;
  Value queriesThere, keysThere, keysFree, valuesThere, valuesFree;
  Value scoresThere, mayAdd, factorsThere, divisorsThere, resultsThere;
  Value queryMap, keyMap, valueMap;
  Value head, group, firstOfBlock, start, all, count; // count: tiles of keys
  Value scores, results;                              // of the first tile of queries, in tensor memory
  Value query, ownScores;                             // of a thread that has a row; of its warp
};

} // namespace

void writeTensorMemoryAttention(KernelWriter &w, const AttentionProblem &problem) {
  ForwardTensorMemory(w, problem).write();
}

} // namespace mlir::ppc::cuda
