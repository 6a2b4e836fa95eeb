// Gathered parameters rotate if a matmul is their only use; other gathered values, and computed ones, do not. Without
// `rotate` in the plan none does.
// RUN: ppc-opt %s --ppc-rotate-shards | FileCheck %s
// RUN: sed 's/, rotate = true//' %s | ppc-opt --ppc-rotate-shards | FileCheck %s --check-prefix=GATHER

// GATHER-NOT: rotated
// CHECK-LABEL: func.func @forward
// CHECK: ppc.all_gather %{{.*}} dim 0 over ["dp"] rotated : tensor<2x4xf32> to tensor<4x4xf32>
// CHECK: ppc.all_gather %{{.*}} dim 0 over ["dp"] : tensor<2xf32> to tensor<4xf32>
// CHECK: ppc.all_gather %{{.*}} dim 0 over ["dp"] : tensor<2x4xf32> to tensor<4x4xf32>
// CHECK: ppc.all_gather %{{.*}} dim 0 over ["dp"] : tensor<2x4xf32> to tensor<4x4xf32>
// CHECK-LABEL: func.func @update
// CHECK: ppc.all_gather %{{.*}} dim 0 over ["dp"] : tensor<2x4xf32> to tensor<4x4xf32>
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, update = ["dp"], gradients = ["dp"], storage = ["dp"], rotate = true>} {
  func.func @forward(%x: tensor<1x4xf32>, %a: tensor<2x4xf32>, %g: tensor<2xf32>, %b: tensor<2x4xf32>) -> tensor<1x4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.all_gather %a dim 0 over ["dp"] : tensor<2x4xf32> to tensor<4x4xf32>
    %1 = ppc.matmul "bh,fh->bf" %x, %0 : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %2 = ppc.all_gather %g dim 0 over ["dp"] : tensor<2xf32> to tensor<4xf32>
    %3 = ppc.rms_norm %1, %2 epsilon 1.0e-05 : tensor<1x4xf32>, tensor<4xf32>
    %4 = ppc.all_gather %b dim 0 over ["dp"] : tensor<2x4xf32> to tensor<4x4xf32>
    %5 = ppc.matmul "bh,fh->bf" %3, %4 : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %6 = ppc.matmul "bh,fh->bf" %5, %4 : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %7 = ppc.silu %b : tensor<2x4xf32>
    %8 = ppc.all_gather %7 dim 0 over ["dp"] : tensor<2x4xf32> to tensor<4x4xf32>
    %9 = ppc.matmul "bh,fh->bf" %6, %8 : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    return %9 : tensor<1x4xf32>
  }
  func.func @update(%a: tensor<2x4xf32>, %x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.all_gather %a dim 0 over ["dp"] : tensor<2x4xf32> to tensor<4x4xf32>
    %1 = ppc.matmul "bh,fh->bf" %x, %0 : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    return %1 : tensor<1x4xf32>
  }
}
