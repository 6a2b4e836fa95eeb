// Every op and attribute of the dialect survives printing and parsing. Each op stands here once at least: no-silent-ops.test
// and coverage.test count on it.
// RUN: ppc-opt %s | ppc-opt | FileCheck %s
// RUN: ppc-opt %s --mlir-print-op-generic | ppc-opt | FileCheck %s
// RUN: ppc-opt %s --emit-bytecode | ppc-opt | FileCheck %s

// CHECK-LABEL: func @elementwise
func.func @elementwise(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // CHECK: ppc.add %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %0 = ppc.add %a, %b : tensor<4x8xf32>
  // CHECK: ppc.sub %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %1 = ppc.sub %a, %b : tensor<4x8xf32>
  // CHECK: ppc.mul %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %2 = ppc.mul %a, %b : tensor<4x8xf32>
  // CHECK: ppc.div %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %3 = ppc.div %a, %b : tensor<4x8xf32>
  // CHECK: ppc.neg %{{.*}} : tensor<4x8xf32>
  %4 = ppc.neg %a : tensor<4x8xf32>
  // CHECK: ppc.exp %{{.*}} : tensor<4x8xf32>
  %5 = ppc.exp %a : tensor<4x8xf32>
  // CHECK: ppc.log %{{.*}} : tensor<4x8xf32>
  %6 = ppc.log %5 : tensor<4x8xf32>
  // CHECK: ppc.sqrt %{{.*}} : tensor<4x8xf32>
  %7 = ppc.sqrt %5 : tensor<4x8xf32>
  // CHECK: ppc.rsqrt %{{.*}} : tensor<4x8xf32>
  %8 = ppc.rsqrt %5 : tensor<4x8xf32>
  // CHECK: ppc.sigmoid %{{.*}} : tensor<4x8xf32>
  %9 = ppc.sigmoid %a : tensor<4x8xf32>
  // CHECK: ppc.silu %{{.*}} : tensor<4x8xf32>
  %10 = ppc.silu %a : tensor<4x8xf32>
  // CHECK: ppc.silu_backward %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %11 = ppc.silu_backward %a, %b : tensor<4x8xf32>
  // CHECK: ppc.gelu %{{.*}} : tensor<4x8xf32>
  %g0 = ppc.gelu %a : tensor<4x8xf32>
  // CHECK: ppc.gelu %{{.*}} tanh : tensor<4x8xf32>
  %g1 = ppc.gelu %a tanh : tensor<4x8xf32>
  // CHECK: ppc.gelu_backward %{{.*}}, %{{.*}} tanh : tensor<4x8xf32>
  %g2 = ppc.gelu_backward %a, %b tanh : tensor<4x8xf32>
  // CHECK: ppc.scale %{{.*}} by 2.500000e-01 : tensor<4x8xf32>
  %12 = ppc.scale %a by 2.500000e-01 : tensor<4x8xf32>
  // CHECK: ppc.convert %{{.*}} : tensor<4x8xf32> to tensor<4x8xbf16>
  %13 = ppc.convert %a : tensor<4x8xf32> to tensor<4x8xbf16>
  // CHECK: ppc.sum %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %14 = ppc.sum %a, %b, %a : tensor<4x8xf32>
  // CHECK: ppc.constant dense<1.000000e+00> : tensor<4xf32>
  %15 = ppc.constant dense<1.0> : tensor<4xf32>
  // CHECK: ppc.constant dense<[1, 2]> : tensor<2xi32>
  %16 = ppc.constant dense<[1, 2]> : tensor<2xi32>
  return
}

// CHECK-LABEL: func @matmul_of_bf16
func.func @matmul_of_bf16(%x: tensor<4x5xbf16>, %y: tensor<5x3xbf16>) {
  // CHECK: ppc.matmul "mk,kn->mn" %{{.*}}, %{{.*}} : (tensor<4x5xbf16>, tensor<5x3xbf16>) -> tensor<4x3xf32>
  %0 = ppc.matmul "mk,kn->mn" %x, %y : (tensor<4x5xbf16>, tensor<5x3xbf16>) -> tensor<4x3xf32>
  // CHECK: ppc.matmul "mk,kn->mn" %{{.*}}, %{{.*}} : (tensor<4x5xbf16>, tensor<5x3xbf16>) -> tensor<4x3xbf16>
  %1 = ppc.matmul "mk,kn->mn" %x, %y : (tensor<4x5xbf16>, tensor<5x3xbf16>) -> tensor<4x3xbf16>
  return
}

