// RUN: ppc-opt %s --ppc-expand-cross-entropy | FileCheck %s

// CHECK-LABEL: func.func @loss
// CHECK-SAME: (%[[LOGITS:.*]]: tensor<2x8x131xf32>, %[[TARGETS:.*]]: tensor<2x8xi32>)
// CHECK-NEXT: %[[LSE:.*]] = ppc.log_sum_exp %[[LOGITS]] {ppc.layer = 3 : i64, ppc.part = #ppc.part<forward>}
// CHECK-NEXT: %[[PICKED:.*]] = ppc.pick %[[LOGITS]], %[[TARGETS]] {ppc.layer = 3 : i64, ppc.part = #ppc.part<forward>}
// CHECK-NEXT: %[[NLL:.*]] = ppc.sub %[[LSE]], %[[PICKED]] {ppc.layer = 3 : i64, ppc.part = #ppc.part<forward>}
// CHECK-NEXT: return %[[NLL]], %[[LSE]]
func.func @loss(%logits: tensor<2x8x131xf32>, %targets: tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %nll, %lse = ppc.cross_entropy %logits, %targets {ppc.layer = 3 : i64, ppc.part = #ppc.part<forward>}
      : (tensor<2x8x131xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  return %nll, %lse : tensor<2x8xf32>, tensor<2x8xf32>
}
