// The decisions of a layout, each once: names in files and options, and descriptions for users. The enum and the table
// in C++ (PlanKeys.h) are generated from here, and so are options of passes and of programs.
#ifndef PPC_PLANNING_PLANKEYS_TD
#define PPC_PLANNING_PLANKEYS_TD

include "llvm/TableGen/SearchableTable.td"
include "mlir/IR/EnumAttr.td"

// `values`: values of --KEY; empty: only --pin can set it.
class PlanKey<string symbol, int number, string spelling, string values, string help> : I32EnumCase<symbol, number, spelling> {
  bits<8> Number = number;
  string Spelling = spelling;
  string Option = !subst("_", "-", spelling);
  string Values = values;
  string Help = help;
}

def PlanKeyDevices : PlanKey<"Devices", 0, "devices", "", "Devices to use: all, or fewer where nothing else divides">;
def PlanKeyDp : PlanKey<"Dp", 1, "dp", "N", "Data-parallel degree: parts of the batch">;
def PlanKeyTp : PlanKey<"Tp", 2, "tp", "N", "Tensor-parallel degree: parts of each layer">;
def PlanKeyPp : PlanKey<"Pp", 3, "pp", "N", "Pipeline-parallel degree: stages that layers are partitioned into">;
def PlanKeyVp : PlanKey<"Vp", 4, "vp", "N", "Virtual stages per pipeline rank">;
def PlanKeyCp : PlanKey<"Cp", 5, "cp", "N", "Context-parallel degree: parts of each sequence">;
def PlanKeyEp : PlanKey<"Ep", 6, "ep", "N", "Expert-parallel degree: parts of the experts of a layer">;
def PlanKeyEtp : PlanKey<"Etp", 7, "etp", "N", "Tensor-parallel degree inside an expert">;
def PlanKeySequenceParallel
    : PlanKey<"SequenceParallel", 8, "sp", "on|off",
              "Sequence parallelism: activations between tensor-parallel regions are sharded along the sequence over tp">;
def PlanKeyZero
    : PlanKey<"Zero", 9, "zero", "0|1|2|3",
              "ZeRO stage, sharded over data-parallel ranks: 1 optimizer state, 2 also gradients, 3 also parameters">;
def PlanKeyShardGroup
    : PlanKey<"ShardGroup", 10, "shard_group", "N", "Ranks of a shard group: data-parallel ranks with one sharded copy of the state">;
def PlanKeyMicroBatch
    : PlanKey<"MicroBatch", 11, "micro_batch", "N", "Sequences per micro-batch and data-parallel rank">;
def PlanKeySchedule
    : PlanKey<"Schedule", 12, "schedule", "name", "Pipeline schedule: gpipe, 1f1b, interleaved, zb1p, zbv, ...">;
def PlanKeyRecompute
    : PlanKey<"Recompute", 13, "recompute", "none|selective|full|auto",
              "Recomputation in backward: none, selective (attention), full (all ops of a layer)">;
def PlanKeyRecomputedLayers
    : PlanKey<"RecomputedLayers", 14, "recomputed_layers", "", "Layers of each virtual stage that full recomputation is for">;
def PlanKeyOffload
    : PlanKey<"Offload", 15, "offload", "none|optimizer|activations|...|auto",
              "What lives in host memory between its uses: optimizer, activations, parameters, or several with + between them">;
def PlanKeyPrecision
    : PlanKey<"Precision", 16, "precision", "f32|bf16|fp16|fp8|...", "Element type of matmuls (bf16; on the host f32)">;
def PlanKeyContext
    : PlanKey<"Context", 17, "context", "", "Algorithm of attention over context-parallel ranks">;
def PlanKeyAttention
    : PlanKey<"Attention", 18, "attention", "unfused|flash1|flash2|flash3|...",
              "Attention kernel (the best of stack and device)">;
def PlanKeyTpRows
    : PlanKey<"TpRows", 19, "tp_rows", "N",
              "Tensor-parallel ranks that shard the hidden features (2D); the others are column- and row-parallel">;
def PlanKeyTpDepth
    : PlanKey<"TpDepth", 20, "tp_depth", "N",
              "Tensor-parallel ranks that also shard each sequence between matmuls (3D)">;
def PlanKeyGradientGroup
    : PlanKey<"GradientGroup", 21, "gradient_group", "N",
              "Ranks of a shard group over which accumulated gradients are sharded (zero 2, 3); 1: not sharded, reduced once per step">;
def PlanKeyParameterGroup
    : PlanKey<"ParameterGroup", 22, "parameter_group", "N",
              "Ranks of a shard group over which parameters are sharded between uses (zero 3)">;

def Ppc_PlanKey : I32Enum<"PlanKey", "the decisions of a layout", [
    PlanKeyDevices, PlanKeyDp, PlanKeyTp, PlanKeyPp, PlanKeyVp, PlanKeyCp, PlanKeyEp, PlanKeyEtp, PlanKeySequenceParallel,
    PlanKeyZero, PlanKeyShardGroup, PlanKeyMicroBatch, PlanKeySchedule, PlanKeyRecompute, PlanKeyRecomputedLayers,
    PlanKeyOffload, PlanKeyPrecision, PlanKeyContext, PlanKeyAttention, PlanKeyTpRows, PlanKeyTpDepth, PlanKeyGradientGroup,
    PlanKeyParameterGroup]> {
  let cppNamespace = "::mlir::ppc";
}

def PlanKeyTable : GenericTable {
  let FilterClass = "PlanKey";
  let CppTypeName = "PlanKeyInfo";
  let Fields = ["Number", "Spelling", "Option", "Values", "Help"];
  let PrimaryKey = ["Number"];
  let PrimaryKeyName = "findPlanKeyInfo";
}

#endif // PPC_PLANNING_PLANKEYS_TD
