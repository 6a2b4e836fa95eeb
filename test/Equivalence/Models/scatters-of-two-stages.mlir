// {"plan-file": "scatters-of-two-stages.yaml"}
func.func @loss(%ids: tensor<4x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<4x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %p0: tensor<8x5xf32> {ppc.parameter = "p0", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<zeros>},
                %p1: tensor<5xf32> {ppc.parameter = "p1", ppc.dims = ["hidden"], ppc.init = #ppc.init<normal, 0.5>, ppc.no_weight_decay}) -> tensor<f32> {
  %v1 = ppc.embedding %p0, %ids {ppc.layer = 0 : i64} : (tensor<8x5xf32>, tensor<4x4xi32>) -> tensor<4x4x5xf32>
  %v2 = ppc.embedding %p0, %ids {ppc.layer = 1 : i64} : (tensor<8x5xf32>, tensor<4x4xi32>) -> tensor<4x4x5xf32>
  %v3 = ppc.add %v1, %v2 {ppc.layer = 1 : i64} : tensor<4x4x5xf32>
  %v4 = ppc.broadcast %p1 dims [0, 1] {ppc.layer = 2 : i64} : tensor<5xf32> to tensor<4x4x5xf32>
  %v5 = ppc.add %v3, %v4 {ppc.layer = 2 : i64} : tensor<4x4x5xf32>
  %v6 = ppc.embedding %p0, %ids {ppc.layer = 3 : i64} : (tensor<8x5xf32>, tensor<4x4xi32>) -> tensor<4x4x5xf32>
  %v7 = ppc.mul %v5, %v6 {ppc.layer = 3 : i64} : tensor<4x4x5xf32>
  %v8 = ppc.reduce <sum> %v7 dims [0, 1, 2] {ppc.layer = 4 : i64} : tensor<4x4x5xf32> to tensor<f32>
  return %v8 : tensor<f32>
}
