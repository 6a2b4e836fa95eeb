// right: loss 2.12521, gradient 0.341981
// run: --micro-batch 8
// run: --micro-batch 4 --dp 2
// refused: --micro-batch 2: 'ppc.matmul' op pairs the samples of a batch with each other
module @contrastive {
func.func @loss(
    %ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %t: tensor<64x32xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %left: tensor<32x24xf32> {ppc.parameter = "left", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %right: tensor<32x24xf32> {ppc.parameter = "right", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<64x32xf32>, tensor<8x16xi32>) -> tensor<8x16x32xf32>
  %e = ppc.embedding %t, %targets : (tensor<64x32xf32>, tensor<8x16xi32>) -> tensor<8x16x32xf32>
  %px = ppc.reduce #ppc.combiner<sum> %x dims [1] : tensor<8x16x32xf32> to tensor<8x32xf32>
  %pe = ppc.reduce #ppc.combiner<sum> %e dims [1] : tensor<8x16x32xf32> to tensor<8x32xf32>
  %sx = ppc.scale %px by 6.250000e-02 : tensor<8x32xf32>
  %se = ppc.scale %pe by 6.250000e-02 : tensor<8x32xf32>
  %a = ppc.matmul "bh,hf->bf" %sx, %left : (tensor<8x32xf32>, tensor<32x24xf32>) -> tensor<8x24xf32>
  %b = ppc.matmul "bh,hf->bf" %se, %right : (tensor<8x32xf32>, tensor<32x24xf32>) -> tensor<8x24xf32>
  %s = ppc.matmul "bf,cf->bc" %a, %b : (tensor<8x24xf32>, tensor<8x24xf32>) -> tensor<8x8xf32>
  %same = ppc.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
  %nll, %lse = ppc.cross_entropy %s, %same : (tensor<8x8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xf32>)
  %sum = ppc.reduce #ppc.combiner<sum> %nll dims [0] : tensor<8xf32> to tensor<f32>
  %loss = ppc.scale %sum by 1.250000e-01 : tensor<f32>
  return %loss : tensor<f32>
}
}
