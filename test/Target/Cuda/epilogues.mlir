// Epilogues of GEMMs, in whole functions: their loops as kernels, GEMMs as the library computes them, against the
// interpreter. Sums are of bf16, and rounded once or twice.
// RUN: ppc-opt %s --ppc-test-kernel-numerics -o /dev/null | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-to-ppc-rt,ppc-fuse-rounding,ppc-fuse-epilogues)' | FileCheck %s --check-prefix=FUSED

// CHECK: @biased agrees
// CHECK: @residual agrees
// CHECK: @feed_forward agrees
// CHECK: @feed_forward_backward agrees
// CHECK: @parts agrees
// CHECK: @f32_bias agrees

// FUSED-LABEL: @biased
// FUSED: ppcrt.epilogue_gemm {{.*}} bias({{.*}}bf16>) {{.*}} activation none
func.func @biased(%x: tensor<2x128x64xbf16>, %w: tensor<64x4x256xbf16>, %b: tensor<4x256xf32>) -> tensor<2x128x4x256xbf16> attributes {test.rounding = 8.0e-3 : f64} {
  %p = ppc.matmul "bsh,hkd->bskd" %x, %w : (tensor<2x128x64xbf16>, tensor<64x4x256xbf16>) -> tensor<2x128x4x256xf32>
  %c = ppc.broadcast %b dims [0, 1] : tensor<4x256xf32> to tensor<2x128x4x256xf32>
  %s = ppc.add %p, %c : tensor<2x128x4x256xf32>
  %y = ppc.convert %s : tensor<2x128x4x256xf32> to tensor<2x128x4x256xbf16>
  return %y : tensor<2x128x4x256xbf16>
}

// FUSED-LABEL: @residual
// FUSED: ppcrt.epilogue_gemm {{.*}} addend({{.*}}f32>) bias({{.*}}f32>) {{.*}} activation none
func.func @residual(%h: tensor<4x32x64xf32>, %x: tensor<4x32x48xbf16>, %w: tensor<64x48xbf16>, %b: tensor<64xf32>) -> tensor<4x32x64xf32> {
  %p = ppc.matmul "bsf,hf->bsh" %x, %w : (tensor<4x32x48xbf16>, tensor<64x48xbf16>) -> tensor<4x32x64xf32>
  %c = ppc.broadcast %b dims [0, 1] : tensor<64xf32> to tensor<4x32x64xf32>
  %s = ppc.add %p, %c : tensor<4x32x64xf32>
  %y = ppc.add %h, %s : tensor<4x32x64xf32>
  return %y : tensor<4x32x64xf32>
}

// FUSED-LABEL: @feed_forward
// FUSED: %[[Y:.*]]:2 = ppcrt.epilogue_gemm {{.*}} activation gelu
// FUSED: return %[[Y]]#1, %[[Y]]#0
func.func @feed_forward(%x: tensor<256x64xbf16>, %w: tensor<64x1024xbf16>, %b: tensor<1024xf32>) -> (tensor<256x1024xbf16>, tensor<256x1024xbf16>) attributes {test.rounding = 8.0e-3 : f64} {
  %p = ppc.matmul "sh,hf->sf" %x, %w : (tensor<256x64xbf16>, tensor<64x1024xbf16>) -> tensor<256x1024xf32>
  %c = ppc.broadcast %b dims [0] : tensor<1024xf32> to tensor<256x1024xf32>
  %s = ppc.add %p, %c : tensor<256x1024xf32>
  %r = ppc.convert %s : tensor<256x1024xf32> to tensor<256x1024xbf16>
  %y = ppc.gelu %r tanh : tensor<256x1024xbf16>
  return %r, %y : tensor<256x1024xbf16>, tensor<256x1024xbf16>
}

// FUSED-LABEL: @feed_forward_backward
// FUSED: ppcrt.epilogue_gemm {{.*}} at({{.*}}) outs({{.*}}bf16>) activation gelu_gradient
func.func @feed_forward_backward(%dy: tensor<64x32xbf16>, %w: tensor<48x32xbf16>, %at: tensor<64x48xbf16>) -> tensor<64x48xbf16> {
  %p = ppc.matmul "sh,fh->sf" %dy, %w : (tensor<64x32xbf16>, tensor<48x32xbf16>) -> tensor<64x48xf32>
  %r = ppc.convert %p : tensor<64x48xf32> to tensor<64x48xbf16>
  %g = ppc.gelu_backward %at, %r tanh : tensor<64x48xbf16>
  return %g : tensor<64x48xbf16>
}

// The parts of queries, keys and values, each written as it is used; keys and values are fewer.
// FUSED-LABEL: @parts
// FUSED: ppcrt.epilogue_gemm {{.*}} sizes [4096, 512, 8]
// FUSED-SAME: -> tensor<2x2048x4x128xbf16>
// FUSED: ppcrt.epilogue_gemm {{.*}} sizes [4096, 128, 8]
// FUSED-SAME: column = 512
// FUSED: ppcrt.epilogue_gemm {{.*}} sizes [4096, 128, 8]
// FUSED-SAME: column = 640
func.func @parts(%x: tensor<2x2048x8xbf16>, %w: tensor<8x6x128xbf16>, %b: tensor<6x128xf32>) -> (tensor<2x2048x4x128xbf16>, tensor<2x2048x128xbf16>, tensor<2x2048x1x128xbf16>) attributes {test.rounding = 8.0e-3 : f64} {
  %p = ppc.matmul "bsh,hkd->bskd" %x, %w : (tensor<2x2048x8xbf16>, tensor<8x6x128xbf16>) -> tensor<2x2048x6x128xf32>
  %c = ppc.broadcast %b dims [0, 1] : tensor<6x128xf32> to tensor<2x2048x6x128xf32>
  %s = ppc.add %p, %c : tensor<2x2048x6x128xf32>
  %r = ppc.convert %s : tensor<2x2048x6x128xf32> to tensor<2x2048x6x128xbf16>
  %q, %k, %v = ppc.split %r dim 2 : tensor<2x2048x6x128xbf16> to tensor<2x2048x4x128xbf16>, tensor<2x2048x1x128xbf16>, tensor<2x2048x1x128xbf16>
  %l = ppc.reshape %k : tensor<2x2048x1x128xbf16> to tensor<2x2048x128xbf16>
  return %q, %l, %v : tensor<2x2048x4x128xbf16>, tensor<2x2048x128xbf16>, tensor<2x2048x1x128xbf16>
}

// FUSED-LABEL: @f32_bias
// FUSED: ppcrt.epilogue_gemm {{.*}} bias({{.*}}f32>) {{.*}} activation none
func.func @f32_bias(%x: tensor<16x8xf32>, %w: tensor<8x24xf32>, %b: tensor<24xf32>) -> tensor<16x24xf32> {
  %p = ppc.matmul "sh,hf->sf" %x, %w : (tensor<16x8xf32>, tensor<8x24xf32>) -> tensor<16x24xf32>
  %c = ppc.broadcast %b dims [0] : tensor<24xf32> to tensor<16x24xf32>
  %y = ppc.add %p, %c : tensor<16x24xf32>
  return %y : tensor<16x24xf32>
}
