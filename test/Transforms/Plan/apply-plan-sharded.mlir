// Under ZeRO-3 a rank keeps a block of each parameter, gathered once for each part of a layer that reads it; in bf16 if it is read in bf16.
// Gradients are scattered in each micro-batch.
// RUN: ppc-opt %s --ppc-apply-plan | FileCheck %s

// CHECK-LABEL: func.func @step
// CHECK-SAME: ppc.parameter = "w", ppc.sharding = #ppc.sharding<[{tp, dp}, {}]>
// CHECK-SAME: ppc.parameter = "u", ppc.sharding = #ppc.sharding<[{tp, dp}, {}]>
// CHECK: %[[W:.*]] = ppc.convert
// CHECK-NOT: ppc.reshard
// CHECK: ppc.accumulate
// CHECK:   %[[FORWARD:.*]] = ppc.reshard %[[W]] to <[{tp}, {}]> {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>{{.*}}} : tensor<8x8xbf16>
// CHECK:   ppc.matmul {{.*}} %[[FORWARD]] {{.*}}
// CHECK:   ppc.matmul {{.*}} %[[FORWARD]] {{.*}}
// CHECK:   %[[U:.*]] = ppc.reshard %{{.*}} to <[{tp}, {}]> {{.*}} : tensor<8x8xf32>
// CHECK:   ppc.matmul {{.*}} %[[U]]
// CHECK:   %[[BACKWARD:.*]] = ppc.reshard %[[W]] to <[{tp}, {}]> {ppc.layer = 1 : i64, ppc.part = #ppc.part<backward>{{.*}}} : tensor<8x8xbf16>
// CHECK:   ppc.matmul {{.*}} %[[BACKWARD]]
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 4>, stages = [0], schedule = "gpipe", micro_batches = 2, dimensions = {batch = ["dp"], ffn = ["tp"]},
                                        parameters = {}, update = ["dp"], gradients = ["dp"], storage = ["dp"]>} {
  func.func @step(%x: tensor<8x8xbf16> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                  %w: tensor<8x8xf32> {ppc.parameter = "w", ppc.dims = ["ffn", "hidden"]},
                  %u: tensor<8x8xf32> {ppc.parameter = "u", ppc.dims = ["ffn", "hidden"]}) -> tensor<f32> {
    %wb = ppc.convert %w {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : tensor<8x8xf32> to tensor<8x8xbf16>
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<4x8xbf16>) -> (tensor<f32>) {
      %0 = ppc.matmul "bh,fh->bf" %xi, %wb {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xf32>
      %1 = ppc.matmul "bh,fh->bf" %xi, %wb {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xf32>
      %2 = ppc.matmul "bf,fh->bh" %0, %u {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %3 = ppc.matmul "bh,fh->bf" %xi, %wb {ppc.layer = 1 : i64, ppc.part = #ppc.part<backward>} : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xf32>
      %4 = ppc.add %1, %2 {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : tensor<4x8xf32>
      %5 = ppc.add %3, %4 {ppc.layer = 1 : i64, ppc.part = #ppc.part<backward>} : tensor<4x8xf32>
      %6 = ppc.reduce <sum> %5 dims [0, 1] {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : tensor<4x8xf32> to tensor<f32>
      ppc.yield %6 : tensor<f32>
    }
    return %s : tensor<f32>
  }
}
