// Attention forward by tensor memory of sm_100a: heads of 64 and 128, keys and queries that fill no tile, groups, values of another width, more keys than
// queries, several sequences, and scores so far apart that sums are scaled on the way. In bf16, where exponentials are rounded before they are
// multiplied.
// Covers AttentionTensorMemory.cpp and TensorMemory.cpp, against the interpreter.
// RUN: ppc-opt %s --ppc-test-kernel-numerics="chip=sm_100a ptx=%t.ptx" -o /dev/null | FileCheck %s
// RUN: FileCheck --check-prefix=PTX --input-file=%t.ptx %s

// CHECK: @full_128 agrees
// CHECK: @full_uneven_128 agrees
// CHECK: @causal_128 agrees
// CHECK: @causal_even_128 agrees
// CHECK: @longer_keys_128 agrees
// CHECK: @causal_64 agrees
// CHECK: @full_64 agrees
// CHECK: @latent_128_64 agrees
// CHECK: @one_key_64 agrees
// CHECK: @far_apart_64 agrees
// CHECK: @far_apart_128 agrees

// PTX-NOT: mma.sync
// PTX: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32
// PTX: cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: tcgen05.mma.cta_group::1.kind::f16
// PTX: tcgen05.dealloc.cta_group::1.sync.aligned.b32
// PTX-NOT: mma.sync

func.func @full_128(%q: tensor<2x20x1x2x128xbf16>, %k: tensor<2x256x1x128xbf16>, %v: tensor<2x256x1x128xbf16>) -> (tensor<2x20x1x2x128xbf16>, tensor<2x20x1x2xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 : tensor<2x20x1x2x128xbf16>, tensor<2x256x1x128xbf16>, tensor<2x256x1x128xbf16> -> tensor<2x20x1x2x128xbf16>, tensor<2x20x1x2xf32>
  return %out, %lse : tensor<2x20x1x2x128xbf16>, tensor<2x20x1x2xf32>
}

func.func @full_uneven_128(%q: tensor<1x131x1x1x128xbf16>, %k: tensor<1x333x1x128xbf16>, %v: tensor<1x333x1x128xbf16>) -> (tensor<1x131x1x1x128xbf16>, tensor<1x131x1x1xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 : tensor<1x131x1x1x128xbf16>, tensor<1x333x1x128xbf16>, tensor<1x333x1x128xbf16> -> tensor<1x131x1x1x128xbf16>, tensor<1x131x1x1xf32>
  return %out, %lse : tensor<1x131x1x1x128xbf16>, tensor<1x131x1x1xf32>
}

func.func @causal_128(%q: tensor<1x300x1x2x128xbf16>, %k: tensor<1x300x1x128xbf16>, %v: tensor<1x300x1x128xbf16>) -> (tensor<1x300x1x2x128xbf16>, tensor<1x300x1x2xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 causal : tensor<1x300x1x2x128xbf16>, tensor<1x300x1x128xbf16>, tensor<1x300x1x128xbf16> -> tensor<1x300x1x2x128xbf16>, tensor<1x300x1x2xf32>
  return %out, %lse : tensor<1x300x1x2x128xbf16>, tensor<1x300x1x2xf32>
}

func.func @causal_even_128(%q: tensor<1x256x1x1x128xbf16>, %k: tensor<1x256x1x128xbf16>, %v: tensor<1x256x1x128xbf16>) -> (tensor<1x256x1x1x128xbf16>, tensor<1x256x1x1xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 causal : tensor<1x256x1x1x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16> -> tensor<1x256x1x1x128xbf16>, tensor<1x256x1x1xf32>
  return %out, %lse : tensor<1x256x1x1x128xbf16>, tensor<1x256x1x1xf32>
}

func.func @longer_keys_128(%q: tensor<1x70x2x1x128xbf16>, %k: tensor<1x397x2x128xbf16>, %v: tensor<1x397x2x128xbf16>) -> (tensor<1x70x2x1x128xbf16>, tensor<1x70x2x1xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 causal : tensor<1x70x2x1x128xbf16>, tensor<1x397x2x128xbf16>, tensor<1x397x2x128xbf16> -> tensor<1x70x2x1x128xbf16>, tensor<1x70x2x1xf32>
  return %out, %lse : tensor<1x70x2x1x128xbf16>, tensor<1x70x2x1xf32>
}

