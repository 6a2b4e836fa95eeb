// RUN: ppc-opt %s --ppc-rt-to-llvm --verify-diagnostics --split-input-file

func.func @stage0.forward(%x: memref<64xi8>, %y: memref<4xf32>) attributes {ppcrt.routine = "forward"} {
  %c0 = arith.constant 0 : index
  %a = memref.view %x[%c0][] : memref<64xi8> to memref<32xi8>
  %b = memref.view %a[%c0][] : memref<32xi8> to memref<4xf32>
  // expected-error @below {{passes a buffer without a fixed offset in an argument}}
  ppcrt.call @body(%b) : memref<4xf32>
  return
}
func.func private @body(%a: memref<4xf32>) {
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @stage0.forward(%x: memref<4xf32>, %y: memref<4xf32>) attributes {ppcrt.routine = "forward"} {
  // expected-error @below {{the CPU backend cannot start all_to_all asynchronously}}
  // expected-error @below {{failed to legalize}}
  %0 = ppcrt.start all_to_all group @tp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  ppcrt.wait %0 (%x, %y : memref<4xf32>, memref<4xf32>)
  return
}
