// RUN: ppc-opt %s --ppc-verify-spmd | FileCheck %s

#plan = #ppc.plan<grid = <a = 2, b = 3>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // CHECK-LABEL: func.func @collectives
  func.func @collectives(%x: tensor<3x8xf32> {ppc.sharding = #ppc.sharding<[{a}, {}]>, ppc.logical_type = tensor<5x8xf32>})
      -> (tensor<5x3xf32> {ppc.sharding = #ppc.sharding<[{}, {b}]>, ppc.logical_type = tensor<5x8xf32>}) {
    %m = ppc.mask_padding %x dim 0 block <[a], 5> : tensor<3x8xf32>
    %g = ppc.all_gather %m dim 0 over ["a"] : tensor<3x8xf32> to tensor<5x8xf32>
    %s = ppc.local_slice %g dim 1 over ["b"] : tensor<5x8xf32> to tensor<5x3xf32>
    return %s : tensor<5x3xf32>
  }
}
