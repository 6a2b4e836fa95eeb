// Temporaries in the scratch of functions, from the code alone. Each case is a sound function with one fault.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-verify-arena

// Sound: %b reuses the offset of %a after its last use; a call in between has its own scratch.
func.func @sound(%x: memref<16xf32>, %scratch: memref<128xi8>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = memref.view %scratch[%c0][] : memref<128xi8> to memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  %s = memref.view %scratch[%c64][] : memref<128xi8> to memref<64xi8>
  ppcrt.call @callee(%a, %s) : memref<16xf32>, memref<64xi8>
  %b = memref.view %scratch[%c0][] : memref<128xi8> to memref<8xf64>
  ppcrt.call @other(%b) : memref<8xf64>
  return
}
func.func private @other(%b: memref<8xf64>)
func.func private @callee(%a: memref<16xf32>, %scratch: memref<64xi8>)

// -----

// C6: used through a view of it once %b has been written there.
func.func @overlap(%x: memref<16xf32>, %scratch: memref<128xi8>) {
  %c0 = arith.constant 0 : index
  %c60 = arith.constant 60 : index
  // expected-note @below {{the other temporary}}
  %a = memref.view %scratch[%c0][] : memref<128xi8> to memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  %part = memref.subview %a[4] [4] [1] : memref<16xf32> to memref<4xf32, strided<[1], offset: 4>>
  // expected-error @below {{shares bytes 60 to 64 of its scratch with another temporary that is still used when it is first used}}
  %b = memref.view %scratch[%c60][] : memref<128xi8> to memref<16xf32>
  // expected-note @below {{used first here}}
  memref.copy %x, %b : memref<16xf32> to memref<16xf32>
  %y = memref.subview %x[4] [4] [1] : memref<16xf32> to memref<4xf32, strided<[1], offset: 4>>
  // expected-note @below {{the other one is used last here}}
  memref.copy %part, %y : memref<4xf32, strided<[1], offset: 4>> to memref<4xf32, strided<[1], offset: 4>>
  return
}

// -----

// C6: the scratch of a call lies on one of its arguments.
func.func @call(%x: memref<16xf32>, %scratch: memref<128xi8>) {
  %c0 = arith.constant 0 : index
  // expected-note @below {{the other temporary}}
  %a = memref.view %scratch[%c0][] : memref<128xi8> to memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  // expected-error @below {{shares bytes 0 to 64 of its scratch}}
  %s = memref.view %scratch[%c0][] : memref<128xi8> to memref<64xi8>
  // expected-note @below {{used first here}}
  // expected-note @below {{the other one is used last here}}
  ppcrt.call @callee(%a, %s) : memref<16xf32>, memref<64xi8>
  return
}
func.func private @callee(%a: memref<16xf32>, %scratch: memref<64xi8>)

// -----

// C6: in flight until it has been waited for.
ppcrt.group @dp axes ["dp"]
func.func @flight(%x: memref<16xf32>, %y: memref<32xf32>, %scratch: memref<128xi8>) {
  %c0 = arith.constant 0 : index
  // expected-note @below {{the other temporary}}
  %a = memref.view %scratch[%c0][] : memref<128xi8> to memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  %t = ppcrt.start all_gather group @dp ins(%a : memref<16xf32>) outs(%y : memref<32xf32>)
  // expected-error @below {{shares bytes 0 to 64 of its scratch}}
  %b = memref.view %scratch[%c0][] : memref<128xi8> to memref<16xf32>
  // expected-note @below {{used first here}}
  memref.copy %x, %b : memref<16xf32> to memref<16xf32>
  // expected-note @below {{the other one is used last here}}
  ppcrt.wait %t (%a, %y : memref<16xf32>, memref<32xf32>)
  return
}

// -----

