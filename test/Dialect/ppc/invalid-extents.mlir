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
