// right: loss 8.7085, gradient 1.02476
// run: --micro-batch 2 --dp 2
module @encoder {
func.func @loss(
    %ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %t: tensor<64x32xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %wq: tensor<32x4x8xf32> {ppc.parameter = "wq", ppc.dims = ["hidden", "kv_heads", "head_dim"], ppc.init = #ppc.init<normal, 0.2>},
    %wk: tensor<32x4x8xf32> {ppc.parameter = "wk", ppc.dims = ["hidden", "kv_heads", "head_dim"], ppc.init = #ppc.init<normal, 0.2>},
    %wv: tensor<32x4x8xf32> {ppc.parameter = "wv", ppc.dims = ["hidden", "kv_heads", "head_dim"], ppc.init = #ppc.init<normal, 0.2>},
    %wo: tensor<4x8x32xf32> {ppc.parameter = "wo", ppc.dims = ["kv_heads", "head_dim", "hidden"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<64x32xf32>, tensor<8x16xi32>) -> tensor<8x16x32xf32>
  %q0 = ppc.matmul "bsh,hkd->bskd" %x, %wq : (tensor<8x16x32xf32>, tensor<32x4x8xf32>) -> tensor<8x16x4x8xf32>
  %q = ppc.reshape %q0 : tensor<8x16x4x8xf32> to tensor<8x16x4x1x8xf32>
  %k = ppc.matmul "bsh,hkd->bskd" %x, %wk : (tensor<8x16x32xf32>, tensor<32x4x8xf32>) -> tensor<8x16x4x8xf32>
  %v = ppc.matmul "bsh,hkd->bskd" %x, %wv : (tensor<8x16x32xf32>, tensor<32x4x8xf32>) -> tensor<8x16x4x8xf32>
  %o, %l = ppc.attention %q, %k, %v scale 3.535534e-01 : tensor<8x16x4x1x8xf32>, tensor<8x16x4x8xf32>, tensor<8x16x4x8xf32> -> tensor<8x16x4x1x8xf32>, tensor<8x16x4x1xf32>
  %o1 = ppc.reshape %o : tensor<8x16x4x1x8xf32> to tensor<8x16x4x8xf32>
  %y = ppc.matmul "bskd,kdh->bsh" %o1, %wo : (tensor<8x16x4x8xf32>, tensor<4x8x32xf32>) -> tensor<8x16x32xf32>
  %z = ppc.add %x, %y : tensor<8x16x32xf32>
  %logits = ppc.matmul "bsh,vh->bsv" %z, %t : (tensor<8x16x32xf32>, tensor<64x32xf32>) -> tensor<8x16x64xf32>
  %nll, %lse = ppc.cross_entropy %logits, %targets : (tensor<8x16x64xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %sum = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] : tensor<8x16xf32> to tensor<f32>
  %loss = ppc.scale %sum by 7.812500e-03 : tensor<f32>
  return %loss : tensor<f32>
}
}
