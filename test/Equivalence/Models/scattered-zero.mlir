// {"plan-file": "scattered-zero.yaml"}
func.func @loss(%ids: tensor<8x6xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x6xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %p0: tensor<12x4xf32> {ppc.parameter = "p0", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
                %p1: tensor<4xf32> {ppc.parameter = "p1", ppc.dims = ["hidden"], ppc.init = #ppc.init<ones>},
                %p2: tensor<4xf32> {ppc.parameter = "p2", ppc.dims = ["hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %v1 = ppc.embedding %p0, %ids : (tensor<12x4xf32>, tensor<8x6xi32>) -> tensor<8x6x4xf32>
  %v2 = ppc.neg %v1 : tensor<8x6x4xf32>
  %v3 = ppc.embedding %p0, %ids : (tensor<12x4xf32>, tensor<8x6xi32>) -> tensor<8x6x4xf32>
  %v4 = ppc.add %v2, %v3 : tensor<8x6x4xf32>
  %v5 = ppc.layer_norm %v4, %p1, %p2 epsilon 1.0e-2 : tensor<8x6x4xf32>, tensor<4xf32>
  %v6 = ppc.reshape %v5 : tensor<8x6x4xf32> to tensor<8x6x4x1xf32>
  %v7 = ppc.reshape %v6 : tensor<8x6x4x1xf32> to tensor<8x6x4xf32>
  %v8 = ppc.broadcast %v7 dims [2] : tensor<8x6x4xf32> to tensor<8x6x4x4xf32>
  %v9 = ppc.reduce <sum> %v8 dims [2] : tensor<8x6x4x4xf32> to tensor<8x6x4xf32>
  %v10 = ppc.reduce <sum> %v9 dims [0, 1, 2] : tensor<8x6x4xf32> to tensor<f32>
  return %v10 : tensor<f32>
}
