// RUN: ppc-opt %s --ppc-assign-offsets --split-input-file --verify-diagnostics

func.func @dynamic(%n: index) {
  // expected-error @below {{of type 'memref<?xf32>' has no size known at compile time}}
  %a = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

func.func @region(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{is in a region}}
    %a = memref.alloc() : memref<4xf32>
  }
  return
}

// -----

// expected-error @below {{is called recursively}}
func.func private @endless() {
  call @endless() : () -> ()
  return
}
