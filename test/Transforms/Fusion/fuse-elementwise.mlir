// RUN: ppc-opt %s --ppc-to-linalg --ppc-fuse-elementwise | FileCheck %s

// CHECK-LABEL: func.func @chain
// CHECK:         linalg.generic
// CHECK:           math.exp
// CHECK:           arith.addf
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func @chain(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = ppc.constant dense<1.0> : tensor<4x8xf32>
  %a = ppc.exp %x : tensor<4x8xf32>
  %b = ppc.add %a, %one : tensor<4x8xf32>
  %c = ppc.mul %b, %y : tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}

// A value with two users is computed once; a value per row is not recomputed for each element.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-3: linalg.generic
// CHECK:         return
func.func @shared(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %a = ppc.exp %x : tensor<4xf32>
  %b = ppc.neg %a : tensor<4xf32>
  %c = ppc.broadcast %a dims [1] : tensor<4xf32> to tensor<4x8xf32>
  return %b, %c : tensor<4xf32>, tensor<4x8xf32>
}
