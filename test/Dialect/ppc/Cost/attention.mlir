// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

// 64 pairs of query and key in each of 12 heads, 2 matmuls of 2 * 4 flops and 5 more per pair; backward 5 matmuls, and
// 2 flops per element of the output.
func.func @full(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %v: tensor<2x8x2x4xf32>, %lse: tensor<2x8x2x3xf32>) {
  // expected-remark @below {{matrix: 16128 flops, 2560 bytes read, 1920 written}}
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  // expected-remark @below {{matrix: 35328 flops, 6016 bytes read, 2560 written}}
  %1:3 = ppc.attention_backward %q, %k, %v, %q, %lse, %q scale 5.000000e-01 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// With a causal mask 8 * 9 / 2 pairs per head.
func.func @causal(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %v: tensor<2x8x2x4xf32>, %lse: tensor<2x8x2x3xf32>) {
  // expected-remark @below {{matrix: 9072 flops, 2560 bytes read, 1920 written}}
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  // expected-remark @below {{matrix: 20208 flops, 6016 bytes read, 2560 written}}
  %1:3 = ppc.attention_backward %q, %k, %v, %q, %lse, %q scale 5.000000e-01 causal : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// 2 queries see 3 and 4 of 4 keys: 7 pairs in each of 2 heads.
func.func @longer(%q: tensor<1x2x1x2x4xf32>, %k: tensor<1x4x1x4xf32>, %v: tensor<1x4x1x4xf32>) {
  // expected-remark @below {{matrix: 294 flops, 192 bytes read, 80 written}}
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<1x2x1x2x4xf32>, tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32> -> tensor<1x2x1x2x4xf32>, tensor<1x2x1x2xf32>
  return
}

// Keys of 4 and values of 2: 12 flops and 7 (with slopes) per pair. Of 8 keys, 6 queries see 3 of the last ones each: 18
// pairs. With a window of 5, they see 3, 4, 5, 5, 5, 5: 27 pairs.
func.func @window(%q: tensor<1x6x1x1x4xf32>, %k: tensor<1x8x1x4xf32>, %v: tensor<1x8x1x2xf32>, %s: tensor<1x1xf32>) {
  // expected-remark @below {{matrix: 342 flops, 292 bytes read, 72 written}}
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal window 3 slopes %s as tensor<1x1xf32> : tensor<1x6x1x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x2xf32> -> tensor<1x6x1x1x2xf32>, tensor<1x6x1x1xf32>
  // expected-remark @below {{matrix: 459 flops, 288 bytes read, 72 written}}
  %1:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal window 5 : tensor<1x6x1x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x2xf32> -> tensor<1x6x1x1x2xf32>, tensor<1x6x1x1xf32>
  return
}
