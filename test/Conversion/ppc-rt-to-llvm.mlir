// RUN: ppc-opt %s --ppc-rt-to-llvm --split-input-file | FileCheck %s

// Equal GEMMs share one descriptor.
// CHECK: llvm.mlir.global private constant @[[DESC:ppc_gemm_.*]](dense<[2, 0, 1, 0, 4, 4, 8, 8, 1, 4, 1, 4, 1, 0]> : tensor<14xi64>)
// CHECK-NOT: llvm.mlir.global

// CHECK: llvm.func @stage0.forward(%[[RANK:.*]]: !llvm.ptr, %[[BUFFERS:.*]]: !llvm.ptr) {
// CHECK:   %[[FIRST:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK:   %[[A:.*]] = llvm.load %[[FIRST]]
// CHECK:   llvm.call @stage0.forward.body(%[[RANK]], %[[A]],
// CHECK: llvm.func internal @stage0.forward.body(%[[SELF:[^:]*]]: !llvm.ptr,
// CHECK:   llvm.call @ppcrt_gemm(
// CHECK:   llvm.call @ppcrt_gemm(
// CHECK:   llvm.call @ppcrt_all_reduce(%[[SELF]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, !llvm.ptr, i64, i32, i32) -> ()
// CHECK:   llvm.call @ppcrt_all_gather(%[[SELF]], %{{.*}}) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32) -> ()
// CHECK:   llvm.call @ppcrt_coordinate(%[[SELF]], %{{.*}}) : (!llvm.ptr, i32) -> i64
ppcrt.group @tp axes ["tp"]
ppcrt.group @dp axes ["dp"]
func.func @stage0.forward(%a: memref<4x8xf32>, %b: memref<8x4xf32>, %c: memref<4x4xf32>, %d: memref<8x4xf32>, %e: memref<1xi64>)
    attributes {ppcrt.routine = "forward"} {
  ppcrt.gemm ins(%a, %b : memref<4x8xf32>, memref<8x4xf32>) outs(%c : memref<4x4xf32>) sizes [4, 4, 8] strides [8, 1, 4, 1, 4, 1] loops [] accumulate
  ppcrt.gemm ins(%a, %b : memref<4x8xf32>, memref<8x4xf32>) outs(%c : memref<4x4xf32>) sizes [4, 4, 8] strides [8, 1, 4, 1, 4, 1] loops [] accumulate
  ppcrt.all_reduce max group @dp outs(%c : memref<4x4xf32>)
  ppcrt.all_gather group @tp ins(%c : memref<4x4xf32>) outs(%d : memref<8x4xf32>)
  %i = ppcrt.coordinate group @tp
  %zero = arith.constant 0 : index
  %j = arith.index_cast %i : index to i64
  memref.store %j, %e[%zero] : memref<1xi64>
  return
}

// -----

// Attention: version, type, batch, queries, keys, kv heads, groups, head dim, value dim, causal, window; the position of the first
// query; null stands for slopes that there are not.
// CHECK-DAG: llvm.mlir.global private constant @[[WIDE:ppc_attention_.*]](dense<[2, 0, 2, 4, 6, 1, 3, 8, 5, 0, 0]> : tensor<11xi64>)
// CHECK-DAG: llvm.mlir.global private constant @[[NARROW:ppc_attention_.*]](dense<[2, 4, 1, 4, 4, 2, 2, 8, 8, 1, 3]> : tensor<11xi64>)
// CHECK: llvm.func internal @stage0.forward.body(
// CHECK:   %[[DESC:.*]] = llvm.mlir.addressof @[[WIDE]]
// CHECK:   %[[SCALE:.*]] = llvm.mlir.constant(5.000000e-01 : f64)
// CHECK:   %[[FIRST:.*]] = llvm.mlir.constant(2 : i64) : i64
// CHECK:   %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK:   llvm.call @ppcrt_attention(%[[DESC]], %[[SCALE]], %[[FIRST]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[NULL]], %{{[^,]*}}, %{{[^,]*}}) :
// CHECK:   llvm.mlir.addressof @[[NARROW]]
// CHECK-NOT: llvm.mlir.zero
// CHECK:   llvm.call @ppcrt_attention_backward(%{{([^,]*, ){12}[^,]*}}) :
func.func @stage0.forward(%q: memref<2x4x1x3x8xf32>, %k: memref<2x6x1x8xf32>, %v: memref<2x6x1x5xf32>, %o: memref<2x4x1x3x5xf32>,
    %l: memref<2x4x1x3xf32>, %h: memref<1x4x2x2x8xbf16>, %n: memref<1x4x2x8xbf16>, %m: memref<1x4x2x2xf32>, %s: memref<2x2xf32>)
    attributes {ppcrt.routine = "forward"} {
  ppcrt.attention ins(%q, %k, %v : memref<2x4x1x3x8xf32>, memref<2x6x1x8xf32>, memref<2x6x1x5xf32>) outs(%o, %l : memref<2x4x1x3x5xf32>, memref<2x4x1x3xf32>) scale 5.000000e-01
  ppcrt.attention_backward ins(%h, %n, %n, %h, %m, %h, %s : memref<1x4x2x2x8xbf16>, memref<1x4x2x8xbf16>, memref<1x4x2x8xbf16>, memref<1x4x2x2x8xbf16>, memref<1x4x2x2xf32>, memref<1x4x2x2x8xbf16>, memref<2x2xf32>)
    outs(%h, %n, %n : memref<1x4x2x2x8xbf16>, memref<1x4x2x8xbf16>, memref<1x4x2x8xbf16>) scale 1.250000e-01 causal window 3
  return
}

