// right: loss -4.71717, gradient 4.84849
// run: --micro-batch 8
// run: --micro-batch 2 --dp 2
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
                %w: tensor<12x2xf32> {ppc.parameter = "w", ppc.dims = ["vocab","two"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %y = ppc.embedding %w, %ids : (tensor<12x2xf32>, tensor<8x4xi32>) -> tensor<8x4x2xf32>
  %c = ppc.concat %x, %y dim 2 runs 2 : tensor<8x4x6xf32>, tensor<8x4x2xf32> to tensor<8x4x8xf32>
  %k = ppc.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %m = ppc.matmul "bsh,h->bs" %c, %k : (tensor<8x4x8xf32>, tensor<8xf32>) -> tensor<8x4xf32>
  %s = ppc.reduce <sum> %m dims [0, 1] : tensor<8x4xf32> to tensor<f32>
  %loss = ppc.scale %s by 0.03125 : tensor<f32>
  return %loss : tensor<f32>
}
