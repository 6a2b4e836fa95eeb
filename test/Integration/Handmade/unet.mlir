// right: loss 11.6888, gradient 8.90274
// run: --micro-batch 2 --dp 2
module @unet {
func.func @loss(
    %ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %t: tensor<64x32xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %k00: tensor<32x16xf32> {ppc.parameter = "k00", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %k01: tensor<32x16xf32> {ppc.parameter = "k01", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %k02: tensor<32x16xf32> {ppc.parameter = "k02", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %k10: tensor<32x16xf32> {ppc.parameter = "k10", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %k11: tensor<32x16xf32> {ppc.parameter = "k11", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %k12: tensor<32x16xf32> {ppc.parameter = "k12", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %k20: tensor<32x16xf32> {ppc.parameter = "k20", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %k21: tensor<32x16xf32> {ppc.parameter = "k21", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %k22: tensor<32x16xf32> {ppc.parameter = "k22", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>},
    %patch: tensor<64x32xf32> {ppc.parameter = "patch", ppc.dims = ["patch", "hidden"], ppc.init = #ppc.init<normal, 0.2>},
    %last: tensor<48x32xf32> {ppc.parameter = "last", ppc.dims = ["wide", "hidden"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<64x32xf32>, tensor<8x16xi32>) -> tensor<8x16x32xf32>
  %im = ppc.reshape %x : tensor<8x16x32xf32> to tensor<8x4x4x32xf32>
  %czh = ppc.constant dense<0.0> : tensor<8x1x4x32xf32>
  %czw = ppc.constant dense<0.0> : tensor<8x6x1x32xf32>
  %cph = ppc.concat %czh, %im, %czh dim 1 : tensor<8x1x4x32xf32>, tensor<8x4x4x32xf32>, tensor<8x1x4x32xf32> to tensor<8x6x4x32xf32>
  %cp = ppc.concat %czw, %cph, %czw dim 2 : tensor<8x6x1x32xf32>, tensor<8x6x4x32xf32>, tensor<8x6x1x32xf32> to tensor<8x6x6x32xf32>
  %cr0:2 = ppc.split %cp dim 1 : tensor<8x6x6x32xf32> to tensor<8x4x6x32xf32>, tensor<8x2x6x32xf32>
  %cq00:2 = ppc.split %cr0#0 dim 2 : tensor<8x4x6x32xf32> to tensor<8x4x4x32xf32>, tensor<8x4x2x32xf32>
  %cm00 = ppc.matmul "bhwc,co->bhwo" %cq00#0, %k00 : (tensor<8x4x4x32xf32>, tensor<32x16xf32>) -> tensor<8x4x4x16xf32>
  %cq01:3 = ppc.split %cr0#0 dim 2 : tensor<8x4x6x32xf32> to tensor<8x4x1x32xf32>, tensor<8x4x4x32xf32>, tensor<8x4x1x32xf32>
  %cm01 = ppc.matmul "bhwc,co->bhwo" %cq01#1, %k01 : (tensor<8x4x4x32xf32>, tensor<32x16xf32>) -> tensor<8x4x4x16xf32>
  %cq02:2 = ppc.split %cr0#0 dim 2 : tensor<8x4x6x32xf32> to tensor<8x4x2x32xf32>, tensor<8x4x4x32xf32>
  %cm02 = ppc.matmul "bhwc,co->bhwo" %cq02#1, %k02 : (tensor<8x4x4x32xf32>, tensor<32x16xf32>) -> tensor<8x4x4x16xf32>
  %cr1:3 = ppc.split %cp dim 1 : tensor<8x6x6x32xf32> to tensor<8x1x6x32xf32>, tensor<8x4x6x32xf32>, tensor<8x1x6x32xf32>
  %cq10:2 = ppc.split %cr1#1 dim 2 : tensor<8x4x6x32xf32> to tensor<8x4x4x32xf32>, tensor<8x4x2x32xf32>
  %cm10 = ppc.matmul "bhwc,co->bhwo" %cq10#0, %k10 : (tensor<8x4x4x32xf32>, tensor<32x16xf32>) -> tensor<8x4x4x16xf32>
  %cq11:3 = ppc.split %cr1#1 dim 2 : tensor<8x4x6x32xf32> to tensor<8x4x1x32xf32>, tensor<8x4x4x32xf32>, tensor<8x4x1x32xf32>
  %cm11 = ppc.matmul "bhwc,co->bhwo" %cq11#1, %k11 : (tensor<8x4x4x32xf32>, tensor<32x16xf32>) -> tensor<8x4x4x16xf32>
  %cq12:2 = ppc.split %cr1#1 dim 2 : tensor<8x4x6x32xf32> to tensor<8x4x2x32xf32>, tensor<8x4x4x32xf32>
  %cm12 = ppc.matmul "bhwc,co->bhwo" %cq12#1, %k12 : (tensor<8x4x4x32xf32>, tensor<32x16xf32>) -> tensor<8x4x4x16xf32>
  %cr2:2 = ppc.split %cp dim 1 : tensor<8x6x6x32xf32> to tensor<8x2x6x32xf32>, tensor<8x4x6x32xf32>
  %cq20:2 = ppc.split %cr2#1 dim 2 : tensor<8x4x6x32xf32> to tensor<8x4x4x32xf32>, tensor<8x4x2x32xf32>
  %cm20 = ppc.matmul "bhwc,co->bhwo" %cq20#0, %k20 : (tensor<8x4x4x32xf32>, tensor<32x16xf32>) -> tensor<8x4x4x16xf32>
  %cq21:3 = ppc.split %cr2#1 dim 2 : tensor<8x4x6x32xf32> to tensor<8x4x1x32xf32>, tensor<8x4x4x32xf32>, tensor<8x4x1x32xf32>
  %cm21 = ppc.matmul "bhwc,co->bhwo" %cq21#1, %k21 : (tensor<8x4x4x32xf32>, tensor<32x16xf32>) -> tensor<8x4x4x16xf32>
  %cq22:2 = ppc.split %cr2#1 dim 2 : tensor<8x4x6x32xf32> to tensor<8x4x2x32xf32>, tensor<8x4x4x32xf32>
  %cm22 = ppc.matmul "bhwc,co->bhwo" %cq22#1, %k22 : (tensor<8x4x4x32xf32>, tensor<32x16xf32>) -> tensor<8x4x4x16xf32>
  %c = ppc.sum %cm00, %cm01, %cm02, %cm10, %cm11, %cm12, %cm20, %cm21, %cm22 : tensor<8x4x4x16xf32>
  %a = ppc.silu %c : tensor<8x4x4x16xf32>
  %b0 = ppc.reshape %a : tensor<8x4x4x16xf32> to tensor<8x2x2x2x2x16xf32>
  %b1 = ppc.transpose %b0 by [0, 1, 3, 2, 4, 5] : tensor<8x2x2x2x2x16xf32> to tensor<8x2x2x2x2x16xf32>
  %b2 = ppc.reshape %b1 : tensor<8x2x2x2x2x16xf32> to tensor<8x2x2x64xf32>
  %b3 = ppc.matmul "bhwc,co->bhwo" %b2, %patch : (tensor<8x2x2x64xf32>, tensor<64x32xf32>) -> tensor<8x2x2x32xf32>
  %b4 = ppc.broadcast %b3 dims [2, 4] : tensor<8x2x2x32xf32> to tensor<8x2x2x2x2x32xf32>
  %b5 = ppc.reshape %b4 : tensor<8x2x2x2x2x32xf32> to tensor<8x4x4x32xf32>
  %u = ppc.concat %b5, %a dim 3 : tensor<8x4x4x32xf32>, tensor<8x4x4x16xf32> to tensor<8x4x4x48xf32>
  %v = ppc.matmul "bhwc,co->bhwo" %u, %last : (tensor<8x4x4x48xf32>, tensor<48x32xf32>) -> tensor<8x4x4x32xf32>
  %z = ppc.reshape %v : tensor<8x4x4x32xf32> to tensor<8x16x32xf32>
  %logits = ppc.matmul "bsh,vh->bsv" %z, %t : (tensor<8x16x32xf32>, tensor<64x32xf32>) -> tensor<8x16x64xf32>
  %nll, %lse = ppc.cross_entropy %logits, %targets : (tensor<8x16x64xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %sum = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] : tensor<8x16xf32> to tensor<f32>
  %loss = ppc.scale %sum by 7.812500e-03 : tensor<f32>
  return %loss : tensor<f32>
}
}
