// RUN: ppc-opt %s --convert-linalg-to-scf | FileCheck %s

// Dimensions that run through every buffer alike are one loop.
// CHECK-LABEL: func.func @flat
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:         return
#id = affine_map<(i, j) -> (i, j)>
func.func @flat(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// A sum along memory stays in a register.
// CHECK-LABEL: func.func @rows
// CHECK:         scf.for
// CHECK:           memref.load %arg1
// The number of concurrent sums is fixed, so that the addresses of buffers do not decide it.
// CHECK:           scf.for {{.*}} iter_args
// CHECK:           } {llvm.loop_annotation = #{{.*}}}
// CHECK:           memref.store %{{.*}}, %arg1
func.func @rows(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }
  return
}

// A sum across memory goes outside.
// CHECK-LABEL: func.func @columns
// CHECK-NOT:     iter_args
// CHECK:         return
func.func @columns(%x: memref<4x8xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }
  return
}

// Rounded to bf16 with integers; a mask sets the bits of NaN, without a select.
// CHECK-LABEL: func.func @rounded
// CHECK-DAG:     %[[NAN:.*]] = arith.constant 2143289344 : i32
// CHECK:         %[[NONE:.*]] = arith.cmpf uno
// CHECK:         %[[MASK:.*]] = arith.extsi %[[NONE]] : i1 to i32
// CHECK:         %[[SET:.*]] = arith.andi %[[MASK]], %[[NAN]]
// CHECK:         %[[CHOSEN:.*]] = arith.ori %{{.*}}, %[[SET]]
// CHECK:         %[[UPPER:.*]] = arith.shrui %[[CHOSEN]]
// CHECK:         arith.trunci %[[UPPER]] : i32 to i16
// CHECK-NOT:     arith.select
// CHECK-NOT:     arith.truncf
func.func @rounded(%x: memref<4x8xf32>, %y: memref<4x8xbf16>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %c = arith.truncf %a : f32 to bf16
    linalg.yield %c : bf16
  }
  return
}

// Vectors of a polynomial are computed side by side where a loop is long; what else is computed is left to LLVM.
// CHECK-LABEL: func.func @exponentials
// CHECK:         scf.for
// CHECK:         } {llvm.loop_annotation = #{{.*}}}
// CHECK:         return
func.func @exponentials(%x: memref<32x64xbf16>, %y: memref<32x64xbf16>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<32x64xbf16>) outs(%y : memref<32x64xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %c = arith.extf %a : bf16 to f32
    %d = math.exp %c : f32
    %e = arith.truncf %d : f32 to bf16
    linalg.yield %e : bf16
  }
  return
}
// CHECK-LABEL: func.func @few_exponentials
// CHECK-NOT:     llvm.loop_annotation
// CHECK-LABEL: func.func @products
// CHECK-NOT:     llvm.loop_annotation
func.func @few_exponentials(%x: memref<4x64xf32>, %y: memref<4x64xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = math.exp %a : f32
    linalg.yield %c : f32
  }
  return
}
func.func @products(%x: memref<32x64xf32>, %y: memref<32x64xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<32x64xf32>) outs(%y : memref<32x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %a : f32
    linalg.yield %c : f32
  }
  return
}
