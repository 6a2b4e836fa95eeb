// RUN: ppc-opt %s --ppc-to-ppc-rt --verify-diagnostics

func.func @product(%x: tensor<4x8xf16>, %w: tensor<8x2xf16>) -> tensor<4x2xf16> {
  // expected-error @below {{cannot run on the host in 'f16'; f32, f64 and bf16 can}}
  %y = ppc.matmul "mk,kn->mn" %x, %w : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
  return %y : tensor<4x2xf16>
}
func.func @attention(%q: tensor<1x4x1x2x8xf16>, %k: tensor<1x4x1x8xf16>) -> tensor<1x4x1x2x8xf16> {
  // expected-error @below {{cannot run on the host in 'f16'; f32, f64 and bf16 can}}
  %out, %lse = ppc.attention %q, %k, %k scale 5.0e-01 causal : tensor<1x4x1x2x8xf16>, tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16> -> tensor<1x4x1x2x8xf16>, tensor<1x4x1x2xf32>
  return %out : tensor<1x4x1x2x8xf16>
}
