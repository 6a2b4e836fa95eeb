// right: loss 6.58849, gradient 0.919278
// run: --micro-batch 8
// run: --micro-batch 2 --pp 2 --schedule seq1f1b
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids {ppc.layer = 0 : i64} : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %q = ppc.reshape %x {ppc.layer = 1 : i64} : tensor<8x4x6xf32> to tensor<8x4x1x1x6xf32>
  %k = ppc.constant dense<[[[-1.5, -0.6, 0.3, 1.2, -1.2, -0.3]], [[0.6, 1.5, -0.9, 0.0, 0.9, -1.5]], [[-0.6, 0.3, 1.2, -1.2, -0.3, 0.6]], [[1.5, -0.9, 0.0, 0.9, -1.5, -0.6]], [[0.3, 1.2, -1.2, -0.3, 0.6, 1.5]], [[-0.9, 0.0, 0.9, -1.5, -0.6, 0.3]], [[1.2, -1.2, -0.3, 0.6, 1.5, -0.9]], [[0.0, 0.9, -1.5, -0.6, 0.3, 1.2]]]> : tensor<8x1x6xf32>
  %kk = ppc.broadcast %k dims [0] {ppc.layer = 1 : i64} : tensor<8x1x6xf32> to tensor<8x8x1x6xf32>
  %o, %l = ppc.attention %q, %kk, %kk scale 1.0 causal {ppc.layer = 1 : i64} : tensor<8x4x1x1x6xf32>, tensor<8x8x1x6xf32>, tensor<8x8x1x6xf32> -> tensor<8x4x1x1x6xf32>, tensor<8x4x1x1xf32>
  %e_ = ppc.exp %o {ppc.layer = 2 : i64} : tensor<8x4x1x1x6xf32>
  %s_ = ppc.reduce <sum> %e_ dims [0, 1, 2, 3, 4] {ppc.layer = 2 : i64} : tensor<8x4x1x1x6xf32> to tensor<f32>
  %loss = ppc.scale %s_ by 0.03125 {ppc.layer = 2 : i64} : tensor<f32>
  return %loss : tensor<f32>
}
