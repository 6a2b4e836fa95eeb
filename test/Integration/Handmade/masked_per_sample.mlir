// right: loss 5.33796, gradient 1.67832
// run: --micro-batch 2 --dp 2
module @masked_per_sample {
func.func @loss(
    %ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %t: tensor<64x32xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %up: tensor<32x64xf32> {ppc.parameter = "up", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %down: tensor<64x32xf32> {ppc.parameter = "down", ppc.dims = ["ffn", "hidden"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<64x32xf32>, tensor<8x16xi32>) -> tensor<8x16x32xf32>
  %mt = ppc.constant dense<[[0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0]]> : tensor<64x1xf32>
  %m1 = ppc.embedding %mt, %targets : (tensor<64x1xf32>, tensor<8x16xi32>) -> tensor<8x16x1xf32>
  %mask = ppc.reshape %m1 : tensor<8x16x1xf32> to tensor<8x16xf32>
  %u = ppc.matmul "bsh,hf->bsf" %x, %up : (tensor<8x16x32xf32>, tensor<32x64xf32>) -> tensor<8x16x64xf32>
  %g = ppc.gelu %u : tensor<8x16x64xf32>
  %z = ppc.matmul "bsf,fh->bsh" %g, %down : (tensor<8x16x64xf32>, tensor<64x32xf32>) -> tensor<8x16x32xf32>
  %logits = ppc.matmul "bsh,vh->bsv" %z, %t : (tensor<8x16x32xf32>, tensor<64x32xf32>) -> tensor<8x16x64xf32>
  %nll, %lse = ppc.cross_entropy %logits, %targets : (tensor<8x16x64xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %w = ppc.mul %nll, %mask : tensor<8x16xf32>
  %top = ppc.reduce #ppc.combiner<sum> %w dims [1] : tensor<8x16xf32> to tensor<8xf32>
  %low = ppc.reduce #ppc.combiner<sum> %mask dims [1] : tensor<8x16xf32> to tensor<8xf32>
  %each = ppc.div %top, %low : tensor<8xf32>
  %all = ppc.reduce #ppc.combiner<sum> %each dims [0] : tensor<8xf32> to tensor<f32>
  %loss = ppc.scale %all by 1.250000e-01 : tensor<f32>
  return %loss : tensor<f32>
}
}
