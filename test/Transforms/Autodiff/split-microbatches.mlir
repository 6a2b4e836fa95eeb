// The batch is split in time: shapes inside are a micro-batch's, weights stay full, sums come out.
// test/Unit/Transforms/SplitMicrobatchesTest.cpp shows that the values stay the same.
// RUN: ppc-opt %s --ppc-split-microbatches=count=2 | FileCheck %s
// RUN: ppc-opt %s --ppc-split-microbatches | FileCheck %s --check-prefix=SINGLE

// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-SAME:    %[[IDS:[a-z0-9]+]]: tensor<4xi32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4x4xf32>
func.func @loss(%x: tensor<4x4xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                %ids: tensor<4xi32> {ppc.input = "ids", ppc.dims = ["batch"]},
                %w: tensor<4x4xf32> {ppc.parameter = "w"}) -> (tensor<f32>, tensor<4x4xf32>) {
  // CHECK-NEXT: %[[SUMS:.*]]:3 = ppc.accumulate (%[[XI:.*]] = %[[X]], %[[IDSI:.*]] = %[[IDS]]) micro_batches(2) : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[E:.*]] = ppc.embedding %[[W]], %[[IDSI]] {{.*}} : (tensor<4x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  // CHECK-NEXT:   %[[H:.*]] = ppc.add %[[E]], %[[XI]] {{.*}} : tensor<2x4xf32>
  // CHECK-NEXT:   %[[R:.*]] = ppc.reduce <sum> %[[H]] {{.*}} : tensor<2x4xf32> to tensor<f32>
  // CHECK-NEXT:   %[[L:.*]] = ppc.scale %[[R]] by 6.250000e-02
  // CHECK-NEXT:   %[[ONES:.*]] = ppc.constant {{.*}}dense<1.000000e+00> : tensor<2x4xf32>
  // CHECK-NEXT:   %[[G0:.*]] = ppc.embedding_backward %[[IDSI]], %[[ONES]] {{.*}} -> tensor<4x4xf32>
  // CHECK-NEXT:   %[[G1:.*]] = ppc.matmul "bi,bj->ij" %[[H]], %[[XI]] {{.*}} -> tensor<4x4xf32>
  // CHECK-NEXT:   ppc.yield %[[L]], %[[G0]], %[[G1]]
  // CHECK-NEXT: }
  %e = ppc.embedding %w, %ids {ppc.part = #ppc.part<forward>} : (tensor<4x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  %h = ppc.add %e, %x {ppc.part = #ppc.part<forward>} : tensor<4x4xf32>
  %r = ppc.reduce #ppc.combiner<sum> %h dims [0, 1] {ppc.part = #ppc.part<forward>} : tensor<4x4xf32> to tensor<f32>
  %l = ppc.scale %r by 0.0625 {ppc.part = #ppc.part<forward>} : tensor<f32>
  %one = ppc.constant dense<1.0> : tensor<4x4xf32> {ppc.part = #ppc.part<backward>}
  %g0 = ppc.embedding_backward %ids, %one {ppc.part = #ppc.part<weight_gradient>} : (tensor<4xi32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g1 = ppc.matmul "bi,bj->ij" %h, %x {ppc.part = #ppc.part<weight_gradient>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // Ops of part update see the sums.
  // CHECK-NEXT: %[[G:.*]] = ppc.sum %[[SUMS]]#1, %[[SUMS]]#2
  // CHECK-NEXT: return %[[SUMS]]#0, %[[G]]
  %g = ppc.sum %g0, %g1 {ppc.part = #ppc.part<update>} : tensor<4x4xf32>
  return %l, %g : tensor<f32>, tensor<4x4xf32>
}
// SINGLE: ppc.accumulate ({{.*}}) micro_batches(1) : (tensor<4x4xf32>, tensor<4xi32>)
// Two biases have one gradient: each gets a sum of its own.
// CHECK-LABEL: func.func @shared_gradient
// CHECK:         %[[SUMS:.*]]:3 = ppc.accumulate
// CHECK:           %[[G:.*]] = ppc.reduce <sum> %{{.*}} dims [0] :
// CHECK:           %[[COPY:.*]] = ppc.sum %[[G]]
// CHECK:           ppc.yield %{{.*}}, %[[G]], %[[COPY]]
// CHECK:         return %[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2
func.func @shared_gradient(%x: tensor<4x3xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]})
    -> (tensor<f32>, tensor<3xf32>, tensor<3xf32>) {
  %loss = ppc.reduce <sum> %x dims [0, 1] : tensor<4x3xf32> to tensor<f32>
  %g = ppc.reduce <sum> %x dims [0] : tensor<4x3xf32> to tensor<3xf32>
  return %loss, %g, %g : tensor<f32>, tensor<3xf32>, tensor<3xf32>
}
// One constant is as long as the batch in one place and as a dimension of a parameter in another; a broadcast parameter has a part of it.
// CHECK-LABEL: func.func @both_ways
// CHECK:         ppc.accumulate
// CHECK-DAG:       %[[PART:.*]] = ppc.constant dense<5.000000e-01> : tensor<2xf32>
// CHECK-DAG:       %[[WHOLE:.*]] = ppc.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK-DAG:       %[[SMALL:.*]] = ppc.broadcast %{{.*}} dims [0] : tensor<f32> to tensor<2xf32>
// CHECK-DAG:       ppc.mul %{{.*}}, %[[PART]] : tensor<2xf32>
// CHECK-DAG:       ppc.mul %{{.*}}, %[[WHOLE]] : tensor<4xf32>
// CHECK-DAG:       ppc.mul %{{.*}}, %[[SMALL]] : tensor<2xf32>
func.func @both_ways(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}, %w: tensor<4xf32> {ppc.parameter = "w"},
                     %b: tensor<f32> {ppc.parameter = "b"}) -> tensor<f32> {
  %c = ppc.constant dense<0.5> : tensor<4xf32>
  %y = ppc.mul %x, %c : tensor<4xf32>
  %v = ppc.mul %w, %c : tensor<4xf32>
  %bb = ppc.broadcast %b dims [0] : tensor<f32> to tensor<4xf32>
  %z = ppc.mul %y, %bb : tensor<4xf32>
  %p = ppc.matmul "b,h->bh" %z, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %s = ppc.reduce <sum> %p dims [0, 1] : tensor<4x4xf32> to tensor<f32>
  return %s : tensor<f32>
}
// A term without samples counts once.
// CHECK-LABEL: func.func @penalty
// CHECK:         %[[SQUARES:.*]] = ppc.reduce <sum> %{{.*}} dims [0] : tensor<3xf32> to tensor<f32>
// CHECK-NEXT:    %[[HALF:.*]] = ppc.scale %[[SQUARES]] by 5.000000e-01
// CHECK:         ppc.add %{{.*}}, %[[HALF]]
// CHECK:         ppc.scale %{{.*}} by 5.000000e-01 : tensor<3xf32>
func.func @penalty(%x: tensor<4x3xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]}, %w: tensor<3xf32> {ppc.parameter = "w"})
    -> (tensor<f32>, tensor<3xf32>) {
  %s = ppc.reduce <sum> %x dims [0, 1] : tensor<4x3xf32> to tensor<f32>
  %w2 = ppc.mul %w, %w : tensor<3xf32>
  %r = ppc.reduce <sum> %w2 dims [0] : tensor<3xf32> to tensor<f32>
  %l = ppc.add %s, %r : tensor<f32>
  %g = ppc.scale %w by 2.0 : tensor<3xf32>
  return %l, %g : tensor<f32>, tensor<3xf32>
}
