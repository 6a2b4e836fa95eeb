// Attention by warpgroups of sm_90a: heads of 64 and 128, keys and queries that fill no tile, groups, values of another
// width, more keys than queries, several sequences. In bf16, where exponentials are rounded before they are multiplied.
// Covers AttentionWarpgroupForward.cpp, AttentionWarpgroupGradients.cpp and WarpgroupTiles.cpp, against the interpreter.
// RUN: ppc-opt %s --ppc-test-kernel-numerics="chip=sm_90a ptx=%t.ptx" -o /dev/null | FileCheck %s
// RUN: FileCheck --check-prefix=PTX --input-file=%t.ptx %s
// The other chips have the kernels of before.
// RUN: ppc-opt %s --ppc-test-kernel-numerics="chip=sm_80 ptx=%t.80.ptx" -o /dev/null | FileCheck %s
// RUN: FileCheck --check-prefix=OTHERS --input-file=%t.80.ptx %s

// CHECK: @full_128 agrees
// CHECK: @full_uneven_128 agrees
// CHECK: @causal_128 agrees
// CHECK: @causal_even_128 agrees
// CHECK: @longer_keys_128 agrees
// CHECK: @causal_64 agrees
// CHECK: @full_64 agrees
// CHECK: @latent_128_64 agrees
// CHECK: @one_key_64 agrees

// PTX-NOT: mma.sync
// PTX: mbarrier.try_wait.parity.shared::cta.b64
// PTX: cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// PTX-NOT: mma.sync
// OTHERS-NOT: wgmma
// OTHERS: mma.sync
// OTHERS-NOT: wgmma

func.func @full_128(%q: tensor<2x20x1x2x128xbf16>, %k: tensor<2x256x1x128xbf16>, %v: tensor<2x256x1x128xbf16>, %dout: tensor<2x20x1x2x128xbf16>) -> (tensor<2x20x1x2x128xbf16>, tensor<2x20x1x2xf32>, tensor<2x20x1x2x128xbf16>, tensor<2x256x1x128xbf16>, tensor<2x256x1x128xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 : tensor<2x20x1x2x128xbf16>, tensor<2x256x1x128xbf16>, tensor<2x256x1x128xbf16> -> tensor<2x20x1x2x128xbf16>, tensor<2x20x1x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838830e-02 : tensor<2x20x1x2x128xbf16>, tensor<2x256x1x128xbf16>, tensor<2x256x1x128xbf16>, tensor<2x20x1x2x128xbf16>, tensor<2x20x1x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<2x20x1x2x128xbf16>, tensor<2x20x1x2xf32>, tensor<2x20x1x2x128xbf16>, tensor<2x256x1x128xbf16>, tensor<2x256x1x128xbf16>
}

func.func @full_uneven_128(%q: tensor<1x131x1x1x128xbf16>, %k: tensor<1x333x1x128xbf16>, %v: tensor<1x333x1x128xbf16>, %dout: tensor<1x131x1x1x128xbf16>) -> (tensor<1x131x1x1x128xbf16>, tensor<1x131x1x1xf32>, tensor<1x131x1x1x128xbf16>, tensor<1x333x1x128xbf16>, tensor<1x333x1x128xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 : tensor<1x131x1x1x128xbf16>, tensor<1x333x1x128xbf16>, tensor<1x333x1x128xbf16> -> tensor<1x131x1x1x128xbf16>, tensor<1x131x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838830e-02 : tensor<1x131x1x1x128xbf16>, tensor<1x333x1x128xbf16>, tensor<1x333x1x128xbf16>, tensor<1x131x1x1x128xbf16>, tensor<1x131x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x131x1x1x128xbf16>, tensor<1x131x1x1xf32>, tensor<1x131x1x1x128xbf16>, tensor<1x333x1x128xbf16>, tensor<1x333x1x128xbf16>
}

func.func @causal_128(%q: tensor<1x300x1x2x128xbf16>, %k: tensor<1x300x1x128xbf16>, %v: tensor<1x300x1x128xbf16>, %dout: tensor<1x300x1x2x128xbf16>) -> (tensor<1x300x1x2x128xbf16>, tensor<1x300x1x2xf32>, tensor<1x300x1x2x128xbf16>, tensor<1x300x1x128xbf16>, tensor<1x300x1x128xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 causal : tensor<1x300x1x2x128xbf16>, tensor<1x300x1x128xbf16>, tensor<1x300x1x128xbf16> -> tensor<1x300x1x2x128xbf16>, tensor<1x300x1x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838830e-02 causal : tensor<1x300x1x2x128xbf16>, tensor<1x300x1x128xbf16>, tensor<1x300x1x128xbf16>, tensor<1x300x1x2x128xbf16>, tensor<1x300x1x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x300x1x2x128xbf16>, tensor<1x300x1x2xf32>, tensor<1x300x1x2x128xbf16>, tensor<1x300x1x128xbf16>, tensor<1x300x1x128xbf16>
}

func.func @causal_even_128(%q: tensor<1x256x1x1x128xbf16>, %k: tensor<1x256x1x128xbf16>, %v: tensor<1x256x1x128xbf16>, %dout: tensor<1x256x1x1x128xbf16>) -> (tensor<1x256x1x1x128xbf16>, tensor<1x256x1x1xf32>, tensor<1x256x1x1x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 causal : tensor<1x256x1x1x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16> -> tensor<1x256x1x1x128xbf16>, tensor<1x256x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838830e-02 causal : tensor<1x256x1x1x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x1x128xbf16>, tensor<1x256x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x256x1x1x128xbf16>, tensor<1x256x1x1xf32>, tensor<1x256x1x1x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>
}

