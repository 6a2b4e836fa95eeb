// Collectives of functions start after the producers of their buffers and are waited for before their users.
// RUN: ppc-opt %s --ppc-start-collectives --ppc-verify-arena | FileCheck %s
// RUN: ppc-opt %s --ppc-start-collectives=begin=false --ppc-verify-arena | FileCheck %s --check-prefix=APART

ppcrt.group @tp axes ["tp"]
ppcrt.group @dp axes ["dp"]

// The weight gradient overlaps the sum of the input gradient.
// CHECK-LABEL: func.func @backward
func.func @backward(%dy: memref<8x4xf32>, %x: memref<8x6xf32>, %w: memref<4x6xf32>, %dx: memref<8x6xf32>, %dw: memref<4x6xf32>, %out: memref<8x6xf32>) {
  // CHECK: linalg.matmul ins(%[[DY:.*]], %[[W:.*]] : {{.*}}) outs(%[[DX:.*]] : memref<8x6xf32>)
  linalg.matmul ins(%dy, %w : memref<8x4xf32>, memref<4x6xf32>) outs(%dx : memref<8x6xf32>)
  // CHECK-NEXT: %[[T:.*]] = ppcrt.start all_reduce sum group @tp outs(%[[DX]] : memref<8x6xf32>)
  // CHECK-NEXT: linalg.generic
  // CHECK: ppcrt.wait %[[T]](%[[DX]] : memref<8x6xf32>)
  // CHECK-NEXT: memref.copy %[[DX]]
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel", "reduction"]} ins(%dy, %x : memref<8x4xf32>, memref<8x6xf32>) outs(%dw : memref<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  ppcrt.all_reduce sum group @tp outs(%dx : memref<8x6xf32>)
  memref.copy %dx, %out : memref<8x6xf32> to memref<8x6xf32>
  return
}

