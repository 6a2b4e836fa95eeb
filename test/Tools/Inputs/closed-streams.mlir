func.func @loss(%x: tensor<8x16xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                %up: tensor<32x16xf32> {ppc.parameter = "up", ppc.dims = ["ffn", "hidden"], ppc.init = #ppc.init<normal, 0.02>})
    -> tensor<f32> {
  %h = ppc.matmul "bh,fh->bf" %x, %up : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  %a = ppc.silu %h : tensor<8x32xf32>
  %l = ppc.reduce <sum> %a dims [0, 1] : tensor<8x32xf32> to tensor<f32>
  return %l : tensor<f32>
}
