// right: loss 10.8941, gradient 5.0796
// run: --micro-batch 8
// run: --micro-batch 2 --pp 2 --schedule seq1f1b
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
                %w: tensor<6x4x2xf32> {ppc.parameter = "w", ppc.dims = ["hidden","heads","d"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids {ppc.layer = 0 : i64} : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %y = ppc.matmul "bsh,hkd->bksd" %x, %w {ppc.layer = 1 : i64} : (tensor<8x4x6xf32>, tensor<6x4x2xf32>) -> tensor<8x4x4x2xf32>
  %r = ppc.rotary %y frequencies [0.7] {ppc.layer = 1 : i64} : tensor<8x4x4x2xf32>
  %e_ = ppc.exp %r {ppc.layer = 2 : i64} : tensor<8x4x4x2xf32>
  %s_ = ppc.reduce <sum> %e_ dims [0, 1, 2, 3] {ppc.layer = 2 : i64} : tensor<8x4x4x2xf32> to tensor<f32>
  %loss = ppc.scale %s_ by 0.03125 {ppc.layer = 2 : i64} : tensor<f32>
  return %loss : tensor<f32>
}
