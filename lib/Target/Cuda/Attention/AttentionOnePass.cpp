// Gradients of attention by tensor cores in one pass over scores (Dao, FlashAttention-2, 2023, algorithm 2). A block
// keeps 128 keys with their values, and goes over tiles of 64 queries with the gradients of their results:
//   P = 2^(scale q k - logarithm),  dS = P (dout v - delta),  dv += P' dout,  dk += scale dS' q,  dq += scale dS k.
// Scores and their gradients are transposed, keys by queries: a warp has 32 keys and half of the queries, from whose
// sums it takes its left operands of the next products; the other half, which the warp beside it has, comes through
// shared memory. It sums half of the columns of dk and dv, so that right operands serve two products each.
//
// A block is a head's of queries. Sums of dq are in memory, and blocks add to a tile of them in turns, from the first
// keys that a query sees to the last, whose block scales and rounds them. Blocks go over tiles from the last queries to
// the first, so that those that begin at the same time find it to be their turn one tile after the other, and the
// longest of causal attention begin first. Heads of a group add to the gradients of their keys in turns, too. A block
// takes its number when it begins; blocks that it waits for have smaller ones and are under way. The same bits from run
// to run.
#include "AttentionOnePass.h"
#include "lib/Target/Cuda/Writer/TensorTiles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::ppc::cuda {
namespace {

class OnePassGradients : TileIndices {
public:
  using Registers = TensorTiles::Registers;
  static constexpr int64_t warps = AttentionScratch::threads / kWarp, keptRows = AttentionScratch::keysOfBlock,
                           ownKeys = 32, movedRows = AttentionScratch::queriesOfTile, ownQueries = movedRows / 2;
  /// Of keys and values together, up to which a warp has registers for its own ones beside its sums.
  static constexpr int64_t kDimsInRegisters = 128;

  OnePassGradients(KernelWriter &w, const AttentionProblem &problem) : TileIndices(w), p(problem), scratch(problem) {}

  void write() {
    w.kernel.threads = warps * kWarp;
    w.kernel.blocks = scratch.heads * scratch.keyTiles;
    t.emplace(w);
    shared = t->dynamicShared(sharedBytes());
    takeNumber();
    start = p.start(w);
    half = arith::AndIOp::create(b, t->warp, w.i32(1));
    firstKey = i32Times(arith::ShRUIOp::create(b, t->warp, w.i32(1)), ownKeys);
    laneRow = arith::ShRUIOp::create(b, t->lane, w.i32(2));
    laneColumn = i32Times(arith::AndIOp::create(b, t->lane, w.i32(3)), 2);
    findPlace();
    auto key = [&](Value row) { return SmallVector<Value>{batch, row, head}; };
    std::optional<int64_t> limit;
    if (p.keys % keptRows)
      limit = p.keys;
    t->copyRows(keys(), p.ins[1], firstOfBlock, limit, key);
    t->copyRows(values(), p.ins[2], firstOfBlock, limit, key);
    t->endGroup();
    if (p.slopes)
      slope = t->mul(w.load(p.slopes, {head, group}), t->number(float(kLog2E)));
    finish(overTiles());
  }

private:
  // ---- Shared memory: keys, values, two tiles of queries, one of gradients, powers, their gradients, statistics ----
  Tile tileAt(int64_t bytes, int64_t rows, int64_t dim) { return {shared ? t->at(shared, bytes) : Value(), rows, dim}; }
  Tile keys() { return tileAt(0, keptRows, p.keyDim); }
  int64_t afterKeys() { return keys().bytes(); }
  Tile values() { return tileAt(afterKeys(), keptRows, p.valueDim); }
  int64_t afterValues() { return afterKeys() + values().bytes(); }
  int64_t queryBytes() { return Tile{{}, movedRows, p.keyDim}.bytes(); }
  Tile gradients() { return tileAt(afterValues() + 2 * queryBytes(), movedRows, p.valueDim); }
  int64_t afterGradients() { return afterValues() + 2 * queryBytes() + gradients().bytes(); }
  /// Powers, or with 1 their gradients: [key, query].
  Tile scores(int64_t which) {
    int64_t bytes = Tile{{}, keptRows, movedRows}.bytes();
    return tileAt(afterGradients() + which * bytes, keptRows, movedRows);
  }
  int64_t statisticsPlace() { return afterGradients() + 2 * Tile{{}, keptRows, movedRows}.bytes(); }
  static constexpr int64_t statisticsBytes = 2 * movedRows * 4; // of a stage: logarithms, then deltas
  int64_t sharedBytes() { return statisticsPlace() + 2 * statisticsBytes + 16; }

