// Gradients of attention in one pass (AttentionOnePass.cpp): several tiles of queries and blocks of keys, which add to the same queries in turns;
// groups, windows, slopes, keys that fill no block, queries that fill no tile, more keys than queries, values of
// another width, one block of keys, a tile of one query that sees all keys. Their shared memory is more than a block has without asking.
// RUN: ppc-opt %s --ppc-test-kernel-numerics=ptx=%t.ptx -o /dev/null | FileCheck %s
// RUN: FileCheck --check-prefix=PTX --input-file=%t.ptx %s

// CHECK: @causal_128 agrees
// CHECK: @full_64 agrees
// CHECK: @window_64 agrees
// CHECK: @slopes_128 agrees
// CHECK: @longer_keys_64 agrees
// CHECK: @widths agrees
// CHECK: @whole_64 agrees
// CHECK: @one_block_64 agrees
// CHECK: @window_groups_64 agrees
// CHECK: @last_query_64 agrees
// CHECK: @full_groups_128 agrees

// PTX-DAG: .extern .shared .align 16 .b8
// PTX-DAG: ld.acquire.gpu.global
// PTX-DAG: fence.acq_rel.gpu
// PTX-DAG: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// PTX-DAG: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

func.func @causal_128(%q: tensor<1x256x1x2x128xbf16>, %k: tensor<1x256x1x128xbf16>, %v: tensor<1x256x1x128xbf16>, %dout: tensor<1x256x1x2x128xbf16>) -> (tensor<1x256x1x2x128xbf16>, tensor<1x256x1x2xf32>, tensor<1x256x1x2x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838835e-02 causal : tensor<1x256x1x2x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16> -> tensor<1x256x1x2x128xbf16>, tensor<1x256x1x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838835e-02 causal : tensor<1x256x1x2x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x2x128xbf16>, tensor<1x256x1x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x256x1x2x128xbf16>, tensor<1x256x1x2xf32>, tensor<1x256x1x2x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>
}
func.func @full_64(%q: tensor<2x70x2x1x64xbf16>, %k: tensor<2x150x2x64xbf16>, %v: tensor<2x150x2x64xbf16>, %dout: tensor<2x70x2x1x64xbf16>) -> (tensor<2x70x2x1x64xbf16>, tensor<2x70x2x1xf32>, tensor<2x70x2x1x64xbf16>, tensor<2x150x2x64xbf16>, tensor<2x150x2x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 : tensor<2x70x2x1x64xbf16>, tensor<2x150x2x64xbf16>, tensor<2x150x2x64xbf16> -> tensor<2x70x2x1x64xbf16>, tensor<2x70x2x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 : tensor<2x70x2x1x64xbf16>, tensor<2x150x2x64xbf16>, tensor<2x150x2x64xbf16>, tensor<2x70x2x1x64xbf16>, tensor<2x70x2x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<2x70x2x1x64xbf16>, tensor<2x70x2x1xf32>, tensor<2x70x2x1x64xbf16>, tensor<2x150x2x64xbf16>, tensor<2x150x2x64xbf16>
}
func.func @window_64(%q: tensor<1x330x1x1x64xbf16>, %k: tensor<1x330x1x64xbf16>, %v: tensor<1x330x1x64xbf16>, %dout: tensor<1x330x1x1x64xbf16>) -> (tensor<1x330x1x1x64xbf16>, tensor<1x330x1x1xf32>, tensor<1x330x1x1x64xbf16>, tensor<1x330x1x64xbf16>, tensor<1x330x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal window 90 : tensor<1x330x1x1x64xbf16>, tensor<1x330x1x64xbf16>, tensor<1x330x1x64xbf16> -> tensor<1x330x1x1x64xbf16>, tensor<1x330x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 causal window 90 : tensor<1x330x1x1x64xbf16>, tensor<1x330x1x64xbf16>, tensor<1x330x1x64xbf16>, tensor<1x330x1x1x64xbf16>, tensor<1x330x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x330x1x1x64xbf16>, tensor<1x330x1x1xf32>, tensor<1x330x1x1x64xbf16>, tensor<1x330x1x64xbf16>, tensor<1x330x1x64xbf16>
}
func.func @slopes_128(%q: tensor<1x150x1x2x128xbf16>, %k: tensor<1x150x1x128xbf16>, %v: tensor<1x150x1x128xbf16>, %dout: tensor<1x150x1x2x128xbf16>, %s: tensor<1x2xf32>) -> (tensor<1x150x1x2x128xbf16>, tensor<1x150x1x2xf32>, tensor<1x150x1x2x128xbf16>, tensor<1x150x1x128xbf16>, tensor<1x150x1x128xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838835e-02 causal slopes %s as tensor<1x2xf32> : tensor<1x150x1x2x128xbf16>, tensor<1x150x1x128xbf16>, tensor<1x150x1x128xbf16> -> tensor<1x150x1x2x128xbf16>, tensor<1x150x1x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838835e-02 causal slopes %s as tensor<1x2xf32> : tensor<1x150x1x2x128xbf16>, tensor<1x150x1x128xbf16>, tensor<1x150x1x128xbf16>, tensor<1x150x1x2x128xbf16>, tensor<1x150x1x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x150x1x2x128xbf16>, tensor<1x150x1x2xf32>, tensor<1x150x1x2x128xbf16>, tensor<1x150x1x128xbf16>, tensor<1x150x1x128xbf16>
}
func.func @longer_keys_64(%q: tensor<1x100x1x1x64xbf16>, %k: tensor<1x300x1x64xbf16>, %v: tensor<1x300x1x64xbf16>, %dout: tensor<1x100x1x1x64xbf16>) -> (tensor<1x100x1x1x64xbf16>, tensor<1x100x1x1xf32>, tensor<1x100x1x1x64xbf16>, tensor<1x300x1x64xbf16>, tensor<1x300x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal : tensor<1x100x1x1x64xbf16>, tensor<1x300x1x64xbf16>, tensor<1x300x1x64xbf16> -> tensor<1x100x1x1x64xbf16>, tensor<1x100x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 causal : tensor<1x100x1x1x64xbf16>, tensor<1x300x1x64xbf16>, tensor<1x300x1x64xbf16>, tensor<1x100x1x1x64xbf16>, tensor<1x100x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x100x1x1x64xbf16>, tensor<1x100x1x1xf32>, tensor<1x100x1x1x64xbf16>, tensor<1x300x1x64xbf16>, tensor<1x300x1x64xbf16>
}
func.func @widths(%q: tensor<1x129x1x1x128xbf16>, %k: tensor<1x129x1x128xbf16>, %v: tensor<1x129x1x64xbf16>, %dout: tensor<1x129x1x1x64xbf16>) -> (tensor<1x129x1x1x64xbf16>, tensor<1x129x1x1xf32>, tensor<1x129x1x1x128xbf16>, tensor<1x129x1x128xbf16>, tensor<1x129x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838835e-02 causal : tensor<1x129x1x1x128xbf16>, tensor<1x129x1x128xbf16>, tensor<1x129x1x64xbf16> -> tensor<1x129x1x1x64xbf16>, tensor<1x129x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838835e-02 causal : tensor<1x129x1x1x128xbf16>, tensor<1x129x1x128xbf16>, tensor<1x129x1x64xbf16>, tensor<1x129x1x1x64xbf16>, tensor<1x129x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x129x1x1x64xbf16>, tensor<1x129x1x1xf32>, tensor<1x129x1x1x128xbf16>, tensor<1x129x1x128xbf16>, tensor<1x129x1x64xbf16>
}
func.func @whole_64(%q: tensor<1x128x1x1x64xbf16>, %k: tensor<1x256x1x64xbf16>, %v: tensor<1x256x1x64xbf16>, %dout: tensor<1x128x1x1x64xbf16>) -> (tensor<1x128x1x1x64xbf16>, tensor<1x128x1x1xf32>, tensor<1x128x1x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x256x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 : tensor<1x128x1x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x256x1x64xbf16> -> tensor<1x128x1x1x64xbf16>, tensor<1x128x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 : tensor<1x128x1x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x128x1x1x64xbf16>, tensor<1x128x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x128x1x1x64xbf16>, tensor<1x128x1x1xf32>, tensor<1x128x1x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x256x1x64xbf16>
}
func.func @one_block_64(%q: tensor<1x70x1x3x64xbf16>, %k: tensor<1x70x1x64xbf16>, %v: tensor<1x70x1x64xbf16>, %dout: tensor<1x70x1x3x64xbf16>) -> (tensor<1x70x1x3x64xbf16>, tensor<1x70x1x3xf32>, tensor<1x70x1x3x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal : tensor<1x70x1x3x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16> -> tensor<1x70x1x3x64xbf16>, tensor<1x70x1x3xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 causal : tensor<1x70x1x3x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x3x64xbf16>, tensor<1x70x1x3xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x70x1x3x64xbf16>, tensor<1x70x1x3xf32>, tensor<1x70x1x3x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>
}
func.func @window_groups_64(%q: tensor<1x200x2x2x64xbf16>, %k: tensor<1x200x2x64xbf16>, %v: tensor<1x200x2x64xbf16>, %dout: tensor<1x200x2x2x64xbf16>) -> (tensor<1x200x2x2x64xbf16>, tensor<1x200x2x2xf32>, tensor<1x200x2x2x64xbf16>, tensor<1x200x2x64xbf16>, tensor<1x200x2x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal window 70 : tensor<1x200x2x2x64xbf16>, tensor<1x200x2x64xbf16>, tensor<1x200x2x64xbf16> -> tensor<1x200x2x2x64xbf16>, tensor<1x200x2x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 causal window 70 : tensor<1x200x2x2x64xbf16>, tensor<1x200x2x64xbf16>, tensor<1x200x2x64xbf16>, tensor<1x200x2x2x64xbf16>, tensor<1x200x2x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x200x2x2x64xbf16>, tensor<1x200x2x2xf32>, tensor<1x200x2x2x64xbf16>, tensor<1x200x2x64xbf16>, tensor<1x200x2x64xbf16>
}
func.func @last_query_64(%q: tensor<1x193x1x1x64xbf16>, %k: tensor<1x256x1x64xbf16>, %v: tensor<1x256x1x64xbf16>, %dout: tensor<1x193x1x1x64xbf16>) -> (tensor<1x193x1x1x64xbf16>, tensor<1x193x1x1xf32>, tensor<1x193x1x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x256x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal : tensor<1x193x1x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x256x1x64xbf16> -> tensor<1x193x1x1x64xbf16>, tensor<1x193x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 causal : tensor<1x193x1x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x193x1x1x64xbf16>, tensor<1x193x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x193x1x1x64xbf16>, tensor<1x193x1x1xf32>, tensor<1x193x1x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x256x1x64xbf16>
}
func.func @full_groups_128(%q: tensor<1x65x1x2x128xbf16>, %k: tensor<1x256x1x128xbf16>, %v: tensor<1x256x1x128xbf16>, %dout: tensor<1x65x1x2x128xbf16>) -> (tensor<1x65x1x2x128xbf16>, tensor<1x65x1x2xf32>, tensor<1x65x1x2x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838835e-02 : tensor<1x65x1x2x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16> -> tensor<1x65x1x2x128xbf16>, tensor<1x65x1x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838835e-02 : tensor<1x65x1x2x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x65x1x2x128xbf16>, tensor<1x65x1x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x65x1x2x128xbf16>, tensor<1x65x1x2xf32>, tensor<1x65x1x2x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>
}
