// Whether weights are of the model that a program computes: the config.json beside them against its own.
#pragma once

#include "runtime/program/WeightMap.h"

#include <string>

namespace ppcrt {

// Compares `file`, a config.json, with the program's own, key by key of those that decide what the weights compute.
// Does nothing for a program that has none. Throws InputError with the keys that differ; `tensors` is the file to give
// instead of the folder to read the weights all the same.
void checkConfig(const std::string &file, const WeightMap &weights, const std::string &tensors);

} // namespace ppcrt
