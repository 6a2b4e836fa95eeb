// "--ppc-make-plan=micro-batch=8" --ppc-phase-train --ppc-phase-plan --ppc-phase-partition --ppc-phase-device --ppc-phase-host
func.func @loss(%ids: tensor<8x4xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<8x4xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %t: tensor<12x6xf32> {ppc.parameter = "t", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids : (tensor<12x6xf32>, tensor<8x4xi32>) -> tensor<8x4x6xf32>
  %y = ppc.reshape %x : tensor<8x4x6xf32> to tensor<8x1x1x1x1x1x1x1x1x1x2x2x1x6xf32>
  %z = ppc.exp %y : tensor<8x1x1x1x1x1x1x1x1x1x2x2x1x6xf32>
  %q = ppc.reshape %z : tensor<8x1x1x1x1x1x1x1x1x1x2x2x1x6xf32> to tensor<8x4x6xf32>
  %e_ = ppc.exp %q : tensor<8x4x6xf32>
  %s_ = ppc.reduce <sum> %e_ dims [0, 1, 2] : tensor<8x4x6xf32> to tensor<f32>
  %loss = ppc.scale %s_ by 0.03125 : tensor<f32>
  return %loss : tensor<f32>
}
