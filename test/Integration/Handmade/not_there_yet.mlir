// right: loss 2048, gradient 2039.98
// run: --micro-batch 2
// run: --micro-batch 2 --cp 2
// ids < 5
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %w0: tensor<5x4xf32> {ppc.parameter = "layer.0/w x", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<ones>}) -> tensor<f32> {
  %v1 = ppc.embedding %w0, %ids : (tensor<5x4xf32>, tensor<8x4xi32>) -> tensor<8x4x4xf32>
  %v2 = ppc.matmul "abc,abd->cadb" %v1, %v1 : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<4x8x4x4xf32>
  %v3 = ppc.broadcast %v2 dims [3] : tensor<4x8x4x4xf32> to tensor<4x8x4x1x4xf32>
  %v4 = ppc.matmul "abcde,ebadf->fbc" %v3, %v3 : (tensor<4x8x4x1x4xf32>, tensor<4x8x4x1x4xf32>) -> tensor<4x8x4xf32>
  %v21 = ppc.reduce <sum> %v4 dims [2] : tensor<4x8x4xf32> to tensor<4x8xf32>
  %v22 = ppc.reduce <sum> %v21 dims [0, 1] : tensor<4x8xf32> to tensor<f32>
  return %v22 : tensor<f32>
}
