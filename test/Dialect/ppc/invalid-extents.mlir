// Tensors and positions that cannot be counted with.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics

func.func @rotary_c4(%x: tensor<2x4x6xf32>) {
  // expected-error @below {{'ppc.rotary' op has 4294967296 positions from 0 on, expected to end at 67108864 at most}}
  %0 = ppc.rotary %x frequencies [1.0, 0.1, 0.3] positions <[tp], 4294967296> : tensor<2x4x6xf32>
  return
}

// -----

func.func @too_many_elements(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @below {{at most 2^46 elements and 64 dimensions, but got}}
  %0 = ppc.neg %x : tensor<4294967296x4294967296xf32>
  return
}

// -----

func.func @embedding_c3(%table: tensor<7x4xf32>, %ids: tensor<3xi32>) {
  // expected-error @below {{'ppc.embedding' op has the padding index 7, but the table has 7 rows}}
  %0 = ppc.embedding %table, %ids padding_index 7 : (tensor<7x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @embedding_c3_block(%table: tensor<7x4xf32>, %ids: tensor<3xi32>) {
  %0 = ppc.embedding %table, %ids rows <[tp], 13> padding_index 12 : (tensor<7x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  // expected-error @below {{'ppc.embedding' op has the padding index 13, but the table has 13 rows}}
  %1 = ppc.embedding %table, %ids rows <[tp], 13> padding_index 13 : (tensor<7x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @embedding_backward_c2(%ids: tensor<3xi32>, %dy: tensor<3x5xf32>) {
  // expected-error @below {{'ppc.embedding_backward' op has the padding index -1, but the table has 7 rows}}
  %0 = ppc.embedding_backward %ids, %dy padding_index -1 : (tensor<3xi32>, tensor<3x5xf32>) -> tensor<7x5xf32>
  return
}