func.func @causal_64(%q: tensor<2x129x1x2x64xbf16>, %k: tensor<2x129x1x64xbf16>, %v: tensor<2x129x1x64xbf16>) -> (tensor<2x129x1x2x64xbf16>, tensor<2x129x1x2xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal : tensor<2x129x1x2x64xbf16>, tensor<2x129x1x64xbf16>, tensor<2x129x1x64xbf16> -> tensor<2x129x1x2x64xbf16>, tensor<2x129x1x2xf32>
  return %out, %lse : tensor<2x129x1x2x64xbf16>, tensor<2x129x1x2xf32>
}

func.func @full_64(%q: tensor<1x65x1x1x64xbf16>, %k: tensor<1x384x1x64xbf16>, %v: tensor<1x384x1x64xbf16>) -> (tensor<1x65x1x1x64xbf16>, tensor<1x65x1x1xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 : tensor<1x65x1x1x64xbf16>, tensor<1x384x1x64xbf16>, tensor<1x384x1x64xbf16> -> tensor<1x65x1x1x64xbf16>, tensor<1x65x1x1xf32>
  return %out, %lse : tensor<1x65x1x1x64xbf16>, tensor<1x65x1x1xf32>
}

func.func @latent_128_64(%q: tensor<1x140x1x1x128xbf16>, %k: tensor<1x270x1x128xbf16>, %v: tensor<1x270x1x64xbf16>) -> (tensor<1x140x1x1x64xbf16>, tensor<1x140x1x1xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838830e-02 causal : tensor<1x140x1x1x128xbf16>, tensor<1x270x1x128xbf16>, tensor<1x270x1x64xbf16> -> tensor<1x140x1x1x64xbf16>, tensor<1x140x1x1xf32>
  return %out, %lse : tensor<1x140x1x1x64xbf16>, tensor<1x140x1x1xf32>
}

func.func @one_key_64(%q: tensor<1x1x1x1x64xbf16>, %k: tensor<1x1x1x64xbf16>, %v: tensor<1x1x1x64xbf16>) -> (tensor<1x1x1x1x64xbf16>, tensor<1x1x1x1xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal : tensor<1x1x1x1x64xbf16>, tensor<1x1x1x64xbf16>, tensor<1x1x1x64xbf16> -> tensor<1x1x1x1x64xbf16>, tensor<1x1x1x1xf32>
  return %out, %lse : tensor<1x1x1x1x64xbf16>, tensor<1x1x1x1xf32>
}

func.func @far_apart_64(%q: tensor<1x260x1x1x64xbf16>, %k: tensor<1x520x1x64xbf16>, %v: tensor<1x520x1x64xbf16>) -> (tensor<1x260x1x1x64xbf16>, tensor<1x260x1x1xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 2.000000e+00 causal : tensor<1x260x1x1x64xbf16>, tensor<1x520x1x64xbf16>, tensor<1x520x1x64xbf16> -> tensor<1x260x1x1x64xbf16>, tensor<1x260x1x1xf32>
  return %out, %lse : tensor<1x260x1x1x64xbf16>, tensor<1x260x1x1xf32>
}

func.func @far_apart_128(%q: tensor<1x150x1x1x128xbf16>, %k: tensor<1x400x1x128xbf16>, %v: tensor<1x400x1x128xbf16>) -> (tensor<1x150x1x1x128xbf16>, tensor<1x150x1x1xf32>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.000000e+00 : tensor<1x150x1x1x128xbf16>, tensor<1x400x1x128xbf16>, tensor<1x400x1x128xbf16> -> tensor<1x150x1x1x128xbf16>, tensor<1x150x1x1xf32>
  return %out, %lse : tensor<1x150x1x1x128xbf16>, tensor<1x150x1x1xf32>
}
