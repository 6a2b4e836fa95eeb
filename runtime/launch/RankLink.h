// What connects the ranks that a launcher has started, each in a process of its own, as far as the start and the end of
// a run need it.
#pragma once

#include "runtime/base/Error.h"
#include "runtime/mpi/MpiTransport.h"
#include "runtime/run/Options.h"
#include "runtime/transport/RankEnvironment.h"
#include "runtime/transport/Transport.h"
#include "runtime/watch/RankProgress.h"
#include "runtime/watch/RankWatch.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ppcrt {

class RankLink {
public:
  virtual ~RankLink() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const char *name() const = 0; // of --transport
  virtual std::string describe() const = 0;

  // All ranks call each of these together: the smallest of their values; that of rank 0; those of all, one after the
  // other, of which each has as many.
  virtual int64_t smallest(int64_t value) = 0;
  virtual int64_t ofFirst(int64_t value) = 0;
  virtual std::vector<int64_t> all(const std::vector<int64_t> &mine) = 0;
  // What each of them hands over, of any length: [rank].
  std::vector<std::string> allTexts(const std::string &mine);

  // What is wrong where `needed` ranks are to be and size() are there.
  virtual InputError wrongCount(int64_t needed, const std::optional<RankEnvironment> &environment) const = 0;

  virtual std::unique_ptr<Transport> connect(const RankShape &shape) = 0;
  // Names ranks that hold up others, where that can be told of `transport`, which connect() has made; the arguments are
  // those of MpiTransport::watch().
  virtual void watch(Transport &transport, RankProgress &progress, const Manifest &manifest,
                     const Options &options) = 0;

  // Says `message` and ends all ranks, this one last.
  [[noreturn]] virtual void abort(const std::string &message) = 0;
};

// What a process has to do before it is a rank, and all alike: throws what is wrong with options and program. A status
// ends the process: what was asked for needs no ranks.
using Preparation = std::function<std::optional<int>()>;

// One rank among those of `link`: what one process alone can find wrong is told to all before training begins, so that
// they end together and the first that has something to say says it once. Returns the exit status.
int runConnected(const ppcrt_program &program, const Manifest &manifest, const Options &options, RankLink &link,
                 const std::optional<RankEnvironment> &environment, const Preparation &prepare);

} // namespace ppcrt
