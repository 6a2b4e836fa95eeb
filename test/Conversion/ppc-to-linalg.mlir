// RUN: ppc-opt %s --ppc-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @silu
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK:           math.exp
func.func @silu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = ppc.silu %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// A block knows its index from the rank's coordinate.
// CHECK-LABEL: func.func @mask
// CHECK:         %[[I:.*]] = ppcrt.coordinate group @over.
// CHECK:         arith.muli %[[I]]
func.func @mask(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %y = ppc.mask_padding %x dim 1 block <[tp], 5> : tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// Blocks along an inner dimension are gathered along a leading one, then put in place.
// CHECK-LABEL: func.func @gather
// CHECK:         ppc.all_gather %{{.*}} dim 0 over ["tp"] : tensor<1x4x2xf32> to tensor<2x4x2xf32>
// CHECK:         linalg.generic
func.func @gather(%x: tensor<4x2xf32>) -> tensor<4x4xf32> {
  %y = ppc.all_gather %x dim 1 over ["tp"] : tensor<4x2xf32> to tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// After dimensions of size 1 blocks are contiguous in memory as they are.
// CHECK-LABEL: func.func @gather_behind_units
// CHECK-NOT:     linalg.generic
// CHECK:         ppc.all_gather %{{.*}} dim 0 over ["tp"] : tensor<4x2xf32> to tensor<8x2xf32>
// CHECK-NOT:     linalg.generic
func.func @gather_behind_units(%x: tensor<1x4x2xf32>) -> tensor<1x8x2xf32> {
  %y = ppc.all_gather %x dim 1 over ["tp"] : tensor<1x4x2xf32> to tensor<1x8x2xf32>
  return %y : tensor<1x8x2xf32>
}

// If each token has the slot of its own number, slots are written once, without zeros before, and read once.
// CHECK-LABEL: func.func @own_slots
// CHECK-NOT:     linalg.fill
// CHECK-NOT:     scf.for
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %arg1, %arg1, %arg2, %arg2 :
// CHECK:           arith.select
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK-COUNT-2:   tensor.extract
func.func @own_slots(%x: tensor<2x8x4xf32>, %ids: tensor<2x8x2xi32>, %w: tensor<2x8x2xf32>) -> (tensor<2x3x8x4xf32>, tensor<2x8x4xf32>) {
  %s = ppc.dispatch %x, %ids weights %w : (tensor<2x8x4xf32>, tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x3x8x4xf32>
  %y = ppc.combine %s, %ids : (tensor<2x3x8x4xf32>, tensor<2x8x2xi32>) -> tensor<2x8x4xf32>
  return %s, %y : tensor<2x3x8x4xf32>, tensor<2x8x4xf32>
}
