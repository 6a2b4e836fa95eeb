// {"micro-batch": 1, "dp": 2, "tp": 2, "context": "all-gather", "zero": 2}
// right: equal; the norm of a gradient of zeros is zero, padded or not
func.func @loss(%ids: tensor<2x2xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<2x2xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w3: tensor<12x12xf32> {ppc.parameter = "p3", ppc.dims = ["vocab", "m"], ppc.init = #ppc.init<zeros>},
    %w4: tensor<5x2xf32> {ppc.parameter = "p4", ppc.dims = ["hidden", "kv_heads"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %v2 = ppc.embedding %w3, %targets : (tensor<12x12xf32>, tensor<2x2xi32>) -> tensor<2x2x12xf32>
  %v4 = ppc.matmul "abc,kb->cka" %v2, %w4 : (tensor<2x2x12xf32>, tensor<5x2xf32>) -> tensor<12x5x2xf32>
  %v6 = ppc.reduce #ppc.combiner<sum> %v4 dims [1, 2] : tensor<12x5x2xf32> to tensor<12xf32>
  %v7 = ppc.reduce #ppc.combiner<sum> %v6 dims [0] : tensor<12xf32> to tensor<f32>
  %v17 = ppc.sub %v7, %v7 : tensor<f32>
  return %v17 : tensor<f32>
}
