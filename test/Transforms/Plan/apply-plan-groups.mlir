// Gradient shards over a part of the shard group: a micro-batch's gradient is scattered to these ranks, and stays partial over the
// others until the update. Parameters over a part of it: the bf16 copy of the block that a rank updates is gathered to its part once,
// and to all for each use.
// RUN: ppc-opt %s --ppc-make-plan="dp=8 zero=2 shard-group=4 gradient-group=2" --ppc-phase-train --ppc-apply-plan | FileCheck %s --check-prefixes=CHECK,SUMS
// RUN: ppc-opt %s --ppc-make-plan="dp=8 zero=3 shard-group=4 gradient-group=2 parameter-group=2" --ppc-phase-train --ppc-apply-plan | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: ppc-opt %s --ppc-make-plan="dp=8 zero=3 gradient-group=1" --ppc-phase-train --ppc-apply-plan | FileCheck %s --check-prefix=ONCE
// RUN: ppc-opt %s --ppc-make-plan="dp=8 zero=2 shard-group=4 gradient-group=2" --ppc-phase-train --ppc-phase-plan --ppc-insert-reshards | FileCheck %s --check-prefix=MADE

// CHECK: grid = <copies = 2 : data, outer = 2 : data, dp = 2, tp = 1>
// CHECK-SAME: update = ["dp", "outer"]
// SUMS-SAME: gradients = ["dp"]
// BOTH-SAME: gradients = ["dp"], storage = ["dp"]
// BOTH: ppc.parameter = "up", ppc.sharding = #ppc.sharding<[{tp, dp}, {}]>
// CHECK: ppc.accumulate
// CHECK: ppc.reshard %{{.*}} to <[{tp, dp}, {}], partial = {copies: sum, outer: sum}> {{.*}}weight_gradient

// ONCE: grid = <dp = 8, tp = 1>
// ONCE-SAME: update = ["dp"], overlap = true, storage = ["dp"]
// ONCE: %[[SUM:.*]] = ppc.matmul "bf,bh->fh" {{.*}}weight_gradient
// ONCE-NEXT: ppc.yield %{{.*}}, %[[SUM]]

// Partial sums are known when sums are placed: the loss is of each rank's batch, so all of these are partial.
// MADE: ppc.reshard %{{.*}} to <[{tp, dp}, {}], partial = {copies: sum, outer: sum}> {{.*}}weight_gradient
// MADE: ppc.reshard %{{.*}} to <[{dp, outer}, {}]> {{.*}}update
func.func @loss(%x: tensor<16x32xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                %up: tensor<16x32xf32> {ppc.parameter = "up", ppc.dims = ["ffn", "hidden"], ppc.init = #ppc.init<normal, 0.02>})
    -> tensor<f32> {
  %h = ppc.matmul "bh,fh->bf" %x, %up {ppc.layer = 0 : i64} : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x16xf32>
  %a = ppc.silu %h {ppc.layer = 0 : i64} : tensor<16x16xf32>
  %l = ppc.reduce <sum> %a dims [0, 1] {ppc.layer = 0 : i64} : tensor<16x16xf32> to tensor<f32>
  return %l : tensor<f32>
}
