// Values of ops against numbers worked out by hand, where neither a gradient nor a sharding rule would notice a mistake.
// RUN: ppc-opt %s --test-ppc-interpreter --verify-diagnostics --mlir-print-op-on-diagnostic=0 -o /dev/null

// Numbers are 0.5, 2 and their functions.
// expected-remark @below {{rank 0 returns [2.5, 3] [-1.5, 1] [1, 2] [0.25, 2] [-0.5, -2] [1.64872, 7.38906] [-0.693147, 0.693147] [0.707107, 1.41421] [1.41421, 0.707107] [0.622459, 0.880797] [0.31123, 1.76159] [1.47992, 1.09078] [1.5, 6] [0.5, 2] [3, 5]}}
func.func @elementwise() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>) attributes {test.grid = #ppc.grid<>} {
  %a = ppc.constant dense<[0.5, 2.0]> : tensor<2xf32>
  %b = ppc.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %0 = ppc.add %a, %b : tensor<2xf32>
  %1 = ppc.sub %a, %b : tensor<2xf32>
  %2 = ppc.mul %a, %b : tensor<2xf32>
  %3 = ppc.div %a, %b : tensor<2xf32>
  %4 = ppc.neg %a : tensor<2xf32>
  %5 = ppc.exp %a : tensor<2xf32>
  %6 = ppc.log %a : tensor<2xf32>
  %7 = ppc.sqrt %a : tensor<2xf32>
  %8 = ppc.rsqrt %a : tensor<2xf32>
  %9 = ppc.sigmoid %a : tensor<2xf32>
  %10 = ppc.silu %a : tensor<2xf32>
  %11 = ppc.silu_backward %a, %b : tensor<2xf32>
  %12 = ppc.scale %a by 3.0 : tensor<2xf32>
  %13 = ppc.convert %a : tensor<2xf32> to tensor<2xbf16>
  %14 = ppc.sum %a, %b, %a : tensor<2xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>
}

// [1 2; 3 4] times [5 6; 7 8], plain and with the second transposed.
// expected-remark @below {{rank 0 returns [19, 22; 43, 50] [17, 23; 39, 53]}}
func.func @matmul() -> (tensor<2x2xf32>, tensor<2x2xf32>) attributes {test.grid = #ppc.grid<>} {
  %a = ppc.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = ppc.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %0 = ppc.matmul "mk,kn->mn" %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = ppc.matmul "mk,nk->mn" %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// ln(1 + 3) = 1.38629 and ln(2 + 2) of logarithms; large numbers do not overflow. Rows of mean square 12.5 (+ 12.5).
// expected-remark @below {{rank 0 returns [4, 6] [2, 4] [1.38629, 1.38629] [0.25, 0.75; 0.5, 0.5] [1000.69] [0.6, 1.6; 0.8, 1.2]}}
func.func @reduction() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<1xf32>, tensor<2x2xf32>) attributes {test.grid = #ppc.grid<>} {
  %a = ppc.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = ppc.constant dense<[[0.0, 1.09861228866811], [0.693147180559945, 0.693147180559945]]> : tensor<2x2xf64>
  %c = ppc.constant dense<1000.0> : tensor<1x2xf32>
  %x = ppc.constant dense<[[3.0, 4.0], [4.0, 3.0]]> : tensor<2x2xf32>
  %w = ppc.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %bb = ppc.convert %b : tensor<2x2xf64> to tensor<2x2xf32>
  %0 = ppc.reduce <sum> %a dims [0] : tensor<2x2xf32> to tensor<2xf32>
  %1 = ppc.reduce <max> %a dims [1] : tensor<2x2xf32> to tensor<2xf32>
  %2 = ppc.log_sum_exp %bb : tensor<2x2xf32> to tensor<2xf32>
  %3 = ppc.softmax %bb : tensor<2x2xf32>
  %4 = ppc.log_sum_exp %c : tensor<1x2xf32> to tensor<1xf32>
  %5 = ppc.rms_norm %x, %w epsilon 12.5 : tensor<2x2xf32>, tensor<2xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<1xf32>, tensor<2x2xf32>
}

