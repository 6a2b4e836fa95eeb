// Exponentials as exact as their uses need (Exponentials.h): rounded to bf16 without a correction, those of
// differences from one number of a row by one multiply-add, others with a correction. Numbers of either sign and of 30.
// RUN: ppc-opt %s --ppc-test-kernel-numerics=ptx=%t.ptx -o /dev/null | FileCheck %s
// RUN: FileCheck --check-prefix=PTX --input-file=%t.ptx %s

// CHECK: @rounded agrees
// CHECK: @far_from_zero agrees
// CHECK: @logistic agrees
// CHECK: @log_sum_exp agrees
// CHECK: @loss_gradient agrees
// CHECK: @softmax agrees

// PTX: .entry elementwise_
// PTX-NOT: div.full
// PTX: rcp.approx.ftz.f32
// PTX: .entry

func.func @rounded(%x: tensor<4x64xbf16> {test.range = array<f64: -9.0, 9.0>}, %y: tensor<4x64xbf16>) -> tensor<4x64xbf16> attributes {test.rounding = 2.0e-02} {
  %0 = ppc.silu %x : tensor<4x64xbf16>
  %1 = ppc.mul %0, %y : tensor<4x64xbf16>
  return %1 : tensor<4x64xbf16>
}
func.func @far_from_zero(%x: tensor<257xf32> {test.range = array<f64: -30.0, 30.0>}) -> tensor<257xf32> {
  %0 = ppc.exp %x : tensor<257xf32>
  return %0 : tensor<257xf32>
}
func.func @logistic(%x: tensor<256xf32> {test.range = array<f64: -30.0, 30.0>}) -> tensor<256xf32> {
  %0 = ppc.sigmoid %x : tensor<256xf32>
  return %0 : tensor<256xf32>
}
func.func @log_sum_exp(%x: tensor<3x700xf32> {test.range = array<f64: -30.0, 30.0>}) -> tensor<3xf32> {
  %0 = ppc.log_sum_exp %x : tensor<3x700xf32> to tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func @loss_gradient(%x: tensor<3x700xf32> {test.range = array<f64: -30.0, 30.0>}, %ids: tensor<3xi32> {test.below = 700 : i64}, %d: tensor<3xf32>) -> tensor<3x700xf32> {
  %0 = ppc.log_sum_exp %x : tensor<3x700xf32> to tensor<3xf32>
  %1 = ppc.cross_entropy_backward %x, %ids, %0, %d : (tensor<3x700xf32>, tensor<3xi32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3x700xf32>
  return %1 : tensor<3x700xf32>
}
func.func @softmax(%x: tensor<2x700xf32> {test.range = array<f64: -30.0, 30.0>}) -> tensor<2x700xf32> {
  %0 = ppc.softmax %x : tensor<2x700xf32>
  return %0 : tensor<2x700xf32>
}
