// Emulated links against the times that sharing gives, files that are refused, and whole runs.
#include "runtime/executor/Emulation.h"
#include "runtime/base/Clock.h"
#include "runtime/local/EmulatedLinks.h"
#include "test/Runtime/BigramProgram.h"
#include "test/Runtime/ProgramRun.h"
#include "test/Runtime/Ranks.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>

using namespace ppcrt;
using namespace ppcrt::test;
using nlohmann::json;

namespace {

constexpr double rate = 1e6, latency = 0.01, rounding = 1e-6; // bytes per second; seconds

// Where no other process takes part, time goes by when the test says so.
double moment = 0;
double clockOfTest() { return moment; }

class EmulatedLinksTest : public ::testing::Test {
protected:
  // When each transfer has been delivered, in seconds after all of them began together.
  std::vector<double> deliveries(const LinkLayout &layout,
                                 const std::vector<std::pair<LinkLayout::Route, WireUse>> &all) {
    std::vector<std::byte> shared(EmulatedLinks::sharedBytes());
    EmulatedLinks links(layout, shared.data(), clockOfTest);
    double start = moment;
    std::vector<uint64_t> numbers;
    for (const auto &[route, use] : all)
      numbers.push_back(links.begin(route, use, start));
    std::vector<double> result(all.size(), -1);
    while (std::count(result.begin(), result.end(), -1)) {
      for (size_t i = 0; i < all.size(); ++i)
        if (result[i] < 0 && links.isDelivered(numbers[i]))
          result[i] = moment - start;
      if (double next = links.nextDelivery(); next < Transport::never)
        moment = std::max(moment, next);
    }
    return result;
  }
};

TEST_F(EmulatedLinksTest, OneTransferTakesLatencyAndBytes) {
  LinkLayout layout{{rate, rate / 2}, {}, {}};
  LinkLayout::Route fast{{{0, 1}}, latency}, slow{{{0, 1}, {1, 1}}, latency};
  double alone = deliveries(layout, {{fast, {50e3, 3}}})[0];
  EXPECT_NEAR(alone, 0.05 + 3 * latency, rounding);
  double throughTheSlowest = deliveries(layout, {{slow, {50e3, 1}}})[0];
  EXPECT_NEAR(throughTheSlowest, 0.1 + latency, rounding);
  EXPECT_EQ(deliveries(layout, {{fast, {0, 1}}})[0], 0) << "what moves nothing takes no time";
}

// k transfers through one port: until the i-th smallest is done, k - i + 1 share it.
TEST_F(EmulatedLinksTest, TransfersShareTheirPort) {
  std::mt19937_64 random(testSeed());
  for (int turn = 0; turn < 5; ++turn) {
    LinkLayout layout{{rate, rate}, {}, {}};
    LinkLayout::Route shared{{{0, 1}}, 0}, other{{{1, 1}}, 0};
    std::vector<std::pair<LinkLayout::Route, WireUse>> all;
    std::vector<double> sizes;
    for (int i = 0; i < 4; ++i) {
      sizes.push_back(double(5000 + random() % 40000));
      all.push_back({shared, {sizes.back(), 1}});
    }
    all.push_back({other, {60e3, 1}});
    std::vector<double> found = deliveries(layout, all);
    for (size_t i = 0; i < sizes.size(); ++i) {
      double bytes = 0; // that the port has moved by then
      for (double size : sizes)
        bytes += std::min(size, sizes[i]);
      EXPECT_NEAR(found[i], bytes / rate, rounding) << "turn " << turn << ", transfer " << i;
    }
    EXPECT_NEAR(found.back(), 0.06, rounding) << "another port is not slowed down";
  }
}

// Who tells the links late when a transfer began loses nothing: alone it ends when it would have, even if that is past.
TEST_F(EmulatedLinksTest, WhatIsToldLateEndsInTime) {
  LinkLayout layout{{rate}, {}, {}};
  LinkLayout::Route route{{{0, 1}}, latency};
  for (double late : {0.005, 0.03, 0.2}) {
    std::vector<std::byte> shared(EmulatedLinks::sharedBytes());
    EmulatedLinks links(layout, shared.data(), clockOfTest);
    double begun = moment, told = begun + late, end = begun + 2 * latency + 0.05;
    moment = told;
    uint64_t transfer = links.begin(route, {50e3, 2}, begun);
    moment = std::max(told, end - rounding);
    EXPECT_EQ(links.isDelivered(transfer), end < told) << late << " s late";
    moment = std::max(told, end + rounding);
    EXPECT_TRUE(links.isDelivered(transfer)) << late << " s late";
    EXPECT_NEAR(links.deliveredAt(transfer), end, rounding) << late << " s late";
  }
}

TEST_F(EmulatedLinksTest, CollectivesAndMessagesTakeTheirTime) {
  constexpr int64_t count = 25'000;
  LocalWorldShape shape;
  shape.arenaBytes = {1 << 20, 1 << 20};
  shape.groups = {{{0, 1}}};
  shape.messages = {{0, 1, {0, 0}}};
  LinkLayout::Route both{{{0, 1}, {1, 1}}, latency};
  shape.links = {{rate, rate}, {{both}}, {{{}, both}, {{}, {}}}};
  // Load makes them longer and never shorter: one turn that takes the time of its links, and no more, is enough.
  constexpr double tolerance = 0.02;
  constexpr int mostTurns = 500;
  runOnRanks(TransportKind::Local, shape, [](Transport &transport, std::byte *arena) -> std::string {
    auto *values = reinterpret_cast<float *>(arena);
    double together = Transport::never, alone = Transport::never;
    for (int turn = 0; turn < mostTurns; ++turn) {
      std::fill_n(values, count, float(transport.rank() + 1));
      transport.barrier(Transport::everyRank); // on no link
      double start = now();
      transport.allReduce(0, values, count, DataType::F32, Reduction::Sum);
      double took = now() - start;
      if (took < 0.119 || values[count - 1] != 3)
        return format("an all-reduce of 100 KB took %.4f s", took);
      together = std::min(together, took);
      start = now();
      if (transport.rank() == 0)
        transport.wait(transport.startSend(1, {0, 0}, arena, 50'000));
      else
        transport.receive(0, {0, 0}, arena, 50'000);
      took = now() - start;
      if (took < 0.055)
        return format("a message of 50 KB took %.4f s", took);
      alone = std::min(alone, took);
      float isLate = together > 0.12 + tolerance || alone > 0.06 + 2 * tolerance; // all ranks end in the same turn
      transport.allReduce(0, &isLate, 1, DataType::F32, Reduction::Max);
      if (!isLate)
        return "";
    }
    return format("an all-reduce of 100 KB took %.4f s, a message of 50 KB %.4f s", together, alone);
  });
}

std::string written(const char *name, const std::string &text) {
  std::string path = temporaryPath(name);
  writeFile(path, text);
  return path;
}

const char emulatedLinks[] =
    R"({"links": [{"name": "net", "axes": ["pp", "dp", "tp"], "bytes_per_s": 1e7, "latency_s": 1e-5}])";

TEST(EmulationFileTest, MistakesNameFileAndKey) {
  Manifest manifest = parseManifest(bigramManifest(2, 2, 1));
  struct Mistake {
    std::string text, error;
  };
  std::string net = emulatedLinks;
  const Mistake mistakes[] = {
      {"{", ":1:2: not valid JSON: the text ends here"},
      {"{}", ": top level: missing key \"links\""},
      {net + R"(, "speed": 1})", ": top level: unknown key \"speed\"; known: links, slowdown, durations"},
      {net + R"(, "slowdown": 0.5})", ": slowdown: expected from 1 to 1e+06, found 0.5"},
      {R"({"links": []})", ": links: no link carries what the program moves over dp: name the axes in \"axes\" of one"},
      {R"({"links": [{"name": "a", "axes": ["dp"], "bytes_per_s": 1e9}]})",
       ": links: no link carries what the program moves over pp: name the axes in \"axes\" of one"},
      {R"({"links": [{"name": "a", "axes": ["ep"], "bytes_per_s": 1e9}]})",
       ": links[0].axes[0]: the program has no axis \"ep\"; it has: pp, dp, tp"},
      {R"({"links": [{"name": "a", "axes": ["dp"], "bytes_per_s": 0}]})",
       ": links[0].bytes_per_s: expected from 1 to 1e+15, found 0"},
      {R"({"links": [{"name": "a", "axes": ["dp"], "bytes_per_s": 1e9, "latency_s": 60}]})",
       ": links[0].latency_s: expected at most 10, found 60"},
      {R"({"links": [{"name": "a", "axes": ["dp"], "bytes_per_s": 1e9, "rate": 1}]})",
       ": links[0]: unknown key \"rate\"; known: name, axes, shared_by, bytes_per_s, latency_s"},
      {net + R"(, "durations": {"devices": []}})", ": durations.devices: has 0 devices, the program 2"},
      {net + R"(, "durations": {"devices": [{"bodies": []}, {"bodies": []}]}})",
       ": durations.devices[0].bodies: has 0 bodies, the program 3 routines"},
  };
  for (const Mistake &mistake : mistakes) {
    std::string path = written("emulation.json", mistake.text);
    try {
      readEmulation(path, manifest);
      ADD_FAILURE() << mistake.text;
    } catch (const InputError &error) {
      EXPECT_EQ(error.what(), path + mistake.error);
    }
  }
  EXPECT_EQ(readEmulation(written("emulation.json", net + "}"), manifest).links.size(), 1u);
}

TEST(EmulationRunTest, DurationsAreWrittenAndTaken) {
  std::string first = written("first.json", std::string(emulatedLinks) + "}"),
              durations = temporaryPath("durations.json");
  ProgramRun plain("2,2,1", {"--synthetic", "--steps", "7", "--quiet", "--save-losses", temporaryPath("plain")});
  ASSERT_EQ(plain.wait(), 0) << plain.err();
  ProgramRun run("2,2,1", {"--synthetic", "--steps", "7", "--emulate", first, "--save-durations", durations,
                           "--save-losses", temporaryPath("emulated")});
  int status = run.wait();
  if (status && run.err().find("bodies were late") != std::string::npos)
    GTEST_SKIP() << "this machine is too busy: " << run.err();
  ASSERT_EQ(status, 0) << run.err();
  EXPECT_NE(run.out().find("emulation: bodies take "), std::string::npos) << run.out();
  EXPECT_EQ(readFile(temporaryPath("plain")), readFile(temporaryPath("emulated"))) << "numbers depend on no time";
  json text = json::parse(readFile(durations)), second = json::parse(std::string(emulatedLinks) + "}");
  ASSERT_EQ(text["devices"].size(), 2u);
  double forward = 0;
  for (const json &routine : text["devices"][0]["bodies"])
    if (routine["entry"] == "stage0.forward")
      for (double piece : routine["pieces_s"])
        forward += piece;
  EXPECT_GE(forward, 4.99e-3);
  second["durations"] = text;
  ProgramRun again("2,2,1", {"--synthetic", "--steps", "3", "--emulate", written("second.json", second.dump())});
  if (again.wait())
    EXPECT_NE(again.err().find("bodies were late"), std::string::npos) << again.err();
}

TEST(EmulationRunTest, WhatCannotBeEmulatedIsRefused) {
  std::string file = written("emulation.json", std::string(emulatedLinks) + "}");
  auto refusal = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"--synthetic", "--quiet"});
    ProgramRun run("1,2,1", options);
    EXPECT_NE(run.wait(), 0);
    return run.err();
  };
  EXPECT_EQ(refusal({"--save-durations", "x"}), "error: --save-durations needs --emulate FILE\n");
  EXPECT_EQ(refusal({"--emulate", file, "--threads", "2"}),
            "error: --emulate measures one thread of each rank: leave --threads out\n");
  EXPECT_EQ(refusal({"--emulate", temporaryPath("no/such")}),
            "error: --emulate: cannot read " + temporaryPath("no/such") + ": No such file or directory\n");
  EXPECT_NE(refusal({"--emulate", file, "--steps", "4"}).find("the first 4 steps measure how long bodies take"),
            std::string::npos);
  EXPECT_NE(
      refusal({"--emulate", written("slow.json", std::string(emulatedLinks) + ", \"slowdown\": 1}"), "--steps", "6"})
          .find("--emulate: a slowdown of 1 is too little for 2 ranks"),
      std::string::npos);
}

} // namespace
