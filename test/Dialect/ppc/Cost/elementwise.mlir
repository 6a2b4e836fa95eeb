// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

func.func @binary(%a: tensor<4x5xf32>, %b: tensor<4x5xf32>) {
  // expected-remark @below {{vector: 20 flops, 160 bytes read, 80 written}}
  %0 = ppc.add %a, %b : tensor<4x5xf32>
  // expected-remark @below {{vector: 20 flops, 160 bytes read, 80 written}}
  %1 = ppc.sub %a, %b : tensor<4x5xf32>
  // expected-remark @below {{vector: 20 flops, 160 bytes read, 80 written}}
  %2 = ppc.mul %a, %b : tensor<4x5xf32>
  // expected-remark @below {{vector: 20 flops, 160 bytes read, 80 written}}
  %3 = ppc.div %a, %b : tensor<4x5xf32>
  // expected-remark @below {{vector: 180 flops, 160 bytes read, 80 written}}
  %4 = ppc.silu_backward %a, %b : tensor<4x5xf32>
  // expected-remark @below {{vector: 40 flops, 240 bytes read, 80 written}}
  %5 = ppc.sum %a, %b, %a : tensor<4x5xf32>
  return
}

func.func @unary(%a: tensor<5x4xf32>) {
  // expected-remark @below {{vector: 20 flops, 80 bytes read, 80 written}}
  %0 = ppc.neg %a : tensor<5x4xf32>
  // expected-remark @below {{vector: 20 flops, 80 bytes read, 80 written}}
  %1 = ppc.exp %a : tensor<5x4xf32>
  // expected-remark @below {{vector: 20 flops, 80 bytes read, 80 written}}
  %2 = ppc.log %a : tensor<5x4xf32>
  // expected-remark @below {{vector: 20 flops, 80 bytes read, 80 written}}
  %3 = ppc.sqrt %a : tensor<5x4xf32>
  // expected-remark @below {{vector: 40 flops, 80 bytes read, 80 written}}
  %4 = ppc.rsqrt %a : tensor<5x4xf32>
  // expected-remark @below {{vector: 80 flops, 80 bytes read, 80 written}}
  %5 = ppc.sigmoid %a : tensor<5x4xf32>
  // expected-remark @below {{vector: 80 flops, 80 bytes read, 80 written}}
  %6 = ppc.silu %a : tensor<5x4xf32>
  // expected-remark @below {{vector: 20 flops, 80 bytes read, 80 written}}
  %7 = ppc.scale %a by 2.500000e-01 : tensor<5x4xf32>
  // expected-remark @below {{vector: 20 flops, 80 bytes read, 40 written}}
  %8 = ppc.convert %a : tensor<5x4xf32> to tensor<5x4xbf16>
  return
}

func.func @scalars(%a: tensor<f32>, %b: tensor<1x1xf32>) {
  // expected-remark @below {{vector: 1 flops, 8 bytes read, 4 written}}
  %0 = ppc.add %a, %a : tensor<f32>
  // expected-remark @below {{vector: 1 flops, 8 bytes read, 4 written}}
  %1 = ppc.mul %b, %b : tensor<1x1xf32>
  return
}

func.func @constants() {
  // expected-remark @below {{none: 0 flops, 0 bytes read, 0 written}}
  %0 = ppc.constant dense<1.0> : tensor<5x2xf32>
  // expected-remark @below {{none: 0 flops, 0 bytes read, 0 written}}
  %1 = ppc.constant dense<7> : tensor<5xi32>
  // expected-remark @below {{none: 0 flops, 0 bytes read, 0 written}}
  %2 = ppc.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return
}

func.func @gelu(%x: tensor<5x4xf32>) {
  // expected-remark @below {{vector: 180 flops, 80 bytes read, 80 written}}
  %0 = ppc.gelu %x tanh : tensor<5x4xf32>
  // expected-remark @below {{vector: 340 flops, 160 bytes read, 80 written}}
  %1 = ppc.gelu_backward %x, %x : tensor<5x4xf32>
  return
}
