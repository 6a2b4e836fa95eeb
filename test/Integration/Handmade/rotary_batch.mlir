// right: loss 7.23249, gradient 1.08321
// run: --micro-batch 8
// run: --micro-batch 4 --dp 2
// refused: --micro-batch 2: 'ppc.rotary' op depends on the number of a sample
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %y = ppc.transpose %x by [1, 0, 2] : tensor<8x4x6xf32> to tensor<4x8x6xf32>
  %r = ppc.rotary %y frequencies [1.0, 0.3, 0.1] : tensor<4x8x6xf32>
  %e = ppc.exp %r : tensor<4x8x6xf32>
  %s = ppc.reduce <sum> %e dims [0, 1, 2] : tensor<4x8x6xf32> to tensor<f32>
  %loss = ppc.scale %s by 0.03125 : tensor<f32>
  return %loss : tensor<f32>
}
