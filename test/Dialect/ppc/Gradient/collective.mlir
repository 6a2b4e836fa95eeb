// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @collective(%x: tensor<4x8xf32>) {
  // expected-remark @below {{no gradient: differentiation comes before partitioning}}
  %0 = ppc.all_reduce %x over ["tp"] <sum> : tensor<4x8xf32>
  // expected-remark @below {{no gradient: differentiation comes before partitioning}}
  %1 = ppc.all_gather %x dim 0 over ["tp"] : tensor<4x8xf32> to tensor<8x8xf32>
  // expected-remark @below {{no gradient: differentiation comes before partitioning}}
  %2 = ppc.reduce_scatter %x dim 0 over ["tp"] <sum> : tensor<4x8xf32> to tensor<2x8xf32>
  // expected-remark @below {{no gradient: differentiation comes before partitioning}}
  %3 = ppc.all_to_all %x split 0 concat 1 over ["tp"] : tensor<4x8xf32> to tensor<2x16xf32>
  // expected-remark @below {{no gradient: differentiation comes before partitioning}}
  %4 = ppc.local_slice %x dim 0 over ["tp"] : tensor<4x8xf32> to tensor<2x8xf32>
  return
}
