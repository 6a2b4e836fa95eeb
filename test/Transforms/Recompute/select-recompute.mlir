// What the plan says of each layer; what leaves a layer stays.
// RUN: ppc-opt %s --ppc-select-recompute | FileCheck %s

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
