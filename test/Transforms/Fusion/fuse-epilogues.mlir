// Ops after a GEMM become its epilogue if that moves fewer bytes (EpilogueChain.cpp); remarks state the savings.
// RUN: ppc-opt %s --ppc-fuse-epilogues=explain --split-input-file --verify-diagnostics | FileCheck %s

// A residual that is needed later, too, is added by the GEMM: its result is read once less.
// CHECK-LABEL: func.func @residual
// CHECK:         %[[H:.*]] = ppcrt.epilogue_gemm ins(%arg1, %arg2 : {{.*}}) addend(%arg0 : tensor<64x64xf32>) bias(%arg3 : tensor<64xf32>)
// CHECK-SAME:      activation none sizes [64, 64, 32] strides [32, 1, 64, 1]
// CHECK:         ppc.rms_norm %[[H]]
func.func @residual(%x: tensor<64x64xf32>, %a: tensor<64x32xbf16>, %b: tensor<32x64xbf16>, %c: tensor<64xf32>, %w: tensor<64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %empty = tensor.empty() : tensor<64x64xf32>
  // expected-remark @below {{ends with bias, addend, which saves 16384 of 1114368 bytes}}
  %p = ppcrt.gemm ins(%a, %b : tensor<64x32xbf16>, tensor<32x64xbf16>) outs(%empty : tensor<64x64xf32>) sizes [64, 64, 32] strides [32, 1, 64, 1, 64, 1] loops [] -> tensor<64x64xf32>
  %r = ppc.broadcast %c dims [0] : tensor<64xf32> to tensor<64x64xf32>
  %s = ppc.add %p, %r : tensor<64x64xf32>
  %h = ppc.add %x, %s : tensor<64x64xf32>
  %n = ppc.rms_norm %h, %w epsilon 1.0e-5 : tensor<64x64xf32>, tensor<64xf32>
  return %h, %n : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// One that nothing but the norm reads stays where it is: it would move as much.
// CHECK-LABEL: func.func @inside
// CHECK:         ppcrt.gemm
// CHECK-NOT:     ppcrt.epilogue_gemm
func.func @inside(%x: tensor<64x64xf32>, %a: tensor<64x32xbf16>, %b: tensor<32x64xbf16>, %w: tensor<64xf32>) -> tensor<64x64xf32> {
  %empty = tensor.empty() : tensor<64x64xf32>
  // expected-remark @below {{has no epilogue: with addend it would save 0 bytes}}
  %p = ppcrt.gemm ins(%a, %b : tensor<64x32xbf16>, tensor<32x64xbf16>) outs(%empty : tensor<64x64xf32>) sizes [64, 64, 32] strides [32, 1, 64, 1, 64, 1] loops [] -> tensor<64x64xf32>
  %h = ppc.add %x, %p : tensor<64x64xf32>
  %n = ppc.rms_norm %h, %w epsilon 1.0e-5 : tensor<64x64xf32>, tensor<64xf32>
  return %n : tensor<64x64xf32>
}

// -----

// For a gate only its multiplication reads the activation: a kernel is left in any case, and would read as much.
// CHECK-LABEL: func.func @gated
// CHECK-NOT:     ppcrt.epilogue_gemm
func.func @gated(%a: tensor<64x32xbf16>, %b: tensor<32x64xbf16>, %up: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
  %empty = tensor.empty() : tensor<64x64xbf16>
  // expected-remark @below {{has no epilogue: with gelu in addition to its sum it would save -8192 bytes}}
  %p = ppcrt.gemm ins(%a, %b : tensor<64x32xbf16>, tensor<32x64xbf16>) outs(%empty : tensor<64x64xbf16>) sizes [64, 64, 32] strides [32, 1, 64, 1, 64, 1] loops [] -> tensor<64x64xbf16>
  %g = ppc.gelu %p tanh : tensor<64x64xbf16>
  %m = ppc.mul %g, %up : tensor<64x64xbf16>
  return %p, %m : tensor<64x64xbf16>, tensor<64x64xbf16>
}

// -----

// The library has the tanh approximation only, adds biases along columns only, and adds nothing to rounded values; GEMMs that
// accumulate, have loops or an odd number of columns have no epilogue, and neither have sums that are used twice.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     ppcrt.epilogue_gemm
func.func @others(%a: tensor<16x16xbf16>, %b: tensor<16x16xbf16>, %acc: tensor<16x16xf32>, %c: tensor<16xf32>, %o: tensor<16x9xbf16>, %oc: tensor<9xf32>) -> (tensor<16x16xbf16>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x9xf32>) {
  %narrow = tensor.empty() : tensor<16x16xbf16>
  %wide = tensor.empty() : tensor<16x16xf32>
  %odd = tensor.empty() : tensor<16x9xf32>
  %p = ppcrt.gemm ins(%a, %b : tensor<16x16xbf16>, tensor<16x16xbf16>) outs(%narrow : tensor<16x16xbf16>) sizes [16, 16, 16] strides [16, 1, 16, 1, 16, 1] loops [] -> tensor<16x16xbf16>
  %y = ppc.gelu %p : tensor<16x16xbf16>
  %q = ppcrt.gemm ins(%a, %b : tensor<16x16xbf16>, tensor<16x16xbf16>) outs(%acc : tensor<16x16xf32>) sizes [16, 16, 16] strides [16, 1, 16, 1, 16, 1] loops [] accumulate -> tensor<16x16xf32>
  %columns = ppc.broadcast %c dims [0] : tensor<16xf32> to tensor<16x16xf32>
  %z = ppc.add %q, %columns : tensor<16x16xf32>
  %r = ppcrt.gemm ins(%a, %b : tensor<16x16xbf16>, tensor<16x16xbf16>) outs(%wide : tensor<16x16xf32>) sizes [16, 16, 16] strides [16, 1, 16, 1, 16, 1] loops [] -> tensor<16x16xf32>
  %u = ppc.add %r, %columns : tensor<16x16xf32>
  %v = ppc.mul %r, %u : tensor<16x16xf32>
  %s = ppcrt.gemm ins(%a, %b : tensor<16x16xbf16>, tensor<16x16xbf16>) outs(%wide : tensor<16x16xf32>) sizes [16, 16, 16] strides [16, 1, 16, 1, 1, 16] loops [] -> tensor<16x16xf32>
  %w = ppc.add %s, %columns : tensor<16x16xf32>
  %t = ppcrt.gemm ins(%a, %o : tensor<16x16xbf16>, tensor<16x9xbf16>) outs(%odd : tensor<16x9xf32>) sizes [16, 9, 16] strides [16, 1, 9, 1, 9, 1] loops [] -> tensor<16x9xf32>
  %nine = ppc.broadcast %oc dims [0] : tensor<9xf32> to tensor<16x9xf32>
  %x = ppc.add %t, %nine : tensor<16x9xf32>
  return %y, %z, %v, %w, %x : tensor<16x16xbf16>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x9xf32>
}
