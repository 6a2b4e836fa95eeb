// refused: --micro-batch 16: input "label" must be [batch, sequence]
module @classes {
func.func @loss(%x: tensor<16x12xf32> {ppc.input = "x", ppc.dims = ["batch", "in"]},
    %y: tensor<16xi32> {ppc.input = "label", ppc.dims = ["batch"]},
    %w0: tensor<12x32xf32> {ppc.parameter = "w0", ppc.dims = ["in", "ffn"], ppc.init = #ppc.init<normal, 0.3>},
    %w1: tensor<10x32xf32> {ppc.parameter = "w1", ppc.dims = ["vocab", "feat"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %a = ppc.matmul "bi,if->bf" %x, %w0 : (tensor<16x12xf32>, tensor<12x32xf32>) -> tensor<16x32xf32>
  %h = ppc.silu %a : tensor<16x32xf32>
  %p = ppc.matmul "bf,vf->bv" %h, %w1 : (tensor<16x32xf32>, tensor<10x32xf32>) -> tensor<16x10xf32>
  %nll, %lse = ppc.cross_entropy %p, %y : (tensor<16x10xf32>, tensor<16xi32>) -> (tensor<16xf32>, tensor<16xf32>)
  %t = ppc.reduce #ppc.combiner<sum> %nll dims [0] : tensor<16xf32> to tensor<f32>
  %l = ppc.scale %t by 6.250000e-02 : tensor<f32>
  return %l : tensor<f32>
}
}
