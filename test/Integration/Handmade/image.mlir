// refused: --micro-batch 16: input "image" must be [batch, sequence]
module @image {
func.func @loss(%x: tensor<16x8x8x3xf32> {ppc.input = "image", ppc.dims = ["batch", "height", "width", "channel"]},
    %y: tensor<16xi32> {ppc.input = "label", ppc.dims = ["batch"]}, %w: tensor<16xf32> {ppc.input = "weight", ppc.dims = ["batch"]},
    %w0: tensor<12x32xf32> {ppc.parameter = "w0", ppc.dims = ["in", "ffn"], ppc.init = #ppc.init<normal, 0.3>},
    %w1: tensor<10x32xf32> {ppc.parameter = "w1", ppc.dims = ["classes", "ffn"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %r = ppc.reshape %x : tensor<16x8x8x3xf32> to tensor<16x4x2x4x2x3xf32>
  %t = ppc.transpose %r by [0, 1, 3, 2, 4, 5] : tensor<16x4x2x4x2x3xf32> to tensor<16x4x4x2x2x3xf32>
  %q = ppc.reshape %t : tensor<16x4x4x2x2x3xf32> to tensor<16x4x4x12xf32>
  %a = ppc.matmul "bhwi,if->bhwf" %q, %w0 : (tensor<16x4x4x12xf32>, tensor<12x32xf32>) -> tensor<16x4x4x32xf32>
  %h = ppc.silu %a : tensor<16x4x4x32xf32>
  %m = ppc.reduce #ppc.combiner<sum> %h dims [1, 2] : tensor<16x4x4x32xf32> to tensor<16x32xf32>
  %p = ppc.matmul "bf,vf->bv" %m, %w1 : (tensor<16x32xf32>, tensor<10x32xf32>) -> tensor<16x10xf32>
  %nll, %lse = ppc.cross_entropy %p, %y : (tensor<16x10xf32>, tensor<16xi32>) -> (tensor<16xf32>, tensor<16xf32>)
  %n = ppc.mul %nll, %w : tensor<16xf32>
  %s = ppc.reduce #ppc.combiner<sum> %n dims [0] : tensor<16xf32> to tensor<f32>
  %l = ppc.scale %s by 6.250000e-02 : tensor<f32>
  return %l : tensor<f32>
}
}
