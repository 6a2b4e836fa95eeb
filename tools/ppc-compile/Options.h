// The command line of ppc-compile.
#ifndef PPC_TOOLS_COMPILE_OPTIONS_H
#define PPC_TOOLS_COMPILE_OPTIONS_H

#include "ppc/Phases/Phases.h"
#include "ppc/Target/Target.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::ppc {

/// Where to stop, in the order of the phases.
enum class Emit { Model, Train, Plan, Spmd, Ledger, Device, Program, LLVM, Ptx, Kernels, Traffic, Object, Executable };

struct CompileOptions {
  std::string model;
  std::optional<std::string> output; // -o, if it is given
  Emit emit = Emit::Executable;

  // Shapes that a config does not say.
  int64_t sequenceLength = 0; // 0: not given
  int64_t globalBatch = 0;
  double expertCapacityFactor = 0; // 0: experts take every token
  bool untrainedPadding = false;   // of the embedding's row of the padding token
  std::string precision = "f32";   // of what products read: f32 or bf16
  bool isPrecisionGiven = false;   // else a plan file may say it

  // The machine, and pins. With ranks or a cluster, what is unset is searched; without, it is 1.
  std::string cluster; // empty: this machine
  double memory = 0;   // bytes per rank; 0: its share of the machine's
  std::optional<int64_t> ranks, dp, cp, tp, tpRows, tpDepth, ep, pp, vp, microBatch, zero, shardGroup, gradientGroup,
      parameterGroup;
  std::string context;   // of cp: all-gather, ulysses; empty: unset
  std::string sp;        // on, off; empty: unset
  bool overlap = true;   // without a plan file, which says it
  bool rotate = false;   // the same
  int64_t pieces = 0;    // of products beside their collectives, 1: whole, 0: by cost; the same
  std::string schedule;  // empty: unset
  std::string recompute; // empty: unset
  std::string offload;   // empty: unset
  std::vector<int64_t> layersPerStage;
  std::string planFile;

  TrainOptions train;
  CodeOptions code;
  const Target *target = nullptr;
  bool check = false;
  int64_t checkSteps = 3;
  bool verify = true; // prove that the partitioned program computes what the logical one does
  bool verbose = false;
  bool profile = false;
  bool explain = false; // print the planner's decisions
};

/// Parses the command line; answers --help and --version. Returns the options, or the exit status.
struct ParsedCommandLine {
  std::unique_ptr<CompileOptions> options;
  int exitStatus = 0;
};
ParsedCommandLine parseCommandLine(int argc, char **argv);

} // namespace mlir::ppc

#endif // PPC_TOOLS_COMPILE_OPTIONS_H
