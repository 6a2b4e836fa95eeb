// A fuzzed reader of files: a function of bytes that aborts if the reader breaks its promise. Each is a libFuzzer
// program of its own with the sanitizers, and runs over its corpus in the unit tests without them.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef PPC_FUZZER
#define PPC_FUZZ_SUBJECT(name) extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#else
#define PPC_FUZZ_SUBJECT(name)                                                                                         \
  int fuzz##name(const uint8_t *data, size_t size);                                                                    \
  int fuzz##name(const uint8_t *data, size_t size)
#endif
