// Who is named when a run is held up: by what ranks tell, and in whole runs over both transports.
#include "runtime/watch/RankWatch.h"
#include "test/Runtime/BigramProgram.h"
#include "test/Runtime/ProgramRun.h"
#include "test/Runtime/Ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

constexpr RankWatch::Limits limits{10, 2};

// Ranks of the bigram program on which time goes by; `run` says what is remarked.
class Ranks {
public:
  Ranks() : manifest(parseManifest(bigramManifest(2, 1, 2))), watch(manifest, limits, "its process is stopped", 1) {
    for (RankWatch::Look &look : looks) {
      look.isThere = true;
      look.rank.step = 3, look.rank.action = 1, look.rank.usual = 0.01;
    }
  }

  void gotOn(int rank) { looks[rank].rank.age = 0, looks[rank].rank.marks += 2; }
  void waits(int rank, const char *name, int64_t first) {
    RankSnapshot &snapshot = looks[rank].rank;
    snapshot.waits += snapshot.waits % 2 == 0;
    snapshot.waitsInAction = 1, snapshot.first = first, snapshot.tag = -1;
    std::strcpy(snapshot.name, name);
  }
  // Ranks 0 to 3 get on every half second but for those of `held`.
  std::string run(double seconds, const std::vector<int> &held) {
    std::string text;
    for (double end = time + seconds; time < end; time += 0.5) {
      for (int rank = 0; rank < 4; ++rank) {
        looks[rank].rank.age += 0.5;
        if (std::find(held.begin(), held.end(), rank) == held.end())
          gotOn(rank);
      }
      for (const RankWatch::Remark &remark : watch.look(looks, time))
        text += (remark.isWarning ? "W " : "N ") + remark.text + "\n";
    }
    return text;
  }

  Manifest manifest;
  RankWatch watch;
  std::vector<RankWatch::Look> looks{4};
  double time = 100;
};

TEST(RankWatchTest, ALateRankIsNamedOnceWithItsAction) {
  Ranks ranks;
  EXPECT_EQ(ranks.run(20, {}), "");
  ranks.looks[2].rank.actionMicroBatch = 1;
  ranks.waits(0, "all_reduce", 0);
  std::string text = ranks.run(20, {0, 2});
  EXPECT_EQ(text,
            "W rank 2 (pp=1 dp=0 tp=0) has not got on for 2.0 s in forward (stage1.forward) of micro-batch 1, step 3 "
            "(usually 0.01 s); waiting: rank 0 in all_reduce of group 0\n");
  EXPECT_EQ(ranks.run(1, {0}), "N rank 2 (pp=1 dp=0 tp=0) goes on\n");
}

TEST(RankWatchTest, LongActionsMayTakeLong) {
  Ranks ranks;
  ranks.looks[1].rank.usual = 3;
  EXPECT_EQ(ranks.run(29, {1}), "");
  EXPECT_NE(ranks.run(2, {1}), "");
}

TEST(RankWatchTest, AnActionThatWasNeverTimedMayTakeThePredictedStep) {
  Ranks ranks;
  ranks.looks[1].rank.usual = 0;
  ranks.manifest.predictedStepSeconds = 0;
  EXPECT_EQ(ranks.run(19.5, {1}), "");
  EXPECT_NE(ranks.run(2, {1}), "");
  Ranks predicted;
  predicted.looks[1].rank.usual = 0;
  predicted.manifest.predictedStepSeconds = 0.5;
  EXPECT_EQ(predicted.run(5, {1}), "");
  EXPECT_NE(predicted.run(2, {1}), "");
}

