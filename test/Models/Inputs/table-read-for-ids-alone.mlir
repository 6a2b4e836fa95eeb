// {"micro-batch": 3, "pp": 2, "schedule": "1f1b"}
// right: equal; no gradient goes through the ids of top_k, so that the first stage did not update its table
func.func @loss(%ids: tensor<6x6xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<6x6xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w2: tensor<4x6xf32> {ppc.parameter = "layer.0/w 2", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<ones>},
    %w3: tensor<6x2xf32> {ppc.parameter = "layer.0/w 3", ppc.dims = ["hidden", "classes"], ppc.init = #ppc.init<zeros>}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids {ppc.layer = 0 : i64} : (tensor<4x6xf32>, tensor<6x6xi32>) -> tensor<6x6x6xf32>
  %v4, %v5 = ppc.top_k %v1 {ppc.layer = 1 : i64} : tensor<6x6x6xf32> -> tensor<6x6x3xf32>, tensor<6x6x3xi32>
  %v6 = ppc.embedding %w3, %v5 {ppc.layer = 1 : i64} : (tensor<6x2xf32>, tensor<6x6x3xi32>) -> tensor<6x6x3x2xf32>
  %v7 = ppc.reduce <sum> %v6 dims [2] {ppc.layer = 2 : i64} : tensor<6x6x3x2xf32> to tensor<6x6x2xf32>
  %v8 = ppc.reduce <sum> %v7 dims [0, 1, 2] {ppc.layer = 2 : i64} : tensor<6x6x2xf32> to tensor<f32>
  %v12 = ppc.reduce <sum> %w2 dims [1] {ppc.layer = 3 : i64} : tensor<4x6xf32> to tensor<4xf32>
  %v13 = ppc.reduce #ppc.combiner<sum> %v12 dims [0] {ppc.layer = 4 : i64} : tensor<4xf32> to tensor<f32>
  %v16 = ppc.sub %v8, %v13 {ppc.layer = 4 : i64} : tensor<f32>
  return %v16 : tensor<f32>
}