// CHECK-LABEL: func @matmul
func.func @matmul(%x: tensor<2x8x16xf32>, %w: tensor<2x2x4x16xf32>) -> tensor<2x8x2x2x4xf32> {
  // CHECK: ppc.matmul "bsh,kgdh->bskgd" %{{.*}}, %{{.*}} : (tensor<2x8x16xf32>, tensor<2x2x4x16xf32>) -> tensor<2x8x2x2x4xf32>
  %0 = ppc.matmul "bsh,kgdh->bskgd" %x, %w : (tensor<2x8x16xf32>, tensor<2x2x4x16xf32>) -> tensor<2x8x2x2x4xf32>
  return %0 : tensor<2x8x2x2x4xf32>
}

// CHECK-LABEL: func @reduction
func.func @reduction(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // CHECK: ppc.reduce <sum> %{{.*}} dims [0, 1] : tensor<4x8xf32> to tensor<f32>
  %0 = ppc.reduce <sum> %x dims [0, 1] : tensor<4x8xf32> to tensor<f32>
  // CHECK: ppc.reduce <max> %{{.*}} dims [1] : tensor<4x8xf32> to tensor<4xf32>
  %1 = ppc.reduce <max> %x dims [1] : tensor<4x8xf32> to tensor<4xf32>
  // CHECK: ppc.log_sum_exp %{{.*}} : tensor<4x8xf32> to tensor<4xf32>
  %2 = ppc.log_sum_exp %x : tensor<4x8xf32> to tensor<4xf32>
  // CHECK: ppc.log_sum_exp %{{.*}} classes <[tp], 15> : tensor<4x8xf32> to tensor<4xf32>
  %3 = ppc.log_sum_exp %x classes <[tp], 15> : tensor<4x8xf32> to tensor<4xf32>
  // CHECK: ppc.softmax %{{.*}} : tensor<4x8xf32>
  %4 = ppc.softmax %x : tensor<4x8xf32>
  // CHECK: ppc.softmax_backward %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %5 = ppc.softmax_backward %4, %x : tensor<4x8xf32>
  // CHECK: ppc.rms_norm %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  %6 = ppc.rms_norm %x, %w epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: ppc.rms_norm_input_gradient %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  %7 = ppc.rms_norm_input_gradient %x, %w, %6 epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: ppc.rms_norm_weight_gradient %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<4x8xf32> to tensor<8xf32>
  %8 = ppc.rms_norm_weight_gradient %x, %6 epsilon 1.000000e-05 : tensor<4x8xf32> to tensor<8xf32>
  // CHECK: ppc.layer_norm %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  %9 = ppc.layer_norm %x, %w, %w epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: ppc.layer_norm_input_gradient %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  %10 = ppc.layer_norm_input_gradient %x, %w, %9 epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: ppc.layer_norm_weight_gradient %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<4x8xf32> to tensor<8xf32>
  %11 = ppc.layer_norm_weight_gradient %x, %9 epsilon 1.000000e-05 : tensor<4x8xf32> to tensor<8xf32>
  return
}

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %v: tensor<2x8x2x4xf32>, %narrow: tensor<2x8x2x1xf32>, %slopes: tensor<2x3xf32>) {
  // CHECK: ppc.attention %{{.*}}, %{{.*}}, %{{.*}} scale 5.000000e-01 causal : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  %out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  // CHECK: ppc.attention %{{.*}}, %{{.*}}, %{{.*}} scale 5.000000e-01 : tensor<2x8x2x3x4xf32>
  %out2, %lse2 = ppc.attention %q, %k, %v scale 5.000000e-01 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  // CHECK: ppc.attention_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} scale 5.000000e-01 causal : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %out scale 5.000000e-01 causal : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  // Values narrower than keys, a window, ALiBi.
  // CHECK: ppc.attention %{{.*}}, %{{.*}}, %{{.*}} scale 5.000000e-01 causal window 4 slopes %{{.*}} as tensor<2x3xf32> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x1xf32> -> tensor<2x8x2x3x1xf32>, tensor<2x8x2x3xf32>
  %out3, %lse3 = ppc.attention %q, %k, %narrow scale 5.000000e-01 causal window 4 slopes %slopes as tensor<2x3xf32> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x1xf32> -> tensor<2x8x2x3x1xf32>, tensor<2x8x2x3xf32>
  // CHECK: ppc.attention_backward {{.*}} scale 5.000000e-01 causal window 4 slopes %{{.*}} as tensor<2x3xf32> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x1xf32>, tensor<2x8x2x3x1xf32>, tensor<2x8x2x3xf32>
  %dq3, %dk3, %dv3 = ppc.attention_backward %q, %k, %narrow, %out3, %lse3, %out3 scale 5.000000e-01 causal window 4 slopes %slopes as tensor<2x3xf32> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x1xf32>, tensor<2x8x2x3x1xf32>, tensor<2x8x2x3xf32>
  // How ranks share it, and a block of the queries.
  // CHECK: ppc.attention {{.*}} scale 5.000000e-01 causal strategy <gather> : tensor<2x8x2x3x4xf32>
  %out4, %lse4 = ppc.attention %q, %k, %v scale 5.000000e-01 causal strategy <gather> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  // CHECK: ppc.attention_backward {{.*}} scale 5.000000e-01 queries <[cp], 16> : tensor<2x8x2x3x4xf32>
  %dq4, %dk4, %dv4 = ppc.attention_backward %q, %k, %v, %out, %lse, %out scale 5.000000e-01 queries <[cp], 16> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// CHECK-LABEL: func @indexing
func.func @indexing(%table: tensor<131x16xf32>, %ids: tensor<2x8xi32>, %x: tensor<2x8x3x4xf32>) {
  // CHECK: ppc.embedding %{{.*}}, %{{.*}} : (tensor<131x16xf32>, tensor<2x8xi32>) -> tensor<2x8x16xf32>
  %0 = ppc.embedding %table, %ids : (tensor<131x16xf32>, tensor<2x8xi32>) -> tensor<2x8x16xf32>
  // CHECK: ppc.embedding %{{.*}}, %{{.*}} rows <[tp, dp], 260> :
  %1 = ppc.embedding %table, %ids rows <[tp, dp], 260> : (tensor<131x16xf32>, tensor<2x8xi32>) -> tensor<2x8x16xf32>
  // CHECK: ppc.embedding_backward %{{.*}}, %{{.*}} : (tensor<2x8xi32>, tensor<2x8x16xf32>) -> tensor<131x16xf32>
  %2 = ppc.embedding_backward %ids, %0 : (tensor<2x8xi32>, tensor<2x8x16xf32>) -> tensor<131x16xf32>
  // CHECK: ppc.embedding_backward %{{.*}}, %{{.*}} rows <[tp], 260> :
  %3 = ppc.embedding_backward %ids, %0 rows <[tp], 260> : (tensor<2x8xi32>, tensor<2x8x16xf32>) -> tensor<131x16xf32>
  // CHECK: ppc.embedding %{{.*}}, %{{.*}} padding_index 130 :
  %padded = ppc.embedding %table, %ids padding_index 130 : (tensor<131x16xf32>, tensor<2x8xi32>) -> tensor<2x8x16xf32>
  // CHECK: ppc.embedding_backward %{{.*}}, %{{.*}} rows <[tp], 260> padding_index 200 :
  %unpadded = ppc.embedding_backward %ids, %0 rows <[tp], 260> padding_index 200 : (tensor<2x8xi32>, tensor<2x8x16xf32>) -> tensor<131x16xf32>
  // CHECK: ppc.rotary %{{.*}} frequencies [1.000000e+00, 1.000000e-02] : tensor<2x8x3x4xf32>
  %4 = ppc.rotary %x frequencies [1.0, 0.01] : tensor<2x8x3x4xf32>
  // CHECK: ppc.rotary %{{.*}} frequencies [1.000000e+00, 1.000000e-02] inverse : tensor<2x8x3x4xf32>
  %5 = ppc.rotary %4 frequencies [1.0, 0.01] inverse : tensor<2x8x3x4xf32>
  // CHECK: ppc.rotary %{{.*}} frequencies [1.000000e+00] offset 1 interleaved inverse : tensor<2x8x3x4xf32>
  %6 = ppc.rotary %4 frequencies [1.0] offset 1 interleaved inverse : tensor<2x8x3x4xf32>
  // CHECK: ppc.rotary %{{.*}} frequencies [1.000000e+00] positions <[cp, tp], 30> : tensor<2x8x3x4xf32>
  %7 = ppc.rotary %4 frequencies [1.0] positions <[cp, tp], 30> : tensor<2x8x3x4xf32>
  return
}

// CHECK-LABEL: func @shape
func.func @shape(%x: tensor<4x8xf32>) {
  // CHECK: ppc.transpose %{{.*}} by [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
  %0 = ppc.transpose %x by [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
  // CHECK: ppc.reshape %{{.*}} : tensor<4x8xf32> to tensor<2x2x8xf32>
  %1 = ppc.reshape %x : tensor<4x8xf32> to tensor<2x2x8xf32>
  // CHECK: ppc.broadcast %{{.*}} dims [1] : tensor<4x8xf32> to tensor<4x3x8xf32>
  %2 = ppc.broadcast %x dims [1] : tensor<4x8xf32> to tensor<4x3x8xf32>
  // CHECK: %{{.*}}:2 = ppc.split %{{.*}} dim 1 : tensor<4x8xf32> to tensor<4x6xf32>, tensor<4x2xf32>
  %3, %4 = ppc.split %x dim 1 : tensor<4x8xf32> to tensor<4x6xf32>, tensor<4x2xf32>
  // CHECK: ppc.concat %{{.*}}, %{{.*}} dim 1 : tensor<4x6xf32>, tensor<4x2xf32> to tensor<4x8xf32>
  %5 = ppc.concat %3, %4 dim 1 : tensor<4x6xf32>, tensor<4x2xf32> to tensor<4x8xf32>
  return
}

// CHECK-LABEL: func @routing
func.func @routing(%scores: tensor<2x8x4xf32>, %bias: tensor<4xf32>, %x: tensor<2x8x16xf32>) {
  // CHECK: ppc.top_k %{{.*}} : tensor<2x8x4xf32> -> tensor<2x8x2xf32>, tensor<2x8x2xi32>
  %values, %ids = ppc.top_k %scores : tensor<2x8x4xf32> -> tensor<2x8x2xf32>, tensor<2x8x2xi32>
  // CHECK: ppc.top_k %{{.*}} bias %{{.*}} as tensor<4xf32> groups 4 groups_per_row 2 : tensor<2x8x4xf32> -> tensor<2x8x2xf32>, tensor<2x8x2xi32>
  %values2, %ids2 = ppc.top_k %scores bias %bias as tensor<4xf32> groups 4 groups_per_row 2 : tensor<2x8x4xf32> -> tensor<2x8x2xf32>, tensor<2x8x2xi32>
  // CHECK: ppc.top_k_backward %{{.*}}, %{{.*}} : (tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x8x4xf32>
  %0 = ppc.top_k_backward %ids, %values : (tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x8x4xf32>
  // CHECK: ppc.dispatch %{{.*}}, %{{.*}} : (tensor<2x8x16xf32>, tensor<2x8x2xi32>) -> tensor<2x4x4x16xf32>
  %1 = ppc.dispatch %x, %ids : (tensor<2x8x16xf32>, tensor<2x8x2xi32>) -> tensor<2x4x4x16xf32>
  // CHECK: ppc.dispatch %{{.*}}, %{{.*}} weights %{{.*}} experts <[ep], 8> : (tensor<2x8x16xf32>, tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x4x4x16xf32>
  %2 = ppc.dispatch %x, %ids weights %values experts <[ep], 8> : (tensor<2x8x16xf32>, tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x4x4x16xf32>
  // CHECK: ppc.combine %{{.*}}, %{{.*}} : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>) -> tensor<2x8x16xf32>
  %3 = ppc.combine %1, %ids : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>) -> tensor<2x8x16xf32>
  // CHECK: ppc.combine %{{.*}}, %{{.*}} weights %{{.*}} experts <[ep], 8> : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x8x16xf32>
  %4 = ppc.combine %1, %ids weights %values experts <[ep], 8> : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x8x16xf32>
  // CHECK: ppc.routing_weights_gradient %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>, tensor<2x8x16xf32>) -> tensor<2x8x2xf32>
  %5 = ppc.routing_weights_gradient %1, %ids, %x : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>, tensor<2x8x16xf32>) -> tensor<2x8x2xf32>
  return
}

// CHECK-LABEL: func @loss
func.func @loss(%logits: tensor<2x8x131xf32>, %targets: tensor<2x8xi32>) {
  // CHECK: ppc.cross_entropy %{{.*}}, %{{.*}} : (tensor<2x8x131xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %nll, %lse = ppc.cross_entropy %logits, %targets : (tensor<2x8x131xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  // CHECK: ppc.pick %{{.*}}, %{{.*}} : (tensor<2x8x131xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>
  %0 = ppc.pick %logits, %targets : (tensor<2x8x131xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>
  // CHECK: ppc.pick %{{.*}}, %{{.*}} classes <[tp], 260> :
  %1 = ppc.pick %logits, %targets classes <[tp], 260> : (tensor<2x8x131xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>
  // CHECK: ppc.cross_entropy_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x8x131xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8x131xf32>
  %2 = ppc.cross_entropy_backward %logits, %targets, %lse, %nll : (tensor<2x8x131xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8x131xf32>
  // CHECK: ppc.cross_entropy_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} classes <[tp], 260> :
  %3 = ppc.cross_entropy_backward %logits, %targets, %lse, %nll classes <[tp], 260> : (tensor<2x8x131xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8x131xf32>
  return
}

// CHECK-LABEL: func @training
func.func @training(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step: tensor<f32>) {
  // CHECK: ppc.squared_norm %{{.*}} : tensor<8xf32> to tensor<f32>
  %0 = ppc.squared_norm %g : tensor<8xf32> to tensor<f32>
  // CHECK: ppc.clip_scale %{{.*}} max_norm 1.000000e+00 : tensor<f32>
  %1 = ppc.clip_scale %0 max_norm 1.000000e+00 : tensor<f32>
  // CHECK: ppc.adamw %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {beta1 = {{.*}}, beta2 = {{.*}}, epsilon = {{.*}}, weight_decay = {{.*}}} : tensor<8xf32>, tensor<f32>
  %p2, %m2, %v2 = ppc.adamw %p, %g, %m, %v, %lr, %step, %1 {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<8xf32>, tensor<f32>
  return
}

// CHECK-LABEL: func @placement
func.func @placement(%ids: tensor<8x4xi32>, %x: tensor<8x4xf32>, %w: tensor<4xf32>) {
  // CHECK: %{{.*}}:2 = ppc.accumulate (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) micro_batches(4) : (tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %l, %g = ppc.accumulate (%i = %ids, %xi = %x) micro_batches(4) : (tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<f32>, tensor<4xf32>) {
    // CHECK: ppc.reduce <sum> %[[B]]
    %0 = ppc.reduce <sum> %xi dims [0, 1] : tensor<2x4xf32> to tensor<f32>
    // CHECK: ppc.yield %{{.*}}, %{{.*}} : tensor<f32>, tensor<4xf32>
    ppc.yield %0, %w : tensor<f32>, tensor<4xf32>
  }
  // CHECK: ppc.accumulate () micro_batches(2) : () -> () {
  ppc.accumulate () micro_batches(2) : () -> () {
    // CHECK-NEXT: ppc.yield
    ppc.yield
  // CHECK-NEXT: } attributes {ppc.note = 1 : i64}
  } attributes {ppc.note = 1}
  // CHECK: ppc.reshard %{{.*}} to <[{dp}, {}]> : tensor<8x4xf32>
  %1 = ppc.reshard %x to <[{dp}, {}]> : tensor<8x4xf32>
  // CHECK: ppc.mask_padding %{{.*}} dim 1 block <[tp], 7> : tensor<8x4xf32>
  %2 = ppc.mask_padding %x dim 1 block <[tp], 7> : tensor<8x4xf32>
  return
}

// CHECK-LABEL: func @collective
func.func @collective(%x: tensor<4x8xf32>, %b: tensor<3x8xf32>, %w: tensor<5x8xf32>) {
  // CHECK: ppc.all_reduce %{{.*}} over ["tp"] <sum> : tensor<4x8xf32>
  %0 = ppc.all_reduce %x over ["tp"] <sum> : tensor<4x8xf32>
  // CHECK: ppc.all_reduce %{{.*}} over ["pp", "tp"] <log_sum_exp> stages [0, 3] : tensor<4x8xf32>
  %1 = ppc.all_reduce %x over ["pp", "tp"] <log_sum_exp> stages [0, 3] : tensor<4x8xf32>
  // CHECK: ppc.all_gather %{{.*}} dim 0 over ["tp"] : tensor<3x8xf32> to tensor<5x8xf32>
  %2 = ppc.all_gather %b dim 0 over ["tp"] : tensor<3x8xf32> to tensor<5x8xf32>
  // CHECK: ppc.reduce_scatter %{{.*}} dim 0 over ["tp"] <max> : tensor<5x8xf32> to tensor<3x8xf32>
  %3 = ppc.reduce_scatter %w dim 0 over ["tp"] <max> : tensor<5x8xf32> to tensor<3x8xf32>
  // CHECK: ppc.all_to_all %{{.*}} split 0 concat 1 over ["tp"] : tensor<4x8xf32> to tensor<2x16xf32>
  %4 = ppc.all_to_all %x split 0 concat 1 over ["tp"] : tensor<4x8xf32> to tensor<2x16xf32>
  // CHECK: ppc.local_slice %{{.*}} dim 0 over ["tp"] : tensor<5x8xf32> to tensor<3x8xf32>
  %5 = ppc.local_slice %w dim 0 over ["tp"] : tensor<5x8xf32> to tensor<3x8xf32>
  return
}

// CHECK-LABEL: func @attributes
func.func @attributes() attributes {
  // CHECK-SAME: test.block = #ppc.block<[tp, "odd name"], 131>
  test.block = #ppc.block<[tp, "odd name"], 131>,
  // CHECK-SAME: test.combiners = [#ppc.combiner<sum>, #ppc.combiner<max>, #ppc.combiner<log_sum_exp>]
  test.combiners = [#ppc.combiner<sum>, #ppc.combiner<max>, #ppc.combiner<log_sum_exp>],
  // CHECK-SAME: test.grid = #ppc.grid<dp = 2, tp = 4>
  test.grid = #ppc.grid<dp = 2, tp = 4>,
  // CHECK-SAME: test.inits = [#ppc.init<zeros>, #ppc.init<ones>, #ppc.init<normal, 2.000000e-02>]
  test.inits = [#ppc.init<zeros>, #ppc.init<ones>, #ppc.init<normal, 2.000000e-02>],
  // CHECK-SAME: test.no_grid = #ppc.grid<>
  test.no_grid = #ppc.grid<>,
  // CHECK-SAME: test.parts = [#ppc.part<forward>, #ppc.part<backward>, #ppc.part<weight_gradient>, #ppc.part<update>]
  test.parts = [#ppc.part<forward>, #ppc.part<backward>, #ppc.part<weight_gradient>, #ppc.part<update>],
  // CHECK-SAME: test.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0, 3], schedule = "1f1b", micro_batches = 4, dimensions = {batch = ["dp"]}, parameters = {w = #ppc.sharding<[{tp}, {}]>}>
  test.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0, 3], schedule = "1f1b", micro_batches = 4, dimensions = {batch = ["dp"]}, parameters = {w = #ppc.sharding<[{tp}, {}]>}>,
  // Roles that the names say are not printed.
  // CHECK-SAME: test.roles = #ppc.grid<rows = 2 : data, dp = 2, cp = 2, spare = 2 : replica>
  test.roles = #ppc.grid<rows = 2 : data, dp = 2 : data, cp = 2 : context, spare = 2 : replica>,
  // CHECK-SAME: test.shardings = [#ppc.sharding<[]>, #ppc.sharding<[{dp, tp}, {}]>, #ppc.sharding<[{dp}, {}], partial = {tp: sum, ep: max}>]
  test.shardings = [#ppc.sharding<[]>, #ppc.sharding<[{dp, tp}, {}]>, #ppc.sharding<[{dp}, {}], partial = {tp: sum, ep: max}>]} {
  return
}
