// right: loss 0.413986, gradient 0.420139
// run: --micro-batch 2
// run: --micro-batch 2 --dp 2 --tp 2
module @autoencoder {
func.func @loss(
    %ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %t: tensor<64x32xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %w: tensor<32x24xf32> {ppc.parameter = "w", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<64x32xf32>, tensor<8x16xi32>) -> tensor<8x16x32xf32>
  %e = ppc.matmul "bsh,hf->bsf" %x, %w : (tensor<8x16x32xf32>, tensor<32x24xf32>) -> tensor<8x16x24xf32>
  %a = ppc.sigmoid %e : tensor<8x16x24xf32>
  %z = ppc.matmul "bsf,hf->bsh" %a, %w : (tensor<8x16x24xf32>, tensor<32x24xf32>) -> tensor<8x16x32xf32>
  %d = ppc.sub %z, %x : tensor<8x16x32xf32>
  %q = ppc.mul %d, %d : tensor<8x16x32xf32>
  %s = ppc.reduce #ppc.combiner<sum> %q dims [0, 1, 2] : tensor<8x16x32xf32> to tensor<f32>
  %loss = ppc.scale %s by 2.441406e-04 : tensor<f32>
  return %loss : tensor<f32>
}
}
