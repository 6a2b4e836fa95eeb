// The phases of compilation: each is a pass pipeline that ends in a verify pass (docs/internals/Architecture.md has the
// contracts).
#ifndef PPC_PHASES_PHASES_H
#define PPC_PHASES_PHASES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include <string>

namespace mlir::ppc {

/// The optimizer's constants; settings that can change while training (learning rate, steps) belong to the executable.
struct TrainOptions : PassPipelineOptions<TrainOptions> {
  Option<int64_t> microBatches{*this, "micro-batches", llvm::cl::desc("micro-batches per step; 0: as ppc.plan says"),
                               llvm::cl::init(0)};
  Option<double> beta1{*this, "beta1", llvm::cl::desc("AdamW: decay of the first moment"), llvm::cl::init(0.9)};
  Option<double> beta2{*this, "beta2", llvm::cl::desc("AdamW: decay of the second moment"), llvm::cl::init(0.95)};
  Option<double> epsilon{*this, "epsilon", llvm::cl::desc("AdamW: added to the root of the second moment"),
                         llvm::cl::init(1e-8)};
  Option<double> weightDecay{*this, "weight-decay", llvm::cl::desc("AdamW: decoupled weight decay"),
                             llvm::cl::init(0.1)};
  Option<double> maxNorm{*this, "max-norm", llvm::cl::desc("clip gradients to this global norm; 0: no clipping"),
                         llvm::cl::init(1.0)};
};

/// import: makes a logical model of the importer's or a user's module. `precision`: element type of matmul operands,
/// f32 (as it is) or bf16.
void buildImportPhase(OpPassManager &pm, StringRef precision = "f32");
/// import -> train: backward, micro-batches, optimizer; still logical.
void buildTrainPhase(OpPassManager &pm, const TrainOptions &options);
/// train -> plan: `#ppc.plan` applied, a sharding on every value, stages on every op.
void buildPlanPhase(OpPassManager &pm);
/// plan -> partition: one program per stage, local shapes, explicit collectives, sends and receives. `bytesNotToKeep`:
/// per stage, bytes per micro-batch to save less from forward to backward than the plan does; empty: the plan as it is.
/// `overlap`: communication overlaps with computation if the cost model for `cluster`, as findCluster takes it (empty:
/// this machine), predicts a speedup.
void buildPartitionPhase(OpPassManager &pm, ArrayRef<int64_t> bytesNotToKeep = {}, bool overlap = false,
                         StringRef cluster = "");

/// Registers `ppc-phase-*` for textual pipelines.
void registerPpcPhases();

} // namespace mlir::ppc

#endif // PPC_PHASES_PHASES_H
