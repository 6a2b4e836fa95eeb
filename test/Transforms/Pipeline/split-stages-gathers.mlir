// Tensors that a stage gathers only for another one are sent as blocks and gathered there, once for all routines. The schedule has
// separate weight gradients.
// RUN: ppc-opt %s --ppc-split-stages | FileCheck %s

// CHECK: ppcrt.buffer @[[ARRIVED:message[0-9]+]] message : memref<1x4xf32>
// CHECK: ppcrt.routine @backward backward code @stage0.backward reads {{.*}}@[[ARRIVED]]
// CHECK: ppcrt.routine @weight_gradient weight_gradient code @stage0.weight_gradient
// CHECK: ppcrt.message @message1 from @device1::{{.*}} to @device0::@[[ARRIVED]] before @backward
// CHECK-NOT: ppcrt.message

module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0, 1], schedule = "zb1p", micro_batches = 3, dimensions = {}, parameters = {}>} {
  // CHECK-LABEL: func.func @stage1.backward
  // CHECK-NOT:     ppc.all_gather
  // CHECK-LABEL: func.func @stage0.backward
  // CHECK-NEXT:    %[[WHOLE:.*]] = ppc.all_gather %{{.*}} dim 0 over ["tp"] {{.*}}ppc.stage = 0{{.*}} : tensor<1x4xf32> to tensor<2x4xf32>
  // CHECK:         return {{.*}}%[[WHOLE]]
  // CHECK-LABEL: func.func @stage0.weight_gradient
  // CHECK-NOT:     ppc.all_gather
  // CHECK-LABEL: func.func @stage1.weight_gradient
  func.func @step(%x: tensor<6x4xf32> {ppc.input = "x"}, %w: tensor<4x4xf32> {ppc.parameter = "w", ppc.init = #ppc.init<ones>})
      -> (tensor<f32> {ppc.result = "loss"}, tensor<f32> {ppc.result = "grad_norm"}) {
    %s:3 = ppc.accumulate (%xi = %x) micro_batches(3) : (tensor<2x4xf32>) -> (tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>) {
      %a = ppc.matmul "bi,oi->bo" %xi, %w {ppc.stage = 0, ppc.part = #ppc.part<forward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %b = ppc.local_slice %a dim 0 over ["tp"] {ppc.stage = 1, ppc.part = #ppc.part<forward>} : tensor<2x4xf32> to tensor<1x4xf32>
      %l = ppc.reduce #ppc.combiner<sum> %b dims [0, 1] {ppc.stage = 1, ppc.part = #ppc.part<forward>} : tensor<1x4xf32> to tensor<f32>
      %db = ppc.mul %b, %b {ppc.stage = 1, ppc.part = #ppc.part<backward>} : tensor<1x4xf32>
      %da = ppc.all_gather %db dim 0 over ["tp"] {ppc.stage = 1, ppc.part = #ppc.part<backward>} : tensor<1x4xf32> to tensor<2x4xf32>
      %dx = ppc.mul %da, %xi {ppc.stage = 0, ppc.part = #ppc.part<backward>} : tensor<2x4xf32>
      %dw = ppc.matmul "bo,bi->oi" %da, %xi {ppc.stage = 0, ppc.part = #ppc.part<weight_gradient>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
      %dv = ppc.matmul "bo,bi->oi" %dx, %xi {ppc.stage = 0, ppc.part = #ppc.part<weight_gradient>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
      %u = ppc.matmul "bo,bi->oi" %b, %b {ppc.stage = 1, ppc.part = #ppc.part<weight_gradient>} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
      ppc.yield %l, %dw, %dv : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
    }
    %n0 = ppc.squared_norm %s#1 {ppc.part = #ppc.part<update>} : tensor<4x4xf32> to tensor<f32>
    %n1 = ppc.squared_norm %s#2 {ppc.part = #ppc.part<update>} : tensor<4x4xf32> to tensor<f32>
    %n2 = ppc.sum %n0, %n1 {ppc.part = #ppc.part<update>} : tensor<f32>
    %n = ppc.sqrt %n2 {ppc.part = #ppc.part<update>} : tensor<f32>
    return %s#0, %n : tensor<f32>, tensor<f32>
  }
}
