// A plan as a YAML file that people edit, in the compiler's terms: axes of ranks, and what each cuts.
//
//   grid: { dp: 2, tp: 2 }      # outermost first: ranks are numbered so
//   roles: { tp: tensor }       # of axes whose name does not say it (AxisRole.h)
//   stages: [ 0, 3 ]            # first layer of each stage; 0 is the embedding
//   vp: 1                       # virtual stages per pipeline device
//   schedule: 1f1b
//   micro_batches: 8
//   dimensions: { batch: [ dp ], ffn: [ tp ], kv_heads: [ tp ], vocab: [ tp ] }
//   parameters:                 # exceptions: per dimension the axes that cut it
//     model.norm.weight: [ [ dp ] ]
//   recompute: { 1-8: full }    # layers: none, selective, full, or names of ops with commas between
//   activations: { sequence: [ tp ] }
//   update: [ dp ]
//   gradients: [ dp ]
//   storage: [ dp ]
//   overlap: on                 # communication beside computation: off, or on (where it is not said)
//   rotate: on                  # blocks of `storage:` go round the ranks: on, or off (where it is not said)
//   product_pieces: 4           # products beside their collectives: off, a number, or auto (where it is not said)
//   offload: optimizer          # what lies in the memory of the host: optimizer, or none (where it is not said)
//
// Other sections of a file are `layout:` (LayoutFile.h) and `ops:` (ChainPlanFile.h).
#ifndef PPC_PLANNING_FILES_PLANSECTIONS_H
#define PPC_PLANNING_FILES_PLANSECTIONS_H

#include "ppc/Sharding/AxisRole.h"
#include "ppc/Support/YamlReader.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace mlir::ppc {

/// The sections as they are written; what each means is said at #ppc.plan.
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

/// What a plan is for, as far as it is known.
struct PlannedProgram {
  struct Argument {
    enum Kind { Input, Parameter, Other } kind = Other;
    std::string name;
    std::vector<std::string> dimensions; // names; empty: none are said
    std::vector<int64_t> extents;
  };
  std::vector<Argument> arguments; // empty: nothing is checked against them
  int64_t lastLayer = -1;          // -1: layers are not numbered
  bool hasQueues = false;          // tokens wait for experts in queues, one for each sequence, where some are dropped
  /// What is wrong with the name of an op in the forward of these layers ("silu", "matmul.3"); empty: nothing.
  std::function<std::string(int64_t first, int64_t last, llvm::StringRef op)> lackedOp =
      [](int64_t, int64_t, llvm::StringRef) { return ""; };
};

/// Reads the sections and checks them against each other, the program and what the target runs. Errors:
/// `FILE:LINE:COLUMN: error: ...` with what would be right, for whatever could not be compiled or would mean nothing.
llvm::Expected<PlanSections> readPlanSections(YamlReader file, const PlannedProgram &program,
                                              const TargetCapabilities &target);

/// auto (0), off (1), or from 2 to limits::productPieces; nothing for other texts. And the text of a number.
std::optional<int64_t> parseProductPieces(llvm::StringRef text);
std::string productPiecesText(int64_t pieces);

void writePlanSections(const PlanSections &plan, llvm::raw_ostream &out);

} // namespace mlir::ppc

#endif // PPC_PLANNING_FILES_PLANSECTIONS_H
