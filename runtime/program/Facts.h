// Facts about a run as names and values that users read, and the differences between two lists of them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ppcrt {

class JsonValue;

using Facts = std::map<std::string, std::string>;

// Names of the facts that explain why two fingerprints of a model differ: a fingerprint covers the shapes of a batch.
constexpr const char *sequenceLengthFact = "sequence length", *globalBatchFact = "global batch";

// Reads the manifest's key "mathematics", which the compiler writes: facts "model.NAME" and "optimizer.NAME". The
// result is empty if the manifest has no such key.
Facts readMathematics(const JsonValue &manifest);

struct Difference {
  std::string name, here, there; // "none": this list has no fact of that name
};

// The facts whose values differ. The model's fingerprint is among them only if no other fact explains its difference,
// and the model's other facts only if the fingerprints differ.
std::vector<Difference> differences(const Facts &here, const Facts &there);

} // namespace ppcrt