// A view of the buffer is the buffer; no op is left to overlap it.
// CHECK-LABEL: func.func @view
func.func @view(%x: memref<8xf32>, %y: memref<4xf32>) {
  // CHECK: ppcrt.all_reduce
  // CHECK-NOT: ppcrt.start
  ppcrt.all_reduce sum group @tp outs(%x : memref<8xf32>)
  %part = memref.subview %x[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  linalg.copy ins(%part : memref<4xf32, strided<[1]>>) outs(%y : memref<4xf32>)
  return
}

// Other elements of a buffer are not in flight: a chunk is summed while the next one is computed.
// CHECK-LABEL: func.func @pieces
func.func @pieces(%x: memref<4x4xf32>, %w: memref<4x6xf32>, %y: memref<8x6xf32>) {
  %a = memref.subview %y[0, 0] [4, 6] [1, 1] : memref<8x6xf32> to memref<4x6xf32, strided<[6, 1]>>
  %b = memref.subview %y[4, 0] [4, 6] [1, 1] : memref<8x6xf32> to memref<4x6xf32, strided<[6, 1], offset: 24>>
  // CHECK: linalg.matmul {{.*}} outs(%[[A:.*]] : memref<4x6xf32, strided<[6, 1]>>)
  // CHECK-NEXT: %[[T:.*]] = ppcrt.start all_reduce sum group @tp outs(%[[A]] :
  // CHECK-NEXT: linalg.matmul {{.*}} outs(%[[B:.*]] : memref<4x6xf32, strided<[6, 1], offset: 24>>)
  // CHECK-NEXT: ppcrt.wait %[[T]](%[[A]] :
  // CHECK-NEXT: ppcrt.all_reduce sum group @tp outs(%[[B]] :
  linalg.matmul ins(%x, %w : memref<4x4xf32>, memref<4x6xf32>) outs(%a : memref<4x6xf32, strided<[6, 1]>>)
  ppcrt.all_reduce sum group @tp outs(%a : memref<4x6xf32, strided<[6, 1]>>)
  linalg.matmul ins(%x, %w : memref<4x4xf32>, memref<4x6xf32>) outs(%b : memref<4x6xf32, strided<[6, 1], offset: 24>>)
  ppcrt.all_reduce sum group @tp outs(%b : memref<4x6xf32, strided<[6, 1], offset: 24>>)
  return
}

// Columns of a buffer are interleaved: an op that touches some touches the sum of others.
// CHECK-LABEL: func.func @columns
func.func @columns(%x: memref<4x4xf32>, %w: memref<4x3xf32>, %y: memref<4x6xf32>, %z: memref<4x3xf32>) {
  // CHECK-NOT: ppcrt.start
  // CHECK: ppcrt.all_reduce
  %b = memref.subview %y[0, 3] [4, 3] [1, 1] : memref<4x6xf32> to memref<4x3xf32, strided<[6, 1], offset: 3>>
  ppcrt.all_reduce sum group @tp outs(%y : memref<4x6xf32>)
  linalg.matmul ins(%x, %w : memref<4x4xf32>, memref<4x3xf32>) outs(%b : memref<4x3xf32, strided<[6, 1], offset: 3>>)
  return
}

// Communication keeps its order: the second one ends the first, and neither begins before the one in front of it.
// CHECK-LABEL: func.func @order
func.func @order(%x: memref<8xf32>, %y: memref<16xf32>, %z: memref<8xf32>, %a: memref<8xf32>, %b: memref<8xf32>) {
  // CHECK: %[[T:.*]] = ppcrt.start all_reduce sum group @tp outs(%{{.*}} : memref<8xf32>)
  // CHECK-NEXT: linalg.copy
  // CHECK-NEXT: ppcrt.wait %[[T]]
  // CHECK-NEXT: ppcrt.reduce_scatter sum group @dp
  // CHECK-NEXT: linalg.copy
  ppcrt.all_reduce sum group @tp outs(%x : memref<8xf32>)
  linalg.copy ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  ppcrt.reduce_scatter sum group @dp ins(%y : memref<16xf32>) outs(%z : memref<8xf32>)
  linalg.copy ins(%z : memref<8xf32>) outs(%x : memref<8xf32>)
  return
}

// A row region is a kernel: a sum overlaps one that does not touch it, and is waited for before one that does.
// CHECK-LABEL: func.func @regions
func.func @regions(%x: memref<8x4xf32>, %y: memref<8x4xf32>, %z: memref<8x4xf32>) {
  // CHECK: %[[T:.*]] = ppcrt.start all_reduce sum group @tp outs(%[[X:.*]] : memref<8x4xf32>)
  // CHECK-NEXT: scf.execute_region
  // CHECK: ppcrt.wait %[[T]](%[[X]] : memref<8x4xf32>)
  // CHECK-NEXT: scf.execute_region
  ppcrt.all_reduce sum group @tp outs(%x : memref<8x4xf32>)
  scf.execute_region no_inline {
    %kept = memref.alloc() : memref<8x4xf32>
    linalg.copy ins(%y : memref<8x4xf32>) outs(%kept : memref<8x4xf32>)
    linalg.copy ins(%kept : memref<8x4xf32>) outs(%z : memref<8x4xf32>)
    scf.yield
  }
  scf.execute_region no_inline {
    linalg.copy ins(%x : memref<8x4xf32>) outs(%y : memref<8x4xf32>)
    linalg.copy ins(%y : memref<8x4xf32>) outs(%z : memref<8x4xf32>)
    scf.yield
  }
  return
}

// An addition to a sum may run later: a reduce-scatter overlaps the following matmul, the addition follows. The last addition
// has nothing to overlap, and stays.
// CHECK-LABEL: func.func @later
func.func @later(%dw: memref<8x4xf32>, %part: memref<4x4xf32>, %sum: memref<4x4xf32>, %x: memref<4x4xf32>, %w: memref<4x4xf32>, %y: memref<4x4xf32>, %dv: memref<8x4xf32>) {
  // CHECK: %[[T:.*]] = ppcrt.start reduce_scatter sum group @dp ins(%[[DW:.*]] : memref<8x4xf32>) outs(%[[PART:.*]] : memref<4x4xf32>)
  // CHECK-NEXT: linalg.matmul
  // CHECK-NEXT: ppcrt.wait %[[T]](%[[DW]], %[[PART]] :
  // CHECK-NEXT: linalg.add ins(%[[PART]]
  // CHECK-NEXT: ppcrt.reduce_scatter sum group @dp
  // CHECK-NEXT: linalg.add
  // CHECK-NEXT: linalg.copy
  ppcrt.reduce_scatter sum group @dp ins(%dw : memref<8x4xf32>) outs(%part : memref<4x4xf32>)
  linalg.add ins(%part, %sum : memref<4x4xf32>, memref<4x4xf32>) outs(%sum : memref<4x4xf32>)
  linalg.matmul ins(%x, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  ppcrt.reduce_scatter sum group @dp ins(%dv : memref<8x4xf32>) outs(%part : memref<4x4xf32>)
  linalg.add ins(%part, %sum : memref<4x4xf32>, memref<4x4xf32>) outs(%sum : memref<4x4xf32>)
  linalg.copy ins(%sum : memref<4x4xf32>) outs(%x : memref<4x4xf32>)
  return
}

// Values that a loop reads inside, without being its operands, are not written before the loop when that moves down: the matmul of the second
// half stays after it, the first one would overwrite the loop's input.
// CHECK-LABEL: func.func @body
func.func @body(%x: memref<4x4xf32>, %w: memref<4x6xf32>, %y: memref<8x6xf32>, %sum: memref<4x6xf32>, %z: memref<4x6xf32>) {
  %a = memref.subview %y[0, 0] [4, 6] [1, 1] : memref<8x6xf32> to memref<4x6xf32, strided<[6, 1]>>
  %b = memref.subview %y[4, 0] [4, 6] [1, 1] : memref<8x6xf32> to memref<4x6xf32, strided<[6, 1], offset: 24>>
  // CHECK: %[[T:.*]] = ppcrt.start all_reduce sum group @tp outs(%[[B:.*]] :
  // CHECK-NEXT: linalg.matmul {{.*}} outs(%[[Z:.*]] : memref<4x6xf32>)
  // CHECK-NEXT: ppcrt.wait %[[T]](%[[B]] :
  // CHECK-NEXT: linalg.generic
  // CHECK: memref.load
  // CHECK: linalg.matmul {{.*}} outs(%{{.*}} : memref<4x6xf32, strided<[6, 1]>>)
  // CHECK-NEXT: return
  ppcrt.all_reduce sum group @tp outs(%b : memref<4x6xf32, strided<[6, 1], offset: 24>>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%sum : memref<4x6xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %0 = memref.load %y[%i, %j] : memref<8x6xf32>
    %1 = memref.load %b[%i, %j] : memref<4x6xf32, strided<[6, 1], offset: 24>>
    %2 = arith.addf %0, %1 : f32
    %3 = arith.addf %out, %2 : f32
    linalg.yield %3 : f32
  }
  linalg.matmul ins(%x, %w : memref<4x4xf32>, memref<4x6xf32>) outs(%z : memref<4x6xf32>)
  linalg.matmul ins(%x, %w : memref<4x4xf32>, memref<4x6xf32>) outs(%a : memref<4x6xf32, strided<[6, 1]>>)
  return
}

// A gather of an argument starts where it is, and is in flight until its use: a gradient is reduced meanwhile, which in turn
// does not wait for it.
// CHECK-LABEL: func.func @prefetched
func.func @prefetched(%shard: memref<4x8xf32>, %w: memref<8x8xf32>, %dw: memref<8x8xf32>, %part: memref<4x8xf32>, %sum: memref<4x8xf32>, %x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  // CHECK: ppcrt.gemm
  // CHECK-NEXT: %[[G:.*]] = ppcrt.start all_gather group @dp ins(%[[S:.*]] : memref<4x8xf32>) outs(%[[W:.*]] : memref<8x8xf32>)
  // CHECK-NEXT: ppcrt.gemm
  // CHECK-NEXT: %[[R:.*]] = ppcrt.start reduce_scatter sum group @dp
  // CHECK-NEXT: ppcrt.wait %[[G]](%[[S]], %[[W]] : memref<4x8xf32>, memref<8x8xf32>)
  // CHECK-NEXT: ppcrt.gemm
  // CHECK-NEXT: ppcrt.wait %[[R]]
  // CHECK-NEXT: linalg.add
  ppcrt.gemm ins(%x, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>) sizes [8, 8, 8] strides [8, 1, 8, 1, 8, 1] loops []
  ppcrt.all_gather group @dp ins(%shard : memref<4x8xf32>) outs(%w : memref<8x8xf32>)
  ppcrt.gemm ins(%x, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%dw : memref<8x8xf32>) sizes [8, 8, 8] strides [8, 1, 8, 1, 8, 1] loops []
  ppcrt.reduce_scatter sum group @dp ins(%dw : memref<8x8xf32>) outs(%part : memref<4x8xf32>)
  linalg.add ins(%part, %sum : memref<4x8xf32>, memref<4x8xf32>) outs(%sum : memref<4x8xf32>)
  ppcrt.gemm ins(%x, %w : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>) sizes [8, 8, 8] strides [8, 1, 8, 1, 8, 1] loops []
  return
}

// Two of them are in flight at a time, one after the other. Between loops none is waited for: they are compiled together.
// CHECK-LABEL: func.func @two
func.func @two(%a: memref<4x8xf32>, %b: memref<4x8xf32>, %v: memref<8x8xf32>, %w: memref<8x8xf32>, %x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  // CHECK: %[[A:.*]] = ppcrt.start all_gather
  // CHECK-NEXT: %[[B:.*]] = ppcrt.start all_gather
  // CHECK-NEXT: ppcrt.gemm
  // CHECK-NEXT: ppcrt.wait %[[A]]
  // CHECK-NEXT: ppcrt.gemm
  // CHECK-NEXT: ppcrt.wait %[[B]]
  // CHECK-NEXT: linalg.copy
  // CHECK-NEXT: linalg.add
  ppcrt.all_gather group @dp ins(%a : memref<4x8xf32>) outs(%v : memref<8x8xf32>)
  ppcrt.all_gather group @dp ins(%b : memref<4x8xf32>) outs(%w : memref<8x8xf32>)
  ppcrt.gemm ins(%x, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>) sizes [8, 8, 8] strides [8, 1, 8, 1, 8, 1] loops []
  ppcrt.gemm ins(%x, %v : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>) sizes [8, 8, 8] strides [8, 1, 8, 1, 8, 1] loops []
  linalg.copy ins(%y : memref<8x8xf32>) outs(%x : memref<8x8xf32>)
  linalg.add ins(%x, %w : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>)
  return
}

// One that stands between loops leaves them together, also where nothing begins early.
// CHECK-LABEL: func.func @between
// APART-LABEL: func.func @between
func.func @between(%shard: memref<4x8xf32>, %x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  // CHECK: ppcrt.all_gather
  // CHECK-NEXT: linalg.copy
  // CHECK-NEXT: linalg.add
  // APART-NEXT: %[[W:.*]] = memref.alloc
  // APART-NEXT: ppcrt.all_gather group @dp ins(%{{.*}} : memref<4x8xf32>) outs(%[[W]]
  // APART-NEXT: linalg.copy
  // APART-NEXT: linalg.add
  linalg.copy ins(%y : memref<8x8xf32>) outs(%x : memref<8x8xf32>)
  %w = memref.alloc() : memref<8x8xf32>
  ppcrt.all_gather group @dp ins(%shard : memref<4x8xf32>) outs(%w : memref<8x8xf32>)
  linalg.add ins(%x, %w : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>)
  return
}
