// {"micro-batch": 2, "pp": 2, "schedule": "seq1f1b"}
// right: refused; no dimension is called "sequence", which is not a sequence of 0 tokens
func.func @loss(%ids: tensor<4x8xi32> {ppc.input = "ids", ppc.dims = ["batch", "seq"]},
    %targets: tensor<4x8xi32> {ppc.input = "targets", ppc.dims = ["batch", "seq"]},
    %w2: tensor<5x4xf32> {ppc.parameter = "w2", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids {ppc.layer = 0 : i64} : (tensor<5x4xf32>, tensor<4x8xi32>) -> tensor<4x8x4xf32>
  %v2 = ppc.sigmoid %v1 {ppc.layer = 1 : i64} : tensor<4x8x4xf32>
  %v3 = ppc.reduce <sum> %v2 dims [0, 1, 2] {ppc.layer = 1 : i64} : tensor<4x8x4xf32> to tensor<f32>
  return %v3 : tensor<f32>
}
