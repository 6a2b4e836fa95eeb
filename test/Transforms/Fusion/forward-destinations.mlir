// RUN: ppc-opt %s --ppc-forward-destinations --canonicalize | FileCheck %s

// A value saved as 32 numbers is computed into its buffer as 4 x 8, also if it is read meanwhile.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     memref.alloc
// CHECK:         %[[PLACE:.*]] = memref.expand_shape %arg1
// CHECK:         ppcrt.gemm {{.*}} outs(%[[PLACE]] : memref<4x8xf32>)
// CHECK:         ppcrt.gemm ins(%[[PLACE]], %arg0
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @kept(%x: memref<8x8xf32>, %place: memref<32xf32>, %z: memref<4x8xf32>) {
  %y = memref.alloc() : memref<4x8xf32>
  ppcrt.gemm ins(%z, %x : memref<4x8xf32>, memref<8x8xf32>) outs(%y : memref<4x8xf32>) sizes [4, 8, 8] strides [8, 1, 8, 1, 8, 1] loops []
  ppcrt.gemm ins(%y, %x : memref<4x8xf32>, memref<8x8xf32>) outs(%z : memref<4x8xf32>) sizes [4, 8, 8] strides [8, 1, 8, 1, 8, 1] loops []
  %row = memref.collapse_shape %y [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  memref.copy %row, %place : memref<32xf32> to memref<32xf32>
  return
}

// A buffer that is read before, and one that is written after the copy, stay.
// CHECK-LABEL: func.func @others
// CHECK:         memref.alloc
// CHECK:         memref.copy
// CHECK:         memref.alloc
// CHECK:         memref.copy
func.func @others(%x: memref<8x8xf32>, %place: memref<8x8xf32>, %other: memref<8x8xf32>, %z: memref<8x8xf32>) {
  %y = memref.alloc() : memref<8x8xf32>
  ppcrt.gemm ins(%place, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>) sizes [8, 8, 8] strides [8, 1, 8, 1, 8, 1] loops []
  memref.copy %y, %place : memref<8x8xf32> to memref<8x8xf32>
  %w = memref.alloc() : memref<8x8xf32>
  ppcrt.gemm ins(%x, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%w : memref<8x8xf32>) sizes [8, 8, 8] strides [8, 1, 8, 1, 8, 1] loops []
  memref.copy %w, %other : memref<8x8xf32> to memref<8x8xf32>
  ppcrt.gemm ins(%x, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%w : memref<8x8xf32>) sizes [8, 8, 8] strides [8, 1, 8, 1, 8, 1] loops [] accumulate
  ppcrt.gemm ins(%w, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%z : memref<8x8xf32>) sizes [8, 8, 8] strides [8, 1, 8, 1, 8, 1] loops []
  return
}
