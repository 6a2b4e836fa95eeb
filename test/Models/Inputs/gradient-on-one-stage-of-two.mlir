// {"micro-batch": 1, "pp": 2}
// right: equal; a stage that reads a parameter and has no part of its gradient did not update it
func.func @loss(%ids: tensor<4x6xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<4x6xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w4: tensor<4x6xf32> {ppc.parameter = "layer.0/w 4", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %v10 = ppc.constant dense<0.50> : tensor<4x6xf32> {ppc.layer = 1 : i64}
  %v13 = ppc.add %w4, %v10 {ppc.layer = 1 : i64} : tensor<4x6xf32>
  %v14 = ppc.matmul "bs,bs->" %w4, %v13 {ppc.layer = 2 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<f32>
  return %v14 : tensor<f32>
}
