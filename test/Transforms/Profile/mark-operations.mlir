// RUN: ppc-opt %s --ppc-mark-operations | FileCheck %s

// The names come from the locations, with the action of the function; an exponential and an addition per element.
// CHECK: module attributes {ppc.operations = [
// CHECK-SAME: {bytes = 48 : i64, flops = 8 : i64, name = "forward: exp + add"}
// CHECK-SAME: {bytes = 128 : i64, flops = 64 : i64, name = "forward: matmul sd,df->sf (2 x 4 x 4)"}
// CHECK-SAME: {bytes = 64 : i64, flops = 0 : i64, name = "forward: copy"}
#map = affine_map<(d0) -> (d0)>
// CHECK: func.func private @ppcrt_profile(i64)
// CHECK-LABEL: func.func @forward_body_1
func.func @forward_body_1(%x: memref<4xf32>, %y: memref<4xf32>, %a: memref<2x4xf32>, %b: memref<4x4xf32>, %c: memref<2x4xf32>,
                          %d: memref<2x4xf32>) {
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i64
  // CHECK: call @ppcrt_profile(%[[ZERO]])
  // CHECK: linalg.generic
  linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = math.exp %v : f32
    %1 = arith.addf %0, %o : f32
    linalg.yield %1 : f32
  } loc(fused["exp", "add"])
  // CHECK: call @ppcrt_profile
  // CHECK: ppcrt.gemm
  ppcrt.gemm ins(%a, %b : memref<2x4xf32>, memref<4x4xf32>) outs(%c : memref<2x4xf32>) sizes [2, 4, 4] strides [4, 1, 4, 1, 4, 1] loops [] loc("matmul sd,df->sf")
  // CHECK: call @ppcrt_profile
  // CHECK: memref.copy
  memref.copy %c, %d : memref<2x4xf32> to memref<2x4xf32>
  // CHECK: %[[NONE:.*]] = arith.constant -1 : i64
  // CHECK: call @ppcrt_profile(%[[NONE]])
  // CHECK: return
  return
}
