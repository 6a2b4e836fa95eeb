// {"micro-batch": 2, "dp": 4, "tp": 2}
// right: equal; a reshape of zero was no zero, and one of a multiple no multiple
func.func @loss(%ids: tensor<8x6xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x6xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w4: tensor<2x1x2x2xf32> {ppc.parameter = "w4", ppc.dims = ["heads", "wide", "kv_heads", "two"], ppc.init = #ppc.init<normal, 0.5>},
    %w5: tensor<2x1x2xf32> {ppc.parameter = "layer.0/w 5", ppc.dims = ["kv_heads", "n", "hidden"], ppc.init = #ppc.init<zeros>},
    %w6: tensor<1x2x2x2xf32> {ppc.parameter = "w6", ppc.dims = ["two", "heads", "hidden", "head_dim"], ppc.init = #ppc.init<normal, 0.5>, ppc.no_weight_decay}) -> tensor<f32> {
  %v2 = ppc.constant dense<[[-1.50, 1.00], [0.30, 0.00], [0.50, 1.25], [-0.50, -0.50], [0.30, -0.50], [1.00, 0.00], [1.00, -0.50], [1.25, 1.25]]> : tensor<8x2xf32>
  %v3 = ppc.embedding %v2, %ids : (tensor<8x2xf32>, tensor<8x6xi32>) -> tensor<8x6x2xf32>
  %v10 = ppc.transpose %v3 by [1, 0, 2] : tensor<8x6x2xf32> to tensor<6x8x2xf32>
  %v11 = ppc.matmul "bsh,hkgd->bskgd" %v10, %w4 : (tensor<6x8x2xf32>, tensor<2x1x2x2xf32>) -> tensor<6x8x1x2x2xf32>
  %v12 = ppc.matmul "bsh,hkd->bskd" %v10, %w5 : (tensor<6x8x2xf32>, tensor<2x1x2xf32>) -> tensor<6x8x1x2xf32>
  %v14 = ppc.constant dense<0.30> : tensor<1x2xf32>
  %v15, %v16 = ppc.attention %v11, %v12, %v12 scale 0.5 causal slopes %v14 as tensor<1x2xf32> : tensor<6x8x1x2x2xf32>, tensor<6x8x1x2xf32>, tensor<6x8x1x2xf32> -> tensor<6x8x1x2x2xf32>, tensor<6x8x1x2xf32>
  %v17 = ppc.matmul "bskgd,kgdh->bsh" %v15, %w6 : (tensor<6x8x1x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<6x8x2xf32>
  %v18 = ppc.constant dense<0.00> : tensor<8x2xf32>
  %v19 = ppc.embedding %v18, %ids : (tensor<8x2xf32>, tensor<8x6xi32>) -> tensor<8x6x2xf32>
  %v24 = ppc.matmul "ab,klb->akl" %v14, %v19 : (tensor<1x2xf32>, tensor<8x6x2xf32>) -> tensor<1x8x6xf32>
  %v26 = ppc.reshape %v24 : tensor<1x8x6xf32> to tensor<1x48xf32>
  %v27 = ppc.reduce <sum> %v26 dims [0, 1] : tensor<1x48xf32> to tensor<f32>
  %v29 = ppc.reduce <sum> %v17 dims [0, 1] : tensor<6x8x2xf32> to tensor<2xf32>
  %v30 = ppc.reduce <sum> %v29 dims [0] : tensor<2xf32> to tensor<f32>
  %v32 = ppc.add %v27, %v30 : tensor<f32>
  return %v32 : tensor<f32>
}