  Value ofStage(Value tile, int64_t place, int64_t bytes) {
    Value odd = arith::AndIOp::create(b, tile, w.index(1));
    return t->at(t->at(shared, place), i32(times(odd, bytes)));
  }
  Tile queries(Value tile) { return {ofStage(tile, afterValues(), queryBytes()), movedRows, p.keyDim}; }
  Value statistics(Value tile) { return ofStage(tile, statisticsPlace(), statisticsBytes); }

  // ---- Numbers ----
  Value i32(Value x) { return arith::IndexCastOp::create(b, b.getI32Type(), x); }
  Value i32Plus(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value i32Plus(Value x, int64_t y) { return arith::AddIOp::create(b, x, w.i32(y)); }
  Value i32Times(Value x, int64_t y) { return arith::MulIOp::create(b, x, w.i32(y)); }
  /// Rows of a tile from `row` on, and columns from `column` on, as i32; either may be null.
  Tile part(Tile tile, Value row, Value column) {
    if (row)
      tile.base = t->at(tile.base, i32Times(row, tile.rowBytes()));
    if (column)
      tile.base = t->at(tile.base, i32Times(column, 2));
    return tile;
  }
  template <typename F> void byThread(Value condition, F body) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(scf::IfOp::create(b, condition, /*withElseRegion=*/false).thenBlock());
    body();
  }
  Value isFirstThread() { return compare(arith::CmpIPredicate::eq, w.thread(), w.i32(0)); }

  /// The place of a scratch at `number`, of 4 bytes each.
  Value scratchAt(Value memref, Value number) {
    Value base = w.map.lookup(memref), place = arith::IndexCastOp::create(b, b.getI64Type(), number);
    return LLVM::GEPOp::create(b, base.getType(), b.getF32Type(), base, ValueRange(place));
  }
  Value statisticsAt(Value number, int64_t first) { return scratchAt(p.statistics, plus(number, w.index(first))); }
  void addOne(Value address, Value *old = nullptr) {
    Value before = LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, address, w.i32(1),
                                             LLVM::AtomicOrdering::monotonic, "device");
    if (old)
      *old = before;
  }

  /// Into shared memory the number of this block, in the order in which blocks begin.
  void takeNumber() {
    byThread(isFirstThread(), [&] {
      Value number;
      addOne(statisticsAt(w.index(0), scratch.numbers), &number);
      LLVM::StoreOp::create(b, number, numberPlace(), 4);
    });
    t->barrier();
  }
  Value numberPlace() { return t->at(shared, statisticsPlace() + 2 * statisticsBytes); }

  /// What the block's number says. It is read again wherever this is needed, so that no registers keep it.
  void findPlace() {
    Value number = LLVM::LoadOp::create(b, b.getI32Type(), numberPlace(), 4, /*isVolatile=*/true);
    SmallVector<Value> at =
        w.delinearize(w.asIndex(number), {scratch.keyTiles, p.batch, p.heads, p.groups}); // long ones first
    keyTile = at[0], batch = at[1], head = at[2], group = at[3];
    headOfKeys = plus(times(batch, p.heads), head);
    headOfQueries = plus(times(headOfKeys, p.groups), group);
    firstOfBlock = times(keyTile, keptRows);
    ownKey = plus(firstOfBlock, w.asIndex(i32Plus(firstKey, laneRow)));
  }

  // ---- What is gone over ----

  /// The tiles [from, to) of queries of which one sees a key of the block.
  std::pair<Value, Value> tilesOfBlock() {
    Value from = w.index(0), to = w.index(p.queries);
    if (p.first) // the others are padding
      to = most(least(minus(w.index(p.keys), start), to), from);
    Value firstQuery = from;
    if (p.causal)
      firstQuery = most(minus(firstOfBlock, start), from);
    if (p.window)
      to = most(least(minus(plus(firstOfBlock, w.index(keptRows - 1 + *p.window)), start), to), from);
    auto tile = [&](Value row) { return arith::DivUIOp::create(b, row, w.index(movedRows)).getResult(); };
    return {tile(firstQuery), tile(plus(to, w.index(movedRows - 1)))};
  }

