#include "test/CudaStandIn/Ptx/TensorMemory.h"

#include "test/CudaStandIn/Ptx/Block.h"
#include "test/CudaStandIn/Ptx/MatrixDescriptor.h"
#include "test/CudaStandIn/Ptx/TensorCore.h"

#include <algorithm>
#include <utility>

namespace ptx {

void TensorMemory::race(const std::string &what, int column) const {
  throw Fault(FaultKind::Race, "column " + std::to_string(column) + " of tensor memory " + what);
}

uint32_t TensorMemory::allocate(Warp &, uint32_t count) {
  if (count < 32 || count > uint32_t(columns) || count & (count - 1))
    throw Fault(FaultKind::Trap,
                std::to_string(count) + " columns of tensor memory, which are a power of 2 from 32 on");
  if (!mayAllocate)
    throw Fault(FaultKind::Trap, "tensor memory is allocated after tcgen05.relinquish_alloc_permit");
  if (words.empty()) {
    words.assign(size_t(rows) * columns, 0xcdcdcdcd);
    shadow.assign(size_t(quarters) * columns, {});
  }
  // The last ones first: a kernel has to look where they are.
  for (int first = columns - int(count); first >= 0; first -= int(count)) {
    bool isFree = true;
    for (int column = first; column < first + int(count); ++column)
      isFree &= !ownerOf[size_t(column)];
    if (!isFree)
      continue;
    for (int column = first; column < first + int(count); ++column) {
      ownerOf[size_t(column)] = first + 1;
      for (int quarter = 0; quarter < quarters; ++quarter)
        of(quarter, column) = {};
    }
    return uint32_t(first);
  }
  throw Fault(FaultKind::Barrier,
              "no warp frees the " + std::to_string(count) + " columns of tensor memory that an allocation waits for");
}

// The first column; all of one allocation.
int TensorMemory::checkRange(uint32_t address, int count, const char *what) const {
  int first = int(address & 0xffff);
  int owner = first < columns ? ownerOf[size_t(first)] : 0;
  bool isOne = owner && first + count <= columns;
  for (int column = first; isOne && column < first + count; ++column)
    isOne = ownerOf[size_t(column)] == owner;
  if (!isOne)
    throw Fault(FaultKind::OutOfBounds, std::string(what) + " of columns " + std::to_string(first) + " to " +
                                            std::to_string(first + count - 1) +
                                            " of tensor memory, which are in no allocation");
  return first;
}

void TensorMemory::release(Warp &warp, uint32_t address, uint32_t count) {
  int first = checkRange(address, int(count), "release");
  if (ownerOf[size_t(first)] != first + 1 ||
      (first + int(count) < columns && ownerOf[size_t(first) + count] == first + 1))
    throw Fault(FaultKind::Trap, "a part of an allocation of tensor memory is given back");
  checkFree(warp, first, int(count));
  for (int column = first; column < first + int(count); ++column)
    ownerOf[size_t(column)] = 0;
}

// A warp reaches the 32 lanes that match its index in its warpgroup.
int TensorMemory::quarterOf(const Warp &warp, uint32_t address) const {
  int quarter = warp.index % quarters;
  if (int(address >> 16) != quarter * lanes)
    throw Fault(FaultKind::OutOfBounds,
                "warp " + std::to_string(warp.index) + " reaches 32 lanes of tensor memory from " +
                    std::to_string(quarter * lanes) + " on, not from " + std::to_string(address >> 16));
  return quarter;
}

TensorMemory::View &TensorMemory::viewOf(const Warp &warp) {
  if (views.empty())
    views.resize(mostWarps);
  return views[size_t(warp.index)];
}

// Checks that this access of the warp is ordered after the last write.
void TensorMemory::checkWritten(const Column &column, int number, const Warp &warp) {
  const VectorClock &told = viewOf(warp).told;
  if (column.writer < 0 || column.writer == warp.index)
    return;
  if (column.writer == byProduct && column.writeTime > told[timeOfProducts])
    race("is used by warp " + std::to_string(warp.index) + ", which does not know that the MMA into it is done",
         number);
  if (column.writer != byProduct && column.writeTime > told[size_t(column.writer)])
    race("is used by warp " + std::to_string(warp.index) + ", and warp " + std::to_string(column.writer) +
             " has written it; a tcgen05.wait::st, a fence or a barrier between is missing",
         number);
}

// A write of the warp comes after all reads.
void TensorMemory::checkUnread(const Column &column, int number, const Warp &warp) {
  const VectorClock &told = viewOf(warp).told;
  if (column.productRead > told[timeOfProducts])
    race("is written by warp " + std::to_string(warp.index) +
             ", which does not know that the MMA that reads it is done",
         number % columns);
  for (size_t i = 0; i < column.reads.size(); ++i) {
    auto reader = int(i) * quarters + number / columns; // readers of this quarter
    if (reader != warp.index && column.reads[i] > told[size_t(reader)])
      race("is written in the name of warp " + std::to_string(warp.index) + ", and warp " + std::to_string(reader) +
               " has read it; a tcgen05.wait::ld, a fence or a barrier between is missing",
           number % columns);
  }
}

// Checks the warp's own loads and stores, which are waited for by kind.
void TensorMemory::checkDone(const View &view, int first, int count, bool storesAlone) const {
  for (const Access &access : view.accesses)
    if (!access.isDone && (access.isStore || !storesAlone) && first < access.first + access.count &&
        access.first < first + count)
      race(access.isStore ? "is used before tcgen05.wait::st" : "is written before tcgen05.wait::ld", access.first);
}

// Checks that no warp or MMA uses these columns any more.
void TensorMemory::checkFree(Warp &warp, int first, int count) {
  for (int quarter = 0; quarter < quarters; ++quarter)
    for (int column = first; column < first + count; ++column) {
      checkWritten(of(quarter, column), column, warp);
      checkUnread(of(quarter, column), quarter * columns + column, warp);
    }
}

uint32_t *TensorMemory::load(Warp &warp, uint32_t address, int count) {
  int quarter = quarterOf(warp, address), first = checkRange(address, count, "a load");
  View &view = viewOf(warp);
  checkDone(view, first, count, /*storesAlone=*/true);
  for (int column = first; column < first + count; ++column) {
    Column &at = of(quarter, column);
    if (at.writer < 0)
      throw Fault(FaultKind::Uninitialized,
                  "column " + std::to_string(column) + " of tensor memory is read and was never written");
    checkWritten(at, column, warp);
    at.reads[size_t(warp.index / quarters)] = never;
  }
  view.accesses.push_back({first, count, false, false});
  return &at(first, quarter * lanes);
}

uint32_t *TensorMemory::store(Warp &warp, uint32_t address, int count) {
  int quarter = quarterOf(warp, address), first = checkRange(address, count, "a store");
  View &view = viewOf(warp);
  checkDone(view, first, count, /*storesAlone=*/false);
  for (int column = first; column < first + count; ++column) {
    Column &at = of(quarter, column);
    checkWritten(at, column, warp);
    checkUnread(at, quarter * columns + column, warp);
    at.writer = warp.index;
    at.writeTime = never;
  }
  view.accesses.push_back({first, count, true, false});
  return &at(first, quarter * lanes);
}

void TensorMemory::waitFor(Warp &warp, bool stores) {
  for (Access &access : viewOf(warp).accesses)
    access.isDone |= access.isStore == stores;
}

void TensorMemory::fenceBefore(Warp &warp) {
  View &view = viewOf(warp);
  uint32_t now = block.shared.timeOfWarp(warp.index);
  std::vector<Access> left;
  for (const Access &access : view.accesses) {
    if (!access.isDone) {
      left.push_back(access);
      continue;
    }
    for (int number = access.first; number < access.first + access.count; ++number) {
      Column &column = of(warp.index % quarters, number);
      if (access.isStore && column.writer == warp.index)
        column.writeTime = now;
      if (!access.isStore)
        column.reads[size_t(warp.index / quarters)] = now;
    }
  }
  view.accesses = std::move(left);
}

void TensorMemory::fenceAfter(Warp &warp) { viewOf(warp).told = block.shared.clockOf(warp.index); }

int TensorMemory::placeOfProduct(uint32_t address, int count) const {
  if (address >> 16)
    throw Fault(FaultKind::Trap, "an MMA of 128 rows begins at lane " + std::to_string(address >> 16));
  return checkRange(address, count, "an MMA");
}

void TensorMemory::begin(Warp &warp, int lane, Product product) {
  if (issuer.first >= 0 && issuer != std::pair(warp.index, lane))
    throw Fault(FaultKind::Trap, "two threads of a block issue MMAs, which is not executed here");
  issuer = {warp.index, lane};
  product.number = ++begun;
  uint32_t when = block.shared.timeOfPhase(product.number);
  // MMAs complete in order, so writes and reads of earlier ones are ordered.
  auto isOrdered = [&](const Column &column) { return column.writer == byProduct; };
  for (int quarter = 0; quarter < quarters; ++quarter) {
    for (int i = 0; product.left && i < productDepth / 2; ++i) {
      Column &column = of(quarter, *product.left + i);
      if (column.writer < 0)
        throw Fault(FaultKind::Uninitialized, "column " + std::to_string(*product.left + i) +
                                                  " of tensor memory is read by an MMA and was never written");
      if (!isOrdered(column))
        checkWritten(column, *product.left + i, warp);
      column.productRead = when;
    }
    for (int number = product.sums; number < product.sums + product.columns; ++number) {
      Column &column = of(quarter, number);
      if (product.adds && column.writer < 0)
        throw Fault(FaultKind::Uninitialized,
                    "an MMA adds to column " + std::to_string(number) + " of tensor memory, which was never written");
      if (!isOrdered(column))
        checkWritten(column, number, warp);
      uint32_t read = std::exchange(column.productRead, 0);
      checkUnread(column, quarter * columns + number, warp);
      column.productRead = read;
      column.writer = byProduct;
      column.writeTime = when;
    }
  }
  // Its operands in shared memory must have been written, and must not change.
  std::vector<uint16_t> elements(size_t(std::max(product.columns, rows)) * productDepth);
  auto bytesOf = [&](uint64_t place) {
    block.shared.useByProduct(place, 16, warp.index, product.number);
    return block.shared.readByProduct(place);
  };
  if (!product.left)
    readMatrix(MatrixDescriptor(product.leftTile, 100), 0, rows, product.leftAlongRows, elements.data(), bytesOf);
  readMatrix(MatrixDescriptor(product.rightTile, 100), 0, product.columns, product.rightAlongRows, elements.data(),
             bytesOf);
  queue.push_back({std::nullopt, product});
}

// A thread that has issued no MMAs has none to wait for.
void TensorMemory::commit(Warp &warp, int lane, uint64_t barrier) {
  block.memoryBarriers.forCopy(warp, barrier);
  Commit made{barrier, issuer == std::pair(warp.index, lane) ? begun : 0, {}};
  block.shared.release(warp.index, made.known);
  queue.push_back({std::move(made), {}});
}

void TensorMemory::advance() {
  Waiting next = std::move(queue.front());
  queue.pop_front();
  if (!next.commit) {
    execute(next.product);
    done = next.product.number;
    return;
  }
  uint32_t &products = next.commit->known.clock[timeOfProducts];
  if (next.commit->products)
    products = std::max(products, block.shared.timeOfPhase(next.commit->products));
  block.memoryBarriers.arriveLater(next.commit->barrier, next.commit->known);
}

// Sums as tensor cores add (TensorCore.h).
void TensorMemory::execute(const Product &product) {
  Type type = product.isHalf ? Type::F16 : Type::BF16;
  TensorCore core(100, type, productDepth);
  auto bytesOf = [&](uint64_t place) { return block.shared.readByProduct(place); };
  std::vector<uint16_t> left(size_t(rows) * productDepth), right(size_t(product.columns) * productDepth);
  if (!product.left)
    readMatrix(MatrixDescriptor(product.leftTile, 100), 0, rows, product.leftAlongRows, left.data(), bytesOf);
  for (int row = 0; product.left && row < rows; ++row)
    for (int k = 0; k < productDepth; ++k)
      left[size_t(row * productDepth + k)] = uint16_t(at(*product.left + k / 2, row) >> k % 2 * 16);
  readMatrix(MatrixDescriptor(product.rightTile, 100), 0, product.columns, product.rightAlongRows, right.data(),
             bytesOf);
  std::vector<Factors> factors(rows);
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < productDepth; ++k)
      factors[size_t(row)].set(k, type, left[size_t(row * productDepth + k)]);
  for (int column = 0; column < product.columns; ++column) {
    Factors other;
    for (int k = 0; k < productDepth; ++k)
      other.set(k, type, right[size_t(column * productDepth + k)]);
    for (int row = 0; row < rows; ++row) {
      uint32_t &sum = at(product.sums + column, row);
      sum = bitsAs<uint32_t>(core.dot(factors[size_t(row)], other, product.adds ? bitsAs<float>(sum) : 0));
    }
  }
}

void TensorMemory::checkEnd() const {
  if (!queue.empty())
    throw Fault(FaultKind::Race, "the block has exited while MMAs in tensor memory are in flight");
  for (int owner : ownerOf)
    if (owner)
      throw Fault(FaultKind::Trap, "the block has exited without freeing its tensor memory");
  for (const View &view : views)
    for (const Access &access : view.accesses)
      if (!access.isDone)
        race(access.isStore ? "is stored to and not waited for" : "is loaded and not waited for", access.first);
}

} // namespace ptx
