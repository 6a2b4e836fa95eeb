// {"micro-batch": 1, "dp": 2, "pp": 2, "schedule": "seq1f1b"}
// right: equal; each slice of a sequence adds the same to the gradient
func.func @loss(%ids: tensor<2x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<2x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w2: tensor<5x4xf32> {ppc.parameter = "p2", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %w3: tensor<4xf32> {ppc.parameter = "layer.0/w 3", ppc.dims = ["hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids {ppc.layer = 0 : i64} : (tensor<5x4xf32>, tensor<2x4xi32>) -> tensor<2x4x4xf32>
  %v2 = ppc.broadcast %w3 dims [0, 1] {ppc.layer = 1 : i64} : tensor<4xf32> to tensor<2x4x4xf32>
  %v3 = ppc.add %v1, %v2 {ppc.layer = 1 : i64} : tensor<2x4x4xf32>
  %v11 = ppc.reduce <sum> %v3 dims [0] {ppc.layer = 6 : i64} : tensor<2x4x4xf32> to tensor<4x4xf32>
  %v12 = ppc.reduce #ppc.combiner<sum> %v11 dims [0, 1] {ppc.layer = 7 : i64} : tensor<4x4xf32> to tensor<f32>
  return %v12 : tensor<f32>
}
