// right: loss -4233.96, gradient 5646.08
// run: --micro-batch 8
// run: --micro-batch 4 --dp 2
// refused: --micro-batch 2: 'ppc.reshape' op takes dimension 0 of operand 0
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %c = ppc.constant dense<0.1> : tensor<12x6xf32>
  %n = ppc.embedding %c, %targets : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %f = ppc.reshape %n : tensor<8x4x6xf32> to tensor<32x6xf32>
  %e = ppc.exp %f : tensor<32x6xf32>
  %g = ppc.reduce <sum> %e dims [0, 1] : tensor<32x6xf32> to tensor<f32>
  %s = ppc.reduce <sum> %x dims [0, 1, 2] : tensor<8x4x6xf32> to tensor<f32>
  %loss = ppc.mul %s, %g : tensor<f32>
  return %loss : tensor<f32>
}
