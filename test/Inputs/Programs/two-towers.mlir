// A language model that no recipe knows: per layer two towers of different width over one stream, the narrow one gated by the wide
// one's input, no attention and no norm. Two layers over 64 tokens.
module @two_towers {
func.func @loss(%ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "seq"]},
    %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "seq"]},
    %t: tensor<64x48xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "stream"], ppc.init = #ppc.init<normal, 0.5>},
    %u1: tensor<96x48xf32> {ppc.parameter = "first.up", ppc.dims = ["wide", "stream"], ppc.init = #ppc.init<normal, 0.2>},
    %w1: tensor<48x96xf32> {ppc.parameter = "first.down", ppc.dims = ["stream", "wide"], ppc.init = #ppc.init<normal, 0.2>},
    %g1: tensor<20x48xf32> {ppc.parameter = "first.gate", ppc.dims = ["narrow", "stream"], ppc.init = #ppc.init<normal, 0.2>},
    %n1: tensor<48x20xf32> {ppc.parameter = "first.narrow", ppc.dims = ["stream", "narrow"], ppc.init = #ppc.init<normal, 0.2>},
    %u2: tensor<96x48xf32> {ppc.parameter = "second.up", ppc.dims = ["wide", "stream"], ppc.init = #ppc.init<normal, 0.2>},
    %w2: tensor<48x96xf32> {ppc.parameter = "second.down", ppc.dims = ["stream", "wide"], ppc.init = #ppc.init<normal, 0.2>},
    %g2: tensor<20x48xf32> {ppc.parameter = "second.gate", ppc.dims = ["narrow", "stream"], ppc.init = #ppc.init<normal, 0.2>},
    %n2: tensor<48x20xf32> {ppc.parameter = "second.narrow", ppc.dims = ["stream", "narrow"], ppc.init = #ppc.init<normal, 0.2>},
    %h: tensor<64x48xf32> {ppc.parameter = "head", ppc.dims = ["vocab", "stream"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %x0 = ppc.embedding %t, %ids {ppc.layer = 0 : i64} : (tensor<64x48xf32>, tensor<8x16xi32>) -> tensor<8x16x48xf32>
  %a1 = ppc.matmul "bsh,wh->bsw" %x0, %u1 {ppc.layer = 1 : i64} : (tensor<8x16x48xf32>, tensor<96x48xf32>) -> tensor<8x16x96xf32>
  %b1 = ppc.silu %a1 {ppc.layer = 1 : i64} : tensor<8x16x96xf32>
  %c1 = ppc.mul %a1, %b1 {ppc.layer = 1 : i64} : tensor<8x16x96xf32>
  %d1 = ppc.matmul "bsw,hw->bsh" %c1, %w1 {ppc.layer = 1 : i64} : (tensor<8x16x96xf32>, tensor<48x96xf32>) -> tensor<8x16x48xf32>
  %e1 = ppc.matmul "bsh,nh->bsn" %x0, %g1 {ppc.layer = 1 : i64} : (tensor<8x16x48xf32>, tensor<20x48xf32>) -> tensor<8x16x20xf32>
  %f1 = ppc.silu %e1 {ppc.layer = 1 : i64} : tensor<8x16x20xf32>
  %y1 = ppc.matmul "bsn,hn->bsh" %f1, %n1 {ppc.layer = 1 : i64} : (tensor<8x16x20xf32>, tensor<48x20xf32>) -> tensor<8x16x48xf32>
  %z1 = ppc.add %d1, %y1 {ppc.layer = 1 : i64} : tensor<8x16x48xf32>
  %x1 = ppc.add %x0, %z1 {ppc.layer = 1 : i64} : tensor<8x16x48xf32>
  %a2 = ppc.matmul "bsh,wh->bsw" %x1, %u2 {ppc.layer = 2 : i64} : (tensor<8x16x48xf32>, tensor<96x48xf32>) -> tensor<8x16x96xf32>
  %b2 = ppc.silu %a2 {ppc.layer = 2 : i64} : tensor<8x16x96xf32>
  %c2 = ppc.mul %a2, %b2 {ppc.layer = 2 : i64} : tensor<8x16x96xf32>
  %d2 = ppc.matmul "bsw,hw->bsh" %c2, %w2 {ppc.layer = 2 : i64} : (tensor<8x16x96xf32>, tensor<48x96xf32>) -> tensor<8x16x48xf32>
  %e2 = ppc.matmul "bsh,nh->bsn" %x1, %g2 {ppc.layer = 2 : i64} : (tensor<8x16x48xf32>, tensor<20x48xf32>) -> tensor<8x16x20xf32>
  %f2 = ppc.silu %e2 {ppc.layer = 2 : i64} : tensor<8x16x20xf32>
  %y2 = ppc.matmul "bsn,hn->bsh" %f2, %n2 {ppc.layer = 2 : i64} : (tensor<8x16x20xf32>, tensor<48x20xf32>) -> tensor<8x16x48xf32>
  %z2 = ppc.add %d2, %y2 {ppc.layer = 2 : i64} : tensor<8x16x48xf32>
  %x2 = ppc.add %x1, %z2 {ppc.layer = 2 : i64} : tensor<8x16x48xf32>
  %logits = ppc.matmul "bsh,vh->bsv" %x2, %h {ppc.layer = 3 : i64} : (tensor<8x16x48xf32>, tensor<64x48xf32>) -> tensor<8x16x64xf32>
  %nll, %lse = ppc.cross_entropy %logits, %targets {ppc.layer = 3 : i64} : (tensor<8x16x64xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %sum = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] {ppc.layer = 3 : i64} : tensor<8x16xf32> to tensor<f32>
  %loss = ppc.scale %sum by 7.812500e-03 {ppc.layer = 3 : i64} : tensor<f32>
  return %loss : tensor<f32>
}
}