// -----

// A function of only calls is a table: function 0 with 2 operands, buffer 0 and 64 bytes into buffer 2; function 1 with buffers 1 and 0;
// function 0 again.
// CHECK: llvm.mlir.global internal constant @ppc_bodies() {{.*}} : !llvm.array<2 x ptr> {
// CHECK:   llvm.mlir.addressof @first.entry
// CHECK:   llvm.mlir.addressof @second.entry
// CHECK: llvm.func internal @ppc_make_calls(
// CHECK:   llvm.mlir.constant(2 : i64)
// CHECK: llvm.func internal @first.entry(%[[RANK:.*]]: !llvm.ptr, %[[ADDRESSES:.*]]: !llvm.ptr) {
// CHECK:   llvm.call @first(%[[RANK]],
// CHECK: llvm.mlir.global internal constant @stage1.forward.calls(dense<[0, 2, 0, 0, 2, 64, 1, 2, 1, 0, 0, 0, 0, 2, 1, 0, 2, 64]> : tensor<18xi64>)
// CHECK: llvm.func @stage1.forward(%[[RANK:.*]]: !llvm.ptr, %[[BUFFERS:.*]]: !llvm.ptr) {
// CHECK:   %[[COUNT:.*]] = llvm.mlir.constant(3 : i64)
// CHECK:   llvm.call @ppc_make_calls(%[[RANK]], %[[BUFFERS]], %{{.*}}, %[[COUNT]], %{{.*}})
func.func @stage1.forward(%x: memref<4xf32>, %y: memref<4xf32>, %scratch: memref<128xi8>) attributes {ppcrt.routine = "forward"} {
  %c64 = arith.constant 64 : index
  %t = memref.view %scratch[%c64][] : memref<128xi8> to memref<4xf32>
  ppcrt.call @first(%x, %t) : memref<4xf32>, memref<4xf32>
  ppcrt.call @second(%y, %x) : memref<4xf32>, memref<4xf32>
  ppcrt.call @first(%y, %t) : memref<4xf32>, memref<4xf32>
  return
}
func.func private @first(%a: memref<4xf32>, %b: memref<4xf32>) {
  return
}
func.func private @second(%a: memref<4xf32>, %b: memref<4xf32>) {
  return
}

// -----

// Calls hand the rank on, to functions of the runtime as to those of the module; the C library knows of none.
// CHECK-DAG: llvm.func @ppcrt_profile(!llvm.ptr, i64)
// CHECK-DAG: llvm.func @abs(i64)
// CHECK: llvm.func internal @stage0.backward.body(%[[RANK:[^:]*]]: !llvm.ptr,
// CHECK:   llvm.call @ppcrt_profile(%[[RANK]], %{{.*}}) : (!llvm.ptr, i64) -> ()
// CHECK:   llvm.call @inner(%[[RANK]], %{{.*}}) : (!llvm.ptr, i64) -> ()
// CHECK:   llvm.call @abs(%{{[^,]*}}) : (i64) -> ()
func.func private @ppcrt_profile(i64)
func.func private @abs(i64)
func.func private @inner(%n: i64) {
  return
}
func.func @stage0.backward(%a: memref<4xf32>) attributes {ppcrt.routine = "backward"} {
  %n = arith.constant 3 : i64
  func.call @ppcrt_profile(%n) : (i64) -> ()
  func.call @inner(%n) : (i64) -> ()
  func.call @abs(%n) : (i64) -> ()
  return
}

// -----

