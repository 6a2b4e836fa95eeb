// Running test code as several ranks, over each transport.
#pragma once

#include "runtime/base/Error.h"
#include "runtime/local/LocalTransport.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace ppcrt::test {

// The seed of property tests (test/Unit/Support/TestSeed.h), printed so that a failure can be repeated.
uint64_t testSeed();

enum class TransportKind {
  Local,
  Mpi,        // as Open MPI connects ranks of one machine
  MpiOverTcp, // as it connects machines
  Store       // as rank 0 connects ranks where there is no MPI
};
extern const char *const transportKindNames[]; // for the names of tests

// The transports of a test, with the rank counts to run it with.
struct TransportCase {
  TransportKind kind;
  int ranks;
};
void PrintTo(const TransportCase &given, std::ostream *out);
std::string nameOf(const ::testing::TestParamInfo<TransportCase> &info);

// Why ranks of this transport cannot be started here; empty when they can.
std::string whyNot(TransportKind kind);

// What one rank does, with an arena of zeros; returns an empty string, or what went wrong.
using RankBody = std::function<std::string(Transport &transport, std::byte *arena)>;

// Runs the body once per rank; returns the exit status. Over MPI, mpirun runs this test once more, in as many processes
// as there are ranks: what comes before must be the same in each run, and testSeed() is.
// Ranks that all wait for each other are ended after `stillLooks` looks, one in a second: `soon` where they do for
// good.
constexpr int soon = 3;
int statusOnRanks(TransportKind kind, const LocalWorldShape &shape, const RankBody &body, int stillLooks = 60);
void runOnRanks(TransportKind kind, const LocalWorldShape &shape, const RankBody &body);

// What ranks of one test tell each other beside the transport that is tested: a mark is set once, by a name that the
// test uses once. awaitMark() is false where the others hang.
void setMark(const std::string &name);
bool awaitMark(const std::string &name);

// An address of the loopback network that is of this process alone, so that no other program takes a port of it between
// its choice and its use, and one port after the other at which nobody listens.
std::string ownAddress();
int freePort();

// The environment in which mpirun works in containers and with more ranks than cores, as "NAME=value".
std::vector<std::string> mpirunEnvironment();

} // namespace ppcrt::test
