// A copy of a buffer that holds one number becomes a fill, other copies loops; fills move to where they are needed, or go.
// RUN: ppc-opt %s --ppc-forward-fills --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @forwarded
// CHECK: ppcrt.gemm
// CHECK-NEXT: linalg.fill ins(%{{.*}} : f32) outs(%[[SUM:.*]] : memref<8xf32>)
// CHECK-NEXT: linalg.generic {{.*}} outs(%[[SUM]] : memref<8xf32>)
// CHECK-NOT: linalg.fill
// CHECK-NOT: memref.copy
func.func @forwarded(%x: memref<8x4xf32>, %p: memref<8x8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %zeros = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  %sum = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  linalg.fill ins(%zero : f32) outs(%zeros : memref<8xf32>)
  memref.copy %zeros, %sum : memref<8xf32> to memref<8xf32>
  ppcrt.gemm ins(%x, %x : memref<8x4xf32>, memref<8x4xf32>) outs(%p : memref<8x8xf32>) sizes [8, 8, 4] strides [4, 1, 1, 4, 8, 1] loops []
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x4xf32>) outs(%sum : memref<8xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.addf %old, %a : f32
    linalg.yield %s : f32
  }
  memref.copy %sum, %y : memref<8xf32> to memref<8xf32>
  return
}

// -----

// A buffer that has been written again is not one number any more; the caller's buffer is filled where it was.
// CHECK-LABEL: func.func @written
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%arg0 : memref<8xf32>)
// CHECK: linalg.generic {{.*}} outs(%arg0 : memref<8xf32>)
// CHECK: linalg.generic {{.*}} ins(%arg0 : memref<8xf32>) outs(%arg1 : memref<8xf32>)
func.func @written(%x: memref<8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%x : memref<8xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%old: f32):
    %s = math.exp %old : f32
    linalg.yield %s : f32
  }
  memref.copy %x, %y : memref<8xf32> to memref<8xf32>
  return
}
