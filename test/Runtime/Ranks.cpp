// Forked ranks, and ranks that mpirun starts.
#include "test/Runtime/Ranks.h"
#include "runtime/base/Clock.h"
#include "runtime/launch/Launcher.h"
#include "runtime/mpi/MpiTransport.h"
#include "runtime/tcp/StoreTransport.h"
#include "test/Runtime/ProgramRun.h"
#include "test/Unit/Support/TestSeed.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <sys/wait.h>
#include <unistd.h>

namespace ppcrt::test {

const char *const transportKindNames[] = {"Local", "Mpi", "MpiOverTcp", "Store"};

uint64_t testSeed() {
  static const uint64_t seed = [] {
    uint64_t value = mlir::ppc::testSeed();
    std::printf("seed: PPC_TEST_SEED=%llu\n", (unsigned long long)value);
    return value;
  }();
  return seed;
}

void PrintTo(const TransportCase &given, std::ostream *out) {
  *out << given.ranks << " ranks, " << transportKindNames[int(given.kind)];
}

std::string nameOf(const ::testing::TestParamInfo<TransportCase> &info) {
  return transportKindNames[int(info.param.kind)] + std::to_string(info.param.ranks);
}

std::string whyNot(TransportKind kind) {
  static const bool found = std::system("command -v mpirun >/dev/null 2>&1") == 0;
  return kind == TransportKind::Local || kind == TransportKind::Store || found
             ? ""
             : "mpirun is not installed (Debian: openmpi-bin)";
}

std::vector<std::string> mpirunEnvironment() {
  // Leaks of Open MPI are not ours.
  const char *sanitizer = std::getenv("ASAN_OPTIONS");
  return {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
          "OMPI_MCA_hwloc_base_binding_policy=none",
          std::string("ASAN_OPTIONS=") + (sanitizer ? std::string(sanitizer) + ":" : "") + "detect_leaks=0"};
}

namespace {

bool isMpiRank() { return std::getenv("OMPI_COMM_WORLD_RANK"); }

// What the ranks print is shown when they fail.
int startMpirun(TransportKind kind, int ranks) {
  const ::testing::TestInfo *test = ::testing::UnitTest::GetInstance()->current_test_info();
  char self[4096] = "";
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
    return -1;
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(ranks)};
  if (kind == TransportKind::MpiOverTcp)
    words.insert(words.end(), {"--mca", "btl", "tcp,self"});
  words.push_back(self);
  words.push_back(std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name());
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::string seed = "PPC_TEST_SEED=" + std::to_string(testSeed());
  std::string marks = "PPC_TEST_MARKS=" + temporaryPath("mark-");
  std::FILE *output = std::tmpfile();
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    for (std::string &variable : mpirunEnvironment())
      putenv(strdup(variable.c_str()));
    putenv(seed.data());
    putenv(marks.data());
    // A share of all tests, and where their results go, is for this process only.
    for (const char *name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", "GTEST_SHARD_STATUS_FILE", "GTEST_OUTPUT"})
      unsetenv(name);
    dup2(fileno(output), STDOUT_FILENO);
    dup2(fileno(output), STDERR_FILENO);
    execvp("mpirun", pointers.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::rewind(output);
  std::string text;
  for (int c; (c = std::fgetc(output)) != EOF;)
    text += char(c);
  std::fclose(output);
  bool ran = text.find("1 test from 1 test suite ran") != std::string::npos;
  if (status != 0 || !ran) {
    std::fprintf(stderr, "%s%s", ran ? "" : "no rank has run the test\n", text.c_str());
    status = status ? status : 1 << 8;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Initialised once in a process, however many tests it runs.
const OpenMpi &initialisedMpi() {
  static const OpenMpi &mpi = OpenMpi::load();
  static const int provided = [] {
    int level;
    mpi.Init_thread(nullptr, nullptr, OpenMpi::threadSerialized, &level);
    std::atexit([] { mpi.Finalize(); });
    return level;
  }();
  (void)provided;
  return mpi;
}

// What one rank takes part in.
RankShape shapeOf(const LocalWorldShape &shape, int rank) {
  RankShape mine;
  for (const auto &instances : shape.groups) {
    mine.groups.emplace_back();
    for (const std::vector<int> &members : instances)
      if (std::find(members.begin(), members.end(), rank) != members.end())
        mine.groups.back() = members;
  }
  for (const auto &[source, destination, key] : shape.messages)
    if (source == rank || destination == rank)
      mine.messages.push_back({source, destination, key});
  return mine;
}

std::string runAsStoreRank(const LocalWorldShape &shape, const RankBody &body, int rank, const tcp::Address &store) {
  constexpr tcp::StoreLimits limits{patience, patience};
  int ranks = int(shape.arenaBytes.size());
  std::optional<tcp::StoreServer> server;
  if (rank == 0)
    server.emplace(store, ranks, limits);
  tcp::StoreClient client(store, rank, limits, [](const std::string &text, bool isSaidHere) {
    std::fprintf(stderr, "%s%s\n", isSaidHere ? "" : "heard: ", text.c_str());
    _exit(1);
  });
  SharedRegion arena(shape.arenaBytes[size_t(rank)]);
  tcp::StoreTransport transport(client, rank, ranks, shapeOf(shape, rank).groups);
  return body(transport, arena.data());
}

int runAsMpiRank(const LocalWorldShape &shape, const RankBody &body) {
  const OpenMpi &mpi = initialisedMpi();
  int rank;
  mpi.Comm_rank(mpi.world, &rank);
  SharedRegion arena(shape.arenaBytes[rank]);
  MpiCalls calls;
  MpiTransport transport(mpi, shapeOf(shape, rank), calls);
  std::string failure = body(transport, arena.data());
  if (failure.empty())
    return 0;
  std::fprintf(stderr, "rank %d: %s\n", rank, failure.c_str());
  std::fflush(nullptr);
  mpi.Abort(mpi.world, 1);
  return 1;
}

} // namespace

std::string ownAddress() {
  int process = getpid();
  return format("127.%d.%d.%d", 64 + (process >> 16) % 64, process >> 8 & 255, process & 255);
}

int freePort() {
  constexpr int first = 20'000, count = 12'000; // below those that connections get by themselves
  static int number = getpid() % count;
  for (int tries = 0; tries < count; ++tries)
    try {
      int port = first + ++number % count;
      tcp::listenAt({ownAddress(), port});
      return port;
    } catch (const InputError &) { // somebody listens at all addresses
    }
  throw InputError("no free port");
}

// Where ranks of the test that runs find each other's marks: those of mpirun are told by whoever started them.
static std::string pathOfMark(const std::string &name) {
  const char *folder = std::getenv("PPC_TEST_MARKS");
  return folder ? std::string(folder) + name : temporaryPath("mark-" + name);
}

void setMark(const std::string &name) { writeFile(pathOfMark(name), "set"); }

bool awaitMark(const std::string &name) {
  std::string path = pathOfMark(name);
  return eventually([&] { return access(path.c_str(), F_OK) == 0; });
}

int statusOnRanks(TransportKind kind, const LocalWorldShape &shape, const RankBody &body, int stillLooks) {
  testSeed();
  temporaryPath(""); // its folder is made before ranks share it
  if (kind == TransportKind::Mpi || kind == TransportKind::MpiOverTcp)
    return isMpiRank() ? runAsMpiRank(shape, body) : startMpirun(kind, int(shape.arenaBytes.size()));
  LocalWorld world(shape);
  tcp::Address store{ownAddress(), freePort()};
  LaunchedRanks ranks;
  ranks.count = world.rankCount();
  ranks.body = [&](int rank) {
    RankStatus &status = world.status(rank);
    setFatalMessageBuffer(status.message, sizeof status.message);
    std::string failure;
    if (kind == TransportKind::Store) {
      failure = runAsStoreRank(shape, body, rank, store);
    } else {
      LocalTransport transport(world, rank);
      failure = body(transport, world.arena(rank));
    }
    std::snprintf(status.message, sizeof status.message, "%s", failure.c_str());
    return failure.empty() ? 0 : 1;
  };
  ranks.describe = [](int rank) { return "rank " + std::to_string(rank); };
  ranks.message = [&](int rank) { return std::string(world.status(rank).message); };
  ranks.waits = [&](int rank) { return world.status(rank).waits.load(); };
  ranks.describeWait = [&](int rank) { return describeWait(snapshot(world.status(rank), now())); };
  ranks.patience = stillLooks;
  return runRanks(ranks);
}

void runOnRanks(TransportKind kind, const LocalWorldShape &shape, const RankBody &body) {
  if (std::string reason = whyNot(kind); !reason.empty())
    GTEST_SKIP() << reason;
  EXPECT_EQ(statusOnRanks(kind, shape, body), 0);
}

} // namespace ppcrt::test
