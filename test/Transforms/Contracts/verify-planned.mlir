// RUN: ppc-opt %s --ppc-propagate-shardings --ppc-verify-planned --ppc-insert-reshards --ppc-verify-planned | FileCheck %s

#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0, 2], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // CHECK-LABEL: func.func @row_parallel
  func.func @row_parallel(%a: tensor<8x32xf32> {ppc.sharding = #ppc.sharding<[{dp}, {tp}]>},
                          %w: tensor<64x32xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>}) -> tensor<8x64xf32> {
    %y = ppc.matmul "mk,nk->mn" %a, %w {ppc.layer = 2 : i64, ppc.stage = 1 : i64} : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>
    return %y : tensor<8x64xf32>
  }
}
