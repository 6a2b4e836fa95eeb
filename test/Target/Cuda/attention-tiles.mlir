// Attention on tensor cores: heads of 16 to 256, keys and queries that fill no tile, windows, slopes, groups, values of
// another width. In bf16, where exponentials are rounded before they are multiplied.
// RUN: ppc-opt %s --ppc-test-kernel-numerics=ptx=%t.ptx -o /dev/null | FileCheck %s
// RUN: FileCheck --check-prefix=PTX --input-file=%t.ptx %s

// CHECK: @full_16 agrees
// CHECK: @causal_64 agrees
// CHECK: @window_32 agrees
// CHECK: @longer_keys_48 agrees
// CHECK: @slopes_80 agrees
// CHECK: @latent_48_32 agrees
// CHECK: @causal_128 agrees
// CHECK: @causal_256 agrees

// PTX-DAG: cp.async.cg.shared.global
// PTX-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX-DAG: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// PTX-DAG: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PTX-DAG: ex2.approx.ftz.f32

func.func @full_16(%q: tensor<2x20x1x2x16xbf16>, %k: tensor<2x33x1x16xbf16>, %v: tensor<2x33x1x16xbf16>, %dout: tensor<2x20x1x2x16xbf16>) -> (tensor<2x20x1x2x16xbf16>, tensor<2x20x1x2xf32>, tensor<2x20x1x2x16xbf16>, tensor<2x33x1x16xbf16>, tensor<2x33x1x16xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 2.500000e-01 : tensor<2x20x1x2x16xbf16>, tensor<2x33x1x16xbf16>, tensor<2x33x1x16xbf16> -> tensor<2x20x1x2x16xbf16>, tensor<2x20x1x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 2.500000e-01 : tensor<2x20x1x2x16xbf16>, tensor<2x33x1x16xbf16>, tensor<2x33x1x16xbf16>, tensor<2x20x1x2x16xbf16>, tensor<2x20x1x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<2x20x1x2x16xbf16>, tensor<2x20x1x2xf32>, tensor<2x20x1x2x16xbf16>, tensor<2x33x1x16xbf16>, tensor<2x33x1x16xbf16>
}

func.func @causal_64(%q: tensor<1x70x1x2x64xbf16>, %k: tensor<1x70x1x64xbf16>, %v: tensor<1x70x1x64xbf16>, %dout: tensor<1x70x1x2x64xbf16>) -> (tensor<1x70x1x2x64xbf16>, tensor<1x70x1x2xf32>, tensor<1x70x1x2x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal : tensor<1x70x1x2x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16> -> tensor<1x70x1x2x64xbf16>, tensor<1x70x1x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.250000e-01 causal : tensor<1x70x1x2x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x2x64xbf16>, tensor<1x70x1x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x70x1x2x64xbf16>, tensor<1x70x1x2xf32>, tensor<1x70x1x2x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>
}

func.func @window_32(%q: tensor<1x90x2x1x32xbf16>, %k: tensor<1x90x2x32xbf16>, %v: tensor<1x90x2x32xbf16>, %dout: tensor<1x90x2x1x32xbf16>) -> (tensor<1x90x2x1x32xbf16>, tensor<1x90x2x1xf32>, tensor<1x90x2x1x32xbf16>, tensor<1x90x2x32xbf16>, tensor<1x90x2x32xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.767767e-01 causal window 24 : tensor<1x90x2x1x32xbf16>, tensor<1x90x2x32xbf16>, tensor<1x90x2x32xbf16> -> tensor<1x90x2x1x32xbf16>, tensor<1x90x2x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.767767e-01 causal window 24 : tensor<1x90x2x1x32xbf16>, tensor<1x90x2x32xbf16>, tensor<1x90x2x32xbf16>, tensor<1x90x2x1x32xbf16>, tensor<1x90x2x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x90x2x1x32xbf16>, tensor<1x90x2x1xf32>, tensor<1x90x2x1x32xbf16>, tensor<1x90x2x32xbf16>, tensor<1x90x2x32xbf16>
}

func.func @longer_keys_48(%q: tensor<1x17x1x1x48xbf16>, %k: tensor<1x81x1x48xbf16>, %v: tensor<1x81x1x48xbf16>, %dout: tensor<1x17x1x1x48xbf16>) -> (tensor<1x17x1x1x48xbf16>, tensor<1x17x1x1xf32>, tensor<1x17x1x1x48xbf16>, tensor<1x81x1x48xbf16>, tensor<1x81x1x48xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.443376e-01 causal : tensor<1x17x1x1x48xbf16>, tensor<1x81x1x48xbf16>, tensor<1x81x1x48xbf16> -> tensor<1x17x1x1x48xbf16>, tensor<1x17x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.443376e-01 causal : tensor<1x17x1x1x48xbf16>, tensor<1x81x1x48xbf16>, tensor<1x81x1x48xbf16>, tensor<1x17x1x1x48xbf16>, tensor<1x17x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x17x1x1x48xbf16>, tensor<1x17x1x1xf32>, tensor<1x17x1x1x48xbf16>, tensor<1x81x1x48xbf16>, tensor<1x81x1x48xbf16>
}