  /// The first tile, of those [from, to), whose queries all see all keys of the block.
  Value wholeFrom(Value from, Value to) {
    if (!p.causal)
      return from;
    Value first = most(minus(plus(firstOfBlock, w.index(keptRows - 1)), start), w.index(0));
    Value tile = arith::DivUIOp::create(b, plus(first, w.index(movedRows - 1)), w.index(movedRows));
    return most(least(tile, to), from);
  }

  Registers overTiles() {
    auto [from, to] = tilesOfBlock();
    Value begin = most(minus(to, w.index(1)), w.index(0));
    copyQueries(begin, false);
    copyGradients(begin, false);
    t->endGroup();
    if (p.keyDim + p.valueDim <= kDimsInRegisters) {
      t->waitForGroups(1);
      t->barrier();
      ownKeyRows = ownRows(keys());
      ownValueRows = ownRows(values());
    }
    Registers carried = t->zeros((p.keyDim + p.valueDim) / 16 * 8);
    if (p.slopes || p.window || p.keys % keptRows)
      return overTiles(from, to, from, carried, /*whole=*/false);
    Value middle = wholeFrom(from, to);
    carried = overTiles(middle, to, from, carried, /*whole=*/true);
    return p.causal ? overTiles(from, middle, from, carried, /*whole=*/false) : carried;
  }

  std::optional<int64_t> limitOf(bool isThere) const {
    return isThere && p.queries % movedRows == 0 ? std::nullopt : std::optional<int64_t>(p.queries);
  }
  void copyGradients(Value tile, bool isThere) {
    auto query = [&](Value row) { return SmallVector<Value>{batch, row, head, group}; };
    t->copyRows(gradients(), p.ins[5], times(tile, movedRows), limitOf(isThere), query);
  }
  /// Queries with their logarithms and deltas. `isThere`: the tile has a query.
  void copyQueries(Value tile, bool isThere) {
    auto query = [&](Value row) { return SmallVector<Value>{batch, row, head, group}; };
    t->copyRows(queries(tile), p.ins[0], times(tile, movedRows), limitOf(isThere), query);
    constexpr int64_t chunks = movedRows / 4; // of 16 bytes
    byThread(compare(arith::CmpIPredicate::ult, w.thread(), w.i32(2 * chunks)), [&] {
      Value thread = w.asIndex(w.thread()), which = arith::DivUIOp::create(b, thread, w.index(chunks));
      Value number = times(arith::RemUIOp::create(b, thread, w.index(chunks)), 4);
      Value row = plus(times(tileOfAll(tile), movedRows), number);
      Value place = statisticsAt(plus(row, times(which, scratch.deltas)), 0);
      Value to = t->at(statistics(tile), i32(times(plus(times(which, movedRows), number), 4)));
      NVVM::CpAsyncOp::create(b, to, place, 16, NVVM::LoadCacheModifierKind::CG, Value());
    });
  }
  /// The number of a tile among those of all heads.
  Value tileOfAll(Value tile) { return plus(times(headOfQueries, scratch.tiles), tile); }

