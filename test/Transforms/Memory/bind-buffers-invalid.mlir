// RUN: ppc-opt %s --ppc-bind-buffers --split-input-file --verify-diagnostics

func.func private @body(%x: tensor<8xf32>) -> tensor<8xf32>
func.func @external(%x: tensor<8xf32>) -> tensor<8xf32> attributes {ppcrt.routine = "forward"} {
  // expected-error @below {{calls a function without a body}}
  %y = call @body(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func private @body(%x: tensor<8xf32>) -> (tensor<8xf32> {ppc.destination = 3 : i64}) {
  return %x : tensor<8xf32>
}
func.func @destination(%x: tensor<8xf32>) -> tensor<8xf32> attributes {ppcrt.routine = "forward"} {
  // expected-error @below {{result 0 cannot be written to operand 3}}
  %y = call @body(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
