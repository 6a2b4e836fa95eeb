// RUN: ppc-opt %s | ppc-opt | FileCheck %s

// CHECK: ppcrt.group @tp axes ["tp"]
ppcrt.group @tp axes ["tp"]
ppcrt.group @dp axes ["dp"]
// CHECK: ppcrt.group @ends axes ["pp"] stages [0, 3]
ppcrt.group @ends axes ["pp"] stages [0, 3]
// CHECK: ppcrt.group @pairs ranks
ppcrt.group @pairs ranks [array<i64: 0, 3>, array<i64: 1, 2>]

// CHECK-LABEL: func.func @tensors
func.func @tensors(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>, %c: tensor<4x2xf32>, %y: tensor<8x8xf32>) -> tensor<4x2xf32> {
  // CHECK: ppcrt.gemm ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x2xf32>) outs(%{{.*}} : tensor<4x2xf32>) sizes [4, 2, 8] strides [8, 1, 2, 1, 2, 1] loops [] accumulate -> tensor<4x2xf32>
  %r = ppcrt.gemm ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>) outs(%c : tensor<4x2xf32>) sizes [4, 2, 8] strides [8, 1, 2, 1, 2, 1] loops [] accumulate -> tensor<4x2xf32>
  // CHECK: ppcrt.all_reduce sum group @tp outs(%{{.*}} : tensor<4x2xf32>) -> tensor<4x2xf32>
  %s = ppcrt.all_reduce sum group @tp outs(%r : tensor<4x2xf32>) -> tensor<4x2xf32>
  // CHECK: ppcrt.all_gather group @dp ins(%{{.*}} : tensor<4x8xf32>) outs(%{{.*}} : tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = ppcrt.all_gather group @dp ins(%a : tensor<4x8xf32>) outs(%y : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: ppcrt.reduce_scatter max group @dp ins(%{{.*}} : tensor<8x8xf32>) outs(%{{.*}} : tensor<4x8xf32>) -> tensor<4x8xf32>
  %u = ppcrt.reduce_scatter max group @dp ins(%t : tensor<8x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: ppcrt.all_to_all group @dp ranks 2 ins(%{{.*}} : tensor<8x8xf32>) outs(%{{.*}} : tensor<8x8xf32>) -> tensor<8x8xf32>
  %v = ppcrt.all_to_all group @dp ranks 2 ins(%t : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: ppcrt.coordinate group @dp
  %i = ppcrt.coordinate group @dp
  return %s : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @epilogues
func.func @epilogues(%a: tensor<16x8xbf16>, %b: tensor<8x32xbf16>, %c: tensor<32xbf16>, %x: tensor<2x8x32xbf16>, %d: tensor<16x32xbf16>) -> tensor<16x32xbf16> {
  // CHECK: %{{.*}}:2 = ppcrt.epilogue_gemm ins(%{{.*}}, %{{.*}} : tensor<16x8xbf16>, tensor<8x32xbf16>) bias(%{{.*}} : tensor<32xbf16>) outs(%{{.*}}, %{{.*}} : tensor<16x32xbf16>, tensor<2x8x32xbf16>) activation gelu sizes [16, 32, 8] strides [8, 1, 32, 1] -> tensor<16x32xbf16>, tensor<2x8x32xbf16>
  %y, %s = ppcrt.epilogue_gemm ins(%a, %b : tensor<16x8xbf16>, tensor<8x32xbf16>) bias(%c : tensor<32xbf16>) outs(%d, %x : tensor<16x32xbf16>, tensor<2x8x32xbf16>) activation gelu sizes [16, 32, 8] strides [8, 1, 32, 1] -> tensor<16x32xbf16>, tensor<2x8x32xbf16>
  // CHECK: ppcrt.epilogue_gemm ins({{.*}}) addend(%{{.*}} : tensor<2x8x32xbf16>) at(%{{.*}} : tensor<16x32xbf16>) outs({{.*}}) activation gelu_gradient sizes [16, 32, 8] strides [8, 1, 32, 1] -> tensor<16x32xbf16>
  %z = ppcrt.epilogue_gemm ins(%a, %b : tensor<16x8xbf16>, tensor<8x32xbf16>) addend(%s : tensor<2x8x32xbf16>) at(%y : tensor<16x32xbf16>) outs(%d : tensor<16x32xbf16>) activation gelu_gradient sizes [16, 32, 8] strides [8, 1, 32, 1] -> tensor<16x32xbf16>
  return %z : tensor<16x32xbf16>
}

// CHECK-LABEL: func.func @buffers
func.func @buffers(%x: memref<8xf32>) {
  // CHECK: ppcrt.all_reduce max group @tp outs(%{{.*}} : memref<8xf32>)
  ppcrt.all_reduce max group @tp outs(%x : memref<8xf32>)
  // CHECK: ppcrt.call @body(%{{.*}}, %{{.*}}) : memref<8xf32>, memref<8xf32>
  ppcrt.call @body(%x, %x) : memref<8xf32>, memref<8xf32>
  // CHECK: ppcrt.call @nothing(){{$}}
  ppcrt.call @nothing()
  return
}

func.func private @body(memref<8xf32>, memref<8xf32>)
func.func private @nothing()

// CHECK-LABEL: func.func @attention
func.func @attention(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %o: memref<1x4x1x2x8xf32>, %l: memref<1x4x1x2xf32>, %s: memref<1x2xf32>) {
  // CHECK: ppcrt.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) outs(%{{.*}}, %{{.*}} : memref<1x4x1x2x8xf32>, memref<1x4x1x2xf32>) scale 5.000000e-01 causal window 2
  ppcrt.attention ins(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) outs(%o, %l : memref<1x4x1x2x8xf32>, memref<1x4x1x2xf32>) scale 5.0e-01 causal window 2
  // CHECK: ppcrt.attention ins({{.*}}) outs({{.*}}) scale 5.000000e-01 causal first %{{.*}}{{$}}
  %first = arith.constant 3 : index
  ppcrt.attention ins(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) outs(%o, %l : memref<1x4x1x2x8xf32>, memref<1x4x1x2xf32>) scale 5.0e-01 causal first %first
  // CHECK: ppcrt.attention_backward ins({{.*}}, memref<1x2xf32>) outs({{.*}}) scale 5.000000e-01{{$}}
  ppcrt.attention_backward ins(%q, %k, %k, %o, %l, %o, %s : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x2x8xf32>, memref<1x4x1x2xf32>, memref<1x4x1x2x8xf32>, memref<1x2xf32>) outs(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) scale 5.0e-01
  return
}

// CHECK-LABEL: func.func @reach
func.func @reach(%x: memref<8xf32>, %y: tensor<4x2xf32>) attributes {ppcrt.routine = "backward"} {
  // CHECK: ppcrt.reach 1(%{{.*}} : memref<8xf32>)
  ppcrt.reach 1 (%x : memref<8xf32>)
  // CHECK: ppcrt.reach 0(%{{.*}}, %{{.*}} : tensor<4x2xf32>, memref<8xf32>)
  ppcrt.reach 0 (%y, %x : tensor<4x2xf32>, memref<8xf32>)
  return
}

// CHECK-LABEL: module @kernels
module @kernels {
  func.func private @double(memref<8xf32>, memref<8xf32>, index)
}

// CHECK-LABEL: func.func @launch
func.func @launch(%x: memref<8xf32>, %y: memref<8xf32>, %n: index) {
  // CHECK: ppcrt.launch @kernels::@double blocks 2 threads 128(%{{.*}}, %{{.*}}, %{{.*}}) reads [0] writes [0, 1] : memref<8xf32>, memref<8xf32>, index
  ppcrt.launch @kernels::@double blocks 2 threads 128 (%x, %y, %n) reads [0] writes [0, 1] : memref<8xf32>, memref<8xf32>, index
  return
}
