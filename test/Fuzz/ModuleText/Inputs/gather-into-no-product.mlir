// --ppc-rotate-products
func.func @columns(%x: tensor<4x8xf32>, %a: tensor<2x8xf32>) -> tensor<4x6xf32> {
  %0 = ppc.all_gather %a dim 0 over ["dp"] rotated : tensor<2x8xf32> to tensor<6x8xf32>
  %1 = ppc.matmul "dp" %x, %0 : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
func.func @rows(%x: tensor<4x6xf32>, %a: tensor<2x8xf32>) -> tensor<4x8xf32> {
  %0 = ppc.all_gather %a dim 0 over ["dp"] rotated : tensor<2x8xf32> to tensor<6x8xf32>
  %1 = ppc.matmul "fh,bf->bh" %0, %x : (tensor<6x8xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
