// RUN: ppc-opt %s --ppc-pass-destinations --split-input-file | FileCheck %s

// A result of a buffer that is an argument goes there; another one gets an argument of its own. A call writes its result to
// where it is returned.
// CHECK-LABEL: func.func @stage0.backward
// CHECK-SAME:    (%[[ACC:.*]]: tensor<8xf32>, %[[X:.*]]: tensor<8xf32> {bufferization.writable = false},
// CHECK-SAME:     %[[OUT:.*]]: tensor<8xf32>)
// CHECK:         %[[SUM:.*]] = ppc.add
// CHECK:         %[[EMPTY:.*]] = tensor.empty()
// CHECK:         %[[A:.*]] = call @body(%[[SUM]], %[[EMPTY]])
// CHECK:         %[[B:.*]] = call @body(%[[A]], %[[OUT]])
// CHECK:         %[[WRITTEN:.*]] = bufferization.materialize_in_destination %[[SUM]] in %[[ACC]]
// CHECK:         return %[[WRITTEN]], %[[B]]
func.func @stage0.backward(%acc: tensor<8xf32>, %x: tensor<8xf32>)
    -> (tensor<8xf32> {ppc.destination = 0 : i64}, tensor<8xf32>) attributes {ppcrt.routine = "backward"} {
  %s = ppc.add %acc, %x : tensor<8xf32>
  %a = call @body(%s) : (tensor<8xf32>) -> tensor<8xf32>
  %b = call @body(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %s, %b : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func private @body
func.func private @body(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = ppc.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A gradient that an update reduces between ranks may be overwritten; a parameter may not.
// CHECK-LABEL: func.func @stage0.update
// CHECK-SAME:    (%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32> {bufferization.writable = false},
func.func @stage0.update(%g: tensor<8xf32>, %p: tensor<8xf32>) -> tensor<8xf32> attributes {ppcrt.routine = "update"} {
  %r = ppc.all_reduce %g over ["dp"] <sum> : tensor<8xf32>
  %s = ppc.add %r, %p : tensor<8xf32>
  return %s : tensor<8xf32>
}
