// Base class of attention kernels by warpgroups (sm_90a): a block keeps 128 rows, 64 for each of two warpgroups, and
// visits tiles of other rows. A thread of a third warpgroup copies them, one tile ahead. The two take turns at issuing
// MMAs, so that one computes exponentials while the MMAs of the other run (Shah et al., FlashAttention-3, 2024).
#ifndef PPC_LIB_TARGET_CUDA_ATTENTIONWARPGROUPS_H
#define PPC_LIB_TARGET_CUDA_ATTENTIONWARPGROUPS_H

#include "AttentionProblem.h"
#include "TensorTiles.h"
#include "WarpgroupTiles.h"

namespace mlir::ppc::cuda {

inline constexpr double kLog2OfE = 1.44269504088896340736;

/// Score of a masked key: far below every real score, and a power of two, so that scaling it is exact and its
/// difference with itself is 0. Sums of rows whose keys so far are all masked are multiplied with 0 later.
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
  /// Bytes outside of tiles, at a multiple of 16.
  void addBytes(Value &address, int64_t bytes);
  /// `count` barriers that expect `arrivals` arrivals per phase.
  void addBarriers(Value &first, int64_t count, int64_t arrivals);

  /// Starts the kernel of `blocks` blocks, once everything is added.
  void begin(int64_t blocks, int64_t threads = (1 + users) * kWarpgroup);
  /// Called by one thread, before others use the barriers.
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
  /// Stage of the n-th copied tile, and the parity of the number of times that the stage was filled before.
  Value stageOf(Value n) { return arith::AndIOp::create(b, n, w.i32(stages - 1)); }
  Value turnOf(Value n) { return arith::AndIOp::create(b, arith::ShRUIOp::create(b, n, w.i32(1)), w.i32(1)); }
  Value barrierOf(Value first, Value stage) { return add(first, mul(stage, 8)); }
  SwizzledTile inStage(SwizzledTile first, Value stage) {
    first.address = add(first.address, mul(stage, first.bytes()));
    return first;
  }

  /// The number of key tiles that the queries of the block visit, at least enough for `leastKeys`, and the number of
  /// leading ones of which each query sees all keys. `start`: the position of the first query among the keys;
  /// `firstOfBlock`: the block's first query; `rows`: queries of the block.
  std::pair<Value, Value> keyTiles(Value start, Value firstOfBlock, int64_t keysOfTile, int64_t leastKeys,
                                   int64_t rows = rowsOfBlock);

  // ---- Copies ----
  /// Rows from `row` on, of a head.
  void copyTile(SwizzledTile to, Value map, Value inRow, Value row, Value there);
  void waitUntilFree(Value first, Value n) {
    groups.waitFor(barrierOf(first, stageOf(n)), arith::XOrIOp::create(b, turnOf(n), w.i32(1)));
  }
  /// Copies a tile into the stage of the n-th tile once that stage is free; `first` is the first stage.
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
  /// Called before all turns, and after them: each arrival at a barrier is waited for.
  void beginTurns();
  void endTurns();
  void waitForTurn() { groups.sync(add(own, w.i32(1)), users * kWarpgroup); }
  void letOtherBegin() { groups.arriveAt(sub(w.i32(users), own), users * kWarpgroup); }

  // ---- Fragments ----
  /// The lane's first row among those of the block, and the rows of its warpgroup.
  Value laneRow();
  Value groupRow() { return mul(own, rowsOfGroup); }
  /// Sums of MMAs, rounded, as the left operand of the next one.
  SmallVector<Registers> fragments(ArrayRef<Value> sums);

  const AttentionProblem &p;
  WarpgroupTiles groups;
  int64_t heads; // query heads
  std::optional<TensorTiles> t;
  Value batch; // batch index of the block
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
