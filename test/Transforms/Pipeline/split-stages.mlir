// Two stages with a shared parameter: functions, buffers, messages, and the update of both. That pipelines compute what
// whole steps compute is shown by test/Unit/Transforms/PipelineTest.cpp.
// RUN: ppc-opt %s --ppc-split-stages=split-weight-gradient | FileCheck %s
// RUN: ppc-opt %s --ppc-split-stages | FileCheck %s --check-prefix=MERGED

// The received gradient arrives before the routine that uses it, and what a forward leaves for later is saved.
// CHECK:      ppcrt.program @train grid <pp = 2> micro_batches 3 {
// CHECK-NEXT:   ppcrt.device @device0 at 0 {
// CHECK-NEXT:     ppcrt.buffer @input0 input "x" : memref<2x4xf32> slots 1
// CHECK-NEXT:     ppcrt.buffer @parameter1 parameter "w" : memref<4x4xf32> init <ones>
// CHECK-NEXT:     ppcrt.buffer @saved2 saved : memref<2x4xf32> order 0 slots 1
// CHECK-NEXT:     ppcrt.buffer @message3 message : memref<2x4xf32> slots 1
// CHECK-NEXT:     ppcrt.buffer @accumulator4 gradient "w" : memref<4x4xf32>
// CHECK-NEXT:     ppcrt.buffer @metric5 metric "loss" : memref<f32>
// CHECK-NEXT:     ppcrt.buffer @metric6 metric "grad_norm" : memref<f32>
// CHECK-NEXT:     ppcrt.routine @forward forward code @stage0.forward reads [@input0, @parameter1] writes [@saved2]
// CHECK-NEXT:     ppcrt.routine @weight_gradient weight_gradient code @stage0.weight_gradient reads [@message3, @input0, @accumulator4] writes [@accumulator4]
// CHECK-NEXT:     ppcrt.routine @update update code @device0.update reads [@accumulator4] writes [@metric5, @metric6, @accumulator4]
// CHECK-NEXT:     ppcrt.routine @evaluate evaluate code @device0.evaluate reads [] writes [@metric5]
// CHECK-NEXT:   }
// CHECK:        ppcrt.message @message0 from @device0::@saved2 after @forward to @device1::@message0 before @forward
// CHECK-NEXT:   ppcrt.message @message1 from @device1::@saved5 after @backward to @device0::@message3 before @weight_gradient

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 3, dimensions = {}, parameters = {}>} {
  // CHECK-LABEL: func.func @stage0.forward(
  // CHECK-SAME:    %[[X:.*]]: tensor<2x4xf32>, %[[W:.*]]: tensor<4x4xf32>)
  // CHECK-SAME:    -> tensor<2x4xf32> attributes {ppc.stage = 0 : i64, ppcrt.routine = "forward"}
  // CHECK-NEXT:    %[[A:.*]] = ppc.matmul "bi,oi->bo" %[[X]], %[[W]]
  // CHECK-NEXT:    return %[[A]]

  // Sums over micro-batches are added in place.
  // CHECK-LABEL: func.func @stage0.weight_gradient(
  // CHECK-SAME:    %[[ACC:[a-z0-9]+]]: tensor<4x4xf32>) -> (tensor<4x4xf32> {ppc.destination = 2 : i64})
  // CHECK:         %[[DW:.*]] = ppc.matmul
  // CHECK-NEXT:    %[[SUM:.*]] = ppc.add %[[ACC]], %[[DW]]
  // CHECK-NEXT:    return %[[SUM]]

  // The shared parameter's gradient and the norm are summed over the stages; the loss comes from the last one.
  // CHECK-LABEL: func.func @device0.update(
  // CHECK-SAME:    %[[DW:.*]]: tensor<4x4xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x4xf32> {ppc.destination = 0 : i64})
  // CHECK-NEXT:    %[[ALL:.*]] = ppc.all_reduce %[[DW]] over ["pp"] <sum> {ppc.channel = 0 : i64}
  // CHECK-NEXT:    %[[N:.*]] = ppc.squared_norm %[[ALL]]
  // CHECK-NEXT:    %[[N2:.*]] = ppc.all_reduce %[[N]] over ["pp"] <sum> {ppc.channel = 1 : i64}
  // CHECK-NEXT:    %[[NORM:.*]] = ppc.sqrt %[[N2]]
  // CHECK-NEXT:    %[[ZERO:.*]] = ppc.constant dense<0.000000e+00>
  // CHECK-NEXT:    %[[LOSS:.*]] = ppc.all_reduce %[[ZERO]] over ["pp"] <sum> {ppc.channel = 2 : i64}
  // CHECK-NEXT:    return %[[LOSS]], %[[NORM]], %[[ALL]]
  // CHECK-LABEL: func.func @device1.update(
  // CHECK-COUNT-3: ppc.all_reduce
  // CHECK-NOT:     ppc.all_reduce

  // The loss alone, for parameters that are not to change.
  // CHECK-LABEL: func.func @device0.evaluate(
  // CHECK-SAME:    ) -> tensor<f32>
  // CHECK-NEXT:    %[[ZERO:.*]] = ppc.constant dense<0.000000e+00>
  // CHECK-NEXT:    %[[LOSS:.*]] = ppc.all_reduce %[[ZERO]] over ["pp"] <sum> {ppc.channel = 3 : i64}
  // CHECK-NEXT:    return %[[LOSS]]
  // CHECK-LABEL: func.func @device1.evaluate(
  // CHECK-COUNT-1: ppc.all_reduce
  // CHECK-NOT:     ppc.all_reduce

  // MERGED: ppcrt.routine @backward backward code @stage0.backward
  // MERGED: ppcrt.message @message1 {{.*}} to @device0::@message3 before @backward
  // MERGED-NOT: func.func @stage{{.*}}.weight_gradient
  func.func @step(%x: tensor<6x4xf32> {ppc.input = "x"}, %w: tensor<4x4xf32> {ppc.parameter = "w", ppc.init = #ppc.init<ones>},
                  %u: tensor<8x4xf32> {ppc.parameter = "u"})
      -> (tensor<f32> {ppc.result = "loss"}, tensor<f32> {ppc.result = "grad_norm"}, tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "w"}) {
    %s:4 = ppc.accumulate (%xi = %x) micro_batches(3) : (tensor<2x4xf32>) -> (tensor<f32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<4x4xf32>) {
      %a = ppc.matmul "bi,oi->bo" %xi, %w {ppc.stage = 0, ppc.part = #ppc.part<forward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %b = ppc.matmul "bi,oi->bo" %a, %w {ppc.stage = 1, ppc.part = #ppc.part<forward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %c = ppc.matmul "bi,oi->bo" %b, %u {ppc.stage = 1, ppc.part = #ppc.part<forward>} : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
      %l = ppc.reduce #ppc.combiner<sum> %c dims [0, 1] {ppc.stage = 1, ppc.part = #ppc.part<forward>} : tensor<2x8xf32> to tensor<f32>
      %one = ppc.constant dense<1.0> : tensor<2x8xf32> {ppc.stage = 1, ppc.part = #ppc.part<backward>}
      %du = ppc.matmul "bo,bi->oi" %one, %b {ppc.stage = 1, ppc.part = #ppc.part<weight_gradient>} : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
      %db = ppc.matmul "bo,oi->bi" %one, %u {ppc.stage = 1, ppc.part = #ppc.part<backward>} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
      %dw1 = ppc.matmul "bo,bi->oi" %db, %a {ppc.stage = 1, ppc.part = #ppc.part<weight_gradient>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
      %da = ppc.matmul "bo,oi->bi" %db, %w {ppc.stage = 1, ppc.part = #ppc.part<backward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %dw0 = ppc.matmul "bo,bi->oi" %da, %xi {ppc.stage = 0, ppc.part = #ppc.part<weight_gradient>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
      ppc.yield %l, %dw1, %du, %dw0 : tensor<f32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<4x4xf32>
    }
    %dw = ppc.sum %s#1, %s#3 {ppc.part = #ppc.part<update>} : tensor<4x4xf32>
    %nw = ppc.squared_norm %dw {ppc.part = #ppc.part<update>} : tensor<4x4xf32> to tensor<f32>
    %nu = ppc.squared_norm %s#2 {ppc.part = #ppc.part<update>} : tensor<8x4xf32> to tensor<f32>
    %n2 = ppc.sum %nw, %nu {ppc.part = #ppc.part<update>} : tensor<f32>
    %n = ppc.sqrt %n2 {ppc.part = #ppc.part<update>} : tensor<f32>
    return %s#0, %n, %dw : tensor<f32>, tensor<f32>, tensor<4x4xf32>
  }
}

// MERGED-LABEL: func.func @stage0.backward
// MERGED:         ppc.part<weight_gradient>
