// RUN: ppc-opt %s --ppc-round-tokens | FileCheck %s

// CHECK-LABEL: func.func @rounded
// CHECK:         %[[X:.*]] = ppc.convert %arg0 : tensor<1x8x4xf32> to tensor<1x8x4xbf16>
// CHECK:         %[[S:.*]] = ppc.dispatch %[[X]], %arg1 : (tensor<1x8x4xbf16>, tensor<1x8x2xi32>) -> tensor<1x3x5x4xbf16>
// CHECK-NOT:     ppc.convert
// CHECK:         return %[[S]]
func.func @rounded(%x: tensor<1x8x4xf32>, %ids: tensor<1x8x2xi32>) -> tensor<1x3x5x4xbf16> {
  %s = ppc.dispatch %x, %ids : (tensor<1x8x4xf32>, tensor<1x8x2xi32>) -> tensor<1x3x5x4xf32>
  %r = ppc.convert %s : tensor<1x3x5x4xf32> to tensor<1x3x5x4xbf16>
  return %r : tensor<1x3x5x4xbf16>
}

// Loops that write every slot once round what they write; tokens that are rounded in any case are moved rounded.
// CHECK-LABEL: func.func @own_slots
// CHECK:         %[[S:.*]] = ppc.dispatch %arg0, %arg2 : {{.*}} -> tensor<1x3x8x4xf32>
// CHECK:         ppc.convert %[[S]]
// CHECK:         ppc.dispatch {{.*}} -> tensor<1x3x8x4xbf16>
func.func @own_slots(%x: tensor<1x8x4xf32>, %y: tensor<1x8x4xf32>, %ids: tensor<1x8x2xi32>) -> (tensor<1x3x8x4xbf16>, tensor<1x3x8x4xbf16>, tensor<1x8x4xbf16>) {
  %s = ppc.dispatch %x, %ids : (tensor<1x8x4xf32>, tensor<1x8x2xi32>) -> tensor<1x3x8x4xf32>
  %r = ppc.convert %s : tensor<1x3x8x4xf32> to tensor<1x3x8x4xbf16>
  %z = ppc.convert %y : tensor<1x8x4xf32> to tensor<1x8x4xbf16>
  %t = ppc.dispatch %y, %ids : (tensor<1x8x4xf32>, tensor<1x8x2xi32>) -> tensor<1x3x8x4xf32>
  %u = ppc.convert %t : tensor<1x3x8x4xf32> to tensor<1x3x8x4xbf16>
  return %r, %u, %z : tensor<1x3x8x4xbf16>, tensor<1x3x8x4xbf16>, tensor<1x8x4xbf16>
}

// A matmul with a weight is rounded after it; slots that are used in f32, too, are made once.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: ppc.dispatch {{.*}} -> tensor<1x3x8x4xf32>
func.func @others(%x: tensor<1x8x4xf32>, %ids: tensor<1x8x2xi32>, %w: tensor<1x8x2xf32>) -> (tensor<1x3x8x4xbf16>, tensor<1x3x8x4xbf16>, tensor<1x3x8x4xf32>) {
  %s = ppc.dispatch %x, %ids weights %w : (tensor<1x8x4xf32>, tensor<1x8x2xi32>, tensor<1x8x2xf32>) -> tensor<1x3x8x4xf32>
  %r = ppc.convert %s : tensor<1x3x8x4xf32> to tensor<1x3x8x4xbf16>
  %t = ppc.dispatch %x, %ids : (tensor<1x8x4xf32>, tensor<1x8x2xi32>) -> tensor<1x3x8x4xf32>
  %u = ppc.convert %t : tensor<1x3x8x4xf32> to tensor<1x3x8x4xbf16>
  return %r, %u, %t : tensor<1x3x8x4xbf16>, tensor<1x3x8x4xbf16>, tensor<1x3x8x4xf32>
}
