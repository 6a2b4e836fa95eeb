// right: loss 3.15008, gradient 0.660558
// run: --micro-batch 2 --dp 2
module @twovocab {
func.func @loss(
    %ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %t: tensor<64x32xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %h: tensor<10x32xf32> {ppc.parameter = "head", ppc.dims = ["classes", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<64x32xf32>, tensor<8x16xi32>) -> tensor<8x16x32xf32>
  %logits = ppc.matmul "bsh,vh->bsv" %x, %h : (tensor<8x16x32xf32>, tensor<10x32xf32>) -> tensor<8x16x10xf32>
  %nll, %lse = ppc.cross_entropy %logits, %targets : (tensor<8x16x10xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %sum = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] : tensor<8x16xf32> to tensor<f32>
  %loss = ppc.scale %sum by 7.812500e-03 : tensor<f32>
  return %loss : tensor<f32>
}
}
