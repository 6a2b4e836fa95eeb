// {"micro-batch": 1, "dp": 2}
// right: equal; the gradient of what is added to the loss is a constant
func.func @loss(%ids: tensor<2x8xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<2x8xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w3: tensor<f32> {ppc.parameter = "layer.0/w 3", ppc.dims = [], ppc.init = #ppc.init<normal, 0.5>, ppc.no_weight_decay}) -> tensor<f32> {
  %v2 = ppc.constant dense<[[-1.50, -0.50], [0.50, 0.30], [-1.50, 0.50], [0.30, -0.50], [0.50, 0.00], [0.50, 0.50], [-1.50, -1.50], [0.50, 1.25]]> : tensor<8x2xf32>
  %v3 = ppc.embedding %v2, %targets : (tensor<8x2xf32>, tensor<2x8xi32>) -> tensor<2x8x2xf32>
  %v12 = ppc.reduce #ppc.combiner<sum> %v3 dims [0, 2] : tensor<2x8x2xf32> to tensor<8xf32>
  %v13 = ppc.reduce <sum> %v12 dims [0] : tensor<8xf32> to tensor<f32>
  %v15 = ppc.add %w3, %v13 : tensor<f32>
  return %v15 : tensor<f32>
}
