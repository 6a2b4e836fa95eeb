// What a run is: by it a checkpoint tells whether a program goes on with the run that wrote it, or would be another one
// though all shapes agree. Names and values are for people; docs/guide/Checkpoints.md lists them.
#pragma once

#include "runtime/core/JsonValue.h"

#include <map>
#include <string>
#include <vector>

namespace ppcrt {

struct Manifest;
struct Options;

using Facts = std::map<std::string, std::string>;

struct RunIdentity {
  Facts mathematics;   // another value makes another run
  Facts circumstances; // another value is the same run, elsewhere or otherwise
};

// The manifest's key "mathematics", which the compiler writes: "model.NAME" and "optimizer.NAME". Empty when the
// program does not say.
Facts readMathematics(const JsonValue &manifest);

// `tokens` is TokenSource::identity of the data; `transport` and `threads` are what the ranks use.
RunIdentity identify(const Manifest &manifest, const Options &options, const std::string &tokens,
                     const std::string &transport, int threads);

// The grid, and the plan without what was predicted of it.
std::string layoutName(const Manifest &manifest);

struct Difference {
  std::string name, here, there; // "none": there is no such fact
};

// The facts that differ. The fingerprint of the model is among them only where nothing else explains that it differs,
// and its other facts only where it does.
std::vector<Difference> differences(const Facts &here, const Facts &there);

} // namespace ppcrt
