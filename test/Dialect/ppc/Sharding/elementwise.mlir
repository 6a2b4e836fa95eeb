// Each sharding rule: the op, sharded by it in every way, computes the same as the unsharded op.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @binary(%a: tensor<4x5xf32>, %b: tensor<4x5xf32>) {
  // expected-remark @below {{([d0, d1], [d0, d1]) -> ([d0, d1]), 8 cuts}}
  %0 = ppc.add %a, %b : tensor<4x5xf32>
  // expected-remark @below {{([d0, d1], [d0, d1]) -> ([d0, d1]), 8 cuts}}
  %1 = ppc.sub %a, %b : tensor<4x5xf32>
  // expected-remark @below {{([d0, d1], [d0, d1]) -> ([d0, d1]), 8 cuts}}
  %2 = ppc.mul %a, %b : tensor<4x5xf32>
  // expected-remark @below {{([d0, d1], [d0, d1]) -> ([d0, d1]), 8 cuts}}
  %3 = ppc.div %a, %b : tensor<4x5xf32>
  // expected-remark @below {{([d0, d1], [d0, d1]) -> ([d0, d1]), 8 cuts}}
  %4 = ppc.silu_backward %a, %b : tensor<4x5xf32>
  // expected-remark @below {{([d0, d1], [d0, d1], [d0, d1]) -> ([d0, d1]), 8 cuts}}
  %5 = ppc.sum %a, %b, %a : tensor<4x5xf32>
  // expected-remark @below {{([d0, d1], [d0, d1]) -> ([d0, d1]), 8 cuts}}
  %6 = ppc.gelu_backward %a, %b : tensor<4x5xf32>
  return
}

func.func @unary(%a: tensor<5x4xf32>) {
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %0 = ppc.neg %a : tensor<5x4xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %1 = ppc.exp %a : tensor<5x4xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %2 = ppc.log %a : tensor<5x4xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %3 = ppc.sqrt %a : tensor<5x4xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %4 = ppc.rsqrt %a : tensor<5x4xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %5 = ppc.sigmoid %a : tensor<5x4xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %6 = ppc.silu %a : tensor<5x4xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %7 = ppc.scale %a by 2.500000e-01 : tensor<5x4xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %8 = ppc.convert %a : tensor<5x4xf32> to tensor<5x4xbf16>
  // Widening changes no number, so partial sums pass.
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %10 = ppc.convert %8 : tensor<5x4xbf16> to tensor<5x4xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]), 8 cuts}}
  %9 = ppc.gelu %a : tensor<5x4xf32>
  return
}

func.func @scalars(%a: tensor<f32>, %b: tensor<1x1xf32>) {
  // expected-remark @below {{([], []) -> ([]), 0 cuts}}
  %0 = ppc.add %a, %a : tensor<f32>
  // expected-remark @below {{([d0, d1], [d0, d1]) -> ([d0, d1]), 8 cuts}}
  %1 = ppc.mul %b, %b : tensor<1x1xf32>
  return
}

func.func @constants() {
  // expected-remark @below {{() -> ([d0, d1]), 8 cuts}}
  %0 = ppc.constant dense<1.0> : tensor<5x2xf32>
  // expected-remark @below {{() -> ([d0]), 3 cuts}}
  %1 = ppc.constant dense<7> : tensor<5xi32>
  // expected-remark @below {{none: the elements of a constant differ}}
  %2 = ppc.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return
}
