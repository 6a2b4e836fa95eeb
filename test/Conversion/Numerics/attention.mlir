// RUN: ppc-opt %s --ppc-test-host-numerics -o /dev/null | FileCheck %s

// Attention, forward and backward.
// CHECK: @f32_causal agrees
// CHECK: @f32_full agrees
// CHECK: @f32_longer_keys agrees
// CHECK: @f32_window agrees
// CHECK: @f64_causal agrees
// CHECK: @f64_full agrees
// CHECK: @f64_longer_keys agrees
// CHECK: @f64_window agrees

func.func @f32_causal(%q: tensor<2x7x2x3x4xf32>, %k: tensor<2x7x2x4xf32>, %v: tensor<2x7x2x4xf32>, %dout: tensor<2x7x2x3x4xf32>) -> (tensor<2x7x2x3x4xf32>, tensor<2x7x2x3xf32>, tensor<2x7x2x3x4xf32>, tensor<2x7x2x4xf32>, tensor<2x7x2x4xf32>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<2x7x2x3x4xf32>, tensor<2x7x2x4xf32>, tensor<2x7x2x4xf32> -> tensor<2x7x2x3x4xf32>, tensor<2x7x2x3xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal : tensor<2x7x2x3x4xf32>, tensor<2x7x2x4xf32>, tensor<2x7x2x4xf32>, tensor<2x7x2x3x4xf32>, tensor<2x7x2x3xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<2x7x2x3x4xf32>, tensor<2x7x2x3xf32>, tensor<2x7x2x3x4xf32>, tensor<2x7x2x4xf32>, tensor<2x7x2x4xf32>
}
func.func @f32_full(%q: tensor<1x3x1x2x6xf32>, %k: tensor<1x5x1x6xf32>, %v: tensor<1x5x1x6xf32>, %dout: tensor<1x3x1x2x6xf32>) -> (tensor<1x3x1x2x6xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2x6xf32>, tensor<1x5x1x6xf32>, tensor<1x5x1x6xf32>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 : tensor<1x3x1x2x6xf32>, tensor<1x5x1x6xf32>, tensor<1x5x1x6xf32> -> tensor<1x3x1x2x6xf32>, tensor<1x3x1x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 : tensor<1x3x1x2x6xf32>, tensor<1x5x1x6xf32>, tensor<1x5x1x6xf32>, tensor<1x3x1x2x6xf32>, tensor<1x3x1x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x3x1x2x6xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2x6xf32>, tensor<1x5x1x6xf32>, tensor<1x5x1x6xf32>
}
func.func @f32_longer_keys(%q: tensor<2x3x1x1x4xf32>, %k: tensor<2x5x1x4xf32>, %v: tensor<2x5x1x4xf32>, %dout: tensor<2x3x1x1x4xf32>) -> (tensor<2x3x1x1x4xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1x4xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1x4xf32>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<2x3x1x1x4xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1x4xf32> -> tensor<2x3x1x1x4xf32>, tensor<2x3x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal : tensor<2x3x1x1x4xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1x4xf32>, tensor<2x3x1x1x4xf32>, tensor<2x3x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<2x3x1x1x4xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1x4xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1x4xf32>
}
func.func @f32_window(%q: tensor<2x5x2x2x4xf32>, %k: tensor<2x6x2x4xf32>, %v: tensor<2x6x2x3xf32>, %dout: tensor<2x5x2x2x3xf32>, %s: tensor<2x2xf32>) -> (tensor<2x5x2x2x3xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x3xf32>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal window 3 slopes %s as tensor<2x2xf32> : tensor<2x5x2x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x3xf32> -> tensor<2x5x2x2x3xf32>, tensor<2x5x2x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal window 3 slopes %s as tensor<2x2xf32> : tensor<2x5x2x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x3xf32>, tensor<2x5x2x2x3xf32>, tensor<2x5x2x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<2x5x2x2x3xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x3xf32>
}
func.func @f64_causal(%q: tensor<2x7x2x3x4xf64>, %k: tensor<2x7x2x4xf64>, %v: tensor<2x7x2x4xf64>, %dout: tensor<2x7x2x3x4xf64>) -> (tensor<2x7x2x3x4xf64>, tensor<2x7x2x3xf64>, tensor<2x7x2x3x4xf64>, tensor<2x7x2x4xf64>, tensor<2x7x2x4xf64>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<2x7x2x3x4xf64>, tensor<2x7x2x4xf64>, tensor<2x7x2x4xf64> -> tensor<2x7x2x3x4xf64>, tensor<2x7x2x3xf64>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal : tensor<2x7x2x3x4xf64>, tensor<2x7x2x4xf64>, tensor<2x7x2x4xf64>, tensor<2x7x2x3x4xf64>, tensor<2x7x2x3xf64>
  return %out, %lse, %dq, %dk, %dv : tensor<2x7x2x3x4xf64>, tensor<2x7x2x3xf64>, tensor<2x7x2x3x4xf64>, tensor<2x7x2x4xf64>, tensor<2x7x2x4xf64>
}
func.func @f64_full(%q: tensor<1x3x1x2x6xf64>, %k: tensor<1x5x1x6xf64>, %v: tensor<1x5x1x6xf64>, %dout: tensor<1x3x1x2x6xf64>) -> (tensor<1x3x1x2x6xf64>, tensor<1x3x1x2xf64>, tensor<1x3x1x2x6xf64>, tensor<1x5x1x6xf64>, tensor<1x5x1x6xf64>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 : tensor<1x3x1x2x6xf64>, tensor<1x5x1x6xf64>, tensor<1x5x1x6xf64> -> tensor<1x3x1x2x6xf64>, tensor<1x3x1x2xf64>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 : tensor<1x3x1x2x6xf64>, tensor<1x5x1x6xf64>, tensor<1x5x1x6xf64>, tensor<1x3x1x2x6xf64>, tensor<1x3x1x2xf64>
  return %out, %lse, %dq, %dk, %dv : tensor<1x3x1x2x6xf64>, tensor<1x3x1x2xf64>, tensor<1x3x1x2x6xf64>, tensor<1x5x1x6xf64>, tensor<1x5x1x6xf64>
}
func.func @f64_longer_keys(%q: tensor<2x3x1x1x4xf64>, %k: tensor<2x5x1x4xf64>, %v: tensor<2x5x1x4xf64>, %dout: tensor<2x3x1x1x4xf64>) -> (tensor<2x3x1x1x4xf64>, tensor<2x3x1x1xf64>, tensor<2x3x1x1x4xf64>, tensor<2x5x1x4xf64>, tensor<2x5x1x4xf64>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<2x3x1x1x4xf64>, tensor<2x5x1x4xf64>, tensor<2x5x1x4xf64> -> tensor<2x3x1x1x4xf64>, tensor<2x3x1x1xf64>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal : tensor<2x3x1x1x4xf64>, tensor<2x5x1x4xf64>, tensor<2x5x1x4xf64>, tensor<2x3x1x1x4xf64>, tensor<2x3x1x1xf64>
  return %out, %lse, %dq, %dk, %dv : tensor<2x3x1x1x4xf64>, tensor<2x3x1x1xf64>, tensor<2x3x1x1x4xf64>, tensor<2x5x1x4xf64>, tensor<2x5x1x4xf64>
}
func.func @f64_window(%q: tensor<2x5x2x2x4xf64>, %k: tensor<2x6x2x4xf64>, %v: tensor<2x6x2x3xf64>, %dout: tensor<2x5x2x2x3xf64>, %s: tensor<2x2xf64>) -> (tensor<2x5x2x2x3xf64>, tensor<2x5x2x2xf64>, tensor<2x5x2x2x4xf64>, tensor<2x6x2x4xf64>, tensor<2x6x2x3xf64>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal window 3 slopes %s as tensor<2x2xf64> : tensor<2x5x2x2x4xf64>, tensor<2x6x2x4xf64>, tensor<2x6x2x3xf64> -> tensor<2x5x2x2x3xf64>, tensor<2x5x2x2xf64>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal window 3 slopes %s as tensor<2x2xf64> : tensor<2x5x2x2x4xf64>, tensor<2x6x2x4xf64>, tensor<2x6x2x3xf64>, tensor<2x5x2x2x3xf64>, tensor<2x5x2x2xf64>
  return %out, %lse, %dq, %dk, %dv : tensor<2x5x2x2x3xf64>, tensor<2x5x2x2xf64>, tensor<2x5x2x2x4xf64>, tensor<2x6x2x4xf64>, tensor<2x6x2x3xf64>
}
