// right: loss 4.35834, gradient 0.435814
// run: --micro-batch 8
// run: --micro-batch 4 --dp 2
// refused: --micro-batch 2: 'ppc.sub' op mixes samples of a batch with a sum over the batch
module @batchnorm {
func.func @loss(
    %ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %t: tensor<64x32xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %g: tensor<32xf32> {ppc.parameter = "g", ppc.dims = ["hidden"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<64x32xf32>, tensor<8x16xi32>) -> tensor<8x16x32xf32>
  %s0 = ppc.reduce #ppc.combiner<sum> %x dims [0, 1] : tensor<8x16x32xf32> to tensor<32xf32>
  %mu = ppc.scale %s0 by 7.812500e-03 : tensor<32xf32>
  %mb = ppc.broadcast %mu dims [0, 1] : tensor<32xf32> to tensor<8x16x32xf32>
  %c = ppc.sub %x, %mb : tensor<8x16x32xf32>
  %c2 = ppc.mul %c, %c : tensor<8x16x32xf32>
  %s1 = ppc.reduce #ppc.combiner<sum> %c2 dims [0, 1] : tensor<8x16x32xf32> to tensor<32xf32>
  %var = ppc.scale %s1 by 7.812500e-03 : tensor<32xf32>
  %eps = ppc.constant dense<1.0e-5> : tensor<32xf32>
  %ve = ppc.add %var, %eps : tensor<32xf32>
  %rs = ppc.rsqrt %ve : tensor<32xf32>
  %rg = ppc.mul %rs, %g : tensor<32xf32>
  %rb = ppc.broadcast %rg dims [0, 1] : tensor<32xf32> to tensor<8x16x32xf32>
  %z = ppc.mul %c, %rb : tensor<8x16x32xf32>
  %logits = ppc.matmul "bsh,vh->bsv" %z, %t : (tensor<8x16x32xf32>, tensor<64x32xf32>) -> tensor<8x16x64xf32>
  %nll, %lse = ppc.cross_entropy %logits, %targets : (tensor<8x16x64xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %sum = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] : tensor<8x16xf32> to tensor<f32>
  %loss = ppc.scale %sum by 7.812500e-03 : tensor<f32>
  return %loss : tensor<f32>
}
}
