// Loops that share rows become one region by cost; remarks state the savings, and why a neighbour is separate.
// RUN: ppc-opt %s --ppc-forward-fills --ppc-split-sums --ppc-fuse-rows=explain --split-input-file --verify-diagnostics | FileCheck %s

#full = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0) -> (d0)>

// A norm: what is only between its ops is not in memory any more.
// CHECK-LABEL: func.func @norm
// CHECK-NOT: memref.copy
// CHECK: scf.execute_region no_inline {
// CHECK-DAG: memref.alloc() {{.*}}memref<64xf32>
// CHECK-DAG: memref.alloc() {{.*}}memref<64xf32>
// CHECK: linalg.fill
// CHECK-COUNT-3: linalg.generic
// CHECK: return
func.func @norm(%x: memref<64x256xf32>, %w: memref<256xf32>, %y: memref<64x256xbf16>) {
  %zero = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %zeros = memref.alloc() {alignment = 64 : i64} : memref<64xf32>
  %sum = memref.alloc() {alignment = 64 : i64} : memref<64xf32>
  %scale = memref.alloc() {alignment = 64 : i64} : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%zeros : memref<64xf32>)
  // expected-remark @below {{4 ops as 1 kernels cost 1147904 bytes, greedily chosen ones 1147904}}
  // expected-remark @below {{4 ops as one kernel, which moves 99328 bytes instead of 166400}}
  memref.copy %zeros, %sum : memref<64xf32> to memref<64xf32>
  linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x256xf32>) outs(%sum : memref<64xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.mulf %a, %a : f32
    %t = arith.addf %old, %s : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%sum : memref<64xf32>) outs(%scale : memref<64xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.addf %a, %eps : f32
    %t = math.rsqrt %s : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#full, #row, #column, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %scale, %w : memref<64x256xf32>, memref<64xf32>, memref<256xf32>) outs(%y : memref<64x256xbf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %old: bf16):
    %s = arith.mulf %a, %b : f32
    %t = arith.mulf %s, %c : f32
    %u = arith.truncf %t : f32 to bf16
    linalg.yield %u : bf16
  }
  return
}

// -----

