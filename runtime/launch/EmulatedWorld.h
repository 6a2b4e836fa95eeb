// The links of an emulation as ports and routes of a world of ranks.
#pragma once

#include "runtime/executor/Emulation.h"
#include "runtime/local/LocalWorld.h"

namespace ppcrt {

// For the groups and ranks of `shape`, which is that of `manifest`. Throws InputError when there are too many ports.
LinkLayout linkLayout(const Emulation &emulation, const Manifest &manifest, const LocalWorldShape &shape);

} // namespace ppcrt
