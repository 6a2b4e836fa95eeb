// Invalid elementwise ops of two operands.
// RUN: ppc-opt %s --verify-diagnostics --split-input-file

func.func @add_c1(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{'ppc.add' op requires the same type for all operands and results}}
  %0 = "ppc.add"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sub_c1(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{'ppc.sub' op requires the same type for all operands and results}}
  %0 = "ppc.sub"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @mul_c1(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{'ppc.mul' op requires the same type for all operands and results}}
  %0 = "ppc.mul"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @div_c1(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{'ppc.div' op requires the same type for all operands and results}}
  %0 = "ppc.div"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}
