// The actions of a device from a manifest.
#pragma once

#include "runtime/files/JsonValue.h"
#include "runtime/program/Manifest.h"

namespace ppcrt {

// Reads a list of `[what, stream, number, micro-batch, after...]`, and for repetitions
// `{"repeat": count, "step": step, "actions": [...]}`; docs/internals/Runtime.md says what the numbers mean. `device`
// has its routines, streams and messages already. Throws InputError naming the key. Guarantees that every number is in
// range, for each turn of a repetition too, and that `after` names actions of the list.
ActionList readActions(const JsonValue &value, const Device &device, int64_t microBatches);

} // namespace ppcrt