// One head of dim 1, two positions, values 1 and 3. Scores are 0: without a mask both see the mean of 1 and 3, with a mask
// the first sees 1 only; lse is ln 2, or 0.
// expected-remark @below {{rank 0 returns [2; 2] [0.693147; 0.693147] [1; 2] [0; 0.693147]}}
func.func @attention() -> (tensor<1x2x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1x1xf32>, tensor<1x2x1x1xf32>) attributes {test.grid = #ppc.grid<>} {
  %q = ppc.constant dense<0.0> : tensor<1x2x1x1x1xf32>
  %k = ppc.constant dense<[[[[5.0]], [[7.0]]]]> : tensor<1x2x1x1xf32>
  %v = ppc.constant dense<[[[[1.0]], [[3.0]]]]> : tensor<1x2x1x1xf32>
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 : tensor<1x2x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x1x1x1xf32>, tensor<1x2x1x1xf32>
  %1:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<1x2x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x1x1x1xf32>, tensor<1x2x1x1xf32>
  return %0#0, %0#1, %1#0, %1#1 : tensor<1x2x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1x1xf32>, tensor<1x2x1x1xf32>
}

// Position 1 turns the pair (1, 0) of elements 0 and 2 by a quarter: (0, 1), and the pair (2, 0) of 1 and 3 by half: (-2, 0).
// expected-remark @below {{rank 0 returns [1, 2, 0, 0; 6.12323e-17, -2, 1, 2.44929e-16] [1, 2, 0, 0; 1, 2, 0, 0]}}
func.func @rotary() -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) attributes {test.grid = #ppc.grid<>} {
  %x = ppc.constant dense<[[[1.0, 2.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0]]]> : tensor<1x2x4xf32>
  %0 = ppc.rotary %x frequencies [1.5707963267948966, 3.1415926535897931] : tensor<1x2x4xf32>
  %1 = ppc.rotary %0 frequencies [1.5707963267948966, 3.1415926535897931] inverse : tensor<1x2x4xf32>
  return %0, %1 : tensor<1x2x4xf32>, tensor<1x2x4xf32>
}

