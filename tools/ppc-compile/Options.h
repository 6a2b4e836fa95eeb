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
  std::string precision = "f32";   // element type of matmul operands: f32 or bf16
  bool isPrecisionGiven = false;   // else a plan file may say it

  // The machine, and pins. With ranks or a cluster, unset values are searched; without, they are 1.
  std::string cluster; // empty: this machine
  double memory = 0;   // bytes per rank; 0: its share of the machine's
  std::optional<int64_t> ranks, dp, cp, tp, tpRows, tpDepth, ep, pp, vp, microBatch, zero, shardGroup, gradientGroup,
      parameterGroup;
  std::string context;   // kind of cp: all-gather, ulysses; empty: unset
  std::string sp;        // on, off; empty: unset
  bool overlap = true;   // without a plan file, which sets it
  bool rotate = false;   // as `overlap`
  int64_t pieces = 0;    // chunks of matmuls that overlap with their collectives, 1: not chunked, 0: by the cost model;
                         // as `overlap`
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
  bool verify = true; // prove that the partitioned program is equivalent to the logical one
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
