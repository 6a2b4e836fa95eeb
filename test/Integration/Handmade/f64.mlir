// refused: --micro-batch 8: parameter "table" is of 'f64'
func.func @loss(%ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %table: tensor<256x24xf64> {ppc.parameter = "table", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.02>},
                %head: tensor<256x24xf64> {ppc.parameter = "head", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.02>})
    -> tensor<f64> {
  %x = ppc.embedding %table, %ids : (tensor<256x24xf64>, tensor<8x16xi32>) -> tensor<8x16x24xf64>
  %logits = ppc.matmul "bsh,vh->bsv" %x, %head : (tensor<8x16x24xf64>, tensor<256x24xf64>) -> tensor<8x16x256xf64>
  %nll, %lse = ppc.cross_entropy %logits, %targets
      : (tensor<8x16x256xf64>, tensor<8x16xi32>) -> (tensor<8x16xf64>, tensor<8x16xf64>)
  %sum = ppc.reduce <sum> %nll dims [0, 1] : tensor<8x16xf64> to tensor<f64>
  %mean = ppc.scale %sum by 0.0078125 : tensor<f64>
  return %mean : tensor<f64>
}
