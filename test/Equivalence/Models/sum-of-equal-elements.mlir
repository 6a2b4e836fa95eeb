// {"dp": 2, "micro-batch": 1}
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
                %w: tensor<6xf32> {ppc.parameter = "w", ppc.dims = ["n"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %b = ppc.broadcast %w dims [0, 1] : tensor<6xf32> to tensor<8x4x6xf32>
  %z = ppc.add %x, %b : tensor<8x4x6xf32>
  %loss = ppc.reduce <sum> %z dims [0, 1, 2] : tensor<8x4x6xf32> to tensor<f32>
  return %loss : tensor<f32>
}
