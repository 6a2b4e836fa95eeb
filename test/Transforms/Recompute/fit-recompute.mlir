// The recomputation that saves as much for the least time, of all choices; recorded in the plan.
// RUN: ppc-opt %s --ppc-fit-recompute=save=32 --remarks-filter=ppc-recompute 2>&1 | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: ppc-opt %s --ppc-fit-recompute=save=96 | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: ppc-opt %s --ppc-fit-recompute=save=1000 --remarks-filter=ppc-recompute 2>&1 | FileCheck %s --check-prefix=MISSED
// RUN: not ppc-opt %s --ppc-fit-recompute=save=1,2 2>&1 | FileCheck %s --check-prefix=STAGES

// ONE: stage 0 recomputes the results of 1 ops and saves 32 bytes less per micro-batch; no other choice that saves as much takes less time
// MISSED: stage 0 must save 1000 bytes less per micro-batch; full recomputation frees 96
// STAGES: error: save names 2 stages, the plan has 1
// ONE: module attributes {{.*}}, recompute = {"1" = ["exp.0"]}>
// ALL: module attributes {{.*}}, recompute = {"1" = ["matmul.0", "silu.0", "exp.0"]}>
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4x4xf32> {ppc.input = "x"}, %w: tensor<4x4xf32> {ppc.parameter = "w"}) -> (tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "w"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2x4xf32>) -> tensor<4x4xf32> {
      // ALL: ppc.matmul "bi,oi->bo" {{.*}} ppc.recompute
      // ALL: ppc.silu {{.*}} ppc.recompute
      // CHECK: ppc.exp {{.*}} ppc.recompute
      // ONE-NOT: ppc.recompute
      %a = ppc.matmul "bi,oi->bo" %xi, %w {ppc.layer = 1, ppc.part = #ppc.part<forward>, ppc.stage = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %b = ppc.silu %a {ppc.layer = 1, ppc.part = #ppc.part<forward>, ppc.stage = 0} : tensor<2x4xf32>
      %c = ppc.exp %b {ppc.layer = 1, ppc.part = #ppc.part<forward>, ppc.stage = 0} : tensor<2x4xf32>
      %d = ppc.mul %c, %b {ppc.layer = 1, ppc.part = #ppc.part<backward>, ppc.stage = 0} : tensor<2x4xf32>
      %e = ppc.silu_backward %a, %d {ppc.layer = 1, ppc.part = #ppc.part<backward>, ppc.stage = 0} : tensor<2x4xf32>
      %f = ppc.matmul "bo,bi->oi" %e, %c {ppc.layer = 1, ppc.part = #ppc.part<weight_gradient>, ppc.stage = 0} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
      ppc.yield %f : tensor<4x4xf32>
    }
    return %s : tensor<4x4xf32>
  }
}
