// Every registered op stands in ops.mlir and answers each interface, by a method that works or by a reason.
// RUN: ppc-opt %S/ops.mlir --test-ppc-silent-ops -o /dev/null | FileCheck %s
// CHECK: ops speak

// An op that is not shown is noticed.
// RUN: not ppc-opt %s --test-ppc-silent-ops -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: no ppc.adamw in this module, which shows every op of the dialect
