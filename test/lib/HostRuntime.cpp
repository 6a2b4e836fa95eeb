// Collectives between threads, GEMMs as loops.
#include "HostRuntime.h"

#include "llvm/ADT/APFloat.h"
#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace mlir::ppc::test {
namespace {

/// Rendezvous of ranks: every rank leaves a pointer, all see all.
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

} // namespace

struct HostRank {
  Meeting &meeting;
  int number;
};

namespace {

int64_t sizeOf(int32_t type) { return type == 4 ? 2 : type == 0 || type == 2 ? 4 : 8; }

/// Shows `mine` to all, lets `read` compute from all pointers, and waits until every rank has read.
void exchange(HostRank *rank, const void *mine, const std::function<void(const std::vector<const void *> &)> &read) {
  rank->meeting.pointers[rank->number] = mine;
  rank->meeting.wait();
  read(rank->meeting.pointers);
  rank->meeting.wait();
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

void reduceInto(const std::vector<const void *> &sources, int64_t from, int64_t count, int32_t type, int32_t kind,
                void *to) {
  if (type == 0)
    reduce<float>(sources, from, count, kind, to);
  else if (type == 1)
    reduce<double>(sources, from, count, kind, to);
  else
    std::abort();
}

int64_t coordinate(HostRank *me, int32_t) { return me->number; }

void allReduce(HostRank *me, int32_t, void *buffer, int64_t count, int32_t type, int32_t kind) {
  std::vector<char> result(count * sizeOf(type));
  exchange(me, buffer, [&](auto &sources) { reduceInto(sources, 0, count, type, kind, result.data()); });
  std::memcpy(buffer, result.data(), result.size());
}

void allGather(HostRank *me, int32_t, const void *in, void *out, int64_t count, int32_t type) {
  int64_t bytes = count * sizeOf(type);
  exchange(me, in, [&](auto &sources) {
    for (size_t rank = 0; rank < sources.size(); ++rank)
      std::memcpy(static_cast<char *>(out) + rank * bytes, sources[rank], bytes);
  });
}

void reduceScatter(HostRank *me, int32_t, const void *in, void *out, int64_t count, int32_t type, int32_t kind) {
  std::vector<char> result(count * sizeOf(type));
  exchange(me, in, [&](auto &sources) { reduceInto(sources, me->number * count, count, type, kind, result.data()); });
  std::memcpy(out, result.data(), result.size());
}

void allToAll(HostRank *me, int32_t, const void *in, void *out, int64_t count, int32_t type) {
  int64_t bytes = count * sizeOf(type);
  exchange(me, in, [&](auto &sources) {
    for (size_t rank = 0; rank < sources.size(); ++rank)
      std::memcpy(static_cast<char *>(out) + rank * bytes,
                  static_cast<const char *>(sources[rank]) + me->number * bytes, bytes);
  });
}

template <typename In, typename Out> void product(const int64_t *desc, const In *a, const In *b, Out *c) {
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
  int64_t result = desc[0] == 2 ? desc[3] : desc[1],
          header = desc[0] == 2 ? 4 : 3; // version 2 has the type of C before the sizes
  std::vector<int64_t> numbers(desc, desc + 3);
  numbers.insert(numbers.end(), desc + header, desc + header + 10 + 4 * desc[header + 9]);
  if (desc[1] == 4)
    return result == 4 ? products<Bf16, Bf16>(numbers, a, b, c) : products<Bf16, float>(numbers, a, b, c);
  return desc[1] == 0 ? products<float, float>(numbers, a, b, c) : products<double, double>(numbers, a, b, c);
}

/// Attention query by query, without padding; calls `body(query head, query, first key, last key, exponentials that sum
/// to 1, logarithm of their sum)`.
template <typename T, typename Row>
void attentionRows(const int64_t *desc, double scale, int64_t position, const T *q, const T *k, const Row *slopes,
                   const std::function<void(int64_t, int64_t, int64_t, int64_t, std::vector<double> &, double)> &body) {
  int64_t batch = desc[2], queries = desc[3], keys = desc[4], groups = desc[6], heads = desc[5] * groups, dim = desc[7];
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t head = 0; head < heads; ++head) {
        int64_t row = (b * queries + i) * heads + head, own = position + i;
        if (own >= keys)
          continue;
        std::vector<double> scores(keys);
        double largest = -HUGE_VAL, sum = 0;
        int64_t last = desc[9] ? own + 1 : keys,
                first = desc[9] && desc[10] ? std::max<int64_t>(0, last - desc[10]) : 0;
        for (int64_t j = first; j < last; ++j) {
          double dot = 0;
          for (int64_t d = 0; d < dim; ++d)
            dot += double(q[row * dim + d]) * double(k[((b * keys + j) * desc[5] + head / groups) * dim + d]);
          scores[j] = scale * dot + (slopes ? double(slopes[head]) * double(j - own) : 0);
          largest = std::max(largest, scores[j]);
        }
        for (int64_t j = first; j < last; ++j)
          sum += scores[j] = std::exp(scores[j] - largest);
        for (double &score : scores)
          score /= sum;
        body(row, (b * keys) * desc[5] + head / groups, first, last, scores, largest + std::log(sum));
      }
}

template <typename T, typename Row>
void attendRows(const int64_t *desc, double scale, int64_t position, const T *q, const T *k, const T *v,
                const Row *slopes, T *out, Row *lse) {
  int64_t rows = desc[2] * desc[3] * desc[5] * desc[6];
  std::fill(lse, lse + rows, Row(0));
  std::fill(out, out + rows * desc[8], T(0));
  attentionRows<T, Row>(
      desc, scale, position, q, k, slopes,
      [&](int64_t row, int64_t keyRow, int64_t first, int64_t last, std::vector<double> &p, double logarithm) {
        lse[row] = Row(logarithm);
        for (int64_t d = 0; d < desc[8]; ++d) {
          double sum = 0;
          for (int64_t j = first; j < last; ++j)
            sum += p[j] * double(v[(keyRow + j * desc[5]) * desc[8] + d]);
          out[row * desc[8] + d] = T(sum);
        }
      });
}

template <typename T, typename Row>
void attendRowsBackward(const int64_t *desc, double scale, int64_t position, const T *q, const T *k, const T *v,
                        const T *dout, const Row *slopes, T *dq, T *dk, T *dv) {
  int64_t heads = desc[5], dim = desc[7], width = desc[8], keyRows = desc[2] * desc[4] * heads;
  std::vector<double> keySums(keyRows * dim), valueSums(keyRows * width);
  std::fill(dq, dq + desc[2] * desc[3] * heads * desc[6] * dim, T(0));
  attentionRows<T, Row>(desc, scale, position, q, k, slopes,
                        [&](int64_t row, int64_t keyRow, int64_t first, int64_t last, std::vector<double> &p, double) {
                          std::vector<double> dp(desc[4]);
                          double delta = 0;
                          for (int64_t j = first; j < last; ++j) {
                            for (int64_t d = 0; d < width; ++d) {
                              dp[j] += double(dout[row * width + d]) * double(v[(keyRow + j * heads) * width + d]);
                              valueSums[(keyRow + j * heads) * width + d] += p[j] * double(dout[row * width + d]);
                            }
                            delta += p[j] * dp[j];
                          }
                          for (int64_t d = 0; d < dim; ++d) {
                            double sum = 0;
                            for (int64_t j = first; j < last; ++j) {
                              double ds = scale * p[j] * (dp[j] - delta);
                              sum += ds * double(k[(keyRow + j * heads) * dim + d]);
                              keySums[(keyRow + j * heads) * dim + d] += ds * double(q[row * dim + d]);
                            }
                            dq[row * dim + d] = T(sum);
                          }
                        });
  for (size_t i = 0; i < keySums.size(); ++i)
    dk[i] = T(keySums[i]);
  for (size_t i = 0; i < valueSums.size(); ++i)
    dv[i] = T(valueSums[i]);
}

template <typename T> const T *as(const void *data) { return static_cast<const T *>(data); }
template <typename T> T *as(void *data) { return static_cast<T *>(data); }

template <typename T, typename Row>
void attend(const int64_t *desc, double scale, int64_t first, const void *q, const void *k, const void *v,
            const void *slopes, void *out, void *lse) {
  attendRows<T, Row>(desc, scale, first, as<T>(q), as<T>(k), as<T>(v), as<Row>(slopes), as<T>(out), as<Row>(lse));
}

template <typename T, typename Row>
void attendBackward(const int64_t *desc, double scale, int64_t first, const void *q, const void *k, const void *v,
                    const void *, const void *, const void *dout, const void *slopes, void *dq, void *dk, void *dv) {
  attendRowsBackward<T, Row>(desc, scale, first, as<T>(q), as<T>(k), as<T>(v), as<T>(dout), as<Row>(slopes), as<T>(dq),
                             as<T>(dk), as<T>(dv));
}

void attention(const int64_t *desc, double scale, int64_t first, const void *q, const void *k, const void *v,
               const void *slopes, void *out, void *lse) {
  auto run = desc[1] == 0 ? attend<float, float> : desc[1] == 1 ? attend<double, double> : attend<Bf16, float>;
  run(desc, scale, first, q, k, v, slopes, out, lse);
}

void attentionBackward(const int64_t *desc, double scale, int64_t first, const void *q, const void *k, const void *v,
                       const void *out, const void *lse, const void *dout, const void *slopes, void *dq, void *dk,
                       void *dv) {
  auto run = desc[1] == 0   ? attendBackward<float, float>
             : desc[1] == 1 ? attendBackward<double, double>
                            : attendBackward<Bf16, float>;
  run(desc, scale, first, q, k, v, out, lse, dout, slopes, dq, dk, dv);
}

} // namespace

