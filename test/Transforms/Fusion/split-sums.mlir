// Sums over rows and over whole tensors in two steps, where they have a divisor for it.
// RUN: ppc-opt %s --ppc-split-sums --split-input-file | FileCheck %s

// 24 rows are three chunks of eight.
// CHECK-DAG: #[[CHUNKED:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[PARTIAL:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-LABEL: func.func @columns
// CHECK: %[[SUMS:.*]] = memref.alloc() {{.*}} : memref<1x3x5xf32>
// CHECK: linalg.fill {{.*}} outs(%[[SUMS]]
// CHECK: linalg.generic {indexing_maps = [#[[CHUNKED]], #[[PARTIAL]]], iterator_types = ["parallel", "parallel", "reduction", "parallel"]} ins(%{{.*}} : memref<1x3x8x5xf32>) outs(%[[SUMS]] : memref<1x3x5xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "reduction", "parallel"]} ins(%[[SUMS]] : memref<1x3x5xf32>) outs(%arg1 : memref<5xf32>)
func.func @columns(%x: memref<1x24x5xf32>, %y: memref<5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>], iterator_types = ["reduction", "reduction", "parallel"]} ins(%x : memref<1x24x5xf32>) outs(%y : memref<5xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.addf %old, %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// 15 rows are too few for two chunks of eight; a row maximum is not a sum.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
func.func @stays(%x: memref<15x5xf32>, %y: memref<5xf32>, %m: memref<5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<15x5xf32>) outs(%y : memref<5xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.addf %old, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<15x5xf32>) outs(%m : memref<5xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.maximumf %old, %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// 3,000 elements are ten rows of 300.
// CHECK-LABEL: func.func @whole
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : memref<10x300xf32>, memref<f32>) outs(%[[ROWS:.*]] : memref<10xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[ROWS]] : memref<10xf32>) outs(%arg2 : memref<f32>)
func.func @whole(%x: memref<3x1000xf32>, %c: memref<f32>, %y: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x, %c : memref<3x1000xf32>, memref<f32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %old, %p : f32
    linalg.yield %s : f32
  }
  return
}
