// Under ZeRO-1 each rank keeps the block of a parameter that it updates, where only what is rounded of it is read: that is gathered.
// RUN: ppc-opt %s --ppc-apply-plan | FileCheck %s

// CHECK-LABEL: func.func @step
// CHECK-SAME: ppc.parameter = "w", ppc.sharding = #ppc.sharding<[{tp, dp}, {}]>
// The f32 values of this one are read too: it stays unsharded.
// CHECK-SAME: ppc.parameter = "u", ppc.sharding = #ppc.sharding<[{tp}, {}]>
// CHECK: %[[W:.*]] = ppc.convert %{{.*}} {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>{{.*}}}
// CHECK: %[[GATHERED:.*]] = ppc.reshard %[[W]] to <[{tp}, {}]> {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>{{.*}}} : tensor<8x8xbf16>
// CHECK: %[[U:.*]] = ppc.convert
// CHECK: ppc.accumulate
// CHECK:   ppc.matmul {{.*}} %{{.*}}, %[[GATHERED]]
// CHECK:   ppc.matmul {{.*}} %{{.*}}, %[[U]]
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 4>, stages = [0], schedule = "gpipe", micro_batches = 2,
                                        dimensions = {batch = ["dp"], ffn = ["tp"]}, parameters = {}, update = ["dp"]>} {
  func.func @step(%x: tensor<8x8xbf16> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                  %w: tensor<8x8xf32> {ppc.parameter = "w", ppc.dims = ["ffn", "hidden"]},
                  %u: tensor<8x8xf32> {ppc.parameter = "u", ppc.dims = ["ffn", "hidden"]}) -> tensor<f32> {
    %wb = ppc.convert %w {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : tensor<8x8xf32> to tensor<8x8xbf16>
    %ub = ppc.convert %u {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : tensor<8x8xf32> to tensor<8x8xbf16>
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<4x8xbf16>) -> (tensor<f32>) {
      %0 = ppc.matmul "bh,fh->bf" %xi, %wb {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xf32>
      %1 = ppc.matmul "bh,fh->bf" %xi, %ub {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xf32>
      %2 = ppc.matmul "bf,fh->bh" %0, %u {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %3 = ppc.add %1, %2 {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : tensor<4x8xf32>
      %4 = ppc.reduce <sum> %3 dims [0, 1] {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : tensor<4x8xf32> to tensor<f32>
      ppc.yield %4 : tensor<f32>
    }
    return %s : tensor<f32>
  }
}