  /// The tiles [from, to), from the last to the first; tiles down to `end` follow.
  Registers overTiles(Value from, Value to, Value end, const Registers &carried, bool whole) {
    Value last = i32(minus(to, w.index(1))); // of 32 bits: fewer registers
    auto loop = scf::ForOp::create(b, w.i32(0), i32(minus(to, from)), w.i32(1), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = arith::SubIOp::create(b, last, loop.getInductionVar()), after = i32Plus(number, -1);
    Value tile = w.asIndex(number), next = w.asIndex(after);
    Value more = compare(arith::CmpIPredicate::sge, after, i32(end));
    t->waitForGroups(0);
    t->barrier();
    byThread(more, [&] { copyQueries(next, true); });
    t->endGroup();
    scoresOf(tile, whole);
    t->barrier(); // powers and their gradients are there
    Registers sums(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    size_t ofKeys = size_t(p.keyDim / 16 * 8);
    addTo(MutableArrayRef<Value>(sums).drop_front(ofKeys), powers, scores(0), gradients());
    t->barrier(); // gradients of results have been used
    byThread(more, [&] { copyGradients(next, true); });
    t->endGroup();
    addTo(MutableArrayRef<Value>(sums).take_front(ofKeys), scoreGradients, scores(1), queries(tile));
    addQueryGradients(tile, whole);
    scf::YieldOp::create(b, sums);
    return Registers(loop.getResults().begin(), loop.getResults().end());
  }

  // ---- Scores ----

  using Fragments = SmallVector<SmallVector<Registers>>; // [16 keys][8 queries]
  using OwnRows = SmallVector<std::array<Registers, 2>>; // [16 columns][16 keys]

  /// The warp's keys or values, as left operands.
  OwnRows ownRows(Tile tile) {
    OwnRows rows;
    for (int64_t k = 0; k < tile.dim / 16; ++k)
      rows.push_back(ownRows(tile, k));
    return rows;
  }
  std::array<Registers, 2> ownRows(Tile tile, int64_t k) {
    return {t->left(tile, firstKey, k), t->left(tile, i32Plus(firstKey, 16), k)};
  }

  /// The warp's keys or values, which it may have in registers, times its half of the queries or gradients.
  Fragments products(Tile left, const OwnRows &kept, Tile right) {
    Fragments sums(2, SmallVector<Registers>(ownQueries / 8, t->zeros()));
    Tile own = part(right, i32Times(half, ownQueries), {});
    for (int64_t k = 0; k < left.dim / 16; ++k) {
      std::array<Registers, 2> a = kept.empty() ? ownRows(left, k) : kept[k];
      for (int64_t n = 0; n < ownQueries / 8; n += 2) {
        Registers columns = t->rightOfRowPairs(own, n, k);
        for (int64_t second : {0, 1})
          for (int64_t m : {0, 1})
            sums[m][n + second] = t->multiply(a[m], columns[2 * second], columns[2 * second + 1], sums[m][n + second]);
      }
    }
    return sums;
  }

  /// Powers and their gradients, in registers and in shared memory.
  void scoresOf(Value tile, bool whole) {
    powers = products(keys(), ownKeyRows, queries(tile));
    scoreGradients = products(values(), ownValueRows, gradients());
    Value column = i32Plus(i32Times(half, ownQueries), laneColumn), of = statistics(tile);
    auto pair = VectorType::get({2}, b.getF32Type());
    auto statistic = [&](int64_t which, int64_t n) {
      Value place = t->at(of, i32Times(column, 4));
      return LLVM::LoadOp::create(b, pair, t->at(place, 4 * (which * movedRows + 8 * n)), 8).getResult();
    };
    Value firstMoved = plus(times(tile, movedRows), w.asIndex(column));
    Columns seen;
    if (!whole)
      seen = columnsOf(firstMoved);
    for (int64_t n = 0; n < ownQueries / 8; ++n) {
      Value logarithms = statistic(0, n), deltas = statistic(1, n);
      for (int64_t m : {0, 1})
        for (int64_t element = 0; element < 4; ++element) {
          int64_t odd = element % 2, row = element / 2;
          Value minusLogarithm = arith::NegFOp::create(b, LLVM::ExtractElementOp::create(b, logarithms, w.i32(odd)));
          int64_t later = 16 * m + 8 * row, number = 8 * n + odd; // of the lane's keys and queries
          Value distance = slope ? minus(plus(ownKey, w.index(later)), plus(firstMoved, w.index(number))) : Value();
          Value &power = powers[m][n][element], &gradient = scoreGradients[m][n][element];
          power = powerOf(power, whole ? Value() : isSeen(seen, later, number), minusLogarithm, distance);
          gradient = t->mul(power, t->sub(gradient, LLVM::ExtractElementOp::create(b, deltas, w.i32(odd))));
        }
    }
    storeScores(powers, scores(0), column);
    storeScores(scoreGradients, scores(1), column);
  }

  void storeScores(const Fragments &fragments, Tile tile, Value column) {
    Value place = part(tile, i32Plus(firstKey, laneRow), column).base;
    for (int64_t m : {0, 1})
      for (int64_t n = 0; n < ownQueries / 8; ++n)
        for (int64_t row : {0, 1}) {
          Value both = t->pair(fragments[m][n][2 * row], fragments[m][n][2 * row + 1]);
          LLVM::StoreOp::create(b, both, t->at(place, (16 * m + 8 * row) * tile.rowBytes() + 16 * n), 4);
        }
  }

  /// The queries from `firstMoved` on that see the lane's first key. Those that are padding or not there have powers of
  /// 0.
  Columns columnsOf(Value firstMoved) {
    Columns seen;
    Value ahead = minus(minus(ownKey, start), firstMoved);
    if (p.causal)
      seen.from = ahead;
    if (p.window)
      limitTo(seen, plus(ahead, w.index(*p.window)));
    return seen;
  }
  /// Whether query `number` sees the key `later` behind the first one: as the query so many before it sees the first
  /// one.
  Value isSeen(const Columns &seen, int64_t later, int64_t number) {
    Value result = counts(seen, number - later);
    if (p.keys % keptRows)
      result = both(result, compare(arith::CmpIPredicate::slt, i32(ownKey), w.i32(p.keys - later)));
    return result;
  }

  /// 2^(score - logarithm); 0 where `seen`, which may be null, is not true. `distance`: of the key's number from the
  /// query's.
  Value powerOf(Value score, Value seen, Value minusLogarithm, Value distance) {
    if (distance) {
      Value away = i32(minus(distance, start));
      minusLogarithm = t->fma(slope, arith::SIToFPOp::create(b, b.getF32Type(), away), minusLogarithm);
    }
    Value power = t->exp2(t->fma(score, t->number(float(p.scale * kLog2E)), minusLogarithm));
    return seen ? arith::SelectOp::create(b, seen, power, t->number(0)).getResult() : power;
  }

  // ---- Sums ----

  /// Adds the transposed scores times the warp's half of the columns of `right` to sums [16 keys][8 columns].
  void addTo(MutableArrayRef<Value> sums, const Fragments &own, Tile stored, Tile right) {
    int64_t columns = right.dim / 2;
    Value column = i32Times(half, columns), other = arith::XOrIOp::create(b, half, w.i32(1));
    auto addStep = [&](ArrayRef<Registers> left, Tile rows, int64_t k) {
      for (int64_t n = 0; n < columns / 8; n += 2) {
        Registers words = t->rightOfColumns(rows, k, n);
        for (int64_t second : {0, 1})
          for (int64_t m : {0, 1}) {
            MutableArrayRef<Value> sum = sums.slice(size_t(4 * (m * (columns / 8) + n + second)), 4);
            llvm::copy(t->multiply(left[m], words[2 * second], words[2 * second + 1], SmallVector<Value>(sum)),
                       sum.begin());
          }
      }
    };
    Tile ownRight = part(right, i32Times(half, ownQueries), column);
    Tile otherRight = part(right, i32Times(other, ownQueries), column);
    Tile otherScores = part(stored, {}, i32Times(other, ownQueries));
    for (int64_t k = 0; k < ownQueries / 16; ++k)
      addStep({t->leftOfSums(own[0], k), t->leftOfSums(own[1], k)}, ownRight, k);
    for (int64_t k = 0; k < ownQueries / 16; ++k)
      addStep({t->left(otherScores, firstKey, k), t->left(otherScores, i32Plus(firstKey, 16), k)}, otherRight, k);
  }

  /// dS k for the tile: a warp has 32 queries and a quarter of the columns. Added when it is the block's turn.
  void addQueryGradients(Value tile, bool whole) {
    int64_t columns = p.keyDim / 4;
    Value firstQuery = i32Times(arith::ShRUIOp::create(b, t->warp, w.i32(2)), ownQueries);
    Value column = i32Times(arith::AndIOp::create(b, t->warp, w.i32(3)), columns);
    Tile right = part(keys(), {}, column), left = part(scores(1), {}, firstQuery);
    Fragments sums(2, SmallVector<Registers>(columns / 8, t->zeros()));
    for (int64_t k = 0; k < keptRows / 16; ++k) {
      Registers a[2] = {t->leftOfColumns(left, k, 0), t->leftOfColumns(left, k, 16)};
      for (int64_t n = 0; n < columns / 8; n += 2) {
        Registers words = t->rightOfColumns(right, k, n);
        for (int64_t second : {0, 1})
          for (int64_t m : {0, 1})
            sums[m][n + second] = t->multiply(a[m], words[2 * second], words[2 * second + 1], sums[m][n + second]);
      }
    }
    Registers flat;
    for (const SmallVector<Registers> &of : sums)
      for (const Registers &fragment : of)
        flat.append(fragment);
    Value row = plus(times(tile, movedRows), w.asIndex(i32Plus(firstQuery, laneRow)));
    column = i32Plus(column, laneColumn);
    if (scratch.keyTiles == 1)
      return roundQueryGradients(flat, row, column);
    auto [first, last] = blocksOf(tile);
    Value counter = statisticsAt(tileOfAll(tile), scratch.turns);
    Value place = scratchAt(p.sums, plus(times(tileOfAll(tile), scratch.ofTile), w.asIndex(w.thread())));
    Value isFirst = compare(arith::CmpIPredicate::eq, keyTile, first);
    byThread(isFirstThread(), [&] { waitFor(counter, i32(minus(keyTile, first))); });
    t->barrier();
    auto pass = [&] { passQueryGradients(flat, place, isFirst); };
    // A causal query that sees all keys of a block sees keys behind them, if they are there.
    if (whole && p.causal && !p.first && p.queries % movedRows == 0) {
      pass();
    } else {
      OpBuilder::InsertionGuard guard(b);
      auto choice = scf::IfOp::create(b, compare(arith::CmpIPredicate::eq, keyTile, last), /*withElseRegion=*/true);
      b.setInsertionPointToStart(choice.elseBlock());
      pass();
      b.setInsertionPointToStart(choice.thenBlock());
      roundQueryGradients(plusStored(flat, place, isFirst), row, column);
    }
    t->barrier(); // all threads have added; what the tile left in shared memory has been used
    byThread(isFirstThread(), [&] { signal(counter); });
  }

  /// The place of a thread's element, from that of its first one on.
  Value elementAt(Value place, size_t number) {
    return LLVM::GEPOp::create(b, place.getType(), b.getF32Type(), place,
                               ArrayRef<LLVM::GEPArg>{int32_t(number) * int32_t(AttentionScratch::threads)});
  }

  /// Stores the sums of the first block of a tile, and adds those of the next ones.
  void passQueryGradients(const Registers &sums, Value place, Value isFirst) {
    OpBuilder::InsertionGuard guard(b);
    auto choice = scf::IfOp::create(b, isFirst, /*withElseRegion=*/true);
    b.setInsertionPointToStart(choice.thenBlock());
    for (auto [i, sum] : llvm::enumerate(sums))
      LLVM::StoreOp::create(b, sum, elementAt(place, i), 4);
    b.setInsertionPointToStart(choice.elseBlock());
    for (auto [i, sum] : llvm::enumerate(sums))
      LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::fadd, elementAt(place, i), sum, LLVM::AtomicOrdering::monotonic,
                                "device");
  }

  /// `sums` plus what is stored, if anything is.
  Registers plusStored(const Registers &sums, Value place, Value isFirst) {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Type> types(sums.size(), b.getF32Type());
    auto choice = scf::IfOp::create(b, types, isFirst, /*withElseRegion=*/true);
    b.setInsertionPointToStart(choice.thenBlock());
    scf::YieldOp::create(b, sums);
    b.setInsertionPointToStart(choice.elseBlock());
    Registers all;
    for (auto [i, sum] : llvm::enumerate(sums))
      all.push_back(t->add(sum, LLVM::LoadOp::create(b, b.getF32Type(), elementAt(place, i), 4)));
    scf::YieldOp::create(b, all);
    return Registers(choice.getResults().begin(), choice.getResults().end());
  }

  /// The gradients of a tile from `row` and `column` of this lane on, those of queries that are there.
  void roundQueryGradients(const Registers &sums, Value row, Value column) {
    int64_t columns = p.keyDim / 4;
    Value scale = t->number(float(p.scale));
    for (int64_t m : {0, 1})
      for (int64_t lower : {0, 1}) {
        OpBuilder::InsertionGuard guard(b);
        Value query = plus(row, w.index(16 * m + 8 * lower));
        if (p.queries % movedRows) {
          Value inside = compare(arith::CmpIPredicate::slt, query, w.index(p.queries));
          b.setInsertionPointToStart(scf::IfOp::create(b, inside, /*withElseRegion=*/false).thenBlock());
        }
        for (int64_t n = 0; n < columns / 8; ++n) {
          ArrayRef<Value> of = ArrayRef<Value>(sums).slice(size_t(4 * (m * (columns / 8) + n) + 2 * lower), 2);
          SmallVector<Value> place{batch, query, head, group, w.asIndex(i32Plus(column, 8 * n))};
          w.store(t->bf16Pair(t->mul(of[0], scale), t->mul(of[1], scale)), p.outs[0], place, 2);
        }
      }
  }

  /// The first and the last block of keys of which a query of the tile sees one.
  std::pair<Value, Value> blocksOf(Value tile) {
    Value first = w.index(0), last = w.index(scratch.keyTiles - 1);
    if (!p.causal)
      return {first, last};
    auto block = [&](Value key) { return arith::DivUIOp::create(b, key, w.index(keptRows)).getResult(); };
    Value place = plus(times(tile, movedRows), start);
    last = least(last, block(most(plus(place, w.index(movedRows - 1)), first)));
    if (p.window)
      first = block(most(plus(place, w.index(1 - *p.window)), first));
    return {first, last};
  }

  /// To whom waits for the counter: the block has written.
  void signal(Value counter) {
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "device");
    addOne(counter);
  }

