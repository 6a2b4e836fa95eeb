// {"micro-batch": 2, "dp": 2}
// right: equal; tp, an axis of one rank, was said to cut both dimensions of the table
func.func @loss(%ids: tensor<4x3xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<4x3xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w2: tensor<8x4xf32> {ppc.parameter = "w2", ppc.dims = ["vocab", "ffn"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids : (tensor<8x4xf32>, tensor<4x3xi32>) -> tensor<4x3x4xf32>
  %v2 = ppc.mul %v1, %v1 : tensor<4x3x4xf32>
  %v3 = ppc.reduce <sum> %v2 dims [0, 1, 2] : tensor<4x3x4xf32> to tensor<f32>
  return %v3 : tensor<f32>
}
