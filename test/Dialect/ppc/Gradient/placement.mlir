// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @placement(%x: tensor<6x4xf32>) {
  // expected-remark @below {{no gradient: differentiation comes before micro-batching}}
  %0 = ppc.accumulate (%xi = %x) micro_batches(3) : (tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    // expected-remark @below {{no gradient: differentiation comes before micro-batching}}
    ppc.yield %xi : tensor<2x4xf32>
  }
  // expected-remark @below {{no gradient: differentiation comes before planning}}
  %1 = ppc.reshard %x to <[{dp}, {}]> : tensor<6x4xf32>
  // expected-remark @below {{no gradient: differentiation comes before partitioning}}
  %2 = ppc.mask_padding %x dim 1 block <[tp], 3> : tensor<6x4xf32>
  return
}
