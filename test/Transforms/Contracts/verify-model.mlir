// RUN: ppc-opt %s --ppc-verify-model | FileCheck %s

// CHECK-LABEL: func.func @loss
func.func @loss(%x: tensor<8x16xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]}, %w: tensor<4x16xf32> {ppc.parameter = "w"},
                %m: tensor<4x16xf32> {ppc.state = "m", ppc.of = "w"}, %lr: tensor<f32> {ppc.scalar = "learning_rate"}) -> tensor<4x16xf32> {
  %g = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<4x16xf32>) -> (tensor<4x16xf32>) {
    %y = ppc.matmul "mk,nk->mn" %xi, %w : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
    %dw = ppc.matmul "mn,mk->nk" %y, %xi : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    ppc.yield %dw : tensor<4x16xf32>
  }
  return %g : tensor<4x16xf32>
}
