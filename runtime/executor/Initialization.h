// Initial values of parameters, independent of the layout.
#pragma once

#include "runtime/program/Manifest.h"

#include <cstddef>

namespace ppcrt {

// Fills a rank's block of a parameter; padding becomes zero. `data` holds the buffer's bytes.
void initialize(std::byte *data, const Buffer &buffer, const Parameter &parameter, const Block &block, uint64_t seed);

} // namespace ppcrt