TEST(RankWatchTest, AStoppedProcessIsNamedEvenWhileItWaits) {
  Ranks ranks;
  ranks.run(3, {});
  ranks.waits(3, "receive", 1);
  ranks.looks[3].still = 2.5;
  std::string text = ranks.run(3, {3});
  EXPECT_EQ(text.find("W rank 3 "), 0u) << text;
  EXPECT_NE(text.find("; its process is stopped"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
}

TEST(RankWatchTest, AWatcherThatWasHeldUpAccusesNobody) {
  Ranks ranks;
  ranks.run(3, {});
  ranks.time += 60; // as when a terminal has stopped all of them
  for (RankWatch::Look &look : ranks.looks)
    look.rank.age += 60, look.still = 60;
  EXPECT_EQ(ranks.run(1, {0, 1, 2, 3}), "");
}

// On a machine that is so busy that the watcher never looks in time.
TEST(RankWatchTest, AWatcherThatIsAlwaysLateNamesThemAllTheSame) {
  Ranks ranks;
  auto late = [&](int looks, bool isStopped) {
    std::string text;
    for (int look = 0; look < looks; ++look) {
      ranks.time += 10;
      for (int rank = 0; rank < 4; ++rank)
        ranks.gotOn(rank);
      RankWatch::Look &one = ranks.looks[2];
      if (isStopped)
        one.rank.marks -= 2, one.rank.age += 10, one.still += 10;
      for (const RankWatch::Remark &remark : ranks.watch.look(ranks.looks, ranks.time))
        text += (remark.isWarning ? "W " : "N ") + remark.text.substr(0, 6) + "\n";
    }
    return text;
  };
  EXPECT_EQ(late(20, false), "");
  EXPECT_EQ(late(3, true), "") << "the time of a watcher that was held up counts for half a pause";
  EXPECT_EQ(late(20, true), "W rank 2\n");
}

// A rank that runs for a twentieth of the time.
TEST(RankWatchTest, ARankThatIsSlowedDownIsNamed) {
  Ranks ranks;
  std::string text;
  for (int turn = 0; turn < 4; ++turn)
    text += ranks.run(9.5, {1}) + ranks.run(0.5, {});
  EXPECT_EQ(text.find("W rank 1 "), 0u) << text;
  EXPECT_NE(text.find("\nN rank 1 "), std::string::npos) << text;
  for (const char *other : {"W rank 0", "W rank 2", "W rank 3"})
    EXPECT_EQ(text.find(other), std::string::npos) << text;
}

// Whatever ranks do, the one that waits is not named, and one that is named was late or still.
TEST(RankWatchTest, OnlyThoseThatHoldUpOthersAreNamed) {
  std::mt19937_64 random(testSeed());
  auto draw = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
  for (int turn = 0; turn < 200; ++turn) {
    Ranks ranks;
    ranks.run(3, {});
    for (int look = 0; look < 50; ++look) {
      for (int rank = 0; rank < 4; ++rank) {
        RankSnapshot &snapshot = ranks.looks[rank].rank;
        snapshot.waitsInAction = draw(1) < 0.5;
        snapshot.action = draw(1) < 0.8;
        snapshot.age = draw(5), snapshot.usual = draw(0.4), snapshot.marks += draw(1) < 0.5 ? 2 : 0;
        ranks.looks[rank].still = draw(1) < 0.3 ? draw(4) : 0;
      }
      ranks.time += draw(2.5);
      for (const RankWatch::Remark &remark : ranks.watch.look(ranks.looks, ranks.time)) {
        if (!remark.isWarning)
          continue;
        const RankWatch::Look &named = ranks.looks[std::stoi(remark.text.substr(strlen("rank ")))];
        bool isLate = named.rank.action && !named.rank.waitsInAction &&
                      named.rank.age >= std::max(limits.least, limits.factor * named.rank.usual);
        EXPECT_TRUE(isLate || named.still >= limits.least) << remark.text;
      }
    }
  }
}

// The same number is never torn: what a reader sees is one action, of which the rank wrote all.
TEST(RankWatchTest, SnapshotsAreOfOneAction) {
  RankProgress progress{};
  std::atomic<bool> ends{false};
  std::thread writer([&] {
    ProgressMarks marks(progress, 8);
    for (int64_t i = 0; !ends; ++i)
      marks.begin(size_t(i % 8), i % 8, 0);
  });
  int64_t seenInAction = 0;
  for (int look = 0; look < 100000 || seenInAction < 1000; ++look)
    if (RankSnapshot seen = snapshot(progress, 0); seen.action && seen.marks % 2 == 0) {
      EXPECT_EQ(seen.action, seen.actionMicroBatch + 1);
      ++seenInAction;
    }
  ends = true;
  writer.join();
}

// Nor when the rank is stopped for good after any of its instructions.
TEST(RankWatchTest, SnapshotsOfAStoppedRankAreOfOneAction) {
  void *memory = mmap(nullptr, sizeof(RankProgress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto &progress = *static_cast<RankProgress *>(memory);
  pid_t writer = fork();
  if (writer == 0) {
    ProgressMarks marks(progress, 8);
    marks.begin(0, 0, 0);
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
      _exit(2);
    raise(SIGSTOP);
    marks.begin(3, 3, 0);
    _exit(0);
  }
  int status = 0, steps = 0, seenInAction = 0;
  ASSERT_EQ(waitpid(writer, &status, 0), writer);
  if (WIFEXITED(status))
    GTEST_SKIP() << "no process may follow another one here";
  for (; WIFSTOPPED(status) && steps < 10'000'000; ++steps) {
    if (RankSnapshot seen = snapshot(progress, 0); seen.action) {
      EXPECT_EQ(seen.action, seen.actionMicroBatch + 1);
      ++seenInAction;
    } else {
      EXPECT_EQ(seen.marks % 2, 1u);
    }
    ASSERT_EQ(ptrace(PTRACE_SINGLESTEP, writer, nullptr, nullptr), 0);
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
  }
  EXPECT_TRUE(WIFEXITED(status)) << steps << " instructions";
  EXPECT_EQ(snapshot(progress, 0).action, 4);
  EXPECT_LT(seenInAction, steps); // some of them write
  munmap(memory, sizeof(RankProgress));
}

// Nor does it see parts of two calls.
TEST(RankWatchTest, SnapshotsAreOfOneCall) {
  RankProgress progress{};
  std::atomic<bool> ends{false};
  std::thread writer([&] {
    const char *names[] = {"zero", "one", "two", "three"};
    for (int64_t i = 0; !ends; i = (i + 1) % 4) {
      Waiting waiting(progress, names[i], i, {i, i});
      waiting.gotOn();
    }
  });
  int64_t seenInCall = 0;
  for (int look = 0; look < 100000 || seenInCall < 1000; ++look)
    if (RankSnapshot seen = snapshot(progress, 0); seen.isInCall()) {
      const std::string names[] = {"zero", "one", "two", "three"};
      EXPECT_EQ(seen.name, names[seen.first]);
      EXPECT_EQ(seen.tag, seen.first);
      EXPECT_EQ(seen.microBatch, seen.first);
      ++seenInCall;
    }
  ends = true;
  writer.join();
}

std::vector<std::string> watched(const std::string &after) {
  return {"--synthetic", "--steps", "100000000", "--print-every", "1000000000", "--slow-rank-after", after};
}

class StoppedRankTest : public ::testing::TestWithParam<TransportKind> {
protected:
  void SetUp() override {
    if (std::string reason = whyNot(GetParam()); !reason.empty())
      GTEST_SKIP() << reason;
  }
  std::unique_ptr<ProgramRun> start(const char *layout, const std::string &after) {
    if (GetParam() == TransportKind::Local)
      return std::make_unique<ProgramRun>(layout, watched(after));
    return std::make_unique<ProgramRun>(std::vector<std::string>{"mpirun", "-n", "4"}, mpirunEnvironment(), layout,
                                        watched(after));
  }
};

TEST_P(StoppedRankTest, IsNamedAndTheOthersAreNot) {
  for (auto [layout, rank] : {std::pair("1,2,2", 0), std::pair("2,1,2", 2)}) {
    std::unique_ptr<ProgramRun> run = start(layout, "2");
    ASSERT_TRUE(run->waitForOutput("step 1 "));
    std::vector<pid_t> ranks = run->ranks();
    ASSERT_EQ(ranks.size(), 4u);
    kill(ranks[rank], SIGSTOP);
    std::string who = "rank " + std::to_string(rank) + " (";
    EXPECT_TRUE(run->waitForError("warning: " + who)) << run->err();
    EXPECT_NE(run->err().find("stopped"), std::string::npos) << run->err();
    kill(ranks[rank], SIGCONT);
    EXPECT_TRUE(run->waitForError("note: " + who)) << run->err();
    std::string text = run->err();
    EXPECT_EQ(text.find("warning: "), text.rfind("warning: ")) << text;
    EXPECT_EQ(text.find("warning: " + who), text.find("warning: ")) << text;
    kill(run->launcher(), SIGTERM);
    run->wait();
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, StoppedRankTest, ::testing::Values(TransportKind::Local, TransportKind::Mpi),
                         [](const auto &info) { return std::string(transportKindNames[int(info.param)]); });

} // namespace
