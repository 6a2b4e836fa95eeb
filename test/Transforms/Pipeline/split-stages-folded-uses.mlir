// The ops of layers 1 and 2 that read the parameters are folded into layer 4: their gradients come from other stages
// than those that read them, and are brought there.
// RUN: ppc-compile %s --pp 4 --micro-batch 1 --emit=spmd -o - | FileCheck %s

// CHECK-LABEL: func.func @device3.update
// CHECK: %[[S:[0-9]+]] = ppc.all_reduce %{{.*}} over ["pp"] <sum> stages [1, 3]
// CHECK: ppc.adamw %{{.*}}, %[[S]],
// CHECK: %[[W:[0-9]+]] = ppc.all_reduce %{{.*}} over ["pp"] <sum> stages [2, 3]
// CHECK: ppc.adamw %{{.*}}, %[[W]],
func.func @loss(%ids: tensor<8x8xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x8xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %s: tensor<f32> {ppc.parameter = "s", ppc.dims = [], ppc.init = #ppc.init<normal, 0.5>},
    %w2: tensor<8x8xf32> {ppc.parameter = "p2", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {
  %s1 = ppc.scale %s by 1.0 {ppc.layer = 1 : i64} : tensor<f32>
  %v8 = ppc.reshape %w2 {ppc.layer = 2 : i64} : tensor<8x8xf32> to tensor<64xf32>
  %v7 = ppc.reshape %v8 {ppc.layer = 3 : i64} : tensor<64xf32> to tensor<4x16xf32>
  %v9 = ppc.reduce <sum> %v7 dims [0, 1] {ppc.layer = 4 : i64} : tensor<4x16xf32> to tensor<f32>
  %v10 = ppc.scale %v9 by 0.03125 {ppc.layer = 4 : i64} : tensor<f32>
  %v11 = ppc.exp %v10 {ppc.layer = 4 : i64} : tensor<f32>
  %v12 = ppc.mul %v11, %s1 {ppc.layer = 4 : i64} : tensor<f32>
  return %v12 : tensor<f32>
}
