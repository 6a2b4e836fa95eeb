// The passes that `ppc-compile --profile` uses.
#ifndef PPC_TRANSFORMS_PROFILE_PASSES_TD
#define PPC_TRANSFORMS_PROFILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def NameOperationsPass : Pass<"ppc-name-operations", "ModuleOp"> {
  let summary = "keep the name of each op of the model dialect in its location";
  let description = [{
    The location of an op `ppc.rms_norm` becomes `loc("rms_norm")`, the location of a matmul `loc("matmul
    bsd,df->bsf")`. Ops that it is lowered to inherit it, and fused ops have the names of all their parts.
    `ppc-mark-operations` reads them.
  }];
}

def MarkOperationsPass : Pass<"ppc-mark-operations", "ModuleOp"> {
  let summary = "record in the program which operation runs";
  let description = [{
    Before each loop nest, call of a library, collective and copy on buffers, a call `ppcrt_profile(number)` says that operation
    `number` begins; -1, after calls and at the end of a function, that none does.

    Requires: buffers (the end of the device phase).
    Guarantees: the module attribute `ppc.operations` has, for each number, `{name, flops, bytes}`: the function's
    action, the names that `ppc-name-operations` stored and, for matmuls, their size; floating-point operations of one
    execution, where an exponential counts as one; bytes that it reads and writes if each buffer moves once.
  }];
  let dependentDialects = ["func::FuncDialect", "arith::ArithDialect"];
}

#endif // PPC_TRANSFORMS_PROFILE_PASSES_TD
