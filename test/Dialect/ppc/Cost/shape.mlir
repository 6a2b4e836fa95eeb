// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

func.func @transpose(%x: tensor<4x3x5xf32>) {
  // expected-remark @below {{vector: 0 flops, 240 bytes read, 240 written}}
  %0 = ppc.transpose %x by [2, 0, 1] : tensor<4x3x5xf32> to tensor<5x4x3xf32>
  return
}

func.func @reshape(%x: tensor<4x1x3x5xf32>, %y: tensor<6x5xf32>) {
  // expected-remark @below {{none: 0 flops, 0 bytes read, 0 written}}
  %0 = ppc.reshape %x : tensor<4x1x3x5xf32> to tensor<4x3x5xf32>
  // expected-remark @below {{none: 0 flops, 0 bytes read, 0 written}}
  %1 = ppc.reshape %y : tensor<6x5xf32> to tensor<2x3x5xf32>
  // expected-remark @below {{none: 0 flops, 0 bytes read, 0 written}}
  %2 = ppc.reshape %y : tensor<6x5xf32> to tensor<30xf32>
  // expected-remark @below {{none: 0 flops, 0 bytes read, 0 written}}
  %3 = ppc.reshape %y : tensor<6x5xf32> to tensor<6x5x1xf32>
  return
}

func.func @broadcast(%x: tensor<5x2xf32>, %s: tensor<f32>) {
  // expected-remark @below {{vector: 0 flops, 40 bytes read, 120 written}}
  %0 = ppc.broadcast %x dims [1] : tensor<5x2xf32> to tensor<5x3x2xf32>
  // expected-remark @below {{vector: 0 flops, 4 bytes read, 60 written}}
  %1 = ppc.broadcast %s dims [0, 1] : tensor<f32> to tensor<5x3xf32>
  return
}

func.func @parts(%x: tensor<5x4x3xf32>, %a: tensor<5x1x3xf32>) {
  // expected-remark @below {{vector: 0 flops, 240 bytes read, 240 written}}
  %0:2 = ppc.split %x dim 1 : tensor<5x4x3xf32> to tensor<5x3x3xf32>, tensor<5x1x3xf32>
  // expected-remark @below {{vector: 0 flops, 300 bytes read, 300 written}}
  %1 = ppc.concat %x, %a dim 1 : tensor<5x4x3xf32>, tensor<5x1x3xf32> to tensor<5x5x3xf32>
  return
}
