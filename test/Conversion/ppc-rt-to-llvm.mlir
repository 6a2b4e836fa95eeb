// RUN: ppc-opt %s --ppc-rt-to-llvm | FileCheck %s

// Equal products share one descriptor.
// CHECK: llvm.mlir.global private constant @[[DESC:ppc_gemm_.*]](dense<[1, 0, 1, 4, 4, 8, 8, 1, 4, 1, 4, 1, 0]> : tensor<13xi64>)
// CHECK-NOT: llvm.mlir.global

// CHECK: llvm.func @stage0.forward(%[[BUFFERS:.*]]: !llvm.ptr) {
// CHECK:   %[[FIRST:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK:   %[[A:.*]] = llvm.load %[[FIRST]]
// CHECK:   llvm.call @stage0.forward.body(%[[A]],
// CHECK: llvm.func internal @stage0.forward.body(
// CHECK:   llvm.call @ppcrt_gemm(
// CHECK:   llvm.call @ppcrt_gemm(
// CHECK:   llvm.call @ppcrt_all_reduce(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (i32, !llvm.ptr, i64, i32, i32) -> ()
// CHECK:   llvm.call @ppcrt_all_gather(%{{.*}}) : (i32, !llvm.ptr, !llvm.ptr, i64, i32) -> ()
// CHECK:   llvm.call @ppcrt_coordinate(%{{.*}}) : (i32) -> i64
func.func @stage0.forward(%a: memref<4x8xf32>, %b: memref<8x4xf32>, %c: memref<4x4xf32>, %d: memref<8x4xf32>, %e: memref<1xi64>)
    attributes {ppc.action = "forward"} {
  ppcrt.gemm ins(%a, %b : memref<4x8xf32>, memref<8x4xf32>) outs(%c : memref<4x4xf32>) sizes [4, 4, 8] strides [8, 1, 4, 1, 4, 1] loops [] accumulate
  ppcrt.gemm ins(%a, %b : memref<4x8xf32>, memref<8x4xf32>) outs(%c : memref<4x4xf32>) sizes [4, 4, 8] strides [8, 1, 4, 1, 4, 1] loops [] accumulate
  ppcrt.all_reduce max group 1 outs(%c : memref<4x4xf32>)
  ppcrt.all_gather group 0 ins(%c : memref<4x4xf32>) outs(%d : memref<8x4xf32>)
  %i = ppcrt.coordinate group 0
  %zero = arith.constant 0 : index
  %j = arith.index_cast %i : index to i64
  memref.store %j, %e[%zero] : memref<1xi64>
  return
}