  void waitFor(Value counter, Value turn) {
    auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&loop.getBefore());
    Value count = LLVM::LoadOp::create(b, b.getI32Type(), counter, 4, /*isVolatile=*/false, /*isNonTemporal=*/false,
                                       /*isInvariant=*/false, /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire,
                                       "device");
    scf::ConditionOp::create(b, compare(arith::CmpIPredicate::ne, count, turn), ValueRange());
    b.createBlock(&loop.getAfter());
    scf::YieldOp::create(b);
  }

  void finish(Registers sums) {
    findPlace();
    if (p.groups == 1)
      return writeKeyGradients(sums);
    Value block = plus(times(headOfKeys, scratch.keyTiles), keyTile);
    Value counter = statisticsAt(block, scratch.keyTurns);
    Value place = plus(times(block, scratch.ofBlock), w.index(scratch.keySums));
    place = scratchAt(p.sums, plus(place, w.asIndex(w.thread())));
    byThread(isFirstThread(), [&] { waitFor(counter, i32(group)); });
    t->barrier();
    sums = plusStored(sums, place, compare(arith::CmpIPredicate::eq, group, w.index(0)));
    OpBuilder::InsertionGuard guard(b);
    Value isLast = compare(arith::CmpIPredicate::eq, group, w.index(p.groups - 1));
    auto choice = scf::IfOp::create(b, isLast, /*withElseRegion=*/true);
    b.setInsertionPointToStart(choice.thenBlock());
    writeKeyGradients(sums);
    b.setInsertionPointToStart(choice.elseBlock());
    for (auto [i, sum] : llvm::enumerate(sums))
      LLVM::StoreOp::create(b, sum, elementAt(place, i), 4);
    t->barrier();
    byThread(isFirstThread(), [&] { signal(counter); });
  }

  void writeKeyGradients(ValueRange sums) {
    for (int64_t m : {0, 1})
      for (int64_t row : {0, 1}) {
        OpBuilder::InsertionGuard guard(b);
        Value own = plus(ownKey, w.index(16 * m + 8 * row));
        if (p.keys % keptRows) {
          Value inside = compare(arith::CmpIPredicate::slt, own, w.index(p.keys));
          b.setInsertionPointToStart(scf::IfOp::create(b, inside, /*withElseRegion=*/false).thenBlock());
        }
        auto write = [&](Value memref, int64_t dim, int64_t first, float factor) {
          int64_t columns = dim / 2;
          for (int64_t n = 0; n < columns / 8; ++n) {
            Value column = i32Plus(i32Plus(i32Times(half, columns), laneColumn), 8 * n);
            ValueRange of = sums.slice(size_t(first + 4 * (m * (columns / 8) + n) + 2 * row), 2);
            Value by = t->number(factor);
            w.store(t->bf16Pair(t->mul(of[0], by), t->mul(of[1], by)), memref, {batch, own, head, w.asIndex(column)},
                    2);
          }
        };
        write(p.outs[1], p.keyDim, 0, float(p.scale));
        write(p.outs[2], p.valueDim, p.keyDim / 16 * 8, 1);
      }
  }

  const AttentionProblem &p;
  AttentionScratch scratch;
  std::optional<TensorTiles> t;
  Value shared, batch, head, group, headOfKeys, headOfQueries, keyTile, firstOfBlock, start, slope;
  Value half, firstKey, laneRow, laneColumn; // of i32: which queries of a tile the warp has; its first key in the block
  Value ownKey;                              // this lane's first one; others are 8, 16 and 24 behind it
  OwnRows ownKeyRows, ownValueRows;          // of narrow heads; else they are read again for each tile
  Fragments powers, scoreGradients;          // of the tile at hand
};

} // namespace

void writeOnePass(KernelWriter &w, const AttentionProblem &problem) { OnePassGradients(w, problem).write(); }

} // namespace mlir::ppc::cuda
