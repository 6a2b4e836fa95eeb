// Each numbered constraint of each op of a model is checked, with the numbers in the message.
// RUN: ppc-opt %s --verify-diagnostics --split-input-file

func.func @sum_c1() {
  // expected-error @below {{'ppc.sum' op expected 1 or more operands, but found 0}}
  %0 = "ppc.sum"() : () -> tensor<4xf32>
  return
}

// -----

func.func @static_shapes(%a: tensor<?xf32>) {
  // expected-error @below {{'ppc.neg' op operand #0 must be}}
  %0 = "ppc.neg"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @constant(%a: tensor<4xf32>) {
  // expected-error @below {{failed to verify that all of {value, y} have same type}}
  %0 = "ppc.constant"() {value = dense<1.0> : tensor<4xf32>} : () -> tensor<5xf32>
  return
}

// -----

func.func @matmul_c1_arrow(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) {
  // expected-error @below {{'ppc.matmul' op spec "mk,kn" must read lhs,rhs->result in lower-case letters, none twice within one tensor, such as "mk,kn->mn"}}
  %0 = ppc.matmul "mk,kn" %a, %b : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_c1_twice(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) {
  // expected-error @below {{'ppc.matmul' op spec "mm,mn->mn" must read}}
  %0 = ppc.matmul "mm,mn->mn" %a, %b : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_c1_letters(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) {
  // expected-error @below {{'ppc.matmul' op spec "mK,Kn->mn" must read}}
  %0 = ppc.matmul "mK,Kn->mn" %a, %b : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_c2(%a: tensor<4x5xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{'ppc.matmul' op 'rhs' has 1 dimensions but spec "mk,kn->mn" gives it 2 letters}}
  %0 = ppc.matmul "mk,kn->mn" %a, %b : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_c3(%a: tensor<4x5xf32>, %b: tensor<6x3xf32>) {
  // expected-error @below {{'ppc.matmul' op index 'k' of spec "mk,kn->mn" is 5 in one tensor and 6 in 'rhs'}}
  %0 = ppc.matmul "mk,kn->mn" %a, %b : (tensor<4x5xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_c4_result(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) {
  // expected-error @below {{'ppc.matmul' op index 'z' of the result is in no operand of spec "mk,kn->mnz"}}
  %0 = ppc.matmul "mk,kn->mnz" %a, %b : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3x2xf32>
  return
}

// -----

func.func @matmul_c4_operand(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) {
  // expected-error @below {{'ppc.matmul' op index 'm' of spec "mk,kn->n" is in one operand only and not in the result: reduce that operand first}}
  %0 = ppc.matmul "mk,kn->n" %a, %b : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @matmul_c5(%a: tensor<4x5xf32>, %b: tensor<5x3xbf16>) {
  // expected-error @below {{'ppc.matmul' op element types differ: 'tensor<4x5xf32>', 'tensor<5x3xbf16>' and 'tensor<4x3xf32>'}}
  %0 = ppc.matmul "mk,kn->mn" %a, %b : (tensor<4x5xf32>, tensor<5x3xbf16>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_c5_result(%a: tensor<4x5xbf16>, %b: tensor<5x3xbf16>) {
  // expected-error @below {{'ppc.matmul' op element types differ: 'tensor<4x5xbf16>', 'tensor<5x3xbf16>' and 'tensor<4x3xf64>'}}
  %0 = ppc.matmul "mk,kn->mn" %a, %b : (tensor<4x5xbf16>, tensor<5x3xbf16>) -> tensor<4x3xf64>
  return
}

// -----

func.func @reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.reduce' op dims [1, 0] must be distinct, sorted and below the rank 2}}
  %0 = ppc.reduce <sum> %x dims [1, 0] : tensor<4x8xf32> to tensor<f32>
  return
}

// -----

func.func @reduce_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.reduce' op result must be 'tensor<8xf32>', found 'tensor<4xf32>'}}
  %0 = ppc.reduce <sum> %x dims [0] : tensor<4x8xf32> to tensor<4xf32>
  return
}

// -----

func.func @reduce_c3(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.reduce' op combiner must be sum or max; log_sum_exp is an op of its own}}
  %0 = ppc.reduce <log_sum_exp> %x dims [0] : tensor<4x8xf32> to tensor<8xf32>
  return
}

// -----

func.func @log_sum_exp_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.log_sum_exp' op 'y' must have all dimensions of 'tensor<4x8xf32>' but the last, found 'tensor<8xf32>'}}
  %0 = ppc.log_sum_exp %x : tensor<4x8xf32> to tensor<8xf32>
  return
}

// -----

func.func @softmax_c1(%x: tensor<f32>) {
  // expected-error @below {{'ppc.softmax' op needs at least one dimension, found 'tensor<f32>'}}
  %0 = ppc.softmax %x : tensor<f32>
  return
}

// -----

func.func @softmax_backward_c1(%x: tensor<f32>) {
  // expected-error @below {{'ppc.softmax_backward' op needs at least one dimension, found 'tensor<f32>'}}
  %0 = ppc.softmax_backward %x, %x : tensor<f32>
  return
}

// -----

func.func @rms_norm_c1(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{'ppc.rms_norm' op 'weight' must be one-dimensional, as long as the last dimension of 'tensor<4x8xf32>', found 'tensor<4xf32>'}}
  %0 = ppc.rms_norm %x, %w epsilon 1.0e-05 : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<4x8xf32>, %w: tensor<8xbf16>) {
  // expected-error @below {{'ppc.rms_norm' op 'weight' must be one-dimensional, as long as the last dimension of 'tensor<4x8xf32>', found 'tensor<8xbf16>'}}
  %0 = ppc.rms_norm %x, %w epsilon 1.0e-05 : tensor<4x8xf32>, tensor<8xbf16>
  return
}

// -----

func.func @rms_norm_input_gradient_c1(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{'ppc.rms_norm_input_gradient' op 'weight' must be one-dimensional}}
  %0 = ppc.rms_norm_input_gradient %x, %w, %x epsilon 1.0e-05 : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @rms_norm_input_gradient_c2(%x: tensor<4x8xf32>, %w: tensor<8xf64>) {
  // expected-error @below {{'ppc.rms_norm_input_gradient' op 'weight' must be one-dimensional}}
  %0 = ppc.rms_norm_input_gradient %x, %w, %x epsilon 1.0e-05 : tensor<4x8xf32>, tensor<8xf64>
  return
}

// -----

func.func @rms_norm_weight_gradient_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.rms_norm_weight_gradient' op 'dweight' must be one-dimensional, as long as the last dimension of 'tensor<4x8xf32>', found 'tensor<4x8xf32>'}}
  %0 = ppc.rms_norm_weight_gradient %x, %x epsilon 1.0e-05 : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @attention_c1_ranks(%q: tensor<2x8x6x4xf32>, %k: tensor<2x8x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op 'q' must be [batch, query, kv head, group, head dim], 'k' and 'v' [batch, key, kv head, dim], found 'tensor<2x8x6x4xf32>', 'tensor<2x8x2x4xf32>' and 'tensor<2x8x2x4xf32>'}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 : tensor<2x8x6x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x6x4xf32>, tensor<2x8x6xf32>
  return
}

// -----

func.func @attention_c1_heads(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x8x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op batch, kv heads and head dim of 'q' and 'k' must agree, found 'tensor<2x8x3x2x4xf32>' and 'tensor<2x8x2x4xf32>'}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 : tensor<2x8x3x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x3x2x4xf32>, tensor<2x8x3x2xf32>
  return
}

// -----

func.func @attention_c1_keys(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %v: tensor<2x9x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op batch, keys and kv heads of 'k' and 'v' must agree, found 'tensor<2x8x2x4xf32>' and 'tensor<2x9x2x4xf32>'}}
  %0:2 = "ppc.attention"(%q, %k, %v) {scale = 0.5} : (tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x9x2x4xf32>) -> (tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>)
  return
}

// -----

func.func @attention_c2(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op 'lse' must be 'tensor<2x8x2x3xf32>', found 'tensor<2x8x2xf32>'}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2xf32>
  return
}

