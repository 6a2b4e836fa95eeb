// {"micro-batch": 4, "tp": 2}
// right: equal; parts of a value that is zero were no zeros
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w2: tensor<4x1xf32> {ppc.parameter = "layer.0/w 2", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids : (tensor<4x1xf32>, tensor<8x4xi32>) -> tensor<8x4x1xf32>
  %v2 = ppc.sub %v1, %v1 : tensor<8x4x1xf32>
  %v4, %v5 = ppc.split %v2 dim 1 runs 2 : tensor<8x4x1xf32> to tensor<8x2x1xf32>, tensor<8x2x1xf32>
  %v8 = ppc.concat %v4, %v5 dim 1 : tensor<8x2x1xf32>, tensor<8x2x1xf32> to tensor<8x4x1xf32>
  %v9 = ppc.reduce #ppc.combiner<sum> %v8 dims [0, 1, 2] : tensor<8x4x1xf32> to tensor<f32>
  return %v9 : tensor<f32>
}
