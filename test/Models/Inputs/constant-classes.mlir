// {"micro-batch": 3, "dp": 2}
// right: equal; equal ids of a constant are any number of ids
func.func @loss(%ids: tensor<6x3xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<6x3xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w2: tensor<8x1xf32> {ppc.parameter = "p2", ppc.dims = ["vocab", "in"], ppc.init = #ppc.init<ones>}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids : (tensor<8x1xf32>, tensor<6x3xi32>) -> tensor<6x3x1xf32>
  %v11 = ppc.constant dense<[[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]> : tensor<6x3xi32>
  %v12, %v13 = ppc.cross_entropy %v1, %v11 : (tensor<6x3x1xf32>, tensor<6x3xi32>) -> (tensor<6x3xf32>, tensor<6x3xf32>)
  %v14 = ppc.reduce <sum> %v12 dims [0, 1] : tensor<6x3xf32> to tensor<f32>
  return %v14 : tensor<f32>
}
