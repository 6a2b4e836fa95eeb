// right: loss 3.43123, gradient 0.791506
// run: --micro-batch 4
// run: --micro-batch 2 --dp 2
// refused: --micro-batch 2: 'ppc.mul' op pairs the samples of a batch with each other
func.func @loss(%ids: tensor<4x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<4x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x6xf32>, tensor<4x4xi32>) -> tensor<4x4x6xf32>
  %y = ppc.transpose %x by [1, 0, 2] : tensor<4x4x6xf32> to tensor<4x4x6xf32>
  %z = ppc.mul %x, %y : tensor<4x4x6xf32>
  %e_ = ppc.exp %z : tensor<4x4x6xf32>
  %s_ = ppc.reduce <sum> %e_ dims [0, 1, 2] : tensor<4x4x6xf32> to tensor<f32>
  %loss = ppc.scale %s_ by 0.03125 : tensor<f32>
  return %loss : tensor<f32>
}