func.func @longer_keys_128(%q: tensor<1x70x2x1x128xbf16>, %k: tensor<1x397x2x128xbf16>, %v: tensor<1x397x2x128xbf16>, %dout: tensor<1x70x2x1x128xbf16>) -> (tensor<1x70x2x1x128xbf16>, tensor<1x70x2x1xf32>, tensor<1x70x2x1x128xbf16>, tensor<1x397x2x128xbf16>, tensor<1x397x2x128xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 causal : tensor<1x70x2x1x128xbf16>, tensor<1x397x2x128xbf16>, tensor<1x397x2x128xbf16> -> tensor<1x70x2x1x128xbf16>, tensor<1x70x2x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838830e-02 causal : tensor<1x70x2x1x128xbf16>, tensor<1x397x2x128xbf16>, tensor<1x397x2x128xbf16>, tensor<1x70x2x1x128xbf16>, tensor<1x70x2x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x70x2x1x128xbf16>, tensor<1x70x2x1xf32>, tensor<1x70x2x1x128xbf16>, tensor<1x397x2x128xbf16>, tensor<1x397x2x128xbf16>
}

func.func @causal_64(%q: tensor<2x129x1x2x64xbf16>, %k: tensor<2x129x1x64xbf16>, %v: tensor<2x129x1x64xbf16>, %dout: tensor<2x129x1x2x64xbf16>) -> (tensor<2x129x1x2x64xbf16>, tensor<2x129x1x2xf32>, tensor<2x129x1x2x64xbf16>, tensor<2x129x1x64xbf16>, tensor<2x129x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal : tensor<2x129x1x2x64xbf16>, tensor<2x129x1x64xbf16>, tensor<2x129x1x64xbf16> -> tensor<2x129x1x2x64xbf16>, tensor<2x129x1x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 causal : tensor<2x129x1x2x64xbf16>, tensor<2x129x1x64xbf16>, tensor<2x129x1x64xbf16>, tensor<2x129x1x2x64xbf16>, tensor<2x129x1x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<2x129x1x2x64xbf16>, tensor<2x129x1x2xf32>, tensor<2x129x1x2x64xbf16>, tensor<2x129x1x64xbf16>, tensor<2x129x1x64xbf16>
}

func.func @full_64(%q: tensor<1x65x1x1x64xbf16>, %k: tensor<1x384x1x64xbf16>, %v: tensor<1x384x1x64xbf16>, %dout: tensor<1x65x1x1x64xbf16>) -> (tensor<1x65x1x1x64xbf16>, tensor<1x65x1x1xf32>, tensor<1x65x1x1x64xbf16>, tensor<1x384x1x64xbf16>, tensor<1x384x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 : tensor<1x65x1x1x64xbf16>, tensor<1x384x1x64xbf16>, tensor<1x384x1x64xbf16> -> tensor<1x65x1x1x64xbf16>, tensor<1x65x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 : tensor<1x65x1x1x64xbf16>, tensor<1x384x1x64xbf16>, tensor<1x384x1x64xbf16>, tensor<1x65x1x1x64xbf16>, tensor<1x65x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x65x1x1x64xbf16>, tensor<1x65x1x1xf32>, tensor<1x65x1x1x64xbf16>, tensor<1x384x1x64xbf16>, tensor<1x384x1x64xbf16>
}

func.func @latent_128_64(%q: tensor<1x140x1x1x128xbf16>, %k: tensor<1x270x1x128xbf16>, %v: tensor<1x270x1x64xbf16>, %dout: tensor<1x140x1x1x64xbf16>) -> (tensor<1x140x1x1x64xbf16>, tensor<1x140x1x1xf32>, tensor<1x140x1x1x128xbf16>, tensor<1x270x1x128xbf16>, tensor<1x270x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 causal : tensor<1x140x1x1x128xbf16>, tensor<1x270x1x128xbf16>, tensor<1x270x1x64xbf16> -> tensor<1x140x1x1x64xbf16>, tensor<1x140x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838830e-02 causal : tensor<1x140x1x1x128xbf16>, tensor<1x270x1x128xbf16>, tensor<1x270x1x64xbf16>, tensor<1x140x1x1x64xbf16>, tensor<1x140x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x140x1x1x64xbf16>, tensor<1x140x1x1xf32>, tensor<1x140x1x1x128xbf16>, tensor<1x270x1x128xbf16>, tensor<1x270x1x64xbf16>
}

func.func @one_key_64(%q: tensor<1x1x1x1x64xbf16>, %k: tensor<1x1x1x64xbf16>, %v: tensor<1x1x1x64xbf16>, %dout: tensor<1x1x1x1x64xbf16>) -> (tensor<1x1x1x1x64xbf16>, tensor<1x1x1x1xf32>, tensor<1x1x1x1x64xbf16>, tensor<1x1x1x64xbf16>, tensor<1x1x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal : tensor<1x1x1x1x64xbf16>, tensor<1x1x1x64xbf16>, tensor<1x1x1x64xbf16> -> tensor<1x1x1x1x64xbf16>, tensor<1x1x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 causal : tensor<1x1x1x1x64xbf16>, tensor<1x1x1x64xbf16>, tensor<1x1x1x64xbf16>, tensor<1x1x1x1x64xbf16>, tensor<1x1x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x1x1x1x64xbf16>, tensor<1x1x1x1xf32>, tensor<1x1x1x1x64xbf16>, tensor<1x1x1x64xbf16>, tensor<1x1x1x64xbf16>
}
