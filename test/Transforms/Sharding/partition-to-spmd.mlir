// RUN: ppc-opt %s --ppc-propagate-shardings --ppc-insert-reshards --ppc-partition-to-spmd --ppc-verify-spmd --split-input-file | FileCheck %s

#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // Annotations become types; a reshard becomes a collective.
  // CHECK-LABEL: func.func @mlp
  // CHECK-SAME: tensor<4x16xf32> {ppc.logical_type = tensor<8x16xf32>, ppc.sharding = #ppc.sharding<[{dp}, {}]>}
  // CHECK-SAME: tensor<16x16xf32>
  // CHECK-SAME: tensor<64x16xf32>
  // CHECK-SAME: -> (tensor<4x64xf32> {ppc.logical_type = tensor<8x64xf32>, ppc.sharding = #ppc.sharding<[{dp}, {}]>})
  func.func @mlp(%x: tensor<8x16xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>},
                 %up: tensor<32x16xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>},
                 %down: tensor<64x32xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>}) -> tensor<8x64xf32> {
    // CHECK-NEXT: ppc.matmul {{.*}} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    // CHECK-NEXT: ppc.silu {{.*}} : tensor<4x16xf32>
    // CHECK-NEXT: %[[P:.*]] = ppc.matmul {{.*}} {ppc.layer = 1 : i64, ppc.stage = 0 : i64} : (tensor<4x16xf32>, tensor<64x16xf32>) -> tensor<4x64xf32>
    // CHECK-NEXT: %[[Y:.*]] = ppc.all_reduce %[[P]] over ["tp"] <sum> : tensor<4x64xf32>
    // CHECK-NEXT: return %[[Y]]
    %h = ppc.matmul "mk,nk->mn" %x, %up : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
    %a = ppc.silu %h : tensor<8x32xf32>
    %y = ppc.matmul "mk,nk->mn" %a, %down {ppc.layer = 1 : i64, ppc.stage = 0 : i64} : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>
    return %y : tensor<8x64xf32>
  }

  // Ops learn their block; padding is masked only where it is not zero already and something would see it.
  // CHECK-LABEL: func.func @uneven
  // CHECK-SAME: %[[T:.*]]: tensor<7x6xf32>
  // CHECK-SAME: -> (tensor<2x6xf32> {{.*}}, tensor<6xf32> {{.*}}, tensor<6xf32> {{.*}}, tensor<7x6xf32>
  func.func @uneven(%t: tensor<13x6xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>}, %ids: tensor<4xi32> {ppc.sharding = #ppc.sharding<[{dp}]>})
      -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<13x6xf32>) {
    // CHECK-NEXT: ppc.embedding %[[T]], %{{.*}} rows <[tp], 13>
    // CHECK-NEXT: ppc.all_reduce
    // CHECK-NEXT: ppc.reduce <sum> %[[T]]
    // CHECK-NEXT: ppc.all_reduce
    // CHECK-NEXT: %[[E:.*]] = ppc.exp %[[T]]
    // CHECK-NEXT: %[[M:.*]] = ppc.mask_padding %[[E]] dim 0 block <[tp], 13>
    // CHECK-NEXT: ppc.reduce <sum> %[[M]]
    // CHECK-NEXT: ppc.all_reduce
    // CHECK-NEXT: return %{{.*}}, %{{.*}}, %{{.*}}, %[[M]]
    %y = ppc.embedding %t, %ids : (tensor<13x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
    %s = ppc.reduce #ppc.combiner<sum> %t dims [0] : tensor<13x6xf32> to tensor<6xf32>
    %e = ppc.exp %t : tensor<13x6xf32>
    %u = ppc.reduce #ppc.combiner<sum> %e dims [0] : tensor<13x6xf32> to tensor<6xf32>
    return %y, %s, %u, %e : tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<13x6xf32>
  }

  // Sequences of collectives, and reductions straight into blocks.
  // CHECK-LABEL: func.func @reshards
  func.func @reshards(%x: tensor<8x8xf32> {ppc.sharding = #ppc.sharding<[{dp}, {tp}]>}, %y: tensor<8x8xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>})
      -> (tensor<8x8xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>}, tensor<8x8xf32> {ppc.sharding = #ppc.sharding<[{}, {dp}]>},
          tensor<8xf32> {ppc.sharding = #ppc.sharding<[{dp}]>}) {
    // CHECK-DAG: ppc.all_gather %{{.*}} dim {{.*}} : tensor<{{8x4|4x8}}xf32> to tensor<8x8xf32>
    // CHECK-DAG: ppc.all_to_all %{{.*}} split 1 concat 0 over ["dp"] : tensor<4x8xf32> to tensor<8x4xf32>
    // CHECK-DAG: ppc.reduce_scatter %{{.*}} dim 0 over ["dp"] <sum> : tensor<8xf32> to tensor<4xf32>
    %s = ppc.reduce #ppc.combiner<sum> %y dims [0] : tensor<8x8xf32> to tensor<8xf32>
    return %x, %y, %s : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>
  }
}
