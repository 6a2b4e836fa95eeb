// Ranks that anything has started, connected by the store of rank 0.
#include "runtime/base/Error.h"
#include "runtime/launch/Launch.h"
#include "runtime/launch/RankLink.h"
#include "runtime/launch/StoreAddress.h"
#include "runtime/tcp/StoreTransport.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <unistd.h>

namespace ppcrt {
namespace {

class StoreLink final : public RankLink {
public:
  StoreLink(const tcp::Address &address, int rank, int ranks, const Options &options)
      : address(address), me(rank), ranks(ranks), options(options), limits{options.joinTimeout, options.hangTimeout},
        server(rank == 0 ? std::make_unique<tcp::StoreServer>(address, ranks, limits) : nullptr),
        client(std::make_unique<tcp::StoreClient>(
            address, rank, limits, [this](const std::string &text, bool isSaidHere) { end(text, isSaidHere); })),
        early(*client, rank, ranks, {}) {}
  ~StoreLink() override {
    client.reset(); // before the server, which waits for it
  }

  int rank() const override { return me; }
  int size() const override { return ranks; }
  const char *name() const override { return "tcp"; }
  std::string describe() const override { return "tcp (" + show(address) + ")"; }

  int64_t smallest(int64_t value) override {
    std::vector<int64_t> values = all({value});
    return *std::min_element(values.begin(), values.end());
  }
  int64_t ofFirst(int64_t value) override { return all({value}).front(); }
  std::vector<int64_t> all(const std::vector<int64_t> &mine) override {
    std::vector<int64_t> result(mine.size() * size_t(ranks));
    early.allGather(Transport::everyRank, mine.data(), result.data(), int64_t(mine.size()), DataType::I64);
    haveAllCome = true;
    return result;
  }

  InputError wrongCount(int64_t needed, const std::optional<RankEnvironment> &environment) const override {
    return InputError(format("the program was compiled for %lld ranks, but %s started %d: start as many, or give "
                             "--transport local to fork them on this machine",
                             (long long)needed, environment ? environment->launcher.c_str() : "this command", ranks));
  }

  std::unique_ptr<Transport> connect(const RankShape &shape) override {
    return std::make_unique<tcp::StoreTransport>(*client, me, ranks, shape.groups, "run");
  }
  void watch(Transport &, RankProgress &, const Manifest &, const Options &) override {} // the store does, by silence

  [[noreturn]] void abort(const std::string &message) override {
    beginToEnd();
    client->tellFailure(message);
    sayAndEnd(message, true);
  }

private:
  // Of threads that find different reasons, the first has its way.
  void beginToEnd() {
    while (isEnding.exchange(true))
      pause();
  }
  // Only one of those that are told of a failure says it; a launcher may stop all as soon as one has ended.
  [[noreturn]] void end(const std::string &text, bool isSaidHere) {
    beginToEnd();
    bool isAlone = !haveAllCome && (!options.needsOthers || !options.problem.empty());
    if (isAlone && !options.problem.empty()) // which the others would have been told
      std::fprintf(stderr, "error: %s\n", options.problem.c_str());
    std::fflush(nullptr);
    if (isAlone)
      _exit(options.problem.empty() ? 0 : 2);
    sayAndEnd(text, isSaidHere);
  }
  [[noreturn]] static void sayAndEnd(const std::string &text, bool isSaidHere) {
    if (isSaidHere)
      std::fprintf(stderr, "error: %s\n", text.c_str());
    std::fflush(nullptr);
    usleep(isSaidHere ? 300'000 : 500'000); // the store, which may be here, has to tell all
    _exit(1);
  }

  const tcp::Address address;
  int me, ranks;
  const Options &options;
  const tcp::StoreLimits limits;
  std::atomic<bool> haveAllCome{false};
  std::atomic<bool> isEnding{false};
  std::unique_ptr<tcp::StoreServer> server; // of rank 0
  std::unique_ptr<tcp::StoreClient> client;
  tcp::StoreTransport early;
};

// A --store that is no address is told to the others, where the environment says that they are.
tcp::Address addressFor(Options &options, const RankEnvironment &environment) {
  try {
    return storeAddress(options, environment);
  } catch (const std::exception &error) {
    checkWords(options); // nobody can be told
    if (options.store.empty())
      throw;
    options.problem = error.what();
  }
  options.store.clear();
  try {
    return storeAddress(options, environment);
  } catch (const InputError &) {
    throw UsageError(options.problem);
  }
}

} // namespace

int launchStore(const ppcrt_program &program, const Manifest &manifest, const Options &options,
                const std::optional<RankEnvironment> &environment, const Preparation &prepare) {
  if (!environment || environment->size < 1)
    throw InputError(
        "--transport tcp: the environment does not say which rank this is: start it with torchrun, srun or "
        "mpirun, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each process");
  Options mine = options;
  tcp::Address address = addressFor(mine, *environment);
  std::unique_ptr<StoreLink> link;
  try {
    link = std::make_unique<StoreLink>(address, environment->rank, environment->size, mine);
  } catch (const InputError &) {
    checkWords(mine);
    if (mine.needsOthers)
      throw;
    return 0;
  }
  return runConnected(program, manifest, mine, *link, environment, prepare);
}

} // namespace ppcrt
