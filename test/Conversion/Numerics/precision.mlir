// RUN: ppc-opt %s --ppc-test-host-numerics -o /dev/null | FileCheck %s

// Values of 16 bits: loops compute in f32 and round once when they store; sums and matmuls are in f32.
// CHECK: @convert agrees
// CHECK: @no_numbers agrees
// CHECK: @elementwise agrees
// CHECK: @chain agrees
// CHECK: @shapes agrees
// CHECK: @rotary agrees
// CHECK: @interleaved agrees
// CHECK: @partial_rotary agrees
// CHECK: @product agrees
// CHECK: @rounded_product agrees
// CHECK: @norms agrees
// CHECK: @norm_gradients agrees
// CHECK: @sums agrees
// CHECK: @causal agrees
// CHECK: @alibi agrees
// CHECK: @narrow_rows agrees
// CHECK: @embedding agrees

func.func @convert(%x: tensor<5x3xf32>, %y: tensor<7xbf16>) -> (tensor<5x3xbf16>, tensor<7xf32>) {
  %0 = ppc.convert %x : tensor<5x3xf32> to tensor<5x3xbf16>
  %1 = ppc.convert %y : tensor<7xbf16> to tensor<7xf32>
  return %0, %1 : tensor<5x3xbf16>, tensor<7xf32>
}
// NaN stays NaN: also where adding to its bits would carry into the sign.
func.func @no_numbers(%x: tensor<37xf32> {test.value = 0x7FFFFFFF : f32}, %y: tensor<37xf32> {test.value = 0xFFFFFFFF : f32}, %z: tensor<37xf32> {test.value = 0xFFC00001 : f32}, %inf: tensor<37xf32> {test.value = 0x7F800000 : f32}) -> (tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>) {
  %0 = ppc.convert %x : tensor<37xf32> to tensor<37xbf16>
  %1 = ppc.convert %y : tensor<37xf32> to tensor<37xbf16>
  %2 = ppc.convert %z : tensor<37xf32> to tensor<37xbf16>
  %3 = ppc.convert %inf : tensor<37xf32> to tensor<37xbf16>
  return %0, %1, %2, %3 : tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>
}
func.func @elementwise(%x: tensor<37xbf16>, %y: tensor<37xbf16>) -> (tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>) {
  %0 = ppc.silu %x : tensor<37xbf16>
  %1 = ppc.silu_backward %x, %y : tensor<37xbf16>
  %2 = ppc.gelu %x : tensor<37xbf16>
  %3 = ppc.gelu_backward %x, %y tanh : tensor<37xbf16>
  %4 = ppc.mul %x, %y : tensor<37xbf16>
  %5 = ppc.scale %x by 3.3 : tensor<37xbf16>
  return %0, %1, %2, %3, %4, %5 : tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>, tensor<37xbf16>
}
func.func @chain(%x: tensor<37xbf16>, %y: tensor<37xbf16>) -> tensor<37xbf16> attributes {test.rounding = 8.0e-3 : f64} {
  %0 = ppc.silu %x : tensor<37xbf16>
  %1 = ppc.mul %0, %y : tensor<37xbf16>
  return %1 : tensor<37xbf16>
}
func.func @shapes(%x: tensor<4x6xbf16>) -> (tensor<6x4xbf16>, tensor<24xbf16>, tensor<4x2xbf16>, tensor<4x4xbf16>, tensor<4x6xbf16>, tensor<3x4x6xbf16>) {
  %0 = ppc.transpose %x by [1, 0] : tensor<4x6xbf16> to tensor<6x4xbf16>
  %1 = ppc.reshape %x : tensor<4x6xbf16> to tensor<24xbf16>
  %2, %5 = ppc.split %x dim 1 : tensor<4x6xbf16> to tensor<4x2xbf16>, tensor<4x4xbf16>
  %3 = ppc.concat %5, %2 dim 1 : tensor<4x4xbf16>, tensor<4x2xbf16> to tensor<4x6xbf16>
  %4 = ppc.broadcast %x dims [0] : tensor<4x6xbf16> to tensor<3x4x6xbf16>
  return %0, %1, %2, %5, %3, %4 : tensor<6x4xbf16>, tensor<24xbf16>, tensor<4x2xbf16>, tensor<4x4xbf16>, tensor<4x6xbf16>, tensor<3x4x6xbf16>
}
func.func @rotary(%x: tensor<2x5x3x4xbf16>) -> (tensor<2x5x3x4xbf16>, tensor<2x5x3x4xbf16>) {
  %0 = ppc.rotary %x frequencies [1.0, 0.01] : tensor<2x5x3x4xbf16>
  %1 = ppc.rotary %x frequencies [1.0, 0.01] inverse : tensor<2x5x3x4xbf16>
  return %0, %1 : tensor<2x5x3x4xbf16>, tensor<2x5x3x4xbf16>
}
func.func @interleaved(%x: tensor<2x5x3x4xbf16>) -> tensor<2x5x3x4xbf16> {
  %0 = ppc.rotary %x frequencies [1.0, 0.01] interleaved : tensor<2x5x3x4xbf16>
  return %0 : tensor<2x5x3x4xbf16>
}
func.func @partial_rotary(%x: tensor<2x5x3x6xbf16>) -> tensor<2x5x3x6xbf16> {
  %0 = ppc.rotary %x frequencies [1.0, 0.01] offset 2 : tensor<2x5x3x6xbf16>
  return %0 : tensor<2x5x3x6xbf16>
}
func.func @product(%x: tensor<2x5x6xbf16>, %w: tensor<2x3x4x6xbf16>, %dy: tensor<2x5x2x3x4xbf16>) -> (tensor<2x5x2x3x4xf32>, tensor<2x5x6xf32>, tensor<2x3x4x6xf32>) {
  %0 = ppc.matmul "bsh,kgdh->bskgd" %x, %w : (tensor<2x5x6xbf16>, tensor<2x3x4x6xbf16>) -> tensor<2x5x2x3x4xf32>
  %1 = ppc.matmul "bskgd,kgdh->bsh" %dy, %w : (tensor<2x5x2x3x4xbf16>, tensor<2x3x4x6xbf16>) -> tensor<2x5x6xf32>
  %2 = ppc.matmul "bskgd,bsh->kgdh" %dy, %x : (tensor<2x5x2x3x4xbf16>, tensor<2x5x6xbf16>) -> tensor<2x3x4x6xf32>
  return %0, %1, %2 : tensor<2x5x2x3x4xf32>, tensor<2x5x6xf32>, tensor<2x3x4x6xf32>
}
// Rounded as it is stored, whether the rounding is an op of its own or the matmul's type.
func.func @rounded_product(%x: tensor<9x6xbf16>, %w: tensor<7x6xbf16>) -> (tensor<9x7xbf16>, tensor<7x9xbf16>) {
  %0 = ppc.matmul "bh,fh->bf" %x, %w : (tensor<9x6xbf16>, tensor<7x6xbf16>) -> tensor<9x7xf32>
  %1 = ppc.convert %0 : tensor<9x7xf32> to tensor<9x7xbf16>
  %2 = ppc.matmul "bh,fh->fb" %x, %w : (tensor<9x6xbf16>, tensor<7x6xbf16>) -> tensor<7x9xbf16>
  return %1, %2 : tensor<9x7xbf16>, tensor<7x9xbf16>
}
func.func @norms(%x: tensor<4x9xbf16>, %w: tensor<9xbf16>, %b: tensor<9xbf16>) -> (tensor<4x9xbf16>, tensor<4x9xbf16>, tensor<4x9xbf16>) {
  %0 = ppc.rms_norm %x, %w epsilon 1.0e-5 : tensor<4x9xbf16>, tensor<9xbf16>
  %1 = ppc.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<4x9xbf16>, tensor<9xbf16>
  %2 = ppc.softmax %x : tensor<4x9xbf16>
  return %0, %1, %2 : tensor<4x9xbf16>, tensor<4x9xbf16>, tensor<4x9xbf16>
}
func.func @norm_gradients(%x: tensor<4x9xbf16>, %w: tensor<9xbf16>, %dy: tensor<4x9xbf16>) -> (tensor<4x9xbf16>, tensor<9xbf16>, tensor<4x9xbf16>, tensor<9xbf16>, tensor<4x9xbf16>) {
  %0 = ppc.rms_norm_input_gradient %x, %w, %dy epsilon 1.0e-5 : tensor<4x9xbf16>, tensor<9xbf16>
  %1 = ppc.rms_norm_weight_gradient %x, %dy epsilon 1.0e-5 : tensor<4x9xbf16> to tensor<9xbf16>
  %2 = ppc.layer_norm_input_gradient %x, %w, %dy epsilon 1.0e-5 : tensor<4x9xbf16>, tensor<9xbf16>
  %3 = ppc.layer_norm_weight_gradient %x, %dy epsilon 1.0e-5 : tensor<4x9xbf16> to tensor<9xbf16>
  %4 = ppc.softmax_backward %x, %dy : tensor<4x9xbf16>
  return %0, %1, %2, %3, %4 : tensor<4x9xbf16>, tensor<9xbf16>, tensor<4x9xbf16>, tensor<9xbf16>, tensor<4x9xbf16>
}
// 300 numbers of about 1: a sum in bf16 would stop at 256.
func.func @sums(%x: tensor<300x2xbf16> {test.range = array<f64: 0.9, 1.1>}) -> (tensor<2xbf16>, tensor<bf16>, tensor<300xbf16>) {
  %0 = ppc.reduce <sum> %x dims [0] : tensor<300x2xbf16> to tensor<2xbf16>
  %1 = ppc.squared_norm %x : tensor<300x2xbf16> to tensor<bf16>
  %2 = ppc.log_sum_exp %x : tensor<300x2xbf16> to tensor<300xbf16>
  return %0, %1, %2 : tensor<2xbf16>, tensor<bf16>, tensor<300xbf16>
}
// Exponentials are rounded to bf16 for their matmuls, whose results are thus less exact than one rounding.
func.func @causal(%q: tensor<2x7x2x3x4xbf16>, %k: tensor<2x7x2x4xbf16>, %v: tensor<2x7x2x4xbf16>, %dout: tensor<2x7x2x3x4xbf16>) -> (tensor<2x7x2x3x4xbf16>, tensor<2x7x2x3x4xbf16>, tensor<2x7x2x4xbf16>, tensor<2x7x2x4xbf16>) attributes {test.rounding = 1.6e-2 : f64} {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<2x7x2x3x4xbf16>, tensor<2x7x2x4xbf16>, tensor<2x7x2x4xbf16> -> tensor<2x7x2x3x4xbf16>, tensor<2x7x2x3xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal : tensor<2x7x2x3x4xbf16>, tensor<2x7x2x4xbf16>, tensor<2x7x2x4xbf16>, tensor<2x7x2x3x4xbf16>, tensor<2x7x2x3xf32>
  return %out, %dq, %dk, %dv : tensor<2x7x2x3x4xbf16>, tensor<2x7x2x3x4xbf16>, tensor<2x7x2x4xbf16>, tensor<2x7x2x4xbf16>
}
// The sums of the exponentials are taken before rounding: as exact as ever.
func.func @alibi(%q: tensor<2x7x2x3x4xbf16>, %k: tensor<2x7x2x4xbf16>, %v: tensor<2x7x2x4xbf16>, %slopes: tensor<2x3xf32>) -> tensor<2x7x2x3xf32> {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal slopes %slopes as tensor<2x3xf32> : tensor<2x7x2x3x4xbf16>, tensor<2x7x2x4xbf16>, tensor<2x7x2x4xbf16> -> tensor<2x7x2x3x4xbf16>, tensor<2x7x2x3xf32>
  return %lse : tensor<2x7x2x3xf32>
}
// Logarithms and slopes that are kept in bf16.
func.func @narrow_rows(%q: tensor<2x5x2x3x4xbf16>, %k: tensor<2x7x2x4xbf16>, %v: tensor<2x7x2x6xbf16>, %dout: tensor<2x5x2x3x6xbf16>, %slopes: tensor<2x3xbf16>) -> (tensor<2x5x2x3xbf16>, tensor<2x5x2x3x4xbf16>, tensor<2x7x2x4xbf16>, tensor<2x7x2x6xbf16>) attributes {test.rounding = 1.6e-2 : f64} {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal window 3 slopes %slopes as tensor<2x3xbf16> : tensor<2x5x2x3x4xbf16>, tensor<2x7x2x4xbf16>, tensor<2x7x2x6xbf16> -> tensor<2x5x2x3x6xbf16>, tensor<2x5x2x3xbf16>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal window 3 slopes %slopes as tensor<2x3xbf16> : tensor<2x5x2x3x4xbf16>, tensor<2x7x2x4xbf16>, tensor<2x7x2x6xbf16>, tensor<2x5x2x3x6xbf16>, tensor<2x5x2x3xbf16>
  return %lse, %dq, %dk, %dv : tensor<2x5x2x3xbf16>, tensor<2x5x2x3x4xbf16>, tensor<2x7x2x4xbf16>, tensor<2x7x2x6xbf16>
}
func.func @embedding(%table: tensor<9x4xbf16>, %ids: tensor<2x5xi32> {test.below = 9 : i64}) -> tensor<2x5x4xbf16> {
  %0 = ppc.embedding %table, %ids : (tensor<9x4xbf16>, tensor<2x5xi32>) -> tensor<2x5x4xbf16>
  return %0 : tensor<2x5x4xbf16>
}
