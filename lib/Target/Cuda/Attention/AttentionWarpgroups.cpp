#include "AttentionWarpgroups.h"

namespace mlir::ppc::cuda {

/// Of a thread of the warpgroup that copies, and of the others: together what a multiprocessor has, 65,536.
constexpr int64_t kRegistersToCopy = 24, kRegistersToUse = 240;
/// The same where the first warpgroup computes as well.
constexpr int64_t kRegistersToCompute = 40, kRegistersToUseBeside = 232;

bool fitsWarpgroups(const AttentionProblem &problem) {
  auto fits = [](int64_t dim) { return dim == 64 || dim == 128; };
  return fitsTensorCores(problem) && fits(problem.keyDim) && fits(problem.valueDim) && problem.scale > 0 &&
         !problem.window && !problem.slopes;
}

void AttentionWarpgroups::addTile(SwizzledTile &tile, int64_t rows, int64_t dim, int64_t count) {
  tile.rows = rows, tile.dim = dim;
  parts.push_back({&tile.address, sharedBytes});
  sharedBytes += count * tile.bytes();
}
void AttentionWarpgroups::addBytes(Value &address, int64_t bytes) {
  parts.push_back({&address, sharedBytes});
  sharedBytes += int64_t(llvm::alignTo(bytes, 16));
}
void AttentionWarpgroups::addBarriers(Value &first, int64_t count, int64_t arrivals) {
  parts.push_back({&first, sharedBytes});
  for (int64_t i = 0; i < count; ++i, sharedBytes += 8)
    barriers.emplace_back(sharedBytes, arrivals);
}

void AttentionWarpgroups::begin(int64_t blocks, int64_t threads) {
  w.kernel.threads = threads;
  w.kernel.blocks = blocks;
  t.emplace(w);
  shared = groups.declareShared(sharedBytes);
  for (const Part &part : parts)
    *part.address = plusBytes(shared, part.offset);
}

void AttentionWarpgroups::initializeBarriers(Value isFirst) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(scf::IfOp::create(b, isFirst, /*withElseRegion=*/false).thenBlock());
  for (auto [offset, arrivals] : barriers)
    groups.initialize(plusBytes(shared, offset), arrivals);
  groups.showBarriers();
}

void AttentionWarpgroups::run(function_ref<void()> copy, function_ref<void()> use, function_ref<void()> beside) {
  Value thread = w.thread(), leads = compare(arith::CmpIPredicate::eq, thread, w.i32(0));
  initializeBarriers(leads);
  t->barrier();
  Value number = groups.number(thread);
  auto roles = scf::IfOp::create(b, compare(arith::CmpIPredicate::eq, number, w.i32(0)), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(roles.thenBlock());
  groups.setRegisters(beside ? kRegistersToCompute : kRegistersToCopy, /*takes=*/false);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(scf::IfOp::create(b, leads, /*withElseRegion=*/false).thenBlock());
    copy();
  }
  if (beside)
    beside();
  b.setInsertionPointToStart(roles.elseBlock());
  groups.setRegisters(beside ? kRegistersToUseBeside : kRegistersToUse, /*takes=*/true);
  own = sub(number, w.i32(1));
  use();
}

Value AttentionWarpgroups::mapOf(Value memref, int64_t rows, int64_t heads, int64_t dim, int64_t box) {
  int64_t row = heads * dim * 2;
  return w.tensorMap(
      {memref, {dim, heads, rows, p.batch}, {dim * 2, row, rows * row}, {SwizzledTile::pieceColumns, 1, box, 1}});
}

std::pair<Value, Value> AttentionWarpgroups::keyTiles(Value start, Value firstOfBlock, int64_t keysOfTile,
                                                      int64_t leastKeys, int64_t rows) {
  Value end = w.index(p.keys), whole = w.index(p.keys / keysOfTile);
  if (p.causal) {
    Value place = plus(start, firstOfBlock);
    end = most(least(plus(place, w.index(rows)), end), w.index(leastKeys));
    Value seen = most(plus(place, w.index(1)), w.index(0)); // keys of its first query
    whole = least(whole, arith::DivUIOp::create(b, seen, w.index(keysOfTile)));
  }
  Value all = arith::DivUIOp::create(b, plus(end, w.index(keysOfTile - 1)), w.index(keysOfTile));
  return {all, whole};
}

void AttentionWarpgroups::copyTile(SwizzledTile to, Value map, Value inRow, Value row, Value there) {
  groups.expect(there, to.bytes());
  for (int64_t piece = 0; piece < to.pieces(); ++piece)
    groups.copyBox(plusBytes(to.address, piece * to.pieceBytes()), map,
                   {w.i32(piece * SwizzledTile::pieceColumns), inRow, row, narrow(batch)}, there);
}

void AttentionWarpgroups::atLaneZero(function_ref<void()> write) {
  OpBuilder::InsertionGuard guard(b);
  Value leads = compare(arith::CmpIPredicate::eq, t->lane, w.i32(0));
  b.setInsertionPointToStart(scf::IfOp::create(b, leads, /*withElseRegion=*/false).thenBlock());
  write();
}

void AttentionWarpgroups::beginTurns() {
  OpBuilder::InsertionGuard guard(b);
  Value isOther = compare(arith::CmpIPredicate::ne, own, w.i32(0));
  b.setInsertionPointToStart(scf::IfOp::create(b, isOther, /*withElseRegion=*/false).thenBlock());
  groups.arriveAt(w.i32(1), users * kWarpgroup);
}
void AttentionWarpgroups::endTurns() {
  OpBuilder::InsertionGuard guard(b);
  Value isFirst = compare(arith::CmpIPredicate::eq, own, w.i32(0));
  b.setInsertionPointToStart(scf::IfOp::create(b, isFirst, /*withElseRegion=*/false).thenBlock());
  groups.sync(w.i32(1), users * kWarpgroup);
}

Value AttentionWarpgroups::laneRow() {
  Value warp = arith::AndIOp::create(b, t->warp, w.i32(kWarpgroup / kWarp - 1));
  return add(add(groupRow(), mul(warp, 16)), arith::ShRUIOp::create(b, t->lane, w.i32(2)));
}

SmallVector<AttentionWarpgroups::Registers> AttentionWarpgroups::fragments(ArrayRef<Value> sums) {
  SmallVector<Registers> all;
  for (size_t k = 0; k < sums.size() / 8; ++k) {
    Registers &of = all.emplace_back();
    for (size_t i = 0; i < 4; ++i)
      of.push_back(t->pair(sums[8 * k + 2 * i], sums[8 * k + 2 * i + 1]));
  }
  return all;
}

} // namespace mlir::ppc::cuda
