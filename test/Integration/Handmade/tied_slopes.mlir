// right: loss 5.9708, gradient 1.50014
// run: --micro-batch 8
// run: --micro-batch 2 --dp 2
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
                %wq: tensor<6x1x2x6xf32> {ppc.parameter = "wq", ppc.dims = ["hidden","kv_heads","g","d"], ppc.init = #ppc.init<normal, 0.5>},
                %sl: tensor<1x2xf32> {ppc.parameter = "sl", ppc.dims = ["kv_heads","g"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %q = ppc.matmul "bsh,hkgd->bskgd" %x, %wq : (tensor<8x4x6xf32>, tensor<6x1x2x6xf32>) -> tensor<8x4x1x2x6xf32>
  %k = ppc.reshape %x : tensor<8x4x6xf32> to tensor<8x4x1x6xf32>
  %o, %l = ppc.attention %q, %k, %k scale 0.5 causal slopes %sl as tensor<1x2xf32> : tensor<8x4x1x2x6xf32>, tensor<8x4x1x6xf32>, tensor<8x4x1x6xf32> -> tensor<8x4x1x2x6xf32>, tensor<8x4x1x2xf32>
  %m = ppc.matmul "bskgd,kg->bsd" %o, %sl : (tensor<8x4x1x2x6xf32>, tensor<1x2xf32>) -> tensor<8x4x6xf32>
  %e_ = ppc.exp %m : tensor<8x4x6xf32>
  %s_ = ppc.reduce <sum> %e_ dims [0, 1, 2] : tensor<8x4x6xf32> to tensor<f32>
  %loss = ppc.scale %s_ by 0.03125 : tensor<f32>
  return %loss : tensor<f32>
}
