// right: loss 4.04008, gradient 0.939853
// run: --micro-batch 8
// run: --micro-batch 2 --dp 2
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %a, %b = ppc.split %x dim 2 runs 2 : tensor<8x4x6xf32> to tensor<8x4x4xf32>, tensor<8x4x2xf32>
  %aa = ppc.exp %a : tensor<8x4x4xf32>
  %ra = ppc.reduce <sum> %aa dims [0, 1, 2] : tensor<8x4x4xf32> to tensor<f32>
  %rb = ppc.reduce <sum> %b dims [0, 1, 2] : tensor<8x4x2xf32> to tensor<f32>
  %s = ppc.add %ra, %rb : tensor<f32>
  %loss = ppc.scale %s by 0.03125 : tensor<f32>
  return %loss : tensor<f32>
}
