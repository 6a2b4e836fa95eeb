// RUN: ppc-opt %s --ppc-assign-offsets --split-input-file | FileCheck %s

// A and B live together; C takes the offset of A, dead by then. Offsets are multiples of 64 bytes.
// CHECK-LABEL: func.func @reuse
// CHECK-SAME:    %[[SCRATCH:[a-z0-9]+]]: memref<192xi8>) attributes {ppcrt.routine = "forward"}
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG:     memref.view %[[SCRATCH]][%[[ZERO]]][] : memref<192xi8> to memref<25xf32>
// CHECK-DAG:     %[[HIGH:.*]] = arith.constant 128 : index
// CHECK-DAG:     memref.view %[[SCRATCH]][%[[HIGH]]][] : memref<192xi8> to memref<8xf32>
// CHECK-NOT:     memref.alloc
func.func @reuse(%x: memref<25xf32>) attributes {ppcrt.routine = "forward"} {
  %a = memref.alloc() : memref<25xf32>
  memref.copy %x, %a : memref<25xf32> to memref<25xf32>
  %b = memref.alloc() : memref<8xf32>
  %flat = memref.expand_shape %b [[0, 1]] output_shape [2, 4] : memref<8xf32> into memref<2x4xf32>
  memref.copy %a, %x : memref<25xf32> to memref<25xf32>
  %c = memref.alloc() : memref<25xf32>
  memref.copy %x, %c : memref<25xf32> to memref<25xf32>
  memref.copy %flat, %flat : memref<2x4xf32> to memref<2x4xf32>
  return
}

// -----

// The callee's scratch is a live range of the caller during the call, together with other live ranges then.
// CHECK-LABEL: func.func @caller
// CHECK-SAME:    memref<128xi8>
// CHECK:         call @callee(%{{.*}}, %{{.*}}) : (memref<4xf32>, memref<64xi8>) -> ()
func.func @caller(%x: memref<4xf32>) attributes {ppcrt.routine = "forward"} {
  %a = memref.alloc() : memref<4xf32>
  call @callee(%a) : (memref<4xf32>) -> ()
  memref.copy %a, %x : memref<4xf32> to memref<4xf32>
  return
}
// CHECK-LABEL: func.func private @callee
// CHECK-SAME:    memref<64xi8>)
func.func private @callee(%x: memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  memref.copy %a, %x : memref<4xf32> to memref<4xf32>
  return
}
