// right: loss 0.929283, gradient 0.129544
// run: --micro-batch 8
// run: --micro-batch 2
// run: --micro-batch 1 --dp 2
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
                %w: tensor<6xf32> {ppc.parameter = "w", ppc.dims = ["n"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %a = ppc.sigmoid %w : tensor<6xf32>
  %s = ppc.softmax %a : tensor<6xf32>
  %y = ppc.matmul "bsh,h->bs" %x, %s : (tensor<8x4x6xf32>, tensor<6xf32>) -> tensor<8x4xf32>
  %e_ = ppc.exp %y : tensor<8x4xf32>
  %s_ = ppc.reduce <sum> %e_ dims [0, 1] : tensor<8x4xf32> to tensor<f32>
  %loss = ppc.scale %s_ by 0.03125 : tensor<f32>
  return %loss : tensor<f32>
}
