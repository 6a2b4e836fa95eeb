// {"micro-batch": 1, "tp": 2}
// right: equal; which of several dimensions of one element is which
func.func @loss(%ids: tensor<2x2xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<2x2xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w2: tensor<4x2xf32> {ppc.parameter = "w2", ppc.dims = ["hidden", "kv_heads"], ppc.init = #ppc.init<ones>},
    %w3: tensor<1xf32> {ppc.parameter = "layer.0/w 3", ppc.dims = ["m"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids : (tensor<4x2xf32>, tensor<2x2xi32>) -> tensor<2x2x2xf32>
  %v2 = ppc.reduce #ppc.combiner<sum> %v1 dims [1] : tensor<2x2x2xf32> to tensor<2x2xf32>
  %v4 = ppc.reshape %v2 : tensor<2x2xf32> to tensor<2x1x2xf32>
  %v10 = ppc.broadcast %w3 dims [0, 2] : tensor<1xf32> to tensor<2x1x2xf32>
  %v15 = ppc.mul %v10, %v4 : tensor<2x1x2xf32>
  %v16 = ppc.reduce <sum> %v15 dims [0, 1, 2] : tensor<2x1x2xf32> to tensor<f32>
  return %v16 : tensor<f32>
}
