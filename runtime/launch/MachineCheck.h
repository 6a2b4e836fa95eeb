// `--check-machine`: what can be known before training, hours before it would fail.
#pragma once

#include "runtime/program/Manifest.h"
#include "runtime/transport/DeviceMemory.h"
#include "runtime/transport/Transport.h"

#include <cstddef>

namespace ppcrt {

// Every rank calls it. Compares the memory that the ranks of each machine need with what is available there;
// all-reduces over each group of the program and compares the sums; passes every message of a step. The first rank
// prints what was found, with times. A rank that finds something wrong throws InputError.
void checkMachine(const Manifest &manifest, Transport &transport, DeviceMemory &memory);

} // namespace ppcrt
