// Collectives against direct computation, bit for bit: random kinds, types, sizes, offsets, groups and delays.
#include "runtime/host/Reduce.h"
#include "test/Runtime/Ranks.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <unistd.h>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

// Element `index` of member `rank`'s input of call `call`: small numbers of both signs, not all exactly representable
// sums.
void fill(std::byte *data, DataType type, int64_t count, uint64_t salt) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t word = (salt + i) * 0x9e3779b97f4a7c15u;
    word ^= word >> 29;
    double value = double(int64_t(word % 2001) - 1000) / 7;
    switch (type) {
    case DataType::F32:
      reinterpret_cast<float *>(data)[i] = float(value);
      break;
    case DataType::F64:
      reinterpret_cast<double *>(data)[i] = value;
      break;
    case DataType::I32:
      reinterpret_cast<int32_t *>(data)[i] = int32_t(word);
      break;
    case DataType::I64:
      reinterpret_cast<int64_t *>(data)[i] = int64_t(word);
      break;
    case DataType::BF16:
      reinterpret_cast<uint16_t *>(data)[i] = floatToBf16(float(value));
      break;
    }
  }
}

// One element, combined in index order as the definition says.
template <typename T> T combine(const std::vector<std::vector<std::byte>> &inputs, int64_t at, Reduction kind) {
  T result = reinterpret_cast<const T *>(inputs[0].data())[at];
  for (size_t member = 1; member < inputs.size(); ++member) {
    T value = reinterpret_cast<const T *>(inputs[member].data())[at];
    if (kind == Reduction::Max)
      result = std::max(result, value);
    else if constexpr (std::is_integral_v<T>)
      result = T(uint64_t(result) + uint64_t(value));
    else
      result += value;
  }
  return result;
}

std::vector<std::byte> reduceDirectly(const std::vector<std::vector<std::byte>> &inputs, DataType type, int64_t begin,
                                      int64_t count, Reduction kind) {
  std::vector<std::byte> out(count * info(type).bytes);
  for (int64_t i = 0; i < count; ++i)
    switch (type) {
    case DataType::F32:
      reinterpret_cast<float *>(out.data())[i] = combine<float>(inputs, begin + i, kind);
      break;
    case DataType::F64:
      reinterpret_cast<double *>(out.data())[i] = combine<double>(inputs, begin + i, kind);
      break;
    case DataType::I32:
      reinterpret_cast<int32_t *>(out.data())[i] = combine<int32_t>(inputs, begin + i, kind);
      break;
    case DataType::I64:
      reinterpret_cast<int64_t *>(out.data())[i] = combine<int64_t>(inputs, begin + i, kind);
      break;
    case DataType::BF16: {
      float sum = 0;
      for (size_t member = 0; member < inputs.size(); ++member) {
        float value = bf16ToFloat(reinterpret_cast<const uint16_t *>(inputs[member].data())[begin + i]);
        sum = member == 0 ? value : kind == Reduction::Max ? std::max(sum, value) : sum + value;
      }
      reinterpret_cast<uint16_t *>(out.data())[i] = floatToBf16(sum);
      break;
    }
    }
  return out;
}

using Kind = CollectiveKind;

struct Call {
  Kind kind;
  int group;
  DataType type;
  Reduction reduction;
  int64_t count;
  bool inArena, aliased; // aliased: in and out share memory as the contract allows
  uint64_t salt;
};

// A call that a rank has started, until it is compared.
class Started {
public:
  // `arena` holds input and output one after the other.
  Started(Transport &transport, const std::vector<int> &members, std::byte *arena, const Call &call)
      : members(members), call(call), n(int(members.size())), me(transport.groupIndex(call.group)),
        bytes(call.count * info(call.type).bytes) {
    int64_t inBlocks = call.kind == Kind::ReduceScatter || call.kind == Kind::AllToAll ? n : 1;
    int64_t outBlocks = call.kind == Kind::AllGather || call.kind == Kind::AllToAll ? n : 1;
    for (int member = 0; member < n; ++member) {
      inputs.emplace_back(inBlocks * bytes);
      fill(inputs[member].data(), call.type, inBlocks * call.count, call.salt * 64 + members[member]);
    }
    outside.resize(call.inArena ? 0 : (inBlocks + outBlocks) * bytes + 1);
    std::byte *in = call.inArena ? arena : outside.data();
    out = in + inBlocks * bytes;
    if (call.kind == Kind::AllReduce ||
        (call.aliased && (call.kind == Kind::ReduceScatter || call.kind == Kind::Permute)))
      out = in;
    if (call.aliased && call.kind == Kind::AllGather)
      in = out + me * bytes;
    if (bytes)
      std::memcpy(in, inputs[me].data(), inBlocks * bytes);
    if (call.salt % 3 == 0)
      usleep((call.salt * 7919 + me * 104729) % 700);
    request = transport.start({call.kind, call.group, in, out, call.count, call.type, call.reduction, shift()});
  }

