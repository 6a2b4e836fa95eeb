// RUN: ppc-opt %s --ppc-outline-layers --duplicate-function-elimination | FileCheck %s

// Two equal layers of different parameters share one function; the constant is inside; the order is by layer.
// CHECK-LABEL: func.func @stage0.forward
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[W1:[a-z0-9]+]]: tensor<8x8xf32>, %[[W2:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK:         %[[A:.*]] = call @[[BODY:[a-z_0-9]+]](%[[X]], %[[W1]])
// CHECK:         %[[B:.*]] = call @[[BODY]](%[[A]], %[[W2]])
// CHECK:         return %[[B]]
func.func @stage0.forward(%x: tensor<4x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>) -> tensor<4x8xf32>
    attributes {ppcrt.routine = "forward"} {
  %one = ppc.constant dense<1.0> : tensor<4x8xf32>
  %a = ppc.matmul "mk,nk->mn" %x, %w1 {ppc.layer = 1 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b = ppc.add %a, %one {ppc.layer = 1 : i64} : tensor<4x8xf32>
  %c = ppc.matmul "mk,nk->mn" %b, %w2 {ppc.layer = 2 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %d = ppc.add %c, %one {ppc.layer = 2 : i64} : tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

// A sum over two layers updates one argument: both functions pass it on.
// CHECK-LABEL: func.func @stage0.backward
// CHECK-SAME:    %[[ACC:[a-z0-9]+]]: tensor<8xf32>
// CHECK:         %[[S:.*]] = call @[[HEAD:[a-z_0-9]+]](%[[ACC]], %{{.*}})
// CHECK:         %[[T:.*]] = call @[[EMBED:[a-z_0-9]+]](%{{.*}}, %[[S]])
// CHECK:         return %[[T]]
func.func @stage0.backward(%acc: tensor<8xf32>, %x: tensor<8xf32>, %y: tensor<8xf32>)
    -> (tensor<8xf32> {ppc.destination = 0 : i64}) attributes {ppcrt.routine = "backward"} {
  %a = ppc.add %acc, %x {ppc.layer = 2 : i64} : tensor<8xf32>
  %y2 = ppc.exp %y {ppc.layer = 0 : i64} : tensor<8xf32>
  %b = ppc.add %a, %y2 {ppc.layer = 0 : i64} : tensor<8xf32>
  return %b : tensor<8xf32>
}

// In an update, parameters of one shape share one function; scalars are together in one. A gradient is reduced in its buffer.
// CHECK-LABEL: func.func @stage0.update
// CHECK:         %[[R:.*]] = call @[[REDUCE:all_reduce_body[a-z_0-9]*]](%arg0)
// CHECK:         %[[NA:.*]] = call @[[NORM:squared_norm_body[a-z_0-9]*]](%[[R]])
// CHECK:         %[[NB:.*]] = call @[[NORM]](%arg1)
// CHECK:         %[[SUM:.*]] = call @update_body(%[[NA]], %[[NB]])
// CHECK-NEXT:    return %[[SUM]]
func.func @stage0.update(%g: tensor<8x8xf32>, %h: tensor<8x8xf32>) -> tensor<f32> attributes {ppcrt.routine = "update"} {
  %r = ppc.all_reduce %g over ["dp"] <sum> : tensor<8x8xf32>
  %a = ppc.squared_norm %r : tensor<8x8xf32> to tensor<f32>
  %b = ppc.squared_norm %h : tensor<8x8xf32> to tensor<f32>
  %c = ppc.sum %a, %b : tensor<f32>
  return %c : tensor<f32>
}

// Ops without a layer are in functions too, and a constant that is returned.
// CHECK-LABEL: func.func @stage1.forward
// CHECK:         %[[X:.*]] = call @forward_body{{.*}}(%arg0)
// CHECK:         %[[ZERO:.*]] = call @constant_body()
// CHECK:         return %[[X]], %[[ZERO]]
func.func @stage1.forward(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) attributes {ppcrt.routine = "forward"} {
  %zero = ppc.constant dense<0.0> : tensor<f32>
  %a = ppc.exp %x : tensor<8xf32>
  %b = ppc.exp %a : tensor<8xf32>
  return %b, %zero : tensor<8xf32>, tensor<f32>
}

// Many scalars are added up sixteen at a time.
// CHECK-LABEL: func.func @stage1.update
// CHECK:         %[[S1:.*]] = call @[[SUM16:sum_body[a-z_0-9]*]](%arg0)
// CHECK:         %[[S2:.*]] = call @[[SUM16]](%arg1)
// CHECK:         call @{{update_body[a-z_0-9]*}}(%[[S1]], %[[S2]], %arg0)
func.func @stage1.update(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> attributes {ppcrt.routine = "update"} {
  %s = ppc.sum %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a,
               %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %a : tensor<f32>
  return %s : tensor<f32>
}

// CHECK:       func.func private @[[BODY]](
// CHECK:         ppc.constant
// CHECK-NOT:     ppc.layer
// CHECK:       func.func private @[[HEAD]](%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32>) -> (tensor<8xf32> {ppc.destination = 0 : i64})
// CHECK:       func.func private @[[EMBED]](%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32>) -> (tensor<8xf32> {ppc.destination = 1 : i64})
