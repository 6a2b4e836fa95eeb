// What a run is: by it a checkpoint tells whether a program goes on with the run that wrote it, or would be another one
// though all shapes agree. Names and values are for people; docs/guide/Checkpoints.md lists them.
#pragma once

#include "runtime/program/Facts.h"

#include <string>

namespace ppcrt {

struct Manifest;
struct Options;

struct RunIdentity {
  Facts mathematics;   // another value makes another run
  Facts circumstances; // another value is the same run, elsewhere or otherwise
};

// `tokens` is TokenSource::identity of the data; `transport` and `threads` are what the ranks use.
RunIdentity identify(const Manifest &manifest, const Options &options, const std::string &tokens,
                     const std::string &transport, int threads);

// The grid, and the plan without what was predicted of it.
std::string layoutName(const Manifest &manifest);

} // namespace ppcrt
