// {"micro-batch": 1, "dp": 2}
// right: equal; the log-sum-exp of logits that are alike along the batch was taken to have the batch of the targets
func.func @loss(%ids: tensor<4x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<4x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w3: tensor<f32> {ppc.parameter = "layer.0/w 3", ppc.dims = [], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %v3 = ppc.broadcast %w3 dims [0, 1, 2] : tensor<f32> to tensor<4x4x4xf32>
  %v16, %v17 = ppc.cross_entropy %v3, %targets : (tensor<4x4x4xf32>, tensor<4x4xi32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %v18 = ppc.reduce <sum> %v16 dims [0, 1] : tensor<4x4xf32> to tensor<f32>
  return %v18 : tensor<f32>
}
