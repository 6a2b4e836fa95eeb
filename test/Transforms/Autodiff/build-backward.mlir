// Gradients of a small chain: which ops appear, in which part and layer. That their values are right is shown by
// test/Unit/Transforms/BuildBackwardTest.cpp.
// RUN: ppc-opt %s --split-input-file --ppc-build-backward | FileCheck %s

// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: tensor<8x8xf32> {ppc.parameter = "table"}
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<16x8xf32>
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<16xf32>
// CHECK-SAME:    -> (tensor<f32> {ppc.result = "loss"}, tensor<8x8xf32> {ppc.of = "table", ppc.result = "gradient"},
// CHECK-SAME:        tensor<16x8xf32> {ppc.of = "w", ppc.result = "gradient"}, tensor<16xf32> {ppc.of = "b", ppc.result = "gradient"})
func.func @loss(%x: tensor<4x8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                %table: tensor<8x8xf32> {ppc.parameter = "table"}, %w: tensor<16x8xf32> {ppc.parameter = "w"},
                %b: tensor<16xf32> {ppc.parameter = "b"}) -> tensor<f32> {
  // CHECK:      %[[A:.*]] = ppc.matmul "bh,gh->bg" %[[X]], %[[TABLE]] {ppc.layer = 0 : i64, ppc.part = #ppc.part<forward>}
  // CHECK-NEXT: %[[H:.*]] = ppc.matmul "bh,fh->bf" %[[A]], %[[W]]
  // CHECK-NEXT: %[[BB:.*]] = ppc.broadcast %[[B]]
  // CHECK-NEXT: %[[S:.*]] = ppc.add %[[H]], %[[BB]]
  // CHECK-NEXT: %[[U:.*]] = ppc.matmul "bf,fg->bg" %[[S]], %[[W]]
  // CHECK-NEXT: %[[V:.*]] = ppc.matmul "bh,gh->bg" %[[U]], %[[TABLE]]
  // CHECK-NEXT: %[[LOSS:.*]] = ppc.reduce <sum> %[[V]] dims [0, 1] {ppc.layer = 2 : i64, ppc.part = #ppc.part<forward>}
  %a = ppc.matmul "bh,gh->bg" %x, %table {ppc.layer = 0} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %h = ppc.matmul "bh,fh->bf" %a, %w {ppc.layer = 1} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %bb = ppc.broadcast %b dims [0] {ppc.layer = 1} : tensor<16xf32> to tensor<4x16xf32>
  %s = ppc.add %h, %bb {ppc.layer = 1} : tensor<4x16xf32>
  %u = ppc.matmul "bf,fg->bg" %s, %w {ppc.layer = 1} : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %v = ppc.matmul "bh,gh->bg" %u, %table {ppc.layer = 2} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %l = ppc.reduce #ppc.combiner<sum> %v dims [0, 1] {ppc.layer = 2} : tensor<4x8xf32> to tensor<f32>

  // The gradient of the loss is 1, spread over what was reduced.
  // CHECK-NEXT: %[[ONE:.*]] = ppc.constant dense<1.000000e+00> : tensor<f32> {ppc.layer = 2 : i64, ppc.part = #ppc.part<backward>}
  // CHECK-NEXT: %[[DV:.*]] = ppc.broadcast %[[ONE]] dims [0, 1] {ppc.layer = 2 : i64, ppc.part = #ppc.part<backward>}
  // CHECK-NEXT: %[[DU:.*]] = ppc.matmul "bg,gh->bh" %[[DV]], %[[TABLE]] {ppc.layer = 2 : i64, ppc.part = #ppc.part<backward>}
  // CHECK-NEXT: %[[DT2:.*]] = ppc.matmul "bg,bh->gh" %[[DV]], %[[U]] {ppc.layer = 2 : i64, ppc.part = #ppc.part<weight_gradient>}
  // CHECK-NEXT: %[[DS:.*]] = ppc.matmul "bg,fg->bf" %[[DU]], %[[W]] {ppc.layer = 1 : i64, ppc.part = #ppc.part<backward>}
  // CHECK-NEXT: %[[DW1:.*]] = ppc.matmul "bg,bf->fg" %[[DU]], %[[S]] {ppc.layer = 1 : i64, ppc.part = #ppc.part<weight_gradient>}
  // CHECK-NEXT: %[[DB:.*]] = ppc.reduce <sum> %[[DS]] dims [0] {ppc.layer = 1 : i64, ppc.part = #ppc.part<backward>}
  // CHECK-NEXT: %[[DA:.*]] = ppc.matmul "bf,fh->bh" %[[DS]], %[[W]] {ppc.layer = 1 : i64, ppc.part = #ppc.part<backward>}
  // CHECK-NEXT: %[[DW2:.*]] = ppc.matmul "bf,bh->fh" %[[DS]], %[[A]] {ppc.layer = 1 : i64, ppc.part = #ppc.part<weight_gradient>}

  // Twice used in one layer: an add of that layer. Used in two layers: a sum in the update.
  // CHECK-NEXT: %[[DW:.*]] = ppc.add %[[DW1]], %[[DW2]] {ppc.layer = 1 : i64, ppc.part = #ppc.part<weight_gradient>}
  // CHECK-NEXT: %[[DT0:.*]] = ppc.matmul "bg,bh->gh" %[[DA]], %[[X]] {ppc.layer = 0 : i64, ppc.part = #ppc.part<weight_gradient>}
  // CHECK-NEXT: %[[DT:.*]] = ppc.sum %[[DT2]], %[[DT0]] {ppc.part = #ppc.part<update>}
  // CHECK-NEXT: return %[[LOSS]], %[[DT]], %[[DW]], %[[DB]]
  return %l : tensor<f32>
}

