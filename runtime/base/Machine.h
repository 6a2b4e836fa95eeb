// Which machine this is, and what it has.
#pragma once

#include <cstdint>
#include <string>

namespace ppcrt {

// The same in all processes of a running machine, containers included, and on no other machine: its kernel drew it when
// it started. 0: not known.
int64_t machineIdentity();

std::string hostName();

// What the processor calls itself; "unknown" where the system does not say.
std::string processorName();

// Memory and swap space of this machine, in bytes.
int64_t machineMemoryBytes();

// What of it processes may still take: at most what the system calls available, and what the control group (a
// container's, a batch job's) leaves.
int64_t availableMemoryBytes();

// Whether a process of this machine is stopped, by a signal or by a debugger.
bool isStopped(int process);

} // namespace ppcrt
