// Parts that fill a buffer are copied there; where something is missing or read before, they are added to zeros.
// RUN: ppc-opt %s --ppc-copy-parts --split-input-file | FileCheck %s

#first = affine_map<(d0, d1) -> (d0 * 5 + d1)>
#second = affine_map<(d0, d1) -> (d0 * 5 + d1 + 2)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @filled
// CHECK-NOT: linalg.fill
// CHECK: memref.subview %{{.*}}[0, 2] [4, 3] [1, 1] : memref<4x5xbf16> to memref<4x3xbf16, strided<[5, 1], offset: 2>>
// CHECK: memref.subview %{{.*}}[0, 0] [4, 2] [1, 1] : memref<4x5xbf16> to memref<4x2xbf16, strided<[5, 1]>>
// CHECK-NOT: arith.addf
func.func @filled(%a: memref<4x2xbf16>, %b: memref<4x3xbf16>, %y: memref<20xbf16>) {
  %zero = arith.constant 0.0 : bf16
  %t = memref.alloc() : memref<20xbf16>
  linalg.fill ins(%zero : bf16) outs(%t : memref<20xbf16>)
  linalg.generic {indexing_maps = [#id, #second], iterator_types = ["parallel", "parallel"]} ins(%b : memref<4x3xbf16>) outs(%t : memref<20xbf16>) {
  ^bb0(%in: bf16, %old: bf16):
    %0 = arith.extf %in : bf16 to f32
    %1 = arith.extf %old : bf16 to f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  }
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "parallel"]} ins(%a : memref<4x2xbf16>) outs(%t : memref<20xbf16>) {
  ^bb0(%in: bf16, %old: bf16):
    %0 = arith.extf %in : bf16 to f32
    %1 = arith.extf %old : bf16 to f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  }
  memref.copy %t, %y : memref<20xbf16> to memref<20xbf16>
  return
}

// -----

#first = affine_map<(d0, d1) -> (d0 * 5 + d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @missing
// CHECK: linalg.fill
// CHECK: arith.addf
func.func @missing(%a: memref<4x2xf32>, %y: memref<20xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<20xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<20xf32>)
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "parallel"]} ins(%a : memref<4x2xf32>) outs(%t : memref<20xf32>) {
  ^bb0(%in: f32, %old: f32):
    %0 = arith.addf %in, %old : f32
    linalg.yield %0 : f32
  }
  memref.copy %t, %y : memref<20xf32> to memref<20xf32>
  return
}

// -----

#first = affine_map<(d0, d1) -> (d0 * 4 + d1)>
#second = affine_map<(d0, d1) -> (d0 * 4 + d1 + 1)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Parts that overlap are added.
// CHECK-LABEL: func.func @overlapping
// CHECK: linalg.fill
// CHECK-COUNT-2: arith.addf
func.func @overlapping(%a: memref<4x2xf32>, %b: memref<4x2xf32>, %y: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<16xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<16xf32>)
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "parallel"]} ins(%a : memref<4x2xf32>) outs(%t : memref<16xf32>) {
  ^bb0(%in: f32, %old: f32):
    %0 = arith.addf %in, %old : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #second], iterator_types = ["parallel", "parallel"]} ins(%b : memref<4x2xf32>) outs(%t : memref<16xf32>) {
  ^bb0(%in: f32, %old: f32):
    %0 = arith.addf %in, %old : f32
    linalg.yield %0 : f32
  }
  memref.copy %t, %y : memref<16xf32> to memref<16xf32>
  return
}
