// Collectives between threads, products as loops.
#include "HostRuntime.h"

#include "llvm/ADT/APFloat.h"
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace mlir::ppc::test {
namespace {

/// Where ranks meet: every rank leaves a pointer, all see all.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  int ranks = 1, waiting = 0;
  int64_t round = 0;
  std::vector<const void *> pointers;

  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    int64_t mine = round;
    if (++waiting == ranks) {
      waiting = 0;
      ++round;
      changed.notify_all();
    } else {
      changed.wait(lock, [&] { return round != mine; });
    }
  }
};

Meeting *meeting;
thread_local int myRank = 0;

int64_t sizeOf(int32_t type) { return type == 4 ? 2 : type == 0 || type == 2 ? 4 : 8; }

/// Shows `mine` to all, lets `read` compute from everyone's pointers, and waits until nobody needs them any more.
void exchange(const void *mine, const std::function<void(const std::vector<const void *> &)> &read) {
  meeting->pointers[myRank] = mine;
  meeting->wait();
  read(meeting->pointers);
  meeting->wait();
}

template <typename T>
void reduce(const std::vector<const void *> &sources, int64_t from, int64_t count, int32_t kind, void *to) {
  for (int64_t i = 0; i < count; ++i) {
    T value = static_cast<const T *>(sources[0])[from + i];
    for (size_t rank = 1; rank < sources.size(); ++rank) {
      T other = static_cast<const T *>(sources[rank])[from + i];
      value = kind == 0 ? value + other : std::max(value, other);
    }
    static_cast<T *>(to)[i] = value;
  }
}

void reduceInto(const std::vector<const void *> &sources, int64_t from, int64_t count, int32_t type, int32_t kind, void *to) {
  if (type == 0)
    reduce<float>(sources, from, count, kind, to);
  else if (type == 1)
    reduce<double>(sources, from, count, kind, to);
  else
    std::abort();
}

int64_t coordinate(int32_t) { return myRank; }

void allReduce(int32_t, void *buffer, int64_t count, int32_t type, int32_t kind) {
  std::vector<char> result(count * sizeOf(type));
  exchange(buffer, [&](auto &sources) { reduceInto(sources, 0, count, type, kind, result.data()); });
  std::memcpy(buffer, result.data(), result.size());
}

void allGather(int32_t, const void *in, void *out, int64_t count, int32_t type) {
  int64_t bytes = count * sizeOf(type);
  exchange(in, [&](auto &sources) {
    for (size_t rank = 0; rank < sources.size(); ++rank)
      std::memcpy(static_cast<char *>(out) + rank * bytes, sources[rank], bytes);
  });
}

void reduceScatter(int32_t, const void *in, void *out, int64_t count, int32_t type, int32_t kind) {
  std::vector<char> result(count * sizeOf(type));
  exchange(in, [&](auto &sources) { reduceInto(sources, myRank * count, count, type, kind, result.data()); });
  std::memcpy(out, result.data(), result.size());
}

void allToAll(int32_t, const void *in, void *out, int64_t count, int32_t type) {
  int64_t bytes = count * sizeOf(type);
  exchange(in, [&](auto &sources) {
    for (size_t rank = 0; rank < sources.size(); ++rank)
      std::memcpy(static_cast<char *>(out) + rank * bytes, static_cast<const char *>(sources[rank]) + myRank * bytes, bytes);
  });
}

template <typename In, typename Out>
void product(const int64_t *desc, const In *a, const In *b, Out *c) {
  int64_t m = desc[3], n = desc[4], k = desc[5];
  const int64_t *s = desc + 6;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = desc[2] ? double(c[i * s[4] + j * s[5]]) : 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double(a[i * s[0] + l * s[1]]) * double(b[l * s[2] + j * s[3]]);
      c[i * s[4] + j * s[5]] = Out(sum);
    }
}

template <typename In, typename Out>
void loops(std::vector<int64_t> desc, int64_t loop, const In *a, const In *b, Out *c) {
  if (loop == desc[12])
    return product(desc.data(), a, b, c);
  const int64_t *l = &desc[13 + 4 * loop];
  int64_t size = l[0], sa = l[1], sb = l[2], sc = l[3];
  for (int64_t i = 0; i < size; ++i) {
    if (sc == 0 && i > 0)
      desc[2] = 1;
    loops(desc, loop + 1, a + i * sa, b + i * sb, c + i * sc);
  }
}

template <typename In, typename Out>
void products(const std::vector<int64_t> &desc, const void *a, const void *b, void *c) {
  loops(desc, 0, static_cast<const In *>(a), static_cast<const In *>(b), static_cast<Out *>(c));
}

void gemm(const int64_t *desc, const void *a, const void *b, void *c) {
  int64_t result = desc[0] == 2 ? desc[3] : desc[1], header = desc[0] == 2 ? 4 : 3; // version 2 has the type of C before the sizes
  std::vector<int64_t> numbers(desc, desc + 3);
  numbers.insert(numbers.end(), desc + header, desc + header + 10 + 4 * desc[header + 9]);
  if (desc[1] == 4)
    return result == 4 ? products<Bf16, Bf16>(numbers, a, b, c) : products<Bf16, float>(numbers, a, b, c);
  return desc[1] == 0 ? products<float, float>(numbers, a, b, c) : products<double, double>(numbers, a, b, c);
}

} // namespace

Bf16::Bf16(double value) {
  llvm::APFloat number(value);
  bool inexact;
  number.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  bits = uint16_t(number.bitcastToAPInt().getZExtValue());
}

Bf16::operator double() const { return llvm::APFloat(llvm::APFloat::BFloat(), llvm::APInt(16, bits)).convertToDouble(); }

std::vector<std::pair<std::string, void *>> hostRuntimeFunctions() {
  return {{"ppcrt_coordinate", reinterpret_cast<void *>(coordinate)},
          {"ppcrt_all_reduce", reinterpret_cast<void *>(allReduce)},
          {"ppcrt_all_gather", reinterpret_cast<void *>(allGather)},
          {"ppcrt_reduce_scatter", reinterpret_cast<void *>(reduceScatter)},
          {"ppcrt_all_to_all", reinterpret_cast<void *>(allToAll)},
          {"ppcrt_gemm", reinterpret_cast<void *>(gemm)}};
}

void runRanks(int ranks, const std::function<void(int)> &body) {
  Meeting place;
  place.ranks = ranks;
  place.pointers.resize(ranks);
  meeting = &place;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      myRank = rank;
      body(rank);
    });
  for (std::thread &thread : threads)
    thread.join();
  meeting = nullptr;
}

} // namespace mlir::ppc::test
