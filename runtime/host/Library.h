// Settings of the vendor libraries behind ppcrt.h.
#pragma once

namespace ppcrt {

// Threads that library calls of this process use. Call it after fork and before the first library call: thread pools do
// not survive a fork.
void setLibraryThreads(int threads);

// Cores that this process may run on.
int availableCores();

} // namespace ppcrt
