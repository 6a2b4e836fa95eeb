// The ways in which the ranks of a program come to be. Each takes a program whose manifest has been checked and options
// for a run, and returns the exit status of this process; input that cannot be used throws InputError.
#pragma once

#include "runtime/include/ppcrt.h"
#include "runtime/launch/RankLink.h"
#include "runtime/local/LocalWorld.h"
#include "runtime/program/Manifest.h"
#include "runtime/run/Options.h"
#include "runtime/transport/RankEnvironment.h"
#include "runtime/watch/RankWatch.h"

namespace ppcrt {

// What the ranks of a program share when they are on one machine: arenas, groups, the messages of a step.
LocalWorldShape worldShape(const Manifest &manifest);

// What the options say of ranks that hold up others. `slowRank` is above 0.
RankWatch::Limits watchLimits(const Options &options);

// Forks all ranks on this machine (LocalTransport).
int launchLocal(const ppcrt_program &program, const Manifest &manifest, const Options &options);

// Becomes one rank among those that a launcher has started: connected by MPI (MpiTransport), or by the store of rank 0
// (StoreTransport). `prepare` is called once the ranks are known to be alike.
int launchMpi(const ppcrt_program &program, const Manifest &manifest, const Options &options,
              const std::optional<RankEnvironment> &environment, const Preparation &prepare);
int launchStore(const ppcrt_program &program, const Manifest &manifest, const Options &options,
                const std::optional<RankEnvironment> &environment, const Preparation &prepare);

} // namespace ppcrt
