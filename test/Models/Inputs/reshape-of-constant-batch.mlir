// {"micro-batch": 1, "dp": 2}
// right: equal; which of several dimensions of one element is which
func.func @loss(%ids: tensor<4x3xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<4x3xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w2: tensor<8x8xf32> {ppc.parameter = "layer.0/w 2", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %w3: tensor<1x8xf32> {ppc.parameter = "layer.0/w 3", ppc.dims = ["in", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids : (tensor<8x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  %v2, %v3 = ppc.split %v1 dim 1 : tensor<4x3x8xf32> to tensor<4x1x8xf32>, tensor<4x2x8xf32>
  %v7 = ppc.reshape %v2 : tensor<4x1x8xf32> to tensor<1x4x1x8xf32>
  %v10 = ppc.broadcast %w3 dims [1, 2] : tensor<1x8xf32> to tensor<1x4x1x8xf32>
  %v11 = ppc.mul %v7, %v10 : tensor<1x4x1x8xf32>
  %v12 = ppc.reduce #ppc.combiner<sum> %v11 dims [0, 1, 2, 3] : tensor<1x4x1x8xf32> to tensor<f32>
  return %v12 : tensor<f32>
}
