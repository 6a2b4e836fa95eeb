// RUN: ppc-opt %s --ppc-verify-device --split-input-file --verify-diagnostics

func.func @right(%x: memref<4xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "forward"} {
  return
}

// -----

func.func @device_c1() {
  // expected-error @below {{still works on tensors after bufferization}}
  %a = tensor.empty() : tensor<4xf32>
  return
}

// -----

func.func @device_c2() {
  // expected-error @below {{allocates at run time}}
  %a = memref.alloc() : memref<4xf32>
  return
}

// -----

func.func @device_c3() {
  // expected-error @below {{has no code for the target}}
  %a = ppc.constant dense<1.0> : tensor<4xf32>
  return
}

// -----

// expected-error @below {{has results or several blocks}}
func.func @device_c4(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----

// expected-error @below {{is the code of a routine and has no bytes of scratch as its last argument}}
func.func @device_c5(%x: memref<4xf32>) attributes {ppcrt.routine = "forward"} {
  return
}

// -----

func.func private @body(%x: memref<4xf32>) {
  return
}
func.func @device_c6(%x: memref<8xf32>, %scratch: memref<0xi8>) attributes {ppcrt.routine = "forward"} {
  // expected-error @below {{passes other buffers than @body takes}}
  ppcrt.call @body(%x) : memref<8xf32>
  return
}
