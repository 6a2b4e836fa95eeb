// refused: --micro-batch 16: token ids need a range
module @mlp {
func.func @loss(%x: tensor<16x12xf32> {ppc.input = "x", ppc.dims = ["batch", "in"]},
    %y: tensor<16x4xf32> {ppc.input = "y", ppc.dims = ["batch", "out"]},
    %w0: tensor<12x32xf32> {ppc.parameter = "w0", ppc.dims = ["in", "ffn"], ppc.init = #ppc.init<normal, 0.3>},
    %w1: tensor<32x4xf32> {ppc.parameter = "w1", ppc.dims = ["ffn", "out"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %a = ppc.matmul "bi,if->bf" %x, %w0 : (tensor<16x12xf32>, tensor<12x32xf32>) -> tensor<16x32xf32>
  %h = ppc.silu %a : tensor<16x32xf32>
  %p = ppc.matmul "bf,fo->bo" %h, %w1 : (tensor<16x32xf32>, tensor<32x4xf32>) -> tensor<16x4xf32>
  %d = ppc.sub %p, %y : tensor<16x4xf32>
  %s = ppc.mul %d, %d : tensor<16x4xf32>
  %t = ppc.reduce #ppc.combiner<sum> %s dims [0, 1] : tensor<16x4xf32> to tensor<f32>
  %l = ppc.scale %t by 1.562500e-02 : tensor<f32>
  return %l : tensor<f32>
}
}
