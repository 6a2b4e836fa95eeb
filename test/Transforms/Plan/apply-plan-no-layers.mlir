// Ops without ppc.layer are on stage 0 when there is only one.
// RUN: ppc-opt %s --ppc-apply-plan | FileCheck %s

// CHECK: ppc.silu {{.*}}ppc.stage = 0 : i64
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %y = ppc.silu %x {ppc.part = #ppc.part<forward>} : tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}
