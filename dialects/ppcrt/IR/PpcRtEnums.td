// Enumerations of the runtime dialect. Reductions have the values of the C ABI; names match the manifest.
#ifndef PPCRT_IR_PPCRTENUMS_TD
#define PPCRT_IR_PPCRTENUMS_TD

include "mlir/IR/EnumAttr.td"

class PpcRt_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::ppcrt";
}

def PpcRt_ReductionKindAttr : PpcRt_Enum<"ReductionKind", "reduction of a collective", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Max", 1, "max">]>;

def PpcRt_CollectiveKindAttr : PpcRt_Enum<"CollectiveKind", "kind of a collective", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"AllGather", 1, "all_gather">,
    I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">,
    I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
    I32EnumAttrCase<"RaggedAllToAll", 4, "ragged_all_to_all">,
    I32EnumAttrCase<"Permute", 5, "permute">]>;

def PpcRt_BufferRoleAttr : PpcRt_Enum<"BufferRole", "role of a buffer", [
    I32EnumAttrCase<"Parameter", 0, "parameter">,     // persistent across steps, in checkpoints
    I32EnumAttrCase<"State", 1, "state">,             // optimizer state, likewise
    I32EnumAttrCase<"Gradient", 2, "gradient">,       // zero at the beginning of a step
    I32EnumAttrCase<"Accumulator", 3, "accumulator">, // likewise
    I32EnumAttrCase<"Input", 4, "input">,             // filled by load
    I32EnumAttrCase<"Saved", 5, "saved">,             // written by one routine of a micro-batch, read by another
    I32EnumAttrCase<"Message", 6, "message">,         // filled by a receive
    I32EnumAttrCase<"Scalar", 7, "scalar">,           // set at the beginning of a step
    I32EnumAttrCase<"Metric", 8, "metric">,           // read at the end of a step
    I32EnumAttrCase<"Scratch", 9, "scratch">,         // temporaries of one call of a routine
    I32EnumAttrCase<"Prepared", 10, "prepared">,      // computed once per step: from parameters, or by one part of the update for another
    I32EnumAttrCase<"Gathered", 11, "gathered">]>;    // defined by a gather or a copy, dead after its last reader

def PpcRt_MemoryAttr : PpcRt_Enum<"Memory", "memory of a buffer", [
    I32EnumAttrCase<"Device", 0, "device">,
    I32EnumAttrCase<"Host", 1, "host">]>;

def PpcRt_RoutineKindAttr : PpcRt_Enum<"RoutineKind", "kind of a routine", [
    I32EnumAttrCase<"Prepare", 0, "prepare">,                // once per step, before all micro-batches
    I32EnumAttrCase<"Forward", 1, "forward">,                // per micro-batch
    I32EnumAttrCase<"Backward", 2, "backward">,              // per micro-batch
    I32EnumAttrCase<"WeightGradient", 3, "weight_gradient">, // per micro-batch
    I32EnumAttrCase<"Update", 4, "update">,                  // once per step, after all micro-batches
    I32EnumAttrCase<"Evaluate", 5, "evaluate">]>;            // instead of update, for the loss alone

#endif // PPCRT_IR_PPCRTENUMS_TD
