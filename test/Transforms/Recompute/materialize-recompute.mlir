// Copies stand before their first user in backward, share what they need, and leave forward without what only backward wanted.
// RUN: ppc-opt %s --ppc-materialize-recompute --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @step
func.func @step(%x: tensor<4x4xf32> {ppc.input = "x"}, %w: tensor<4x4xf32> {ppc.parameter = "w"}) -> (tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "w"}) {
  %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2x4xf32>) -> tensor<4x4xf32> {
    // CHECK:      %[[A:.*]] = ppc.matmul "bi,oi->bo" %[[X:.*]], %[[W:.*]] {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>, ppc.stage = 0 : i64}
    // CHECK-NEXT: %[[B:.*]] = ppc.silu %[[A]] {{.*}}forward
    // CHECK-NEXT: %[[C:.*]] = ppc.add %[[B]], %[[X]] {{.*}}forward
    %a = ppc.matmul "bi,oi->bo" %xi, %w {ppc.layer = 1, ppc.part = #ppc.part<forward>, ppc.stage = 0, ppc.recompute} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %b = ppc.silu %a {ppc.layer = 1, ppc.part = #ppc.part<forward>, ppc.stage = 0, ppc.recompute} : tensor<2x4xf32>
    %unused = ppc.exp %a {ppc.layer = 1, ppc.part = #ppc.part<forward>, ppc.stage = 0, ppc.recompute} : tensor<2x4xf32>
    %c = ppc.add %b, %xi {ppc.layer = 1, ppc.part = #ppc.part<forward>, ppc.stage = 0} : tensor<2x4xf32>
    // CHECK-NEXT: %[[D:.*]] = ppc.mul %[[C]], %[[C]] {{.*}}backward
    // CHECK-NEXT: %[[A2:.*]] = ppc.matmul "bi,oi->bo" %[[X]], %[[W]] {ppc.layer = 1 : i64, ppc.part = #ppc.part<backward>, ppc.stage = 0 : i64}
    // CHECK-NEXT: %[[B2:.*]] = ppc.silu %[[A2]] {{.*}}backward
    // CHECK-NEXT: %[[E:.*]] = ppc.mul %[[D]], %[[B2]] {{.*}}backward
    // CHECK-NEXT: %[[U2:.*]] = ppc.exp %[[A2]] {{.*}}backward
    // CHECK-NEXT: %[[F:.*]] = ppc.mul %[[E]], %[[U2]] {{.*}}backward
    // CHECK-NEXT: %[[G:.*]] = ppc.silu_backward %[[A2]], %[[F]] {{.*}}backward
    // CHECK-NEXT: ppc.matmul "bo,bi->oi" %[[G]], %[[B2]] {{.*}}weight_gradient
    %d = ppc.mul %c, %c {ppc.layer = 1, ppc.part = #ppc.part<backward>, ppc.stage = 0} : tensor<2x4xf32>
    %e = ppc.mul %d, %b {ppc.layer = 1, ppc.part = #ppc.part<backward>, ppc.stage = 0} : tensor<2x4xf32>
    %f = ppc.mul %e, %unused {ppc.layer = 1, ppc.part = #ppc.part<backward>, ppc.stage = 0} : tensor<2x4xf32>
    %g = ppc.silu_backward %a, %f {ppc.layer = 1, ppc.part = #ppc.part<backward>, ppc.stage = 0} : tensor<2x4xf32>
    %h = ppc.matmul "bo,bi->oi" %g, %b {ppc.layer = 1, ppc.part = #ppc.part<weight_gradient>, ppc.stage = 0} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    ppc.yield %h : tensor<4x4xf32>
  }
  return %s : tensor<4x4xf32>
}

// -----

func.func @step(%x: tensor<4x4xf32> {ppc.input = "x"}) -> (tensor<f32> {ppc.result = "loss"}) {
  %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2x4xf32>) -> tensor<f32> {
    // expected-error @+1 {{is marked ppc.recompute, which only forward ops without regions can be}}
    %a = ppc.reduce <sum> %xi dims [0, 1] {ppc.part = #ppc.part<backward>, ppc.recompute} : tensor<2x4xf32> to tensor<f32>
    ppc.yield %a : tensor<f32>
  }
  return %s : tensor<f32>
}

// -----

// Backward gathers what the recomputed gather gathers: once is enough.
// CHECK-LABEL: func.func @gathered
func.func @gathered(%x: tensor<2x4xf32> {ppc.input = "x"}) -> (tensor<4x4xf32> {ppc.result = "loss"}) {
  %s = ppc.accumulate (%xi = %x) micro_batches(1) : (tensor<2x4xf32>) -> tensor<4x4xf32> {
    %a = ppc.silu %xi {ppc.part = #ppc.part<forward>, ppc.recompute} : tensor<2x4xf32>
    %b = ppc.all_gather %a dim 0 over ["tp"] {ppc.part = #ppc.part<forward>, ppc.recompute} : tensor<2x4xf32> to tensor<4x4xf32>
    %c = ppc.exp %b {ppc.part = #ppc.part<forward>, ppc.recompute} : tensor<4x4xf32>
    %keep = ppc.add %c, %c {ppc.part = #ppc.part<forward>} : tensor<4x4xf32>
    // CHECK:      ppc.add {{.*}}forward
    // CHECK-NEXT: %[[A:.*]] = ppc.silu {{.*}}backward
    // CHECK-NEXT: %[[B:.*]] = ppc.all_gather %[[A]] {{.*}}backward
    // CHECK-NEXT: %[[C:.*]] = ppc.exp %[[B]] {{.*}}backward
    // CHECK-NEXT: %[[D:.*]] = ppc.mul {{.*}}%[[C]]
    // CHECK-NEXT: ppc.mul %[[D]], %[[B]] {{.*}}weight_gradient
    %d = ppc.mul %keep, %c {ppc.part = #ppc.part<backward>} : tensor<4x4xf32>
    %e = ppc.all_gather %a dim 0 over ["tp"] {ppc.part = #ppc.part<weight_gradient>} : tensor<2x4xf32> to tensor<4x4xf32>
    %f = ppc.mul %d, %e {ppc.part = #ppc.part<weight_gradient>} : tensor<4x4xf32>
    ppc.yield %f : tensor<4x4xf32>
  }
  return %s : tensor<4x4xf32>
}
