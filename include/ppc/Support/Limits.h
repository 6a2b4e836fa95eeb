// The sizes up to which readers, tools and trained programs work, each once. docs/reference/Limits.md lists the same
// numbers with what happens beyond them; a test holds the two equal. Plain numbers and no includes but <cstdint>: the
// runtime, which shares little else with the compiler, reads them too.
#ifndef PPC_SUPPORT_LIMITS_H
#define PPC_SUPPORT_LIMITS_H

#include <cstdint>

namespace mlir::ppc::limits {

// Files.
constexpr int64_t nesting = 64;                       // levels: of brackets, blocks, regions and aliases in a file
constexpr int64_t expandedAliases = int64_t(1) << 24; // characters of MLIR text with its aliases written out
constexpr int64_t yamlBytes = int64_t(4) << 20;       // bytes of a YAML file
constexpr int64_t jsonBytes = int64_t(16) << 20;      // bytes of a config.json
constexpr int64_t moduleBytes = int64_t(256) << 20;   // bytes of a *.mlir
constexpr int64_t tableBytes = int64_t(256) << 20;    // bytes of a CSV table
constexpr int64_t moduleOps = 200'000;                // ops of a model

// Models.
constexpr int64_t layers = 4096;                     // transformer layers
constexpr int64_t modelSize = int64_t(1) << 31;      // any other size in a config.json
constexpr int64_t parameters = int64_t(1) << 60;     // elements of all parameters
constexpr int64_t tensorElements = int64_t(1) << 46; // elements of one tensor
constexpr int64_t dimensions = 64;                   // of one tensor

// Steps and machines.
constexpr int64_t sequenceLength = int64_t(1) << 26; // tokens
constexpr int64_t globalBatch = int64_t(1) << 24;    // sequences
constexpr int64_t devices = int64_t(1) << 20;        // of a cluster, and any degree of parallelism
constexpr int64_t ranks = 16'384;                    // of a program that is compiled and proved
constexpr int64_t startedRanks = 1024;               // of a program that runs
constexpr int64_t benchRanks = 1024;                 // that ppc-bench measures at the same time
constexpr int64_t benchSeconds = 10'000;             // of each measurement
constexpr int64_t benchTokens = int64_t(1) << 26;    // of the steps that ppc-bench compares
constexpr int64_t listedPlans = 1000;                // plans that a search lists
constexpr int64_t productPieces = 64;                // of a product beside its collective
constexpr int64_t memoryGiB = int64_t(1) << 20;      // memory of a device

// Training.
constexpr double capacityFactor = 1024;    // even shares that an expert takes
constexpr double leastEpsilon = 1.2e-38;   // above 0 in 32 bits: of optimizers and clipping
constexpr double learningRate = 3.4e38;    // of a trained program: within 32 bits
constexpr double optimizerConstant = 1e30; // weight decay and norms, within 32 bits
constexpr int64_t checkSteps = 1'000'000;  // training steps that a compilation is checked by

// Words.
constexpr int64_t silentSeconds = 6; // until a tool that still works says what it does

// Budgets.
constexpr double budget = 1e30; // tokens, or dollars per device-hour

// Trained programs.
constexpr int64_t threads = 1024;        // of each rank
constexpr int64_t steps = 1'000'000'000; // optimizer steps, and other counts of steps and batches

} // namespace mlir::ppc::limits

#endif // PPC_SUPPORT_LIMITS_H
