// Shardings that ops state are what they get, through every pass, and the numbers equal one device's.
// RUN: ppc-opt %s --ppc-propagate-shardings --ppc-insert-reshards | FileCheck %s
// RUN: ppc-opt %s --test-ppc-spmd-equivalence 2>&1 | FileCheck %s --check-prefix=EQUAL
// EQUAL: remark: 1 layouts compute what one device does
#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {rows = ["dp"]}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // CHECK-LABEL: func.func @stated
  func.func @stated(%x: tensor<6x8xf32> {ppc.dims = ["rows", "columns"]}, %w: tensor<8x5xf32> {ppc.dims = ["columns", "out"]}) -> tensor<6x5xf32> {
    // A sharding that no argument asks for, unevenly.
    // CHECK: ppc.matmul "mk,kn->mn" {{.*}}ppc.factors = {n = ["tp"]}, ppc.shardings = [#ppc.sharding<[{}, {tp}]>]
    %y = ppc.matmul "mk,kn->mn" %x, %w {ppc.shardings = [#ppc.sharding<[{}, {tp}]>]} : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
    // A sum in parts.
    // CHECK: ppc.matmul "mk,kn->mn" {{.*}}ppc.factors = {k = ["tp"], m = ["dp"]}, ppc.shardings = [#ppc.sharding<[{dp}, {}], partial = {tp: sum}>]
    %z = ppc.matmul "mk,kn->mn" %x, %w {ppc.shardings = [#ppc.sharding<[{dp}, {}], partial = {tp: sum}>]} : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
    // Unsharded, though its operands are sharded.
    // CHECK: ppc.exp {{.*}}ppc.shardings = [#ppc.sharding<[{}, {}]>]
    %e = ppc.exp %y {ppc.shardings = [#ppc.sharding<[{}, {}]>]} : tensor<6x5xf32>
    // Over two axes, and otherwise than its operands.
    // CHECK: ppc.add {{.*}}ppc.factors = {d0 = ["tp", "dp"]}, ppc.shardings = [#ppc.sharding<[{tp, dp}, {}]>]
    %s = ppc.add %z, %e {ppc.shardings = [#ppc.sharding<[{tp, dp}, {}]>]} : tensor<6x5xf32>
    // CHECK: ppc.silu {{.*}}ppc.factors = {d0 = ["tp", "dp"]}
    %t = ppc.silu %s : tensor<6x5xf32>
    return %t : tensor<6x5xf32>
  }
}
