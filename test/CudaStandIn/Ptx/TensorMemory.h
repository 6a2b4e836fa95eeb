// The tensor memory of a block (tcgen05, sm_100a): 128 lanes of 512 columns of 32 bits, which are allocated, and the
// last accesses to each column of the 32 lanes that a warp reaches: the writer and its time, the readers since.
//
// MMAs execute in order, as late as the program allows or at a random time before: each completes when no warp can make
// progress without it. Their number is a time of vector clocks (SharedMemory.h): a warp that has waited for a memory
// barrier that a `tcgen05.commit` after an MMA counts for knows that it is done. Loads and stores of warps are done
// when they are waited for, and known to others when a `tcgen05.fence::before_thread_sync` follows and precedes the
// synchronization, whose receivers must execute `tcgen05.fence::after_thread_sync` before they use the data.
#pragma once

#include "test/CudaStandIn/Ptx/SharedMemory.h"

#include <array>
#include <deque>
#include <optional>
#include <vector>

namespace ptx {

class Block;
class Warp;
struct Instruction;

class TensorMemory {
public:
  // A quarter has 32 lanes, for one warp of a warpgroup.
  static constexpr int rows = 128, columns = 512, quarters = 4;

  explicit TensorMemory(Block &block) : block(block) {}

  // ---- Columns, in powers of two from 32 on; the address of the first ----
  uint32_t allocate(Warp &warp, uint32_t count);
  void release(Warp &warp, uint32_t address, uint32_t count);
  void relinquish() { mayAllocate = false; }

  // ---- Words of a warp: `count` columns from an address on, [column][lane] ----
  uint32_t *load(Warp &warp, uint32_t address, int count);
  uint32_t *store(Warp &warp, uint32_t address, int count);
  // Until then a warp may not use again what it loads and stores.
  void waitFor(Warp &warp, bool stores);
  void fenceBefore(Warp &warp);
  void fenceAfter(Warp &warp);
  uint32_t &at(int column, int row) { return words[size_t(column) * rows + size_t(row)]; }

  // ---- MMAs ----
  struct Product {
    int sums, columns;                    // columns of the result, from `sums` on
    std::optional<int> left;              // column of the left operand, if it is here
    uint64_t leftTile = 0, rightTile = 0; // descriptors
    bool leftAlongRows = false, rightAlongRows = false, adds = false, isHalf = false;
    uint64_t number = 0; // from 1
  };
  // The first of `count` columns of all lanes.
  int placeOfProduct(uint32_t address, int count) const;
  // In the name of a thread.
  void begin(Warp &warp, int lane, Product product);
  void commit(Warp &warp, int lane, uint64_t barrier);
  bool isBusy() const { return !queue.empty(); }
  // Completes the first MMA that is in flight.
  void advance();
  void checkEnd() const;

private:
  static constexpr uint32_t never = ~0u;
  static constexpr int byProduct = 255;
  struct Column {
    int writer = -1; // warp, or byProduct; -1: never written
    uint32_t writeTime = 0, productRead = 0;
    std::array<uint32_t, 8> reads{}; // by each of the warps that reach it
  };
  struct Access {
    int first, count;
    bool isStore, isDone;
  };
  struct Commit {
    uint64_t barrier, products; // how many are done by then
    Knowledge known;
  };
  struct Waiting {
    std::optional<Commit> commit; // else it is an MMA
    Product product;
  };
  // A warp's knowledge of the accesses of others.
  struct View {
    VectorClock told{};
    std::vector<Access> accesses; // since its last fence
  };

  int checkRange(uint32_t address, int count, const char *what) const;
  int quarterOf(const Warp &warp, uint32_t address) const;
  View &viewOf(const Warp &warp);
  Column &of(int quarter, int column) { return shadow[size_t(quarter * columns + column)]; }
  void checkWritten(const Column &column, int number, const Warp &warp);
  void checkUnread(const Column &column, int number, const Warp &warp);
  void checkDone(const View &view, int first, int count, bool storesAlone) const;
  void checkFree(Warp &warp, int first, int count);
  void execute(const Product &product);
  [[noreturn]] void race(const std::string &what, int column) const;

  Block &block;
  std::vector<uint32_t> words;
  std::vector<Column> shadow;
  std::vector<View> views;
  std::array<int, columns> ownerOf{}; // first column of its allocation, and 1; 0: free
  bool mayAllocate = true;
  std::deque<Waiting> queue;
  uint64_t begun = 0, done = 0;
  std::pair<int, int> issuer{-1, -1}; // warp and lane
};

} // namespace ptx
