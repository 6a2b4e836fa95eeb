// Ranks that a launcher of MPI has started, connected by Open MPI.
#include "runtime/base/Error.h"
#include "runtime/launch/Launch.h"
#include "runtime/launch/RankLink.h"
#include "runtime/mpi/MpiTransport.h"

#include <cstdio>
#include <unistd.h>

namespace ppcrt {
namespace {

class MpiLink final : public RankLink {
public:
  explicit MpiLink(const OpenMpi &mpi) : mpi(mpi) {
    int provided;
    mpi.Init_thread(nullptr, nullptr, OpenMpi::threadSerialized, &provided);
    mpi.Comm_rank(mpi.world, &me);
    mpi.Comm_size(mpi.world, &count);
  }
  ~MpiLink() override { mpi.Finalize(); }

  int rank() const override { return me; }
  int size() const override { return count; }
  const char *name() const override { return "mpi"; }
  std::string describe() const override { return "mpi (" + mpi.version() + ")"; }

  int64_t smallest(int64_t value) override {
    int64_t result = value;
    mpi.Allreduce(&value, &result, 1, mpi.int64, mpi.min, mpi.world);
    return result;
  }
  int64_t ofFirst(int64_t value) override {
    mpi.Bcast(&value, 1, mpi.int64, 0, mpi.world);
    return value;
  }
  std::vector<int64_t> all(const std::vector<int64_t> &mine) override {
    std::vector<int64_t> result(mine.size() * size_t(count));
    mpi.Allgather(mine.data(), int(mine.size()), mpi.int64, result.data(), int(mine.size()), mpi.int64, mpi.world);
    return result;
  }

  InputError wrongCount(int64_t needed, const std::optional<RankEnvironment> &environment) const override {
    if (environment && environment->size > 1 && count == 1)
      return InputError(
          format("%s started %d processes, but Open MPI connects none of them: use mpirun -n %lld, or, with "
                 "Slurm, srun --mpi=pmix, or let them connect themselves with --transport tcp",
                 environment->launcher.c_str(), environment->size, (long long)needed));
    return InputError(format(
        "the program was compiled for %lld ranks, but %s started %d: start it with mpirun -n %lld, "
        "or give --transport local to fork its ranks on this machine",
        (long long)needed, environment ? environment->launcher.c_str() : "this command", count, (long long)needed));
  }

  std::unique_ptr<Transport> connect(const RankShape &shape) override {
    return std::make_unique<MpiTransport>(mpi, shape, calls);
  }
  void watch(Transport &transport, RankProgress &progress, const Manifest &manifest, const Options &options) override {
    static_cast<MpiTransport &>(transport).watch(
        progress,
        RankWatch(manifest, watchLimits(options),
                  "nothing is heard of its process: it is stopped, or cannot be reached", MpiProgress::pause(count)),
        options.quiet);
  }

  [[noreturn]] void abort(const std::string &message) override {
    std::fprintf(stderr, "error: %s\n", message.c_str());
    std::fflush(nullptr);
    calls.keep(patienceOfEnd);
    mpi.Abort(mpi.world, 1);
    _exit(1);
  }

private:
  static constexpr double patienceOfEnd = 2; // seconds
  const OpenMpi &mpi;
  MpiCalls calls; // of this process
  int me, count;
};

} // namespace

int launchMpi(const ppcrt_program &program, const Manifest &manifest, const Options &options,
              const std::optional<RankEnvironment> &environment, const Preparation &prepare) {
  MpiLink link(OpenMpi::load());
  return runConnected(program, manifest, options, link, environment, prepare);
}

} // namespace ppcrt