#full = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// The sum of columns is over eight chunks first, together with the other readers of the rows; it starts from the accumulator.
// CHECK-LABEL: func.func @weight_gradient
// CHECK: scf.execute_region no_inline {
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK: }
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]{{.*}} outs(%arg2 : memref<128xf32>)
// CHECK-NOT: linalg.generic
func.func @weight_gradient(%x: memref<64x128xf32>, %y: memref<64x128xf32>, %g: memref<128xf32>) {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() {alignment = 64 : i64} : memref<128xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<128xf32>)
  // expected-remark @below {{4 ops as 2 kernels cost 2171904 bytes, greedily chosen ones 2171904}}
  // expected-remark @below {{3 ops as one kernel, which moves 69632 bytes instead of 110592}}
  // expected-remark @below {{not with the group before: a reduction is neither of rows nor of columns of chunks}}
  linalg.generic {indexing_maps = [#full, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<64x128xf32>) outs(%sum : memref<128xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.addf %old, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%g, %sum : memref<128xf32>, memref<128xf32>) outs(%g : memref<128xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x128xf32>) outs(%y : memref<64x128xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#full = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// Other rows of the next op read the result of a row.
// CHECK-LABEL: func.func @turned
// CHECK-NOT: scf.execute_region
func.func @turned(%x: memref<32x32xf32>, %y: memref<32x32xf32>, %z: memref<32x32xf32>) {
  // expected-remark @below {{2 ops as 2 kernels cost 2113536 bytes, greedily chosen ones 2113536}}
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : memref<32x32xf32>) outs(%y : memref<32x32xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  // expected-remark @below {{not with the group before: elements that a row writes are read at other indices}}
  linalg.generic {indexing_maps = [#turned, #full], iterator_types = ["parallel", "parallel"]} ins(%y : memref<32x32xf32>) outs(%z : memref<32x32xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// The norm of a gradient: of rows, then of their sums.
// CHECK-LABEL: func.func @squares
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}} ins(%{{.*}} : memref<32x256xf32>) outs(%{{.*}} : memref<32xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]{{.*}} outs(%arg1 : memref<f32>)
func.func @squares(%x: memref<64x128xf32>, %n: memref<f32>) {
  // expected-remark @below {{3 ops as 2 kernels}}
  // expected-remark @below {{2 ops as one kernel}}
  // expected-remark @below {{not with the group before: the rows are others}}
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : memref<64x128xf32>) outs(%n : memref<f32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.mulf %a, %a : f32
    %t = arith.addf %old, %s : f32
    linalg.yield %t : f32
  }
  return
}

// -----

#full = affine_map<(d0, d1) -> (d0, d1)>

// Both parts of each row of a buffer are written by one kernel, which reads what they are made of once.
// CHECK-LABEL: func.func @parts
// CHECK: scf.execute_region no_inline {
// CHECK-COUNT-2: linalg.generic
// CHECK: scf.yield
func.func @parts(%x: memref<64x128xf32>, %y: memref<64x256xf32>) {
  %first = memref.subview %y[0, 0] [64, 128] [1, 1] : memref<64x256xf32> to memref<64x128xf32, strided<[256, 1]>>
  %second = memref.subview %y[0, 128] [64, 128] [1, 1] : memref<64x256xf32> to memref<64x128xf32, strided<[256, 1], offset: 128>>
  // expected-remark @below {{2 ops as 1 kernels}}
  // expected-remark @below {{2 ops as one kernel, which moves 98304 bytes instead of 131072}}
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x128xf32>) outs(%first : memref<64x128xf32, strided<[256, 1]>>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x128xf32>) outs(%second : memref<64x128xf32, strided<[256, 1], offset: 128>>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#full = affine_map<(d0, d1) -> (d0, d1)>

// Parts that overlap are not fused: the final contents of the overlap would be open.
// CHECK-LABEL: func.func @overlapping_parts
// CHECK-NOT: scf.execute_region
func.func @overlapping_parts(%x: memref<64x128xf32>, %y: memref<64x256xf32>) {
  %first = memref.subview %y[0, 0] [64, 128] [1, 1] : memref<64x256xf32> to memref<64x128xf32, strided<[256, 1]>>
  %second = memref.subview %y[0, 120] [64, 128] [1, 1] : memref<64x256xf32> to memref<64x128xf32, strided<[256, 1], offset: 120>>
  // expected-remark @below {{2 ops as 2 kernels}}
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x128xf32>) outs(%first : memref<64x128xf32, strided<[256, 1]>>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  // expected-remark @below {{not with the group before: elements that a row writes are read at other indices}}
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x128xf32>) outs(%second : memref<64x128xf32, strided<[256, 1], offset: 120>>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#full = affine_map<(d0, d1) -> (d0, d1)>

// An operand is overwritten, and the result read by the next op alone: it is in registers, too.
// CHECK-LABEL: func.func @overwritten
// CHECK: %[[Z:.*]] = memref.alloc
// CHECK: scf.execute_region no_inline {
// CHECK: %[[OWN:.*]] = memref.alloc
// CHECK: linalg.generic {{.*}} ins(%[[Z]] : {{.*}}) outs(%[[OWN]] :
// CHECK: linalg.generic {{.*}} ins(%[[OWN]] : {{.*}}) outs(%arg1 :
func.func @overwritten(%x: memref<64x128xf32>, %y: memref<64x128xf32>) {
  %z = memref.alloc() : memref<64x128xf32>
  call @product(%x, %z) : (memref<64x128xf32>, memref<64x128xf32>) -> ()
  // expected-remark @below {{2 ops as 1 kernels}}
  // expected-remark @below {{2 ops as one kernel, which moves 65536 bytes instead of 131072}}
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%z : memref<64x128xf32>) outs(%z : memref<64x128xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%z : memref<64x128xf32>) outs(%y : memref<64x128xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @product(memref<64x128xf32>, memref<64x128xf32>)
