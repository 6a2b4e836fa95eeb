// {"micro-batch": 1, "pp": 2, "schedule": "seq1f1b"}
// right: equal; sums of values of two stages were taken for sums of slices
func.func @loss(%ids: tensor<4x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<4x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w2: tensor<6x4xf32> {ppc.parameter = "layer.0/w 2", ppc.dims = ["vocab", "heads"], ppc.init = #ppc.init<zeros>},
    %w4: tensor<4xf32> {ppc.parameter = "w4", ppc.dims = ["n"], ppc.init = #ppc.init<zeros>, ppc.no_weight_decay}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids {ppc.layer = 0 : i64} : (tensor<6x4xf32>, tensor<4x4xi32>) -> tensor<4x4x4xf32>
  %v12 = ppc.matmul "abc,k->abck" %v1, %w4 {ppc.layer = 2 : i64} : (tensor<4x4x4xf32>, tensor<4xf32>) -> tensor<4x4x4x4xf32>
  %v13 = ppc.reduce <sum> %v12 dims [0, 1, 2, 3] {ppc.layer = 2 : i64} : tensor<4x4x4x4xf32> to tensor<f32>
  %v17 = ppc.scale %v13 by 0.125 {ppc.layer = 5 : i64} : tensor<f32>
  %v18 = ppc.add %v13, %v17 {ppc.layer = 6 : i64} : tensor<f32>
  return %v18 : tensor<f32>
}