// -----

func.func @attention_c3(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xbf16>) {
  // expected-error @below {{'ppc.attention' op element types differ: 'tensor<2x8x2x3x4xf32>', 'tensor<2x8x2x4xbf16>' and 'tensor<2x8x2x4xbf16>'}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xbf16>, tensor<2x8x2x4xbf16> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x7x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op causal attention needs at least as many keys as queries, found 7 keys and 8 queries}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 causal : tensor<2x8x2x3x4xf32>, tensor<2x7x2x4xf32>, tensor<2x7x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_backward_c1(%q: tensor<2x8x2x3x4xf32>, %k: tensor<1x8x2x4xf32>, %lse: tensor<2x8x2x3xf32>) {
  // expected-error @below {{'ppc.attention_backward' op batch, kv heads and head dim of 'q' and 'k' must agree}}
  %0:3 = ppc.attention_backward %q, %k, %k, %q, %lse, %q scale 0.5 : tensor<2x8x2x3x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_backward_c3(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xbf16>, %lse: tensor<2x8x2x3xf32>) {
  // expected-error @below {{'ppc.attention_backward' op element types differ}}
  %0:3 = ppc.attention_backward %q, %k, %k, %q, %lse, %q scale 0.5 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xbf16>, tensor<2x8x2x4xbf16>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_backward_c4(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x7x2x4xf32>, %lse: tensor<2x8x2x3xf32>) {
  // expected-error @below {{'ppc.attention_backward' op causal attention needs at least as many keys as queries, found 7 keys and 8 queries}}
  %0:3 = ppc.attention_backward %q, %k, %k, %q, %lse, %q scale 0.5 causal : tensor<2x8x2x3x4xf32>, tensor<2x7x2x4xf32>, tensor<2x7x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_c2_out(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op 'out' must be 'tensor<2x8x2x3x4xf32>', found 'tensor<2x8x2x3x5xf32>'}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x5xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_c5(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op window is 3 without 'causal'; a query sees at least one key, and none after it}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 window 3 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_c5_empty(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op window is 0; a query sees at least one key, and none after it}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 causal window 0 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_c6(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %s: tensor<6xf32>) {
  // expected-error @below {{'ppc.attention' op 'slopes' must be 'tensor<2x3xf32>', found 'tensor<6xf32>'}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 causal slopes %s as tensor<6xf32> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_backward_c2(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %o: tensor<2x8x2x3x5xf32>, %lse: tensor<2x8x2x3xf32>) {
  // expected-error @below {{'ppc.attention_backward' op 'out' must be 'tensor<2x8x2x3x4xf32>', found 'tensor<2x8x2x3x5xf32>'}}
  %0:3 = ppc.attention_backward %q, %k, %k, %o, %lse, %o scale 0.5 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3x5xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_backward_c5(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %lse: tensor<2x8x2x3xf32>) {
  // expected-error @below {{'ppc.attention_backward' op window is 3 without 'causal'}}
  %0:3 = ppc.attention_backward %q, %k, %k, %q, %lse, %q scale 0.5 window 3 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_backward_c6(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %lse: tensor<2x8x2x3xf32>, %s: tensor<6xf32>) {
  // expected-error @below {{'ppc.attention_backward' op 'slopes' must be 'tensor<2x3xf32>'}}
  %0:3 = ppc.attention_backward %q, %k, %k, %q, %lse, %q scale 0.5 causal slopes %s as tensor<6xf32> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{'ppc.layer_norm' op 'weight' must be one-dimensional, as long as the last dimension of 'tensor<4x8xf32>', found 'tensor<4xf32>'}}
  %0 = ppc.layer_norm %x, %w, %w epsilon 1.0e-05 : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @layer_norm_input_gradient_c1(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{'ppc.layer_norm_input_gradient' op 'weight' must be one-dimensional}}
  %0 = ppc.layer_norm_input_gradient %x, %w, %x epsilon 1.0e-05 : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @layer_norm_weight_gradient_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.layer_norm_weight_gradient' op 'dweight' must be one-dimensional}}
  %0 = ppc.layer_norm_weight_gradient %x, %x epsilon 1.0e-05 : tensor<4x8xf32> to tensor<4xf32>
  return
}

// -----

func.func @split_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.split' op dim is 2, which is not a dimension of 'tensor<4x8xf32>'}}
  %0 = ppc.split %x dim 2 : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @split_c2_shape(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.split' op a part must be 'tensor<4x8xf32>' but for dimension 1, found 'tensor<3x8xf32>'}}
  %0 = ppc.split %x dim 1 : tensor<4x8xf32> to tensor<3x8xf32>
  return
}

// -----

func.func @split_c2_sum(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.split' op the parts have 7 elements along dimension 1, 'tensor<4x8xf32>' has 8}}
  %0:2 = ppc.split %x dim 1 : tensor<4x8xf32> to tensor<4x3xf32>, tensor<4x4xf32>
  return
}

// -----

func.func @split_c3(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.split' op a part of 5 elements along dimension 1 cannot be split into 2 equal runs}}
  %0:2 = ppc.split %x dim 1 runs 2 : tensor<4x8xf32> to tensor<4x5xf32>, tensor<4x3xf32>
  return
}

// -----

func.func @concat_c3(%x: tensor<4x5xf32>, %y: tensor<4x3xf32>) {
  // expected-error @below {{'ppc.concat' op a part of 5 elements along dimension 1 cannot be split into 2 equal runs}}
  %0 = ppc.concat %x, %y dim 1 runs 2 : tensor<4x5xf32>, tensor<4x3xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @split_c2_none(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.split' op needs at least one part}}
  "ppc.split"(%x) {dim = 1} : (tensor<4x8xf32>) -> ()
  return
}

// -----

func.func @concat_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.concat' op dim is -1, which is not a dimension of 'tensor<4x8xf32>'}}
  %0 = ppc.concat %x dim -1 : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @concat_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.concat' op the parts have 16 elements along dimension 1, 'tensor<4x15xf32>' has 15}}
  %0 = ppc.concat %x, %x dim 1 : tensor<4x8xf32>, tensor<4x8xf32> to tensor<4x15xf32>
  return
}

// -----

func.func @embedding_c1_table(%table: tensor<7x4x2xf32>, %ids: tensor<3xi32>) {
  // expected-error @below {{'ppc.embedding' op the table must have two dimensions, found 'tensor<7x4x2xf32>'}}
  %0 = ppc.embedding %table, %ids : (tensor<7x4x2xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @embedding_c1_result(%table: tensor<7x4xf32>, %ids: tensor<3xi32>) {
  // expected-error @below {{'ppc.embedding' op 'y' must be 'tensor<3x4xf32>', found 'tensor<3x7xf32>'}}
  %0 = ppc.embedding %table, %ids : (tensor<7x4xf32>, tensor<3xi32>) -> tensor<3x7xf32>
  return
}

// -----

func.func @embedding_c2(%table: tensor<7x4xf32>, %ids: tensor<3xi32>) {
  // expected-error @below {{'ppc.embedding' op 'y' must be 'tensor<3x4xf32>', found 'tensor<3x4xbf16>'}}
  %0 = ppc.embedding %table, %ids : (tensor<7x4xf32>, tensor<3xi32>) -> tensor<3x4xbf16>
  return
}

// -----

func.func @embedding_backward_c1(%ids: tensor<3xi32>, %dy: tensor<3x4xf32>) {
  // expected-error @below {{'ppc.embedding_backward' op 'dy' must be 'tensor<3x5xf32>', found 'tensor<3x4xf32>'}}
  %0 = ppc.embedding_backward %ids, %dy : (tensor<3xi32>, tensor<3x4xf32>) -> tensor<7x5xf32>
  return
}

// -----

func.func @rotary_c1(%x: tensor<2x4xf32>) {
  // expected-error @below {{'ppc.rotary' op needs at least [batch, position, ..., head dim], found 'tensor<2x4xf32>'}}
  %0 = ppc.rotary %x frequencies [1.0, 0.1] : tensor<2x4xf32>
  return
}

// -----

func.func @rotary_c2_size(%x: tensor<2x4x5xf32>) {
  // expected-error @below {{'ppc.rotary' op rotates 6 elements from 0 on, but the last dimension has 5}}
  %0 = ppc.rotary %x frequencies [1.0, 0.1, 0.01] : tensor<2x4x5xf32>
  return
}

// -----

func.func @rotary_c2_offset(%x: tensor<2x4x6xf32>) {
  // expected-error @below {{'ppc.rotary' op rotates 4 elements from 3 on, but the last dimension has 6}}
  %0 = ppc.rotary %x frequencies [1.0, 0.1] offset 3 : tensor<2x4x6xf32>
  return
}

// -----

func.func @rotary_c3(%x: tensor<2x4x6xf32>) {
  // expected-error @below {{'ppc.rotary' op starts at position -1, expected at least 0}}
  %0 = ppc.rotary %x frequencies [1.0, 0.1] start -1 : tensor<2x4x6xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.transpose' op [0, 0] is not a permutation of 2 dimensions}}
  %0 = ppc.transpose %x by [0, 0] : tensor<4x8xf32> to tensor<4x4xf32>
  return
}

// -----

func.func @transpose_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.transpose' op result must be 'tensor<8x4xf32>', found 'tensor<4x8xf32>'}}
  %0 = ppc.transpose %x by [1, 0] : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @reshape_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.reshape' op operand and result must have the same elements, found 'tensor<4x8xf32>' and 'tensor<31xf32>'}}
  %0 = ppc.reshape %x : tensor<4x8xf32> to tensor<31xf32>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ppc.broadcast' op dims [2] must be distinct, sorted and below the rank 2}}
  %0 = ppc.broadcast %x dims [2] : tensor<4xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<5xf32>) {
  // expected-error @below {{'ppc.broadcast' op operand must be 'tensor<4xf32>', found 'tensor<5xf32>'}}
  %0 = ppc.broadcast %x dims [1] : tensor<5xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @cross_entropy_c1_targets(%logits: tensor<2x8x7xf32>, %targets: tensor<8xi32>) {
  // expected-error @below {{'ppc.cross_entropy' op indices must have the dimensions of 'tensor<2x8x7xf32>' but the last, found 'tensor<8xi32>'}}
  %0:2 = ppc.cross_entropy %logits, %targets : (tensor<2x8x7xf32>, tensor<8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @cross_entropy_c1_nll(%logits: tensor<8x7xf32>, %targets: tensor<8xi32>) {
  // expected-error @below {{'ppc.cross_entropy' op 'nll' must be 'tensor<8xf32>', found 'tensor<f32>'}}
  %0:2 = ppc.cross_entropy %logits, %targets : (tensor<8x7xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  return
}

// -----

func.func @cross_entropy_c2(%logits: tensor<8x7xbf16>, %targets: tensor<8xi32>) {
  // expected-error @below {{'ppc.cross_entropy' op 'lse' must be 'tensor<8xbf16>', found 'tensor<8xf32>'}}
  %0:2 = ppc.cross_entropy %logits, %targets : (tensor<8x7xbf16>, tensor<8xi32>) -> (tensor<8xbf16>, tensor<8xf32>)
  return
}

// -----

func.func @pick_c1(%x: tensor<8x7xf32>, %ids: tensor<7xi32>) {
  // expected-error @below {{'ppc.pick' op indices must have the dimensions of 'tensor<8x7xf32>' but the last, found 'tensor<7xi32>'}}
  %0 = ppc.pick %x, %ids : (tensor<8x7xf32>, tensor<7xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @pick_c2(%x: tensor<8x7xf32>, %ids: tensor<8xi32>) {
  // expected-error @below {{'ppc.pick' op 'y' must be 'tensor<8xf32>', found 'tensor<8xf64>'}}
  %0 = ppc.pick %x, %ids : (tensor<8x7xf32>, tensor<8xi32>) -> tensor<8xf64>
  return
}

// -----

func.func @cross_entropy_backward_c1_result(%logits: tensor<8x7xf32>, %targets: tensor<8xi32>, %row: tensor<8xf32>) {
  // expected-error @below {{'ppc.cross_entropy_backward' op result must be 'tensor<8x7xf32>', found 'tensor<7x8xf32>'}}
  %0 = ppc.cross_entropy_backward %logits, %targets, %row, %row : (tensor<8x7xf32>, tensor<8xi32>, tensor<8xf32>, tensor<8xf32>) -> tensor<7x8xf32>
  return
}

// -----

func.func @cross_entropy_backward_c1(%logits: tensor<8x7xf32>, %targets: tensor<7xi32>, %row: tensor<8xf32>) {
  // expected-error @below {{'ppc.cross_entropy_backward' op indices must have the dimensions of 'tensor<8x7xf32>' but the last, found 'tensor<7xi32>'}}
  %0 = ppc.cross_entropy_backward %logits, %targets, %row, %row : (tensor<8x7xf32>, tensor<7xi32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8x7xf32>
  return
}

// -----

func.func @cross_entropy_backward_c2(%logits: tensor<8x7xf32>, %targets: tensor<8xi32>, %row: tensor<8xbf16>) {
  // expected-error @below {{'ppc.cross_entropy_backward' op 'lse' must be 'tensor<8xf32>', found 'tensor<8xbf16>'}}
  %0 = ppc.cross_entropy_backward %logits, %targets, %row, %row : (tensor<8x7xf32>, tensor<8xi32>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<8x7xf32>
  return
}

// -----

func.func @adamw_c1_types(%p: tensor<8xf32>, %g: tensor<7xf32>, %s: tensor<f32>) {
  // expected-error @below {{'ppc.adamw' op failed to verify that all of {parameter, gradient, m, v, new_parameter, new_m, new_v} have same type}}
  %0:3 = "ppc.adamw"(%p, %g, %p, %p, %s, %s, %s) {beta1 = 0.9, beta2 = 0.9, epsilon = 1.0e-8, weight_decay = 0.1} : (tensor<8xf32>, tensor<7xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @adamw_c1_scalars(%p: tensor<8xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ppc.adamw' op lr, step and scale must be scalars of 'f32', found 'tensor<f64>'}}
  %0:3 = ppc.adamw %p, %p, %p, %p, %s, %s, %s {beta1 = 0.9, beta2 = 0.9, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<8xf32>, tensor<f64>
  return
}

// -----

func.func @squared_norm_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'ppc.squared_norm' op result must be 'tensor<f32>', found 'tensor<f64>'}}
  %0 = ppc.squared_norm %x : tensor<8xf32> to tensor<f64>
  return
}

// -----

func.func @clip_scale_c1(%x: tensor<f32>) {
  // expected-error @below {{'ppc.clip_scale' op max_norm is 0}}
  %0 = ppc.clip_scale %x max_norm 0.0 : tensor<f32>
  return
}
