// {"micro-batch": 1, "tp": 2, "context": "all-gather"}
// right: equal; a part of the chosen gives a part of the sum
func.func @loss(%ids: tensor<4x6xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<4x6xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w2: tensor<4x4xf32> {ppc.parameter = "layer.0/w 2", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %w3: tensor<4x2xf32> {ppc.parameter = "w3", ppc.dims = ["heads", "vocab"], ppc.init = #ppc.init<normal, 0.5>},
    %w5: tensor<6xf32> {ppc.parameter = "w5", ppc.dims = ["u"], ppc.init = #ppc.init<zeros>}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids : (tensor<4x4xf32>, tensor<4x6xi32>) -> tensor<4x6x4xf32>
  %v2, %v3 = ppc.top_k %v1 : tensor<4x6x4xf32> -> tensor<4x6x2xf32>, tensor<4x6x2xi32>
  %v8 = ppc.matmul "bsh,vh->bsv" %v2, %w3 : (tensor<4x6x2xf32>, tensor<4x2xf32>) -> tensor<4x6x4xf32>
  %v9, %v10 = ppc.cross_entropy %v8, %ids : (tensor<4x6x4xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  %v11 = ppc.broadcast %w5 dims [0, 1] : tensor<6xf32> to tensor<4x4x6xf32>
  %v13 = ppc.reshape %v11 : tensor<4x4x6xf32> to tensor<1x4x4x6xf32>
  %v14 = ppc.reduce <sum> %v13 dims [0, 1, 2, 3] : tensor<1x4x4x6xf32> to tensor<f32>
  %v19 = ppc.reduce #ppc.combiner<sum> %v9 dims [0, 1] : tensor<4x6xf32> to tensor<f32>
  %v22 = ppc.add %v14, %v19 : tensor<f32>
  return %v22 : tensor<f32>
}
