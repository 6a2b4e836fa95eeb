// Running test code as several ranks, over each transport.
#pragma once

#include "runtime/core/Error.h"
#include "runtime/host/LocalTransport.h"

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

// Code of one rank, with an arena of zeros; returns an empty string, or an error.
using RankBody = std::function<std::string(Transport &transport, std::byte *arena)>;

// Runs the code once per rank; returns the exit status. Over MPI, mpirun runs this test once more, in as many processes
// as there are ranks: code before this call must have the same effects in each run, and testSeed() is the same.
// Ranks that all wait for each other are ended after `stillLooks` looks, one per second: `soon` if they deadlock.
constexpr int soon = 3;
int statusOnRanks(TransportKind kind, const LocalWorldShape &shape, const RankBody &body, int stillLooks = 60);
void runOnRanks(TransportKind kind, const LocalWorldShape &shape, const RankBody &body);

// Communication between ranks of one test outside of the tested transport: a mark is set once, by a name that the test
// uses once. awaitMark() is false if the others hang.
void setMark(const std::string &name);
bool awaitMark(const std::string &name);

// An address of the loopback network for this process alone, so that no other program takes a port of it between its
// choice and its use, and one free port after the other.
std::string ownAddress();
int freePort();

// The environment in which mpirun works in containers and with more ranks than cores, as "NAME=value".
std::vector<std::string> mpirunEnvironment();

} // namespace ppcrt::test
