// Each sharding rule: the op, sharded by it in every way, computes the same as the unsharded op.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @transpose(%x: tensor<4x3x5xf32>) {
  // expected-remark @below {{([d0, d1, d2]) -> ([d2, d0, d1]), 15 cuts}}
  %0 = ppc.transpose %x by [2, 0, 1] : tensor<4x3x5xf32> to tensor<5x4x3xf32>
  return
}

func.func @reshape(%x: tensor<4x1x3x5xf32>, %y: tensor<6x5xf32>) {
  // expected-remark @below {{([d0, 1, d1, d2]) -> ([d0, d1, d2]), 15 cuts}}
  %0 = ppc.reshape %x : tensor<4x1x3x5xf32> to tensor<4x3x5xf32>
  // expected-remark @below {{([1, d0]) -> ([1, 1, d0]), 3 cuts}}
  %1 = ppc.reshape %y : tensor<6x5xf32> to tensor<2x3x5xf32>
  // expected-remark @below {{([1, 1]) -> ([1]), 0 cuts}}
  %2 = ppc.reshape %y : tensor<6x5xf32> to tensor<30xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1, 1]), 8 cuts}}
  %3 = ppc.reshape %y : tensor<6x5xf32> to tensor<6x5x1xf32>
  // expected-remark @below {{([d0, d1, d2, d3]) -> ([d0, d1, 1, d2, d3]), 24 cuts}}
  %4 = ppc.reshape %x : tensor<4x1x3x5xf32> to tensor<4x1x1x3x5xf32>
  return
}

func.func @broadcast(%x: tensor<5x2xf32>, %s: tensor<f32>) {
  // expected-remark @below {{([d0, d2]) -> ([d0, d1, d2]), 15 cuts}}
  %0 = ppc.broadcast %x dims [1] : tensor<5x2xf32> to tensor<5x3x2xf32>
  // expected-remark @below {{([]) -> ([d0, d1]), 8 cuts}}
  %1 = ppc.broadcast %s dims [0, 1] : tensor<f32> to tensor<5x3xf32>
  return
}

func.func @parts(%x: tensor<5x4x3xf32>, %a: tensor<5x1x3xf32>) {
  // expected-remark @below {{([d0, 1, d2]) -> ([d0, 1, d2], [d0, 1, d2]), 8 cuts}}
  %0:2 = ppc.split %x dim 1 : tensor<5x4x3xf32> to tensor<5x3x3xf32>, tensor<5x1x3xf32>
  // expected-remark @below {{([d0, 1, d2], [d0, 1, d2]) -> ([d0, 1, d2]), 8 cuts}}
  %1 = ppc.concat %x, %a dim 1 : tensor<5x4x3xf32>, tensor<5x1x3xf32> to tensor<5x5x3xf32>
  return
}