func.func @slopes_80(%q: tensor<1x40x1x2x80xbf16>, %k: tensor<1x40x1x80xbf16>, %v: tensor<1x40x1x80xbf16>, %dout: tensor<1x40x1x2x80xbf16>, %s: tensor<1x2xf32>) -> (tensor<1x40x1x2x80xbf16>, tensor<1x40x1x2xf32>, tensor<1x40x1x2x80xbf16>, tensor<1x40x1x80xbf16>, tensor<1x40x1x80xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.118034e-01 causal slopes %s as tensor<1x2xf32> : tensor<1x40x1x2x80xbf16>, tensor<1x40x1x80xbf16>, tensor<1x40x1x80xbf16> -> tensor<1x40x1x2x80xbf16>, tensor<1x40x1x2xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.118034e-01 causal slopes %s as tensor<1x2xf32> : tensor<1x40x1x2x80xbf16>, tensor<1x40x1x80xbf16>, tensor<1x40x1x80xbf16>, tensor<1x40x1x2x80xbf16>, tensor<1x40x1x2xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x40x1x2x80xbf16>, tensor<1x40x1x2xf32>, tensor<1x40x1x2x80xbf16>, tensor<1x40x1x80xbf16>, tensor<1x40x1x80xbf16>
}

func.func @latent_48_32(%q: tensor<1x24x2x1x48xbf16>, %k: tensor<1x24x2x48xbf16>, %v: tensor<1x24x2x32xbf16>, %dout: tensor<1x24x2x1x32xbf16>) -> (tensor<1x24x2x1x32xbf16>, tensor<1x24x2x1xf32>, tensor<1x24x2x1x48xbf16>, tensor<1x24x2x48xbf16>, tensor<1x24x2x32xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 1.443376e-01 causal : tensor<1x24x2x1x48xbf16>, tensor<1x24x2x48xbf16>, tensor<1x24x2x32xbf16> -> tensor<1x24x2x1x32xbf16>, tensor<1x24x2x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 1.443376e-01 causal : tensor<1x24x2x1x48xbf16>, tensor<1x24x2x48xbf16>, tensor<1x24x2x32xbf16>, tensor<1x24x2x1x32xbf16>, tensor<1x24x2x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x24x2x1x32xbf16>, tensor<1x24x2x1xf32>, tensor<1x24x2x1x48xbf16>, tensor<1x24x2x48xbf16>, tensor<1x24x2x32xbf16>
}

func.func @causal_128(%q: tensor<1x66x1x1x128xbf16>, %k: tensor<1x66x1x128xbf16>, %v: tensor<1x66x1x128xbf16>, %dout: tensor<1x66x1x1x128xbf16>) -> (tensor<1x66x1x1x128xbf16>, tensor<1x66x1x1xf32>, tensor<1x66x1x1x128xbf16>, tensor<1x66x1x128xbf16>, tensor<1x66x1x128xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 8.838835e-02 causal : tensor<1x66x1x1x128xbf16>, tensor<1x66x1x128xbf16>, tensor<1x66x1x128xbf16> -> tensor<1x66x1x1x128xbf16>, tensor<1x66x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 8.838835e-02 causal : tensor<1x66x1x1x128xbf16>, tensor<1x66x1x128xbf16>, tensor<1x66x1x128xbf16>, tensor<1x66x1x1x128xbf16>, tensor<1x66x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x66x1x1x128xbf16>, tensor<1x66x1x1xf32>, tensor<1x66x1x1x128xbf16>, tensor<1x66x1x128xbf16>, tensor<1x66x1x128xbf16>
}

func.func @causal_256(%q: tensor<1x20x1x1x256xbf16>, %k: tensor<1x20x1x256xbf16>, %v: tensor<1x20x1x256xbf16>, %dout: tensor<1x20x1x1x256xbf16>) -> (tensor<1x20x1x1x256xbf16>, tensor<1x20x1x1xf32>, tensor<1x20x1x1x256xbf16>, tensor<1x20x1x256xbf16>, tensor<1x20x1x256xbf16>) attributes {test.rounding = 2.0e-02} {
  %out, %lse = ppc.attention %q, %k, %v scale 6.250000e-02 causal : tensor<1x20x1x1x256xbf16>, tensor<1x20x1x256xbf16>, tensor<1x20x1x256xbf16> -> tensor<1x20x1x1x256xbf16>, tensor<1x20x1x1xf32>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 6.250000e-02 causal : tensor<1x20x1x1x256xbf16>, tensor<1x20x1x256xbf16>, tensor<1x20x1x256xbf16>, tensor<1x20x1x1x256xbf16>, tensor<1x20x1x1xf32>
  return %out, %lse, %dq, %dk, %dv : tensor<1x20x1x1x256xbf16>, tensor<1x20x1x1xf32>, tensor<1x20x1x1x256xbf16>, tensor<1x20x1x256xbf16>, tensor<1x20x1x256xbf16>
}
