// Recomputation by the plan's entry for each layer; values that leave a layer stay.
// RUN: ppc-opt %s --split-input-file --ppc-select-recompute | FileCheck %s

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {},
                   recompute = {"1" = "full", "2-3" = ["silu"]}>} {
  // CHECK-LABEL: func.func @step
  func.func @step(%x: tensor<4x4xf32> {ppc.input = "x"}, %w: tensor<4x4xf32> {ppc.parameter = "w"}) -> (tensor<f32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2x4xf32>) -> tensor<f32> {
      // Layer 1 wholly, but its output.
      // CHECK: ppc.matmul {{.*}}ppc.layer = 1 {{.*}}ppc.recompute
      %a = ppc.matmul "bi,oi->bo" %xi, %w {ppc.layer = 1, ppc.part = #ppc.part<forward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      // CHECK: ppc.silu {{.*}}ppc.layer = 1 {{.*}}ppc.recompute
      %b = ppc.silu %a {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x4xf32>
      // CHECK: ppc.add
      // CHECK-NOT: ppc.recompute
      // CHECK-SAME: tensor<2x4xf32>
      %c = ppc.add %b, %xi {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x4xf32>
      // CHECK: ppc.silu {{.*}}ppc.layer = 2 {{.*}}ppc.recompute
      %d = ppc.silu %c {ppc.layer = 2, ppc.part = #ppc.part<forward>} : tensor<2x4xf32>
      // CHECK: ppc.mul
      // CHECK-NOT: ppc.recompute
      // CHECK-SAME: tensor<2x4xf32>
      %e = ppc.mul %d, %c {ppc.layer = 2, ppc.part = #ppc.part<forward>} : tensor<2x4xf32>
      // CHECK: ppc.silu {{.*}}ppc.layer = 3 {{.*}}ppc.recompute
      %f = ppc.silu %e {ppc.layer = 3, ppc.part = #ppc.part<forward>} : tensor<2x4xf32>
      // CHECK: ppc.reduce
      // CHECK-NOT: ppc.recompute
      // CHECK-SAME: tensor<f32>
      %g = ppc.reduce <sum> %f dims [0, 1] {ppc.layer = 3, ppc.part = #ppc.part<forward>} : tensor<2x4xf32> to tensor<f32>
      ppc.yield %g : tensor<f32>
    }
    return %s : tensor<f32>
  }
}

// -----

// Parts of a matmul's result that backward reads element by element are read from that result; a part that backward does not
// need does not keep the other one.
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  // CHECK-LABEL: func.func @parts
  func.func @parts(%x: tensor<4x4xf32> {ppc.input = "x"}, %w: tensor<2x4x4xf32> {ppc.parameter = "w"}) -> (tensor<f32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2x4xf32>) -> tensor<f32> {
      %both = ppc.matmul "bi,uoi->buo" %xi, %w {ppc.layer = 1, ppc.part = #ppc.part<forward>} : (tensor<2x4xf32>, tensor<2x4x4xf32>) -> tensor<2x2x4xf32>
      // CHECK: ppc.split {{.*}}ppc.recompute
      %p:2 = ppc.split %both dim 1 {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x2x4xf32> to tensor<2x1x4xf32>, tensor<2x1x4xf32>
      // CHECK: ppc.reshape {{.*}}ppc.recompute
      %a = ppc.reshape %p#0 {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x1x4xf32> to tensor<2x4xf32>
      // CHECK: ppc.reshape {{.*}}ppc.recompute
      %b = ppc.reshape %p#1 {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x1x4xf32> to tensor<2x4xf32>
      // CHECK: ppc.split
      // CHECK-NOT: ppc.recompute
      // CHECK: ppc.mul
      %other = ppc.matmul "bi,uoi->buo" %xi, %w {ppc.layer = 1, ppc.part = #ppc.part<forward>} : (tensor<2x4xf32>, tensor<2x4x4xf32>) -> tensor<2x2x4xf32>
      %q:2 = ppc.split %other dim 1 {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x2x4xf32> to tensor<2x1x4xf32>, tensor<2x1x4xf32>
      %c = ppc.mul %a, %b {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x4xf32>
      %d = ppc.reshape %q#0 {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x1x4xf32> to tensor<2x4xf32>
      %e = ppc.add %c, %d {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x4xf32>
      %da = ppc.mul %e, %b {ppc.layer = 1, ppc.part = #ppc.part<backward>} : tensor<2x4xf32>
      %db = ppc.mul %da, %a {ppc.layer = 1, ppc.part = #ppc.part<backward>} : tensor<2x4xf32>
      %dd = ppc.mul %db, %d {ppc.layer = 1, ppc.part = #ppc.part<backward>} : tensor<2x4xf32>
      %g = ppc.reduce <sum> %dd dims [0, 1] {ppc.layer = 1, ppc.part = #ppc.part<backward>} : tensor<2x4xf32> to tensor<f32>
      ppc.yield %g : tensor<f32>
    }
    return %s : tensor<f32>
  }
}
