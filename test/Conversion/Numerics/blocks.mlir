// RUN: ppc-opt %s --ppc-test-host-numerics="ranks=3" -o /dev/null | FileCheck %s

// Ops that know which block of a cut dimension they hold.
// CHECK: @f32_vocabulary agrees
// CHECK: @f32_loss agrees
// CHECK: @f32_empty_block agrees
// CHECK: @f32_queries agrees
// CHECK: @f32_positions agrees
// CHECK: @f64_vocabulary agrees
// CHECK: @f64_loss agrees
// CHECK: @f64_empty_block agrees
// CHECK: @f64_queries agrees
// CHECK: @f64_positions agrees

func.func @f32_vocabulary(%t: tensor<5x6xf32>, %ids: tensor<2x9xi32> {test.below = 13 : i64}, %dy: tensor<2x9x6xf32>) -> (tensor<2x9x6xf32>, tensor<5x6xf32>) {
  %0 = ppc.embedding %t, %ids rows <[tp], 13> : (tensor<5x6xf32>, tensor<2x9xi32>) -> tensor<2x9x6xf32>
  %1 = ppc.embedding_backward %ids, %dy rows <[tp], 13> : (tensor<2x9xi32>, tensor<2x9x6xf32>) -> tensor<5x6xf32>
  return %0, %1 : tensor<2x9x6xf32>, tensor<5x6xf32>
}
func.func @f32_padding(%ids: tensor<2x9xi32> {test.below = 13 : i64}, %dy: tensor<2x9x6xf32>) -> (tensor<5x6xf32>, tensor<5x6xf32>) {
  %0 = ppc.embedding_backward %ids, %dy rows <[tp], 13> padding_index 7 : (tensor<2x9xi32>, tensor<2x9x6xf32>) -> tensor<5x6xf32>
  %1 = ppc.embedding_backward %ids, %dy rows <[tp], 13> padding_index 2 : (tensor<2x9xi32>, tensor<2x9x6xf32>) -> tensor<5x6xf32>
  return %0, %1 : tensor<5x6xf32>, tensor<5x6xf32>
}
func.func @f32_loss(%x: tensor<4x5xf32>, %ids: tensor<4xi32> {test.below = 13 : i64}, %dnll: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x5xf32>) {
  %part = ppc.log_sum_exp %x classes <[tp], 13> : tensor<4x5xf32> to tensor<4xf32>
  %lse = ppc.all_reduce %part over ["tp"] <log_sum_exp> : tensor<4xf32>
  %0 = ppc.pick %x, %ids classes <[tp], 13> : (tensor<4x5xf32>, tensor<4xi32>) -> tensor<4xf32>
  %1 = ppc.all_reduce %0 over ["tp"] <sum> : tensor<4xf32>
  %2 = ppc.cross_entropy_backward %x, %ids, %lse, %dnll classes <[tp], 13> : (tensor<4x5xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x5xf32>
  return %lse, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4x5xf32>
}
// Three ranks of two hold four elements: the last block is all padding.
func.func @f32_empty_block(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3xf32>) {
  %0 = ppc.mask_padding %x dim 1 block <[tp], 4> : tensor<3x2xf32>
  %1 = ppc.log_sum_exp %x classes <[tp], 4> : tensor<3x2xf32> to tensor<3xf32>
  %2 = ppc.all_reduce %1 over ["tp"] <log_sum_exp> : tensor<3xf32>
  return %0, %2 : tensor<3x2xf32>, tensor<3xf32>
}
// Blocks of 3 of 7 queries, after one more key: two rows of the last are padding.
func.func @f32_queries(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x8x2x4xf32>, %v: tensor<2x8x2x3xf32>, %dout: tensor<2x3x2x2x3xf32>, %s: tensor<2x2xf32>) -> (tensor<2x3x2x2x3xf32>, tensor<2x3x2x2xf32>, tensor<2x3x2x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3xf32>, tensor<2x3x2x2x3xf32>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal window 3 slopes %s as tensor<2x2xf32> queries <[tp], 7> : tensor<2x3x2x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3xf32> -> tensor<2x3x2x2x3xf32>, tensor<2x3x2x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal window 3 slopes %s as tensor<2x2xf32> queries <[tp], 7> : tensor<2x3x2x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3xf32>, tensor<2x3x2x2x3xf32>, tensor<2x3x2x2xf32>
  %full, %rows = ppc.attention %q, %k, %v scale 5.000000e-01 queries <[tp], 7> : tensor<2x3x2x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3xf32> -> tensor<2x3x2x2x3xf32>, tensor<2x3x2x2xf32>
  return %out, %lse, %dq, %dk, %dv, %full : tensor<2x3x2x2x3xf32>, tensor<2x3x2x2xf32>, tensor<2x3x2x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3xf32>, tensor<2x3x2x2x3xf32>
}
func.func @f32_positions(%x: tensor<2x3x2x6xf32>) -> (tensor<2x3x2x6xf32>, tensor<2x3x2x6xf32>, tensor<2x3x2x6xf32>) {
  %0 = ppc.rotary %x frequencies [1.0, 0.1, 0.3] positions <[tp], 7> : tensor<2x3x2x6xf32>
  %1 = ppc.rotary %x frequencies [1.0, 0.1, 0.3] interleaved inverse positions <[tp], 9> : tensor<2x3x2x6xf32>
  %2 = ppc.rotary %x frequencies [1.0] offset 3 positions <[tp], 7> : tensor<2x3x2x6xf32>
  return %0, %1, %2 : tensor<2x3x2x6xf32>, tensor<2x3x2x6xf32>, tensor<2x3x2x6xf32>
}
func.func @f64_vocabulary(%t: tensor<5x6xf64>, %ids: tensor<2x9xi32> {test.below = 13 : i64}, %dy: tensor<2x9x6xf64>) -> (tensor<2x9x6xf64>, tensor<5x6xf64>) {
  %0 = ppc.embedding %t, %ids rows <[tp], 13> : (tensor<5x6xf64>, tensor<2x9xi32>) -> tensor<2x9x6xf64>
  %1 = ppc.embedding_backward %ids, %dy rows <[tp], 13> : (tensor<2x9xi32>, tensor<2x9x6xf64>) -> tensor<5x6xf64>
  return %0, %1 : tensor<2x9x6xf64>, tensor<5x6xf64>
}
func.func @f64_loss(%x: tensor<4x5xf64>, %ids: tensor<4xi32> {test.below = 13 : i64}, %dnll: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4x5xf64>) {
  %part = ppc.log_sum_exp %x classes <[tp], 13> : tensor<4x5xf64> to tensor<4xf64>
  %lse = ppc.all_reduce %part over ["tp"] <log_sum_exp> : tensor<4xf64>
  %0 = ppc.pick %x, %ids classes <[tp], 13> : (tensor<4x5xf64>, tensor<4xi32>) -> tensor<4xf64>
  %1 = ppc.all_reduce %0 over ["tp"] <sum> : tensor<4xf64>
  %2 = ppc.cross_entropy_backward %x, %ids, %lse, %dnll classes <[tp], 13> : (tensor<4x5xf64>, tensor<4xi32>, tensor<4xf64>, tensor<4xf64>) -> tensor<4x5xf64>
  return %lse, %1, %2 : tensor<4xf64>, tensor<4xf64>, tensor<4x5xf64>
}
// Three ranks of two hold four elements: the last block is all padding.
func.func @f64_empty_block(%x: tensor<3x2xf64>) -> (tensor<3x2xf64>, tensor<3xf64>) {
  %0 = ppc.mask_padding %x dim 1 block <[tp], 4> : tensor<3x2xf64>
  %1 = ppc.log_sum_exp %x classes <[tp], 4> : tensor<3x2xf64> to tensor<3xf64>
  %2 = ppc.all_reduce %1 over ["tp"] <log_sum_exp> : tensor<3xf64>
  return %0, %2 : tensor<3x2xf64>, tensor<3xf64>
}
// Blocks of 3 of 7 queries, after one more key: two rows of the last are padding.
func.func @f64_queries(%q: tensor<2x3x2x2x4xf64>, %k: tensor<2x8x2x4xf64>, %v: tensor<2x8x2x3xf64>, %dout: tensor<2x3x2x2x3xf64>, %s: tensor<2x2xf64>) -> (tensor<2x3x2x2x3xf64>, tensor<2x3x2x2xf64>, tensor<2x3x2x2x4xf64>, tensor<2x8x2x4xf64>, tensor<2x8x2x3xf64>, tensor<2x3x2x2x3xf64>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal window 3 slopes %s as tensor<2x2xf64> queries <[tp], 7> : tensor<2x3x2x2x4xf64>, tensor<2x8x2x4xf64>, tensor<2x8x2x3xf64> -> tensor<2x3x2x2x3xf64>, tensor<2x3x2x2xf64>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal window 3 slopes %s as tensor<2x2xf64> queries <[tp], 7> : tensor<2x3x2x2x4xf64>, tensor<2x8x2x4xf64>, tensor<2x8x2x3xf64>, tensor<2x3x2x2x3xf64>, tensor<2x3x2x2xf64>
  %full, %rows = ppc.attention %q, %k, %v scale 5.000000e-01 queries <[tp], 7> : tensor<2x3x2x2x4xf64>, tensor<2x8x2x4xf64>, tensor<2x8x2x3xf64> -> tensor<2x3x2x2x3xf64>, tensor<2x3x2x2xf64>
  return %out, %lse, %dq, %dk, %dv, %full : tensor<2x3x2x2x3xf64>, tensor<2x3x2x2xf64>, tensor<2x3x2x2x4xf64>, tensor<2x8x2x4xf64>, tensor<2x8x2x3xf64>, tensor<2x3x2x2x3xf64>
}
func.func @f64_positions(%x: tensor<2x3x2x6xf64>) -> (tensor<2x3x2x6xf64>, tensor<2x3x2x6xf64>, tensor<2x3x2x6xf64>) {
  %0 = ppc.rotary %x frequencies [1.0, 0.1, 0.3] positions <[tp], 7> : tensor<2x3x2x6xf64>
  %1 = ppc.rotary %x frequencies [1.0, 0.1, 0.3] interleaved inverse positions <[tp], 9> : tensor<2x3x2x6xf64>
  %2 = ppc.rotary %x frequencies [1.0] offset 3 positions <[tp], 7> : tensor<2x3x2x6xf64>
  return %0, %1, %2 : tensor<2x3x2x6xf64>, tensor<2x3x2x6xf64>, tensor<2x3x2x6xf64>
}