  // After completion: an empty string, or the difference.
  std::string check() const {
    std::vector<std::byte> expected = this->expected();
    for (size_t i = 0; i < expected.size(); ++i)
      if (out[i] != expected[i])
        return format("%s of %lld x %s over %d members (%s, arena %d, aliased %d): element %zu differs",
                      collectiveNames[int(call.kind)], (long long)call.count, info(call.type).name, n,
                      call.reduction == Reduction::Sum ? "sum" : "max", call.inArena, call.aliased,
                      i / info(call.type).bytes);
    return "";
  }

  Transport::Request request;

private:
  int shift() const { return call.kind == Kind::Permute ? int(call.salt % 7) - 3 : 0; }

  std::vector<std::byte> expected() const {
    std::vector<std::byte> result;
    switch (call.kind) {
    case Kind::AllReduce:
      return reduceDirectly(inputs, call.type, 0, call.count, call.reduction);
    case Kind::ReduceScatter:
      return reduceDirectly(inputs, call.type, me * call.count, call.count, call.reduction);
    case Kind::AllGather:
      for (int member = 0; member < n; ++member)
        result.insert(result.end(), inputs[member].begin(), inputs[member].end());
      break;
    case Kind::AllToAll:
      for (int member = 0; member < n; ++member)
        result.insert(result.end(), inputs[member].begin() + me * bytes, inputs[member].begin() + (me + 1) * bytes);
      break;
    case Kind::Permute:
      return inputs[((me - shift()) % n + n) % n];
    case Kind::Barrier:
    case Kind::Gather:
      break;
    }
    return result;
  }

  std::vector<int> members;
  Call call;
  int n, me;
  int64_t bytes;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::byte> outside;
  std::byte *out;
};

// Groups of n ranks: all ranks, pairs of neighbours, and all ranks in reverse order.
LocalWorldShape worldOf(int n, int64_t arenaBytes) {
  LocalWorldShape shape;
  shape.arenaBytes.assign(n, arenaBytes);
  std::vector<int> everybody(n);
  std::iota(everybody.begin(), everybody.end(), 0);
  shape.groups.push_back({everybody});
  shape.groups.emplace_back();
  for (int i = 0; i < n; i += 2)
    shape.groups.back().push_back(i + 1 < n ? std::vector<int>{i, i + 1} : std::vector<int>{i});
  shape.groups.push_back({{everybody.rbegin(), everybody.rend()}});
  return shape;
}

// Makes the calls, up to `together` of them at the same time, each in a part of the arena; they are waited for, or
// tested until they have completed, in a random order of this rank.
std::string runCalls(const LocalWorldShape &shape, Transport &transport, std::byte *arena,
                     const std::vector<Call> &calls, size_t together = 1) {
  std::mt19937_64 random(calls.front().salt * 97 + transport.rank());
  int64_t part = shape.arenaBytes[transport.rank()] / int64_t(together) / 64 * 64;
  std::vector<std::unique_ptr<Started>> started(together);
  auto finish = [&](size_t place) -> std::string {
    if (random() % 2)
      transport.wait(started[place]->request);
    else
      while (!transport.test(started[place]->request))
        transport.waitAny(Transport::never);
    std::string failure = started[place]->check();
    started[place].reset();
    return failure;
  };
  for (size_t i = 0; i < calls.size(); ++i)
    for (const std::vector<int> &members : shape.groups[calls[i].group]) {
      if (std::find(members.begin(), members.end(), transport.rank()) == members.end())
        continue;
      size_t place = random() % together;
      if (started[place])
        if (std::string failure = finish(place); !failure.empty())
          return format("before call %zu: ", i) + failure;
      started[place] = std::make_unique<Started>(transport, members, arena + int64_t(place) * part, calls[i]);
    }
  for (size_t place = 0; place < together; ++place)
    if (started[place])
      if (std::string failure = finish(place); !failure.empty())
        return failure;
  transport.barrier(Transport::everyRank);
  return "";
}

class CollectiveTest : public ::testing::TestWithParam<TransportCase> {};

std::vector<Call> randomCalls(int n, int count) {
  std::mt19937_64 random(testSeed() + n);
  auto pick = [&](uint64_t bound) { return int64_t(random() % bound); };
  std::vector<Call> calls;
  const int64_t sizes[] = {1, 2, 3, 17, 33, 1000, 5000, 20000, 70000};
  for (int i = 0; i < count; ++i) {
    int64_t count = pick(20) == 0 ? 0 : sizes[pick(9)] + pick(3);
    calls.push_back({Kind(pick(5)), int(pick(3)), DataType(pick(5)), Reduction(pick(2)), count, pick(4) != 0,
                     pick(3) == 0, random() >> 8});
  }
  return calls;
}

