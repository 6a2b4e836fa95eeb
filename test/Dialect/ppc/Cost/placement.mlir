// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

func.func @placement(%x: tensor<6x4xf32>) {
  // expected-remark @below {{vector: 24 flops, 192 bytes read, 96 written}}
  %0 = ppc.accumulate (%xi = %x) micro_batches(3) : (tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    // expected-remark @below {{none: 0 flops, 0 bytes read, 0 written}}
    ppc.yield %xi : tensor<2x4xf32>
  }
  // expected-remark @below {{none: 0 flops, 0 bytes read, 0 written}}
  %1 = ppc.reshard %x to <[{dp}, {}]> : tensor<6x4xf32>
  // expected-remark @below {{vector: 0 flops, 96 bytes read, 96 written}}
  %2 = ppc.mask_padding %x dim 1 block <[tp], 3> : tensor<6x4xf32>
  return
}
