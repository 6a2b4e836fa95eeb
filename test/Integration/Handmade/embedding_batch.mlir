// right: loss -2.15774, gradient 24.2487
// run: --micro-batch 8
// run: --micro-batch 4 --dp 2
// refused: --micro-batch 2: 'ppc.embedding' op depends on the number of a sample
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %y = ppc.reduce <sum> %x dims [1] : tensor<8x4x6xf32> to tensor<8x6xf32>
  %i = ppc.constant dense<[5, 1, 7]> : tensor<3xi32>
  %k = ppc.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %g = ppc.embedding %y, %i : (tensor<8x6xf32>, tensor<3xi32>) -> tensor<3x6xf32>
  %m = ppc.matmul "ih,i->h" %g, %k : (tensor<3x6xf32>, tensor<3xf32>) -> tensor<6xf32>
  %loss = ppc.reduce <sum> %m dims [0] : tensor<6xf32> to tensor<f32>
  return %loss : tensor<f32>
}