// expected-remark @below {{rank 0 returns [5, 6; 1, 2; 5, 6] [0, 0; 0, 0; 6, 8] [1, 3, 5; 2, 4, 6] [1, 2, 3, 4, 5, 6] [1, 2; 1, 2; 3, 4; 3, 4]}}
func.func @rearranged() -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<6xf32>, tensor<2x2x2xf32>) attributes {test.grid = #ppc.grid<>} {
  %a = ppc.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %b = ppc.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %ids = ppc.constant dense<[2, 0, 2]> : tensor<3xi32>
  %two = ppc.constant dense<[2, 2]> : tensor<2xi32>
  %dy = ppc.constant dense<[[1.0, 2.0], [5.0, 6.0]]> : tensor<2x2xf32>
  %0 = ppc.embedding %a, %ids : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  %1 = ppc.embedding_backward %two, %dy : (tensor<2xi32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %2 = ppc.transpose %a by [1, 0] : tensor<3x2xf32> to tensor<2x3xf32>
  %3 = ppc.reshape %a : tensor<3x2xf32> to tensor<6xf32>
  %4 = ppc.broadcast %b dims [1] : tensor<2x2xf32> to tensor<2x2x2xf32>
  return %0, %1, %2, %3, %4 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<6xf32>, tensor<2x2x2xf32>
}

// Positions with the padding index read their row and give it no gradient.
// expected-remark @below {{rank 0 returns [5, 6; 1, 2; 5, 6] [3, 4; 0, 0; 0, 0]}}
func.func @padding() -> (tensor<3x2xf32>, tensor<3x2xf32>) attributes {test.grid = #ppc.grid<>} {
  %a = ppc.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %ids = ppc.constant dense<[2, 0, 2]> : tensor<3xi32>
  %0 = ppc.embedding %a, %ids padding_index 2 : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  %1 = ppc.embedding_backward %ids, %a padding_index 2 : (tensor<3xi32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0, %1 : tensor<3x2xf32>, tensor<3x2xf32>
}

// Equal logits of 4 classes: nll is ln 4; the gradient is 1/4 everywhere, less 1 at the target, times dnll.
// expected-remark @below {{rank 0 returns [1.38629] [1.38629] [0.5, -1.5, 0.5, 0.5] [7]}}
func.func @loss() -> (tensor<1xf32>, tensor<1xf32>, tensor<1x4xf32>, tensor<1xf32>) attributes {test.grid = #ppc.grid<>} {
  %logits = ppc.constant dense<0.0> : tensor<1x4xf32>
  %other = ppc.constant dense<[[5.0, 7.0, 9.0, 0.0]]> : tensor<1x4xf32>
  %targets = ppc.constant dense<1> : tensor<1xi32>
  %dnll = ppc.constant dense<2.0> : tensor<1xf32>
  %nll, %lse = ppc.cross_entropy %logits, %targets : (tensor<1x4xf32>, tensor<1xi32>) -> (tensor<1xf32>, tensor<1xf32>)
  %0 = ppc.cross_entropy_backward %logits, %targets, %lse, %dnll : (tensor<1x4xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4xf32>
  %1 = ppc.pick %other, %targets : (tensor<1x4xf32>, tensor<1xi32>) -> tensor<1xf32>
  return %nll, %lse, %0, %1 : tensor<1xf32>, tensor<1xf32>, tensor<1x4xf32>, tensor<1xf32>
}

// First step: corrected means are the gradient and its square, so that the step is lr (0.5 * 4 + 1) = 0.3 whatever the
// gradient's size; m' = 0.1 * 3, v' = 0.05 * 9. The gradient 6 is clipped by 0.5. Clipping: norm 3 to 1.5, norm 1 stays.
// expected-remark @below {{rank 0 returns [3.7] [0.3] [0.45] [25] [0.5] [1]}}
func.func @training() -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<f32>, tensor<f32>, tensor<f32>) attributes {test.grid = #ppc.grid<>} {
  %p = ppc.constant dense<4.0> : tensor<1xf32>
  %g = ppc.constant dense<6.0> : tensor<1xf32>
  %zero = ppc.constant dense<0.0> : tensor<1xf32>
  %lr = ppc.constant dense<0.1> : tensor<f64>
  %lr32 = ppc.convert %lr : tensor<f64> to tensor<f32>
  %one = ppc.constant dense<1.0> : tensor<f32>
  %three = ppc.constant dense<3.0> : tensor<f32>
  %half = ppc.constant dense<0.5> : tensor<f32>
  %x = ppc.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %p2, %m2, %v2 = ppc.adamw %p, %g, %zero, %zero, %lr32, %one, %half {beta1 = 0.9, beta2 = 0.95, epsilon = 0.0, weight_decay = 0.5} : tensor<1xf32>, tensor<f32>
  %0 = ppc.squared_norm %x : tensor<2xf32> to tensor<f32>
  %1 = ppc.clip_scale %three max_norm 1.5 : tensor<f32>
  %2 = ppc.clip_scale %one max_norm 1.5 : tensor<f32>
  return %p2, %m2, %v2, %0, %1, %2 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// The same logical value; padding that is masked.
// expected-remark @below {{rank 0 returns [1, 2, 3] [1, 2, 0]}}
func.func @placement() -> (tensor<3xf32>, tensor<3xf32>) attributes {test.grid = #ppc.grid<>} {
  %x = ppc.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = ppc.reshard %x to <[{dp}]> : tensor<3xf32>
  %1 = ppc.mask_padding %x dim 0 block <[], 2> : tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
