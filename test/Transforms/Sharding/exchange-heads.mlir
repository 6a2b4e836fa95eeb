// The sharding of a sequence becomes one of heads around attention, and nowhere else: an all-to-all of each operand, and of the result.
// RUN: ppc-opt %s --ppc-propagate-shardings | FileCheck %s
// RUN: ppc-opt %s --ppc-propagate-shardings --ppc-insert-reshards --ppc-partition-to-spmd | FileCheck %s --check-prefix=SPMD
// RUN: sed 's/<kv_heads>/<head_group>/' %s > %t.mlir
// RUN: ppc-opt %t.mlir --ppc-propagate-shardings | FileCheck %s --check-prefix=GROUP

#plan = #ppc.plan<grid = <cp = 2, tp = 3>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // CHECK-LABEL: func.func @attention
  // SPMD-LABEL: func.func @attention
  func.func @attention(%q: tensor<4x8x2x6x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {tp}, {}]>},
                       %k: tensor<4x8x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}]>}) -> tensor<4x8x2x6x4xf32> {
    // CHECK: ppc.attention {{.*}}ppc.factors = {g = ["tp"], k = ["cp"]}, ppc.shardings = [#ppc.sharding<[{}, {}, {cp}, {tp}, {}]>, #ppc.sharding<[{}, {}, {cp}, {tp}]>]
    // Heads of groups of six, which tp shards by three: keys and values are not sharded.
    // GROUP: ppc.attention {{.*}}ppc.factors = {g = ["tp", "cp"]}, ppc.shardings = [#ppc.sharding<[{}, {}, {}, {tp, cp}, {}]>
    // SPMD-DAG: %[[Q:.*]] = ppc.all_to_all %{{.*}} split 2 concat 1 over ["cp"] {{.*}}: tensor<4x4x2x2x4xf32> to tensor<4x8x1x2x4xf32>
    // SPMD-DAG: %[[K:.*]] = ppc.all_to_all %{{.*}} split 2 concat 1 over ["cp"] {{.*}}: tensor<4x4x2x4xf32> to tensor<4x8x1x4xf32>
    // SPMD: %[[OUT:.*]], %{{.*}} = ppc.attention %[[Q]], %[[K]], %[[K]] scale 5.000000e-01 causal
    // SPMD-NOT: strategy
    // SPMD: ppc.all_to_all %[[OUT]] split 1 concat 2 over ["cp"]
    %out, %lse = ppc.attention %q, %k, %k scale 5.000000e-01 causal strategy <kv_heads> : tensor<4x8x2x6x4xf32>, tensor<4x8x2x4xf32>, tensor<4x8x2x4xf32> -> tensor<4x8x2x6x4xf32>, tensor<4x8x2x6xf32>
    // CHECK: ppc.silu {{.*}}ppc.shardings = [#ppc.sharding<[{}, {cp}, {}, {tp}, {}]>]
    %y = ppc.silu %out : tensor<4x8x2x6x4xf32>
    return %y : tensor<4x8x2x6x4xf32>
  }
}