// A token is the number of a request; starts are not pure, so two of them are not merged.
// CHECK: llvm.func internal @body(%[[RANK:[^:]*]]: !llvm.ptr,
// CHECK:   %[[FIRST:.*]] = llvm.call @ppcrt_all_gather_start(%[[RANK]], %{{[^:]*}}) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32) -> i64
// CHECK:   %[[SECOND:.*]] = llvm.call @ppcrt_all_reduce_start(%[[RANK]], %{{[^:]*}}) : (!llvm.ptr, i32, !llvm.ptr, i64, i32, i32) -> i64
// CHECK:   llvm.call @ppcrt_wait(%[[RANK]], %[[SECOND]])
// CHECK:   llvm.call @ppcrt_wait(%[[RANK]], %[[FIRST]])
// CHECK:   %[[THIRD:.*]] = llvm.call @ppcrt_reduce_scatter_start(%[[RANK]], %{{[^:]*}}) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32, i32) -> i64
// CHECK:   %[[FOURTH:.*]] = llvm.call @ppcrt_permute_start(%[[RANK]], %{{[^:]*}}) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32, i32) -> i64
// CHECK:   llvm.call @ppcrt_wait(%[[RANK]], %[[THIRD]])
// CHECK:   llvm.call @ppcrt_wait(%[[RANK]], %[[FOURTH]])
ppcrt.group @tp axes ["tp"]
func.func @stage0.forward(%x: memref<4xf32>, %y: memref<8xf32>, %z: memref<4xf32>, %v: memref<4xf32>) attributes {ppcrt.routine = "forward"} {
  ppcrt.call @body(%x, %y, %z, %v) : memref<4xf32>, memref<8xf32>, memref<4xf32>, memref<4xf32>
  return
}
func.func private @body(%x: memref<4xf32>, %y: memref<8xf32>, %z: memref<4xf32>, %v: memref<4xf32>) {
  %0 = ppcrt.start all_gather group @tp ins(%x : memref<4xf32>) outs(%y : memref<8xf32>)
  %1 = ppcrt.start all_reduce sum group @tp outs(%z : memref<4xf32>)
  ppcrt.wait %1 (%z : memref<4xf32>)
  ppcrt.wait %0 (%x, %y : memref<4xf32>, memref<8xf32>)
  %2 = ppcrt.start reduce_scatter sum group @tp ins(%y : memref<8xf32>) outs(%x : memref<4xf32>)
  %3 = ppcrt.start permute group @tp shift 1 ins(%z : memref<4xf32>) outs(%v : memref<4xf32>)
  ppcrt.wait %2 (%y, %x : memref<8xf32>, memref<4xf32>)
  ppcrt.wait %3 (%z, %v : memref<4xf32>, memref<4xf32>)
  return
}

// -----

// A completion event: between calls of a table, and in code.
// CHECK: llvm.func internal @ppc_reach.1(%[[RANK:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr) {
// CHECK:   %[[ENTRY:.*]] = llvm.mlir.constant(1 : i64)
// CHECK:   llvm.call @ppcrt_reach(%[[RANK]], %[[ENTRY]])
// CHECK: llvm.mlir.global internal constant @stage0.backward.calls(dense<[0, 1, 0, 0, 1, 0, 0, 1, 1, 0]> : tensor<10xi64>)
func.func @stage0.backward(%x: memref<4xf32>, %y: memref<4xf32>) attributes {ppcrt.routine = "backward"} {
  ppcrt.call @body(%x) : memref<4xf32>
  ppcrt.reach 1 (%x : memref<4xf32>)
  ppcrt.call @body(%y) : memref<4xf32>
  return
}
func.func private @body(%x: memref<4xf32>) {
  return
}

// -----

// CHECK: llvm.func internal @stage0.backward.body(%[[RANK:[^:]*]]: !llvm.ptr,
// CHECK:   llvm.store
// CHECK:   llvm.call @ppcrt_reach(%[[RANK]], %{{.*}})
// CHECK:   llvm.store
func.func @stage0.backward(%x: memref<f32>, %y: memref<f32>) attributes {ppcrt.routine = "backward"} {
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %x[] : memref<f32>
  ppcrt.reach 0 (%x : memref<f32>)
  memref.store %zero, %y[] : memref<f32>
  return
}

// -----

// Attributes of loops move to the branches that close them.
// CHECK: #[[SUMS:.*]] = #llvm.loop_interleave<count = 4 : i32>
// CHECK: #[[LOOP:.*]] = #llvm.loop_annotation<interleave = #[[SUMS]]>
// CHECK: llvm.br ^bb1{{.*}} {loop_annotation = #[[LOOP]]}
func.func private @sum(%x: memref<8xf32>, %y: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  cf.br ^bb1(%c0 : index)
^bb1(%i: index):
  %less = arith.cmpi slt, %i, %c8 : index
  cf.cond_br %less, ^bb2, ^bb3
^bb2:
  %next = arith.addi %i, %c1 : index
  cf.br ^bb1(%next : index) {llvm.loop_annotation = #llvm.loop_annotation<interleave = #llvm.loop_interleave<count = 4 : i32>>}
^bb3:
  return
}
