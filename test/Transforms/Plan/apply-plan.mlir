// RUN: ppc-opt %s --ppc-apply-plan | FileCheck %s
// RUN: sed 's/\[{}, {dp}\]>}>} {/[{}, {dp}]>}, update = ["dp"]>} {/' %s > %t.mlir
// RUN: ppc-opt %t.mlir --ppc-apply-plan | FileCheck %s --check-prefix=UPDATE

// CHECK-LABEL: func.func @step
// CHECK-SAME: ppc.input = "x", ppc.sharding = #ppc.sharding<[{dp}, {}]>
// CHECK-SAME: ppc.parameter = "w", ppc.sharding = #ppc.sharding<[{tp}, {}]>
// The exception of the plan holds for the moments of the parameter too.
// CHECK-SAME: ppc.parameter = "u", ppc.sharding = #ppc.sharding<[{}, {dp}]>
// CHECK-SAME: ppc.of = "u", ppc.sharding = #ppc.sharding<[{}, {dp}]>, ppc.state = "m"
// CHECK-SAME: ppc.scalar = "step", ppc.sharding = #ppc.sharding<[]>
// State is also sharded over dp, on a dimension that dp does not shard yet; outermost if blocks are equal.
// UPDATE-LABEL: func.func @step
// UPDATE-SAME: ppc.parameter = "w", ppc.sharding = #ppc.sharding<[{tp}, {}]>
// UPDATE-SAME: ppc.parameter = "u", ppc.sharding = #ppc.sharding<[{}, {dp}]>
// UPDATE-SAME: ppc.of = "u", ppc.sharding = #ppc.sharding<[{}, {dp}]>, ppc.state = "m"
// UPDATE-SAME: ppc.of = "w", ppc.sharding = #ppc.sharding<[{tp, dp}, {}]>, ppc.state = "m"
// CHECK: ppc.silu {{.*}}ppc.stage = 0
// CHECK: ppc.silu {{.*}}ppc.stage = 0
// CHECK: ppc.silu {{.*}}ppc.stage = 1
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 4>, stages = [0, 2], schedule = "gpipe", micro_batches = 2,
                                        dimensions = {batch = ["dp"], ffn = ["tp"]}, parameters = {u = #ppc.sharding<[{}, {dp}]>}>} {
  func.func @step(%x: tensor<4x8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                  %w: tensor<8x8xf32> {ppc.parameter = "w", ppc.dims = ["ffn", "hidden"]},
                  %u: tensor<8x8xf32> {ppc.parameter = "u", ppc.dims = ["ffn", "hidden"]},
                  %m: tensor<8x8xf32> {ppc.state = "m", ppc.of = "u", ppc.dims = ["ffn", "hidden"]},
                  %n: tensor<8x8xf32> {ppc.state = "m", ppc.of = "w", ppc.dims = ["ffn", "hidden"]},
                  %s: tensor<f32> {ppc.scalar = "step"}) -> tensor<4x8xf32> {
    %0 = ppc.silu %x {ppc.layer = 0 : i64} : tensor<4x8xf32>
    %1 = ppc.silu %0 {ppc.layer = 1 : i64} : tensor<4x8xf32>
    %2 = ppc.silu %1 {ppc.layer = 2 : i64} : tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}
