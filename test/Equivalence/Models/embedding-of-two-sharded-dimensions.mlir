// {"plan-file": "two-dimensions.yaml"}
func.func @loss(%ids: tensor<8x2xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x2xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w0: tensor<12x2xf32> {ppc.parameter = "layer.0/w x", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>, ppc.no_weight_decay}) -> tensor<f32> {
  %v1 = ppc.embedding %w0, %ids : (tensor<12x2xf32>, tensor<8x2xi32>) -> tensor<8x2x2xf32>
  %v2 = ppc.reduce <sum> %v1 dims [2] : tensor<8x2x2xf32> to tensor<8x2xf32>
  %v11 = ppc.reduce <sum> %v2 dims [1] : tensor<8x2xf32> to tensor<8xf32>
  %v20 = ppc.reduce <sum> %v11 dims [0] : tensor<8xf32> to tensor<f32>
  return %v20 : tensor<f32>
}
