// RUN: ppc-opt %s --ppc-bind-buffers --split-input-file | FileCheck %s

// An update in place, a result where it is returned, and one that only the next call needs.
// CHECK-LABEL: func.func @stage0.backward
// CHECK-SAME:    (%[[ACC:.*]]: memref<8xf32>, %[[X:.*]]: memref<8xf32>,
// CHECK-SAME:     %[[OUT:.*]]: memref<8xf32>) attributes {ppcrt.routine = "backward"}
// CHECK:         ppcrt.call @add(%[[ACC]], %[[X]]) : memref<8xf32>, memref<8xf32>
// CHECK:         %[[T:.*]] = memref.alloc() : memref<8xf32>
// CHECK:         ppcrt.call @exp(%[[X]], %[[T]])
// CHECK:         ppcrt.call @exp(%[[T]], %[[OUT]])
// CHECK-NEXT:    return{{$}}
func.func @stage0.backward(%acc: tensor<8xf32>, %x: tensor<8xf32>)
    -> (tensor<8xf32> {ppc.destination = 0 : i64}, tensor<8xf32>) attributes {ppcrt.routine = "backward"} {
  %s = call @add(%acc, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a = call @exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = call @exp(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %s, %b : tensor<8xf32>, tensor<8xf32>
}

// Live values are not overwritten: the old parameter by the new one, an accumulator that the next call reads, an operand by
// the result of its own call.
// CHECK-LABEL: func.func @stage1.backward
// CHECK-SAME:    (%[[P:.*]]: memref<8xf32>, %[[ACC:.*]]: memref<8xf32>
// CHECK:         %[[T:.*]] = memref.alloc()
// CHECK:         ppcrt.call @exp(%[[P]], %[[T]])
// CHECK:         %[[ASIDE:.*]] = memref.alloc()
// CHECK:         ppcrt.call @copy_body(%[[ACC]], %[[ASIDE]])
// CHECK:         ppcrt.call @add(%[[ASIDE]], %[[P]])
// CHECK:         ppcrt.call @add(%[[ACC]], %[[ASIDE]])
// CHECK:         ppcrt.call @copy_body(%[[T]], %[[P]])
// CHECK-NEXT:    return
func.func @stage1.backward(%p: tensor<8xf32>, %acc: tensor<8xf32>)
    -> (tensor<8xf32> {ppc.destination = 0 : i64}, tensor<8xf32> {ppc.destination = 1 : i64}) attributes {ppcrt.routine = "backward"} {
  %p2 = call @exp(%p) : (tensor<8xf32>) -> tensor<8xf32>
  %s = call @add(%acc, %p) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %t = call @add(%acc, %s) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %p2, %t : tensor<8xf32>, tensor<8xf32>
}

// Two arguments change places.
// CHECK-LABEL: func.func @stage2.forward
// CHECK-SAME:    (%[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>
// CHECK:         %[[A2:.*]] = memref.alloc()
// CHECK:         ppcrt.call @copy_body(%[[B]], %[[A2]])
// CHECK:         %[[B2:.*]] = memref.alloc()
// CHECK:         ppcrt.call @copy_body(%[[A]], %[[B2]])
// CHECK:         ppcrt.call @copy_body(%[[A2]], %[[A]])
// CHECK:         ppcrt.call @copy_body(%[[B2]], %[[B]])
func.func @stage2.forward(%a: tensor<8xf32>, %b: tensor<8xf32>)
    -> (tensor<8xf32> {ppc.destination = 0 : i64}, tensor<8xf32> {ppc.destination = 1 : i64}) attributes {ppcrt.routine = "forward"} {
  return %b, %a : tensor<8xf32>, tensor<8xf32>
}

// Compiled functions stay on tensors.
// CHECK: func.func private @add(%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32>) -> (tensor<8xf32> {ppc.destination = 0 : i64})
func.func private @add(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32> {ppc.destination = 0 : i64}) {
  %y = ppc.add %a, %b : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @exp(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = ppc.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// CHECK: func.func private @copy_body(%[[FROM:.*]]: memref<8xf32>, %[[TO:.*]]: memref<8xf32>) {
// CHECK:   memref.copy %[[FROM]], %[[TO]]

// -----

// A function that does something itself is left as it is.
// CHECK-LABEL: func.func @stage0.forward(%{{.*}}: tensor<8xf32>) -> tensor<8xf32>
func.func @stage0.forward(%x: tensor<8xf32>) -> tensor<8xf32> attributes {ppcrt.routine = "forward"} {
  %y = ppc.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
