// {"dp": 2, "micro-batch": 1, "zero": 3}
func.func @loss(%ids: tensor<4x6xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<4x6xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w0: tensor<8x6xf32> {ppc.parameter = "p0", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<zeros>},
    %w2: tensor<6xf32> {ppc.parameter = "p2", ppc.dims = ["head_dim6"], ppc.init = #ppc.init<zeros>},
    %w3: tensor<6xf32> {ppc.parameter = "p3", ppc.dims = ["n6"], ppc.init = #ppc.init<zeros>}) -> tensor<f32> {
  %v1 = ppc.embedding %w0, %ids : (tensor<8x6xf32>, tensor<4x6xi32>) -> tensor<4x6x6xf32>
  %v8 = ppc.layer_norm %v1, %w2, %w3 epsilon 1.0e-2 : tensor<4x6x6xf32>, tensor<6xf32>
  %v9 = ppc.reduce <sum> %v8 dims [2] : tensor<4x6x6xf32> to tensor<4x6xf32>
  %v18 = ppc.mul %v9, %v9 : tensor<4x6xf32>
  %v19 = ppc.reduce <sum> %v18 dims [0, 1] : tensor<4x6xf32> to tensor<f32>
  return %v19 : tensor<f32>
}