// Sound: one part of a temporary is in flight while another one is used.
ppcrt.group @tp axes ["tp"]
func.func @pieces(%x: memref<8xf32>, %scratch: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %a = memref.view %scratch[%c0][] : memref<64xi8> to memref<16xf32>
  %first = memref.subview %a[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  %second = memref.subview %a[8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  %t = ppcrt.start all_reduce sum group @tp outs(%first : memref<8xf32, strided<[1]>>)
  memref.copy %x, %second : memref<8xf32> to memref<8xf32, strided<[1], offset: 8>>
  ppcrt.wait %t (%first : memref<8xf32, strided<[1]>>)
  return
}

// -----

// C6: a piece that begins where the one in flight has not ended.
ppcrt.group @tp axes ["tp"]
func.func @wrong_piece(%x: memref<8xf32>, %scratch: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %a = memref.view %scratch[%c0][] : memref<64xi8> to memref<16xf32>
  %first = memref.subview %a[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  %second = memref.subview %a[7] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 7>>
  // expected-note @below {{from here}}
  %t = ppcrt.start all_reduce sum group @tp outs(%first : memref<8xf32, strided<[1]>>)
  // expected-error @below {{uses a buffer in flight}}
  memref.copy %x, %second : memref<8xf32> to memref<8xf32, strided<[1], offset: 7>>
  // expected-note @below {{to here}}
  ppcrt.wait %t (%first : memref<8xf32, strided<[1]>>)
  return
}

// -----

// C6: a piece is read before it has been waited for.
ppcrt.group @tp axes ["tp"]
func.func @waited_late(%x: memref<16xf32>, %scratch: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %a = memref.view %scratch[%c0][] : memref<64xi8> to memref<16xf32>
  %second = memref.subview %a[8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  // expected-note @below {{from here}}
  %t = ppcrt.start all_reduce sum group @tp outs(%second : memref<8xf32, strided<[1], offset: 8>>)
  // expected-error @below {{uses a buffer in flight}}
  memref.copy %a, %x : memref<16xf32> to memref<16xf32>
  // expected-note @below {{to here}}
  ppcrt.wait %t (%second : memref<8xf32, strided<[1], offset: 8>>)
  return
}

// -----

// C6: used in a loop counts as used by the loop.
func.func @loop(%x: memref<16xf32>, %scratch: memref<128xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  // expected-note @below {{the other temporary}}
  %a = memref.view %scratch[%c0][] : memref<128xi8> to memref<16xf32>
  // expected-error @below {{shares bytes 0 to 64 of its scratch}}
  %b = memref.view %scratch[%c0][] : memref<128xi8> to memref<16xf32>
  // expected-note @below {{used first here}}
  // expected-note @below {{the other one is used last here}}
  scf.for %i = %c0 to %c16 step %c1 {
    %v = memref.load %a[%i] : memref<16xf32>
    memref.store %v, %b[%i] : memref<16xf32>
  }
  return
}

// -----

func.func @outside(%x: memref<16xf32>, %scratch: memref<128xi8>) {
  %c96 = arith.constant 96 : index
  // expected-error @below {{is bytes 96 to 160 of 128}}
  %a = memref.view %scratch[%c96][] : memref<128xi8> to memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  return
}

// -----

func.func @anywhere(%x: memref<16xf32>, %place: index, %scratch: memref<128xi8>) {
  // expected-error @below {{has an offset that is not known before the program runs}}
  %a = memref.view %scratch[%place][] : memref<128xi8> to memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  return
}

// -----

func.func @lost(%c: i1, %x: memref<16xf32>, %scratch: memref<128xi8>) {
  %c0 = arith.constant 0 : index
  %a = memref.view %scratch[%c0][] : memref<128xi8> to memref<16xf32>
  // expected-error @below {{forwards a buffer in a way that its uses cannot be followed}}
  %b = arith.select %c, %a, %x : memref<16xf32>
  memref.copy %x, %b : memref<16xf32> to memref<16xf32>
  return
}

// -----

// Sound: what is sent may be read meanwhile, and other buffers used.
ppcrt.group @dp axes ["dp"]
func.func @beside(%x: memref<16xf32>, %y: memref<32xf32>, %z: memref<16xf32>, %scratch: memref<128xi8>) {
  %t = ppcrt.start all_gather group @dp ins(%x : memref<16xf32>) outs(%y : memref<32xf32>)
  memref.copy %x, %z : memref<16xf32> to memref<16xf32>
  ppcrt.wait %t (%x, %y : memref<16xf32>, memref<32xf32>)
  memref.copy %z, %x : memref<16xf32> to memref<16xf32>
  return
}

// -----

// C7: a value that is being sent is written.
ppcrt.group @dp axes ["dp"]
func.func @sent(%x: memref<16xf32>, %y: memref<32xf32>, %z: memref<16xf32>) {
  // expected-note @below {{from here}}
  %t = ppcrt.start all_gather group @dp ins(%x : memref<16xf32>) outs(%y : memref<32xf32>)
  // expected-error @below {{may write a buffer in flight}}
  memref.copy %z, %x : memref<16xf32> to memref<16xf32>
  // expected-note @below {{to here}}
  ppcrt.wait %t (%x, %y : memref<16xf32>, memref<32xf32>)
  return
}

// -----

// C7: what arrives is read, in a loop, through a view.
ppcrt.group @dp axes ["dp"]
func.func @arrives(%x: memref<16xf32>, %y: memref<32xf32>, %z: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %half = memref.subview %y[0] [16] [1] : memref<32xf32> to memref<16xf32, strided<[1]>>
  // expected-note @below {{from here}}
  %t = ppcrt.start all_gather group @dp ins(%x : memref<16xf32>) outs(%y : memref<32xf32>)
  scf.for %i = %c0 to %c16 step %c1 {
    // expected-error @below {{uses a buffer in flight}}
    %v = memref.load %half[%i] : memref<16xf32, strided<[1]>>
    memref.store %v, %z[%i] : memref<16xf32>
  }
  // expected-note @below {{to here}}
  ppcrt.wait %t (%x, %y : memref<16xf32>, memref<32xf32>)
  return
}

// -----

// C7: a call does not say what it does.
ppcrt.group @dp axes ["dp"]
func.func @called(%x: memref<16xf32>, %y: memref<32xf32>) {
  // expected-note @below {{from here}}
  %t = ppcrt.start all_gather group @dp ins(%x : memref<16xf32>) outs(%y : memref<32xf32>)
  // expected-error @below {{may write a buffer in flight}}
  ppcrt.call @callee(%x) : memref<16xf32>
  // expected-note @below {{to here}}
  ppcrt.wait %t (%x, %y : memref<16xf32>, memref<32xf32>)
  return
}
func.func private @callee(%x: memref<16xf32>)
