// A plan as a YAML file that users edit, in the compiler's terms: the axes of a mesh, and the shardings over each.
//
//   grid: { dp: 2, tp: 2 }      # outermost first: ranks are numbered so
//   roles: { tp: tensor }       # of axes whose name does not imply it (AxisRole.h)
//   stages: [ 0, 3 ]            # first layer of each stage; 0 is the embedding
//   vp: 1                       # virtual stages per pipeline rank
//   schedule: 1f1b
//   micro_batches: 8
//   dimensions: { batch: [ dp ], ffn: [ tp ], kv_heads: [ tp ], vocab: [ tp ] }
//   parameters:                 # exceptions: per dimension the axes that shard it
//     model.norm.weight: [ [ dp ] ]
//   recompute: { 1-8: full }    # layers: none, selective, full, or names of ops with commas between
//   activations: { sequence: [ tp ] }
//   update: [ dp ]
//   gradients: [ dp ]
//   storage: [ dp ]
//   overlap: on                 # overlap communication with computation: off, or on (default)
//   rotate: on                  # blocks of `storage:` rotate over the ranks: on, or off (default)
//   product_pieces: 4           # matmul chunks that overlap with collectives: off, a number, or auto (default)
//   offload: optimizer          # state in host memory: optimizer, or none (default)
//
// Other sections of a file are `layout:` (LayoutFile.h) and `ops:` (ChainPlanFile.h).
#ifndef PPC_PLANNING_FILES_PLANSECTIONS_H
#define PPC_PLANNING_FILES_PLANSECTIONS_H

#include "ppc/Sharding/AxisRole.h"
#include "ppc/Support/YamlReader.h"
#include "ppc/Target/TargetCapabilities.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace mlir::ppc {

/// The sections as they are written; #ppc.plan documents their meaning.
struct PlanSections {
  using Axes = std::vector<std::string>; // names, major to minor
  struct Axis {
    std::string name;
    int64_t size = 1;
    AxisRole role = AxisRole::Tensor;
  };
  struct DimensionCut {
    std::string dimension;
    Axes axes;
  };
  struct ParameterCut {
    std::string parameter;
    std::vector<Axes> dimensions;
  };
  struct RecomputedLayers {
    std::string layers, what; // "1-8"; a mode, or names of ops with commas between
  };
  std::vector<Axis> grid;
  std::vector<int64_t> stages;
  int64_t vp = 1;
  std::string schedule;
  int64_t microBatches = 1;
  std::vector<DimensionCut> dimensions, activations;
  std::vector<ParameterCut> parameters;
  std::vector<RecomputedLayers> recompute;
  Axes update;
  Axes gradients; // none, or the first of the update
  Axes storage;   // likewise
  bool overlap = true;
  bool rotate = false;
  int64_t productPieces = 0; // 1: whole; 0: by cost
  Offload offload = Offload::None;
};

/// Whether that is a dimension of attention's heads: those of keys and values, or the query heads that share one.
inline bool isHeads(llvm::StringRef dimension) { return dimension == "kv_heads" || dimension == "head_group"; }

/// Facts of the program that a plan is for, as far as they are known.
struct PlannedProgram {
  struct Argument {
    enum Kind { Input, Parameter, Other } kind = Other;
    std::string name;
    std::vector<std::string> dimensions; // dimension names; empty: none are given
    std::vector<int64_t> extents;
  };
  std::vector<Argument> arguments; // empty: nothing is checked against them
  int64_t lastLayer = -1;          // -1: layers are not numbered
  bool hasQueues = false;          // tokens wait for experts in queues, one for each sequence, where some are dropped
  /// Returns why the name of an op in the forward of these layers ("silu", "matmul.3") is invalid; empty: it is valid.
  std::function<std::string(int64_t first, int64_t last, llvm::StringRef op)> lackedOp =
      [](int64_t, int64_t, llvm::StringRef) { return ""; };
};

/// Reads the sections and checks them against each other, the program and the capabilities of the target. Errors:
/// `FILE:LINE:COLUMN: error: ...` with valid values, for parts that could not be compiled or would have no effect.
llvm::Expected<PlanSections> readPlanSections(YamlReader file, const PlannedProgram &program,
                                              const TargetCapabilities &target);

/// auto (0), off (1), or from 2 to limits::productPieces; nothing for other texts. And the text of a number.
std::optional<int64_t> parseProductPieces(llvm::StringRef text);
std::string productPiecesText(int64_t pieces);

void writePlanSections(const PlanSections &plan, llvm::raw_ostream &out);

} // namespace mlir::ppc

#endif // PPC_PLANNING_FILES_PLANSECTIONS_H
