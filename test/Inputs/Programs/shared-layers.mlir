// A language model whose layers all use one pair of matrices, and whose LM head is its embedding: each parameter is used several times in
// a step, on several stages of a pipeline. Four layers over 32 tokens.
func.func @loss(%ids: tensor<8x8xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x8xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %t: tensor<32x12xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %u: tensor<20x12xf32> {ppc.parameter = "up", ppc.dims = ["ffn", "hidden"], ppc.init = #ppc.init<normal, 0.2>},
    %w: tensor<12x20xf32> {ppc.parameter = "down", ppc.dims = ["hidden", "ffn"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %x0 = ppc.embedding %t, %ids {ppc.layer = 0 : i64} : (tensor<32x12xf32>, tensor<8x8xi32>) -> tensor<8x8x12xf32>
  %a1 = ppc.matmul "bsh,fh->bsf" %x0, %u {ppc.layer = 1 : i64} : (tensor<8x8x12xf32>, tensor<20x12xf32>) -> tensor<8x8x20xf32>
  %b1 = ppc.silu %a1 {ppc.layer = 1 : i64} : tensor<8x8x20xf32>
  %d1 = ppc.matmul "bsf,hf->bsh" %b1, %w {ppc.layer = 1 : i64} : (tensor<8x8x20xf32>, tensor<12x20xf32>) -> tensor<8x8x12xf32>
  %x1 = ppc.add %x0, %d1 {ppc.layer = 1 : i64} : tensor<8x8x12xf32>
  %a2 = ppc.matmul "bsh,fh->bsf" %x1, %u {ppc.layer = 2 : i64} : (tensor<8x8x12xf32>, tensor<20x12xf32>) -> tensor<8x8x20xf32>
  %b2 = ppc.silu %a2 {ppc.layer = 2 : i64} : tensor<8x8x20xf32>
  %d2 = ppc.matmul "bsf,hf->bsh" %b2, %w {ppc.layer = 2 : i64} : (tensor<8x8x20xf32>, tensor<12x20xf32>) -> tensor<8x8x12xf32>
  %x2 = ppc.add %x1, %d2 {ppc.layer = 2 : i64} : tensor<8x8x12xf32>
  %a3 = ppc.matmul "bsh,fh->bsf" %x2, %u {ppc.layer = 3 : i64} : (tensor<8x8x12xf32>, tensor<20x12xf32>) -> tensor<8x8x20xf32>
  %b3 = ppc.silu %a3 {ppc.layer = 3 : i64} : tensor<8x8x20xf32>
  %d3 = ppc.matmul "bsf,hf->bsh" %b3, %w {ppc.layer = 3 : i64} : (tensor<8x8x20xf32>, tensor<12x20xf32>) -> tensor<8x8x12xf32>
  %x3 = ppc.add %x2, %d3 {ppc.layer = 3 : i64} : tensor<8x8x12xf32>
  %a4 = ppc.matmul "bsh,fh->bsf" %x3, %u {ppc.layer = 4 : i64} : (tensor<8x8x12xf32>, tensor<20x12xf32>) -> tensor<8x8x20xf32>
  %b4 = ppc.silu %a4 {ppc.layer = 4 : i64} : tensor<8x8x20xf32>
  %d4 = ppc.matmul "bsf,hf->bsh" %b4, %w {ppc.layer = 4 : i64} : (tensor<8x8x20xf32>, tensor<12x20xf32>) -> tensor<8x8x12xf32>
  %x4 = ppc.add %x3, %d4 {ppc.layer = 4 : i64} : tensor<8x8x12xf32>
  %logits = ppc.matmul "bsh,vh->bsv" %x4, %t {ppc.layer = 5 : i64} : (tensor<8x8x12xf32>, tensor<32x12xf32>) -> tensor<8x8x32xf32>
  %nll, %lse = ppc.cross_entropy %logits, %targets {ppc.layer = 5 : i64} : (tensor<8x8x32xf32>, tensor<8x8xi32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %sum = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] {ppc.layer = 5 : i64} : tensor<8x8xf32> to tensor<f32>
  %loss = ppc.scale %sum by 0.015625 {ppc.layer = 5 : i64} : tensor<f32>
  return %loss : tensor<f32>
}
