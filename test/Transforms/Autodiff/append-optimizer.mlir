// The update: norm, clipping, AdamW, and what @step takes and returns. Values: test/Unit/Transforms/AppendOptimizerTest.cpp.
// RUN: ppc-opt %s --ppc-append-optimizer=weight-decay=0.25 | FileCheck %s
// RUN: ppc-opt %s --ppc-append-optimizer=max-norm=0 | FileCheck %s --check-prefix=NOCLIP

// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4x8xf32> {ppc.dims = ["ffn", "hidden"], ppc.parameter = "w"}
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<8xf32> {ppc.no_weight_decay, ppc.parameter = "b"}
// CHECK-SAME:    %[[WM:[a-z0-9]+]]: tensor<4x8xf32> {ppc.dims = ["ffn", "hidden"], ppc.of = "w", ppc.state = "m"}
// CHECK-SAME:    %[[BM:[a-z0-9]+]]: tensor<8xf32> {ppc.of = "b", ppc.state = "m"}
// CHECK-SAME:    %[[WV:[a-z0-9]+]]: tensor<4x8xf32> {ppc.dims = ["ffn", "hidden"], ppc.of = "w", ppc.state = "v"}
// CHECK-SAME:    %[[BV:[a-z0-9]+]]: tensor<8xf32> {ppc.of = "b", ppc.state = "v"}
// CHECK-SAME:    %[[LR:[a-z0-9]+]]: tensor<f32> {ppc.scalar = "learning_rate"}
// CHECK-SAME:    %[[STEP:[a-z0-9]+]]: tensor<f32> {ppc.scalar = "step"})
// CHECK-SAME:    -> (tensor<f32> {ppc.result = "loss"}, tensor<f32> {ppc.result = "grad_norm"},
// CHECK-SAME:        tensor<4x8xf32> {ppc.of = "w", ppc.result = "gradient"}, tensor<8xf32> {ppc.of = "b", ppc.result = "gradient"},
// CHECK-SAME:        tensor<4x8xf32> {ppc.of = "w", ppc.result = "parameter"}, tensor<8xf32> {ppc.of = "b", ppc.result = "parameter"},
// CHECK-SAME:        tensor<4x8xf32> {ppc.of = "w", ppc.result = "m"}, tensor<8xf32> {ppc.of = "b", ppc.result = "m"},
// CHECK-SAME:        tensor<4x8xf32> {ppc.of = "w", ppc.result = "v"}, tensor<8xf32> {ppc.of = "b", ppc.result = "v"})
func.func @loss(%w: tensor<4x8xf32> {ppc.parameter = "w", ppc.dims = ["ffn", "hidden"]},
                %b: tensor<8xf32> {ppc.parameter = "b", ppc.no_weight_decay})
    -> (tensor<f32> {ppc.result = "loss"}, tensor<4x8xf32> {ppc.result = "gradient", ppc.of = "w"},
        tensor<8xf32> {ppc.result = "gradient", ppc.of = "b"}) {
  // CHECK:      %[[LOSS:.*]] = ppc.reduce
  // CHECK-NEXT: %[[DW:.*]] = ppc.constant
  // CHECK-NEXT: %[[DB:.*]] = ppc.constant
  // CHECK-NEXT: %[[NW:.*]] = ppc.squared_norm %[[DW]] {ppc.part = #ppc.part<update>}
  // CHECK-NEXT: %[[NB:.*]] = ppc.squared_norm %[[DB]] {ppc.part = #ppc.part<update>}
  // CHECK-NEXT: %[[SUM:.*]] = ppc.sum %[[NW]], %[[NB]] {ppc.part = #ppc.part<update>}
  // CHECK-NEXT: %[[NORM:.*]] = ppc.sqrt %[[SUM]] {ppc.part = #ppc.part<update>}
  // CHECK-NEXT: %[[SCALE:.*]] = ppc.clip_scale %[[NORM]] max_norm 1.000000e+00 {ppc.part = #ppc.part<update>}
  // CHECK-NEXT: %[[W2:.*]], %[[WM2:.*]], %[[WV2:.*]] = ppc.adamw %[[W]], %[[DW]], %[[WM]], %[[WV]], %[[LR]], %[[STEP]], %[[SCALE]]
  // CHECK-SAME:   {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, ppc.part = #ppc.part<update>, weight_decay = 2.500000e-01 : f64}
  // CHECK-NEXT: %[[B2:.*]], %[[BM2:.*]], %[[BV2:.*]] = ppc.adamw %[[B]], %[[DB]], %[[BM]], %[[BV]], %[[LR]], %[[STEP]], %[[SCALE]]
  // CHECK-SAME:   weight_decay = 0.000000e+00 : f64}
  // CHECK-NEXT: return %[[LOSS]], %[[NORM]], %[[DW]], %[[DB]], %[[W2]], %[[B2]], %[[WM2]], %[[BM2]], %[[WV2]], %[[BV2]]
  // NOCLIP-NOT: ppc.clip_scale
  // NOCLIP:     %[[ONE:.*]] = ppc.constant {{.*}}dense<1.000000e+00> : tensor<f32>
  // NOCLIP:     ppc.adamw {{.*}}, %[[ONE]] {
  %l = ppc.reduce #ppc.combiner<sum> %b dims [0] : tensor<8xf32> to tensor<f32>
  %dw = ppc.constant dense<0.0> : tensor<4x8xf32>
  %db = ppc.constant dense<1.0> : tensor<8xf32>
  return %l, %dw, %db : tensor<f32>, tensor<4x8xf32>, tensor<8xf32>
}