Bf16::Bf16(double value) {
  llvm::APFloat number(value);
  bool inexact;
  number.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  bits = uint16_t(number.bitcastToAPInt().getZExtValue());
}

Bf16::operator double() const {
  return llvm::APFloat(llvm::APFloat::BFloat(), llvm::APInt(16, bits)).convertToDouble();
}

std::vector<std::pair<std::string, void *>> hostRuntimeFunctions() {
  return {{"ppcrt_coordinate", reinterpret_cast<void *>(coordinate)},
          {"ppcrt_all_reduce", reinterpret_cast<void *>(allReduce)},
          {"ppcrt_all_gather", reinterpret_cast<void *>(allGather)},
          {"ppcrt_reduce_scatter", reinterpret_cast<void *>(reduceScatter)},
          {"ppcrt_all_to_all", reinterpret_cast<void *>(allToAll)},
          {"ppcrt_attention", reinterpret_cast<void *>(attention)},
          {"ppcrt_attention_backward", reinterpret_cast<void *>(attentionBackward)},
          {"ppcrt_gemm", reinterpret_cast<void *>(gemm)}};
}

void runRanks(int ranks, const std::function<void(int, HostRank *)> &body) {
  Meeting place;
  place.ranks = ranks;
  place.pointers.resize(ranks);
  std::vector<std::thread> threads;
  for (int number = 0; number < ranks; ++number)
    threads.emplace_back([&, number] {
      HostRank rank{place, number};
      body(number, &rank);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace mlir::ppc::test