TEST_P(CollectiveTest, RandomCallsMatchTheDefinition) {
  std::vector<Call> calls = randomCalls(GetParam().ranks, 150);
  LocalWorldShape shape = worldOf(GetParam().ranks, 16 << 20);
  runOnRanks(GetParam().kind, shape,
             [&](Transport &transport, std::byte *arena) { return runCalls(shape, transport, arena, calls); });
}

// Members that wait in different orders, for results that other calls are mixed with.
TEST_P(CollectiveTest, CallsAreInFlightTogether) {
  constexpr size_t together = 8;
  std::vector<Call> calls = randomCalls(GetParam().ranks, 150);
  LocalWorldShape shape = worldOf(GetParam().ranks, together * (16 << 20));
  runOnRanks(GetParam().kind, shape, [&](Transport &transport, std::byte *arena) {
    return runCalls(shape, transport, arena, calls, together);
  });
}

TEST_P(CollectiveTest, LargeBuffers) {
  int n = GetParam().ranks;
  std::vector<Call> calls;
  int64_t count = (int64_t(n) << 18) + 12345; // several segments
  for (bool inArena : {true, false}) {
    calls.push_back({Kind::AllReduce, 0, DataType::F32, Reduction::Sum, count, inArena, false, calls.size()});
    for (Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllToAll, Kind::Permute})
      calls.push_back({kind, 2, DataType::I32, Reduction::Sum, 100003, inArena, inArena, calls.size()});
  }
  LocalWorldShape shape = worldOf(n, 64 << 20);
  runOnRanks(GetParam().kind, shape,
             [&](Transport &transport, std::byte *arena) { return runCalls(shape, transport, arena, calls); });
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, CollectiveTest,
    ::testing::Values(TransportCase{TransportKind::Local, 1}, TransportCase{TransportKind::Local, 2},
                      TransportCase{TransportKind::Local, 3}, TransportCase{TransportKind::Local, 4},
                      TransportCase{TransportKind::Local, 5}, TransportCase{TransportKind::Mpi, 1},
                      TransportCase{TransportKind::Mpi, 2}, TransportCase{TransportKind::Mpi, 3},
                      TransportCase{TransportKind::Mpi, 5}, TransportCase{TransportKind::MpiOverTcp, 4},
                      TransportCase{TransportKind::Store, 2}, TransportCase{TransportKind::Store, 4}),
    nameOf);

TEST(CollectiveErrorTest, MembersThatDisagreeAreNamed) {
  ::testing::internal::CaptureStderr();
  int status = statusOnRanks(TransportKind::Local, worldOf(2, 4096), [](Transport &transport, std::byte *arena) {
    transport.allReduce(0, arena, 10 + transport.rank(), DataType::F32, Reduction::Sum);
    return std::string();
  });
  EXPECT_EQ(status, 1);
  std::string error = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(error.find("the members of group 0 disagree: member "), std::string::npos) << error;
  EXPECT_NE(error.find(" all_reduce of 1"), std::string::npos) << error;
}

TEST(ReduceTest, MaximumKeepsNaN) {
  float a[] = {1, NAN, 3, -0.0f}, b[] = {NAN, 2, 1, -1}, out[4];
  const void *sources[] = {a, b};
  reduce(out, sources, 2, 4, DataType::F32, Reduction::Max);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  EXPECT_EQ(out[2], 3);
  EXPECT_EQ(out[3], 0);
}

TEST(ReduceTest, Bf16RoundsOnce) {
  // 256 + 1 + 1: rounding after each addition would lose both ones.
  uint16_t a[] = {floatToBf16(256)}, b[] = {floatToBf16(1)}, c[] = {floatToBf16(1)}, out[1];
  const void *sources[] = {a, b, c};
  reduce(out, sources, 3, 1, DataType::BF16, Reduction::Sum);
  EXPECT_EQ(bf16ToFloat(out[0]), 258);
}

TEST(ReduceTest, IntegersWrapAround) {
  int32_t a[] = {INT32_MAX}, b[] = {1}, out[1];
  const void *sources[] = {a, b};
  reduce(out, sources, 2, 1, DataType::I32, Reduction::Sum);
  EXPECT_EQ(out[0], INT32_MIN);
}

TEST(Bf16Test, RoundsToNearestEven) {
  EXPECT_EQ(floatToBf16(1.0f), 0x3f80);
  EXPECT_EQ(floatToBf16(1.00390625f), 0x3f80); // halfway: to even
  EXPECT_EQ(floatToBf16(1.01171875f), 0x3f82);
  EXPECT_EQ(floatToBf16(-INFINITY), 0xff80);
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(NAN))));
}

} // namespace
