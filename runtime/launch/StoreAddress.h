// Where the store of a run is: what the options or the launcher say.
#pragma once

#include "runtime/run/Options.h"
#include "runtime/tcp/Socket.h"
#include "runtime/transport/RankEnvironment.h"

namespace ppcrt {

// --store HOST:PORT; else MASTER_ADDR and MASTER_PORT (the port after it, where torchrun itself listens at that one);
// of Slurm the first node of the step and a port that follows from the numbers of job and step; of ranks of one machine
// this machine and a port that follows from their launcher. Throws InputError that says what to give.
tcp::Address storeAddress(const Options &options, const RankEnvironment &environment);

// The first node of a list as Slurm writes it: "gpu[03-07,9],login" is "gpu03". Empty: it is none.
std::string firstNode(const std::string &list);

} // namespace ppcrt
