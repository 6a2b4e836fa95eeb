// Passes that verify the contracts between phases; they change nothing.
#ifndef PPC_TRANSFORMS_CONTRACTS_PASSES_TD
#define PPC_TRANSFORMS_CONTRACTS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyModelPass : Pass<"ppc-verify-model", "mlir::ModuleOp"> {
  let summary = "check that the module is a logical program, with no devices in it";
  let description = [{
    The contract after import and after train: functions contain `ppc` and `func` ops only, on statically shaped
    tensors; no collective, no `ppc.reshard` and no op that is bound to a block of a sharded dimension; every argument
    has a role (`ppc.input`, `ppc.parameter`, `ppc.state` or `ppc.scalar`), no two parameters have one name, `ppc.dims`
    has one name per dimension. The program is not changed; each violation is an error on the op at fault.
  }];
}

def VerifyPlannedPass : Pass<"ppc-verify-planned", "mlir::ModuleOp"> {
  let summary = "check that the plan gives every value a legal sharding and stage";
  let description = [{
    The contract after plan: the module has `ppc.plan`; every tensor argument and result of a function has a
    `ppc.sharding` and every op `ppc.shardings`, each with one list of axes per dimension, on axes of the mesh, with at
    most as many blocks as elements, arguments and results not partial; `ppc.factors` of every op is legal for its
    sharding rule, and the shardings of its results follow from the factors, except for partial axes; an op of a layer
    has the `ppc.stage` of that layer. The program is not changed; each violation is an error on the op at fault.
  }];
}

def VerifySpmdPass : Pass<"ppc-verify-spmd", "mlir::ModuleOp"> {
  let summary = "check that the module is the program of one rank";
  let description = [{
    The contract after partition (before stages are split): no `ppc.reshard` and no sharding annotation on ops is left;
    the axes of every collective, block and mask are axes of the plan's mesh and larger than one, and the local extents
    of a collective fit the number of devices in its group; every tensor argument and result of a function has
    `ppc.sharding`, not partial, and `ppc.logical_type`, of which its type is one block. The program is not changed;
    each violation is an error on the op at fault.
  }];
}

def VerifyProgramPass : Pass<"ppc-verify-program", "mlir::ModuleOp"> {
  let summary = "check that the programs of all devices fit together, without deadlocks and races";
  let description = [{
    The contract at the end of partition, for the step and for the evaluation. C1: the code of each routine takes and
    returns the types of its buffers, and finishes early with the buffers in its `early`. C2: routines of the step run
    in the step, routines of the evaluation in the evaluation. C3: a device runs the routines of each kind and chunk
    once for each micro-batch of its copy of the model, or once for the whole step. C4: every message is sent and
    received, once for each such micro-batch.

    The remaining constraints are about time: streams run concurrently unless tokens, messages and collectives order
    them, and a send synchronizes with its receive, whatever a transport buffers. C5: groups have all ranks of the
    device as members, and members issue the same ops on a group, in one order. C6: no deadlock: there is an order of
    all actions of all devices in which each comes after the actions that it waits for, also when each device runs
    collectives in the order in which it issues them. C7: of two uses of a slot, one of them a write, one has completed
    when the other starts; a value that is read was written in this step, for the same micro-batch, or is stored before
    the step; sums of micro-batches are complete when actions of the whole step use them.

    The program is not changed; a violation is an error at the op, with a note where the other end is; of a circle of waits at each of them.
  }];
}

def VerifyEquivalencePass : Pass<"ppc-verify-equivalence", "mlir::ModuleOp"> {
  let summary = "prove that the partitioned program is equivalent to the logical program";
  let description = [{
    Derives for every value of the partitioned program its relation to a value of the logical program on every rank: a
    block along mesh axes, a partial sum, replicated, of one micro-batch or summed over all. Passes when every loss,
    norm, gradient, updated parameter and optimizer state matches the declaration of its buffer, up to the order of
    sums. Uses no sharding rule, plan or annotation but the declared layouts of inputs and outputs
    (docs/internals/Equivalence.md).

    Requires: a module as the partition phase leaves it, or before ppc-split-stages; the logical program, as the train phase
    leaves it, in the file `logical` or in a nested module @logical. The program is not changed. Errors are on the op that
    first breaks the relation, or name the output that is not as declared, with what was expected and what was found.
  }];
  let options = [Option<"logical", "logical", "std::string", "",
                        "file with the logical program; default: the nested module @logical">];
  let dependentDialects = ["::mlir::ppc::PpcDialect", "::mlir::func::FuncDialect"];
}

def VerifyDevicePass : Pass<"ppc-verify-device", "mlir::ModuleOp"> {
  let summary = "Check that every value has an offset or a slot";
  let description = [{
    The contract at the end of the device phase. C1: no tensor is left. C2: nothing is allocated. C3: no op of the model
    dialect is left; the error names the op that has no code for the target. C4: functions have no results and are one
    block. C5: the last argument of each function with `ppcrt.routine` is its scratch, which is bytes. C6: the operands
    of `ppcrt.call` have the types that its callee takes.
  }];
}

def VerifyArenaPass : Pass<"ppc-verify-arena", "mlir::ModuleOp"> {
  let summary = "check that only buffers with disjoint lifetimes share bytes";
  let description = [{
    Trusts no pass that assigned memory: it reads only the offsets and the happens-before relation
    (docs/internals/Program.md). For the step and the evaluation, byte by byte of each device's arena. C1: buffers are
    inside the arena, with all their slots. C2: the buffers that hold the state at the start of a step (parameters,
    states, scalars, sums) are disjoint. C3: of two uses of a byte, one of them a write, one has completed when the
    other starts, whichever buffers they belong to. C4: bytes that are read were not overwritten by another buffer, or
    for another micro-batch. C5: persistent buffers (parameters, states, metrics) are intact at the end. C6: in the code
    of functions, no temporary uses bytes of another one between that one's first and last use; a buffer in flight is in
    use until the wait. C7: the source of communication in flight is not written meanwhile, its destination not used at
    all.

    Requires: offsets in functions (`ppc-assign-offsets`) and, if there is a program, in the arena (`ppc-assign-arena`). The program is not
    changed. Errors are at the op that uses the bytes, with a note at the other one.
  }];
}

#endif // PPC_TRANSFORMS_CONTRACTS_PASSES_TD
