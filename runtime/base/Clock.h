// The time that all parts of a rank go by.
#pragma once

namespace ppcrt {

// Seconds of the monotonic clock of this machine.
double now();

} // namespace ppcrt