// -----

// If ops state their shardings, their gradients have the same: matmuls loop by loop; the sum of the gradients of %a that of %a, for
// its users have different shardings; that of %u that of both of its users.
// CHECK-LABEL: func.func @cut(
func.func @cut(%x: tensor<4x8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]}, %w: tensor<8x8xf32> {ppc.parameter = "w"},
               %v: tensor<8x8xf32> {ppc.parameter = "v"}) -> tensor<f32> {
  %a = ppc.matmul "bh,gh->bg" %x, %w {ppc.factors = {g = ["tp"]}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %u = ppc.matmul "bh,gh->bg" %a, %v {ppc.factors = {b = ["tp"]}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = ppc.silu %u {ppc.factors = {d0 = ["tp"]}} : tensor<4x8xf32>
  %m = ppc.mul %u, %s {ppc.factors = {d0 = ["tp"]}} : tensor<4x8xf32>
  %t = ppc.add %a, %m {ppc.factors = {}} : tensor<4x8xf32>
  %l = ppc.reduce #ppc.combiner<sum> %t dims [0, 1] {ppc.factors = {}} : tensor<4x8xf32> to tensor<f32>
  // CHECK:      %[[DT:.*]] = ppc.broadcast %{{.*}} dims [0, 1] {ppc.factors = {}, ppc.part = #ppc.part<backward>}
  // CHECK-NEXT: %[[DU1:.*]] = ppc.mul %[[DT]], %{{.*}} {ppc.factors = {d0 = ["tp"]}
  // CHECK-NEXT: %[[DS:.*]] = ppc.mul %[[DT]], %{{.*}} {ppc.factors = {d0 = ["tp"]}
  // CHECK-NEXT: %[[DU2:.*]] = ppc.silu_backward %{{.*}}, %[[DS]] {ppc.factors = {d0 = ["tp"]}
  // CHECK-NEXT: %[[DU:.*]] = ppc.add %[[DU1]], %[[DU2]] {ppc.factors = {d0 = ["tp"]}
  // CHECK-NEXT: %[[DA:.*]] = ppc.matmul "bg,gh->bh" %[[DU]], %{{.*}} {ppc.factors = {b = ["tp"]}
  // CHECK-NEXT: ppc.add %[[DT]], %[[DA]] {ppc.factors = {d1 = ["tp"]}
  // CHECK-NEXT: ppc.matmul "bg,bh->gh" %[[DU]], %{{.*}} {ppc.factors = {b = ["tp"]}, ppc.part = #ppc.part<weight_gradient>}
  // CHECK-NEXT: ppc.matmul "bg,bh->gh" %{{.*}}, %{{.*}} {ppc.factors = {g = ["tp"]}, ppc.part = #ppc.part<weight_gradient>}
  return %l : tensor<f32>
}
