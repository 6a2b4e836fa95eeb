// right: loss 1.02203, gradient 0.0532848
// run: --micro-batch 8
// run: --micro-batch 2
// run: --micro-batch 2 --dp 2
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x8xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
                %w: tensor<8x4xf32> {ppc.parameter = "w", ppc.dims = ["hidden","k"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x8xf32>, tensor<8x4xi32>) -> tensor<8x4x8xf32>
  %r = ppc.reduce <sum> %x dims [2] : tensor<8x4x8xf32> to tensor<8x4xf32>
  %c = ppc.constant dense<0.5> : tensor<8x4xf32>
  %rc = ppc.add %r, %c : tensor<8x4xf32>
  %d = ppc.constant dense<0.5> : tensor<8x4xf32>
  %wd = ppc.add %w, %d : tensor<8x4xf32>
  %y = ppc.matmul "bsh,hk->bsk" %x, %wd : (tensor<8x4x8xf32>, tensor<8x4xf32>) -> tensor<8x4x4xf32>
  %z = ppc.matmul "bsk,bs->bk" %y, %rc : (tensor<8x4x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %zz = ppc.scale %z by 0.01 : tensor<8x4xf32>
  %e_ = ppc.exp %zz : tensor<8x4xf32>
  %s_ = ppc.reduce <sum> %e_ dims [0, 1] : tensor<8x4xf32> to tensor<f32>
  %loss = ppc.scale %s_ by 0.03125 : tensor<f32>
  return %loss : tensor<f32>
}
