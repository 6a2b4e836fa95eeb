// {"micro-batch": 2, "pp": 2, "schedule": "seq1f1b"}
// right: equal; gradients of keys, from attention and from the loss, are added in the first slice of them
func.func @loss(%ids: tensor<4x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<4x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w2: tensor<4x4xf32> {ppc.parameter = "w2", ppc.dims = ["vocab", "ffn"], ppc.init = #ppc.init<normal, 0.5>},
    %w4: tensor<4x2x1x2xf32> {ppc.parameter = "layer.0/w 4", ppc.dims = ["hidden", "out", "kv_heads", "classes"], ppc.init = #ppc.init<zeros>},
    %w5: tensor<4x2x2xf32> {ppc.parameter = "p5", ppc.dims = ["wide", "vocab", "heads"], ppc.init = #ppc.init<normal, 0.5>, ppc.no_weight_decay}) -> tensor<f32> {
  %v1 = ppc.embedding %w2, %ids {ppc.layer = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xi32>) -> tensor<4x4x4xf32>
  %v6 = ppc.matmul "bsh,hkgd->bskgd" %v1, %w4 {ppc.layer = 0 : i64} : (tensor<4x4x4xf32>, tensor<4x2x1x2xf32>) -> tensor<4x4x2x1x2xf32>
  %v7 = ppc.matmul "bsh,hkd->bskd" %v1, %w5 {ppc.layer = 0 : i64} : (tensor<4x4x4xf32>, tensor<4x2x2xf32>) -> tensor<4x4x2x2xf32>
  %v10, %v11 = ppc.attention %v6, %v7, %v7 scale 0.5 causal {ppc.layer = 1 : i64} : tensor<4x4x2x1x2xf32>, tensor<4x4x2x2xf32>, tensor<4x4x2x2xf32> -> tensor<4x4x2x1x2xf32>, tensor<4x4x2x1xf32>
  %v16 = ppc.reduce <sum> %v10 dims [0,1,2,3,4] {ppc.layer = 1 : i64} : tensor<4x4x2x1x2xf32> to tensor<f32>
  %v18 = ppc.reduce <sum> %v7 dims [0, 1, 2, 3] {ppc.layer = 1 : i64} : tensor<4x4x2x2xf32> to tensor<f32>
  %v21 = ppc.sub %v16, %v18 {ppc.layer = 1 : i64} : tensor<f32>
  return %v21 : tensor<f32>
}
