// Names of chips are checked before LLVM, which would end the program.
// RUN: not ppc-opt %s --ppc-test-kernel-numerics=chip=sm_99 2>&1 | FileCheck %s
// CHECK: error: unknown chip 'sm_99'; PPC compiles for sm_80, sm_90a, sm_100a
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ppc.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
