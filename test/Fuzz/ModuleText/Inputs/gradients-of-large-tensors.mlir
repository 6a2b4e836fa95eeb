// --test-ppc-gradients
// takes too long
func.func @binary(%a: tensor<65536x3xf32>, %b: tensor<65536x3xf32>) -> (tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>) {
  %0 = ppc.add %a, %b : tensor<65536x3xf32>
  %1 = ppc.sub %a, %b : tensor<65536x3xf32>
  %2 = ppc.mul %a, %b : tensor<65536x3xf32>
  %3 = ppc.div %a, %b : tensor<65536x3xf32>
  %4 = ppc.sum %a, %b, %a : tensor<65536x3xf32>
  return %0, %1, %2, %3, %4 : tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>
}
func.func @square(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = ppc.mul %a, %a : tensor<3xf32>
  return %0 : tensor<3xf32>
}

func.func @roots(%a: tensor<65536x3xf32>) -> (tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>) {
  %0 = ppc.exp %a : tensor<65536x3xf32>
  %1 = ppc.log %a : tensor<65536x3xf32>
  %2 = ppc.sqrt %a : tensor<65536x3xf32>
  %3 = ppc.rsqrt %a : tensor<65536x3xf32>
  return %0, %1, %2, %3 : tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>
}

func.func @activations(%a: tensor<65536x3xf32>) -> (tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xbf16>) {
  %0 = ppc.neg %a : tensor<65536x3xf32>
  %1 = ppc.sigmoid %a : tensor<65536x3xf32>
  %2 = ppc.silu %a : tensor<65536x3xf32>
  %3 = ppc.scale %a by -2.500000e-01 : tensor<65536x3xf32>
  %4 = ppc.convert %a : tensor<65536x3xf32> to tensor<65536x3xbf16>
  return %0, %1, %2, %3, %4 : tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xf32>, tensor<65536x3xbf16>
}

func.func @none(%a: tensor<65536x3xf32>) -> (tensor<65536x3xf32>, tensor<65536xf32>) {
  %0 = ppc.silu_backward %a, %a : tensor<65536x3xf32>
  %1 = ppc.constant dense<1.0> : tensor<65536xf32>
  return %0, %1 : tensor<65536x3xf32>, tensor<65536xf32>
}

func.func @gelu(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = ppc.gelu %x : tensor<3x4xf32>
  %1 = ppc.gelu %x tanh : tensor<3x4xf32>
  %2 = ppc.gelu_backward %x, %x : tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}
