// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

func.func @collective(%x: tensor<4x8xf32>) {
  // expected-remark @below {{network: 32 flops, 128 bytes read, 128 written}}
  %0 = ppc.all_reduce %x over ["tp"] <sum> : tensor<4x8xf32>
  // expected-remark @below {{network: 0 flops, 128 bytes read, 256 written}}
  %1 = ppc.all_gather %x dim 0 over ["tp"] : tensor<4x8xf32> to tensor<8x8xf32>
  // expected-remark @below {{network: 32 flops, 128 bytes read, 64 written}}
  %2 = ppc.reduce_scatter %x dim 0 over ["tp"] <sum> : tensor<4x8xf32> to tensor<2x8xf32>
  // expected-remark @below {{network: 0 flops, 128 bytes read, 128 written}}
  %3 = ppc.all_to_all %x split 0 concat 1 over ["tp"] : tensor<4x8xf32> to tensor<2x16xf32>
  // expected-remark @below {{vector: 0 flops, 64 bytes read, 64 written}}
  %4 = ppc.local_slice %x dim 0 over ["tp"] : tensor<4x8xf32> to tensor<2x8xf32>
  return
}
