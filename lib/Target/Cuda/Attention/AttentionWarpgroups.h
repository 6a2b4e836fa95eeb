// What kernels of attention by warpgroups have in common (sm_90a): a block keeps 128 rows, 64 for each of two
// warpgroups, and goes over tiles of other rows. A thread of a third warpgroup copies them, one tile ahead. The two
// take turns at beginning products, so that one computes powers beside the products of the other (Shah et al.,
// FlashAttention-3, 2024).
#ifndef PPC_LIB_TARGET_CUDA_ATTENTIONWARPGROUPS_H
#define PPC_LIB_TARGET_CUDA_ATTENTIONWARPGROUPS_H

#include "AttentionProblem.h"
#include "lib/Target/Cuda/Writer/TensorTiles.h"
#include "lib/Target/Cuda/Writer/WarpgroupTiles.h"

namespace mlir::ppc::cuda {

inline constexpr double kLog2OfE = 1.44269504088896340736;

/// Of a key that is not seen: far below every score, and a power of two, so that its product with the scale is exact
/// and what is left of it when it is subtracted from itself is 0. Sums of rows of which all keys so far are hidden are
/// multiplied with 0 later.
inline constexpr float kHiddenScore = -0x1p100f;

class AttentionWarpgroups : protected TileIndices {
protected:
  using Registers = SmallVector<Value>;
  static constexpr int64_t rowsOfGroup = 64, users = 2, rowsOfBlock = users * rowsOfGroup, stages = 2;

  AttentionWarpgroups(KernelWriter &w, const AttentionProblem &problem)
      : TileIndices(w), p(problem), groups(w), heads(p.heads * p.groups) {}

  // ---- Shared memory: tiles one after the other, then barriers ----

  /// `count` tiles side by side; their address is set by begin().
  void addTile(SwizzledTile &tile, int64_t rows, int64_t dim, int64_t count = 1);
  /// Bytes that are no tile, at a multiple of 16.
  void addBytes(Value &address, int64_t bytes);
  /// `count` barriers, for so many arrivals a phase each.
  void addBarriers(Value &first, int64_t count, int64_t arrivals);

  /// Starts the kernel of `blocks` blocks, once everything is added.
  void begin(int64_t blocks, int64_t threads = (1 + users) * kWarpgroup);
  /// By one thread, before others use them.
  void initializeBarriers(Value isFirst);
  /// `copy` is for one thread of the first warpgroup, `beside` (if any) for all of that warpgroup, `use` for the
  /// others, which are `own` = 0 and 1.
  void run(function_ref<void()> copy, function_ref<void()> use, function_ref<void()> beside = nullptr);

  /// Boxes of 64 columns and `box` rows of a buffer [batch, rows, heads, dim].
  Value mapOf(Value memref, int64_t rows, int64_t heads, int64_t dim, int64_t box);

  // ---- Numbers of i32 ----
  Value narrow(Value x) { return arith::IndexCastOp::create(b, b.getI32Type(), x); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value mul(Value x, int64_t y) { return arith::MulIOp::create(b, x, w.i32(y)); }
  Value plusBytes(Value address, int64_t bytes) { return bytes ? add(address, w.i32(bytes)) : address; }
  /// Of the n-th tile that is copied: its stage, and the parity of how often that was filled before.
  Value stageOf(Value n) { return arith::AndIOp::create(b, n, w.i32(stages - 1)); }
  Value turnOf(Value n) { return arith::AndIOp::create(b, arith::ShRUIOp::create(b, n, w.i32(1)), w.i32(1)); }
  Value barrierOf(Value first, Value stage) { return add(first, mul(stage, 8)); }
  SwizzledTile inStage(SwizzledTile first, Value stage) {
    first.address = add(first.address, mul(stage, first.bytes()));
    return first;
  }

  /// Of the tiles of keys: how many the queries of the block go over, which is for `leastKeys` at least, and of how
  /// many from the first on each of them sees all keys. `start`: the position of the first query among the keys;
  /// `firstOfBlock`: the block's first query, of so many rows.
  std::pair<Value, Value> keyTiles(Value start, Value firstOfBlock, int64_t keysOfTile, int64_t leastKeys,
                                   int64_t rows = rowsOfBlock);

  // ---- Copies ----
  /// Rows from `row` on, of a head.
  void copyTile(SwizzledTile to, Value map, Value inRow, Value row, Value there);
  void waitUntilFree(Value first, Value n) {
    groups.waitFor(barrierOf(first, stageOf(n)), arith::XOrIOp::create(b, turnOf(n), w.i32(1)));
  }
  /// The same into the stage of the n-th tile, whose first one is `first`, once that is free.
  void copyToStage(SwizzledTile first, Value map, Value inRow, Value row, Value there, Value free, Value n) {
    waitUntilFree(free, n);
    copyTile(inStage(first, stageOf(n)), map, inRow, row, barrierOf(there, stageOf(n)));
  }
  void waitUntilThere(Value first, Value n) { groups.waitFor(barrierOf(first, stageOf(n)), turnOf(n)); }
  /// This warp does not use the n-th tile any more.
  void free(Value first, Value n) {
    atLaneZero([&] { groups.arrive(barrierOf(first, stageOf(n))); });
  }
  void atLaneZero(function_ref<void()> write);

  // ---- Turns ----
  /// Before all turns, and behind them: each arrival at a barrier is waited for.
  void beginTurns();
  void endTurns();
  void waitForTurn() { groups.sync(add(own, w.i32(1)), users * kWarpgroup); }
  void letOtherBegin() { groups.arriveAt(sub(w.i32(users), own), users * kWarpgroup); }

  // ---- Fragments ----
  /// The lane's first row among those of the block, and the rows of its warpgroup.
  Value laneRow();
  Value groupRow() { return mul(own, rowsOfGroup); }
  /// Sums of products, rounded, as the left operand of the next one.
  SmallVector<Registers> fragments(ArrayRef<Value> sums);

  const AttentionProblem &p;
  WarpgroupTiles groups;
  int64_t heads; // of queries
  std::optional<TensorTiles> t;
  Value batch; // of the block
  Value own;   // number of this warpgroup among those that use tiles

private:
  struct Part {
    Value *address;
    int64_t offset;
  };
  SmallVector<Part> parts;
  SmallVector<std::pair<int64_t, int64_t>> barriers; // offset, arrivals
  int64_t sharedBytes = 0;
  Value shared;
};

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_ATTENTIONWARPGROUPS_H
