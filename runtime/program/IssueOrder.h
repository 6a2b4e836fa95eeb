// The order in which devices begin their communication, such that any two of them begin what they do together in one
// order: calls of different communicators that two ranks begin in opposite orders may wait for each other for ever
// where calls occupy what they run on. The lists of devices alone do not give that: one may list a send before a
// receive whose other ends the other device lists the other way round.
#pragma once

#include "runtime/program/Manifest.h"

#include <functional>
#include <vector>

namespace ppcrt {

// The list of a device that is looked at; null: it has none.
using ListOf = std::function<const ActionList *(const Device &)>;

// [device]: the places of its sends, receives and collectives in its list, in the order in which it begins them. It
// follows from a run of all lists in which the devices do what they may, in the order of their lists, and of what both
// or all ends may begin, the one that comes first in the lists of its devices is begun: hence no device ever waits for
// one that it has to begin later. Linear in the number of actions but for the number of streams. Throws InputError that
// names the actions at which no device can go on.
std::vector<std::vector<int64_t>> issueOrder(const Manifest &manifest, const ListOf &list);

} // namespace ppcrt
