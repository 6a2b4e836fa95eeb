// RUN: ppc-opt %s --ppc-order-constants --split-input-file | FileCheck %s

// Names and positions follow the first read of each, whatever bufferization called them; unused ones are removed, public or
// mutable ones stay as they are.
// CHECK-NOT:   @unread
// CHECK:       memref.global "private" constant @constant_0 : memref<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NEXT:  memref.global "private" constant @constant_1 : memref<2xf32> = dense<[3.000000e+00, 4.000000e+00]>
// CHECK-NEXT:  memref.global constant @shared
// CHECK-NEXT:  memref.global "private" @written
// CHECK-LABEL: func.func @first
// CHECK-NEXT:    memref.get_global @constant_0
// CHECK-NEXT:    memref.get_global @written
// CHECK-LABEL: func.func @second
// CHECK-NEXT:    memref.get_global @constant_1
// CHECK-NEXT:    memref.get_global @constant_0
// CHECK-NEXT:    memref.get_global @shared
memref.global constant @shared : memref<2xf32> = dense<5.0>
memref.global "private" @written : memref<2xf32> = dense<6.0>
memref.global "private" constant @unread : memref<2xf32> = dense<7.0>
memref.global "private" constant @constant_0 : memref<2xf32> = dense<[3.0, 4.0]>
memref.global "private" constant @__constant_2xf32_1 : memref<2xf32> = dense<[1.0, 2.0]>
func.func @first() -> (memref<2xf32>, memref<2xf32>) {
  %a = memref.get_global @__constant_2xf32_1 : memref<2xf32>
  %b = memref.get_global @written : memref<2xf32>
  return %a, %b : memref<2xf32>, memref<2xf32>
}
func.func @second() -> (memref<2xf32>, memref<2xf32>, memref<2xf32>) {
  %a = memref.get_global @constant_0 : memref<2xf32>
  %b = memref.get_global @__constant_2xf32_1 : memref<2xf32>
  %c = memref.get_global @shared : memref<2xf32>
  return %a, %b, %c : memref<2xf32>, memref<2xf32>, memref<2xf32>
}

// -----

// A name that something else has is left to it.
// CHECK:       memref.global "private" constant @constant_1
// CHECK-LABEL: func.func @constant_0
// CHECK-NEXT:    memref.get_global @constant_1
memref.global "private" constant @c : memref<f32> = dense<1.0>
func.func @constant_0() -> memref<f32> {
  %a = memref.get_global @c : memref<f32>
  return %a : memref<f32>
}
