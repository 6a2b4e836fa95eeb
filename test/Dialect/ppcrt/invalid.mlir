// RUN: ppc-opt %s --split-input-file --verify-diagnostics

func.func @gemm_c1(%a: memref<4x8xf32>) {
  // expected-error @below {{it needs 3, 6, and 4 for each loop}}
  ppcrt.gemm ins(%a, %a : memref<4x8xf32>, memref<4x8xf32>) outs(%a : memref<4x8xf32>) sizes [4, 2] strides [8, 1, 2, 1, 2, 1] loops []
  return
}

// -----

func.func @gemm_c2(%a: memref<4xf32>) {
  // expected-error @below {{has 9 loops, more than the 8}}
  ppcrt.gemm ins(%a, %a : memref<4xf32>, memref<4xf32>) outs(%a : memref<4xf32>) sizes [1, 1, 1] strides [1, 1, 1, 1, 1, 1]
    loops [1,0,0,0, 1,0,0,0, 1,0,0,0, 1,0,0,0, 1,0,0,0, 1,0,0,0, 1,0,0,0, 1,0,0,0, 1,0,0,0]
  return
}

// -----

func.func @gemm_c3(%a: memref<4x8xf32>, %c: memref<4x4xf32>) {
  // expected-error @below {{reaches element 63 of matrix B, which has 32}}
  ppcrt.gemm ins(%a, %a : memref<4x8xf32>, memref<4x8xf32>) outs(%c : memref<4x4xf32>) sizes [4, 4, 8] strides [8, 1, 8, 2, 4, 1] loops [2, 0, 1, 0]
  return
}

// -----

func.func @gemm_c4(%a: memref<4x4xf32>, %c: memref<4x4xf64>) {
  // expected-error @below {{needs one element type}}
  ppcrt.gemm ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf64>) sizes [4, 4, 4] strides [4, 1, 4, 1, 4, 1] loops []
  return
}

// -----

func.func @gemm_c5(%a: tensor<4x4xf32>) -> tensor<16xf32> {
  // expected-error @below {{must return nothing or a tensor of the destination's type}}
  %r = ppcrt.gemm ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) sizes [4, 4, 4] strides [4, 1, 4, 1, 4, 1] loops [] -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

func.func @epilogue_gemm_c1(%a: memref<8x8xf32>) {
  // expected-error @below {{has 3 sizes and 6 strides; it needs 3 and 4}}
  ppcrt.epilogue_gemm ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%a : memref<8x8xf32>) activation none sizes [8, 8, 8] strides [8, 1, 8, 1, 8, 1]
  return
}

// -----

func.func @epilogue_gemm_c1_size(%a: memref<8x8xf32>) {
  // expected-error @below {{has the size 0}}
  ppcrt.epilogue_gemm ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%a : memref<8x8xf32>) activation none sizes [8, 8, 0] strides [8, 1, 8, 1]
  return
}

// -----

func.func @epilogue_gemm_c1_stride(%a: memref<8x8xf32>) {
  // expected-error @below {{has the negative stride -1}}
  ppcrt.epilogue_gemm ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%a : memref<8x8xf32>) activation none sizes [8, 8, 8] strides [8, -1, 8, 1]
  return
}

// -----

func.func @epilogue_gemm_c2(%a: memref<8x8xf32>, %c: memref<8x8xbf16>) {
  // expected-error @below {{multiplies 'memref<8x8xf32>' and 'memref<8x8xf32>' into 'memref<8x8xbf16>'}}
  ppcrt.epilogue_gemm ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xbf16>) activation none sizes [8, 8, 8] strides [8, 1, 8, 1]
  return
}

// -----

func.func @epilogue_gemm_c2_bias(%a: memref<8x8xbf16>, %b: memref<8xf32>) {
  // expected-error @below {{has a bias of 'memref<8xf32>' with results of 'bf16'}}
  ppcrt.epilogue_gemm ins(%a, %a : memref<8x8xbf16>, memref<8x8xbf16>) bias(%b : memref<8xf32>) outs(%a : memref<8x8xbf16>) activation none sizes [8, 8, 8] strides [8, 1, 8, 1]
  return
}

// -----

func.func @epilogue_gemm_c3(%a: memref<8x8xbf16>) {
  // expected-error @below {{has 2 destinations and no operand `at` of the derivative, which none does not allow}}
  ppcrt.epilogue_gemm ins(%a, %a : memref<8x8xbf16>, memref<8x8xbf16>) outs(%a, %a : memref<8x8xbf16>, memref<8x8xbf16>) activation none sizes [8, 8, 8] strides [8, 1, 8, 1]
  return
}

// -----

func.func @epilogue_gemm_c3_at(%a: memref<8x8xbf16>) {
  // expected-error @below {{has 1 destinations and no operand `at` of the derivative, which gelu_gradient does not allow}}
  ppcrt.epilogue_gemm ins(%a, %a : memref<8x8xbf16>, memref<8x8xbf16>) outs(%a : memref<8x8xbf16>) activation gelu_gradient sizes [8, 8, 8] strides [8, 1, 8, 1]
  return
}

// -----

func.func @epilogue_gemm_c3_bias(%a: memref<8x8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{has both a bias and an operand `at` of a derivative}}
  ppcrt.epilogue_gemm ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) bias(%b : memref<8xf32>) at(%a : memref<8x8xf32>) outs(%a : memref<8x8xf32>) activation gelu_gradient sizes [8, 8, 8] strides [8, 1, 8, 1]
  return
}

// -----

func.func @epilogue_gemm_c4(%a: memref<8x8xf32>, %x: memref<8x4xf32>) {
  // expected-error @below {{has 'memref<8x4xf32>', which has not 8 x 8 elements}}
  ppcrt.epilogue_gemm ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) addend(%x : memref<8x4xf32>) outs(%a : memref<8x8xf32>) activation none sizes [8, 8, 8] strides [8, 1, 8, 1]
  return
}

// -----

func.func @epilogue_gemm_c4_column(%a: memref<8x8xf32>, %b: memref<8x16xf32>, %c: memref<8xf32>) {
  // expected-error @below {{reaches element 15 of the bias, from column 8 on}}
  ppcrt.epilogue_gemm ins(%a, %b : memref<8x8xf32>, memref<8x16xf32>) bias(%c : memref<8xf32>) outs(%a : memref<8x8xf32>) activation none sizes [8, 8, 8] strides [8, 1, 16, 1] {column = 8 : i64}
  return
}

// -----

func.func @epilogue_gemm_c5(%a: tensor<8x8xf32>) -> tensor<64xf32> {
  // expected-error @below {{must return nothing or tensors of the destinations' types}}
  %r = ppcrt.epilogue_gemm ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) activation none sizes [8, 8, 8] strides [8, 1, 8, 1] -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @all_reduce_c1(%a: memref<4xi8>) {
  // expected-error @below {{cannot move elements of type 'i8'; the runtime knows f32, f64, i32, i64 and bf16}}
  ppcrt.all_reduce sum group @tp outs(%a : memref<4xi8>)
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @all_gather_c3(%a: memref<4xf32>, %b: memref<6xf32>) {
  // expected-error @below {{cannot divide 'memref<6xf32>' into blocks of 'memref<4xf32>'}}
  ppcrt.all_gather group @tp ins(%a : memref<4xf32>) outs(%b : memref<6xf32>)
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @all_to_all_c3(%a: memref<6xf32>) {
  // expected-error @below {{cannot exchange}}
  ppcrt.all_to_all group @tp ranks 4 ins(%a : memref<6xf32>) outs(%a : memref<6xf32>)
  return
}

// -----

func.func @call_c1(%a: memref<4xf32>) {
  // expected-error @below {{calls @nothing, which is not a function of the module}}
  ppcrt.call @nothing(%a) : memref<4xf32>
  return
}

// -----

func.func @attention_c1(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %l: memref<1x4x1x2xf32>) {
  // expected-error @below {{has an operand of type 'memref<1x4x1x2xf32>' that does not fit q, k and v}}
  ppcrt.attention ins(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) outs(%l, %l : memref<1x4x1x2xf32>, memref<1x4x1x2xf32>) scale 5.0e-01
  return
}

// -----

func.func @attention_c2(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %o: memref<1x4x1x2x8xf32>, %l: memref<1x4x1x2xf64>) {
  // expected-error @below {{has operands of element types that the runtime does not take together}}
  ppcrt.attention ins(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) outs(%o, %l : memref<1x4x1x2x8xf32>, memref<1x4x1x2xf64>) scale 5.0e-01
  return
}

// -----

func.func @attention_c3(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %o: memref<1x4x1x2x8xf32>, %l: memref<1x4x1x2xf32>) {
  // expected-error @below {{has a window without causal}}
  ppcrt.attention ins(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) outs(%o, %l : memref<1x4x1x2x8xf32>, memref<1x4x1x2xf32>) scale 5.0e-01 window 2
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @all_reduce_c2(%a: tensor<4xf32>) {
  // expected-error @below {{must return nothing or a tensor of the destination's type}}
  %r = ppcrt.all_reduce sum group @tp outs(%a : tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @all_gather_c1(%a: memref<4xi8>) {
  // expected-error @below {{cannot move elements of type 'i8'}}
  ppcrt.all_gather group @tp ins(%a : memref<4xi8>) outs(%a : memref<4xi8>)
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @all_gather_c2(%a: tensor<4xf32>) {
  // expected-error @below {{must return nothing or a tensor of the destination's type}}
  %r = ppcrt.all_gather group @tp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @reduce_scatter_c1(%a: memref<4xi8>) {
  // expected-error @below {{cannot move elements of type 'i8'}}
  ppcrt.reduce_scatter sum group @tp ins(%a : memref<4xi8>) outs(%a : memref<4xi8>)
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @reduce_scatter_c2(%a: tensor<4xf32>) {
  // expected-error @below {{must return nothing or a tensor of the destination's type}}
  %r = ppcrt.reduce_scatter sum group @tp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @reduce_scatter_c3(%a: memref<6xf32>, %b: memref<4xf32>) {
  // expected-error @below {{cannot divide 'memref<6xf32>' into blocks of 'memref<4xf32>'}}
  ppcrt.reduce_scatter sum group @tp ins(%a : memref<6xf32>) outs(%b : memref<4xf32>)
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @reduce_scatter_c3_type(%a: memref<8xf32>, %b: memref<4xf64>) {
  // expected-error @below {{cannot divide 'memref<8xf32>' into blocks of 'memref<4xf64>'}}
  ppcrt.reduce_scatter sum group @tp ins(%a : memref<8xf32>) outs(%b : memref<4xf64>)
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @all_to_all_c1(%a: memref<4xi8>) {
  // expected-error @below {{cannot move elements of type 'i8'}}
  ppcrt.all_to_all group @tp ranks 2 ins(%a : memref<4xi8>) outs(%a : memref<4xi8>)
  return
}

// -----

ppcrt.group @tp axes ["tp"]
func.func @all_to_all_c2(%a: tensor<4xf32>) {
  // expected-error @below {{must return nothing or a tensor of the destination's type}}
  %r = ppcrt.all_to_all group @tp ranks 2 ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<1x4x1x2x8xf32>, %k: tensor<1x4x1x8xf32>, %l: tensor<1x4x1x2xf32>) {
  // expected-error @below {{must return nothing or tensors of the destinations' types}}
  %r, %s = ppcrt.attention ins(%q, %k, %k : tensor<1x4x1x2x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>) outs(%q, %l : tensor<1x4x1x2x8xf32>, tensor<1x4x1x2xf32>) scale 5.0e-01 -> tensor<1x4x1x2x8xf32>, tensor<1x4x1x2x8xf32>
  return
}

// -----

func.func @attention_backward_c1(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %l: memref<1x4x1x2xf32>) {
  // expected-error @below {{has 5 inputs and 3 outputs}}
  ppcrt.attention_backward ins(%q, %k, %k, %q, %l : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x2x8xf32>, memref<1x4x1x2xf32>) outs(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) scale 5.0e-01
  return
}

// -----

func.func @attention_backward_c1_shape(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %l: memref<1x4x1x3xf32>) {
  // expected-error @below {{has an operand of type 'memref<1x4x1x3xf32>' that does not fit q, k and v}}
  ppcrt.attention_backward ins(%q, %k, %k, %q, %l, %q : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x2x8xf32>, memref<1x4x1x3xf32>, memref<1x4x1x2x8xf32>) outs(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) scale 5.0e-01
  return
}

// -----

func.func @attention_backward_c1_scratch(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %l: memref<1x4x1x2xf32>) {
  // expected-error @below {{has scratch of type 'memref<1x4x1x2xf32>', expected a buffer of f32 of rank 1}}
  ppcrt.attention_backward ins(%q, %k, %k, %q, %l, %q : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x2x8xf32>, memref<1x4x1x2xf32>, memref<1x4x1x2x8xf32>) outs(%q, %k, %k, %l, %l : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x2xf32>, memref<1x4x1x2xf32>) scale 5.0e-01
  return
}

// -----

func.func @attention_backward_c1_one_scratch(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %l: memref<1x4x1x2xf32>, %s: memref<4xf32>) {
  // expected-error @below {{has 6 inputs and 4 outputs}}
  ppcrt.attention_backward ins(%q, %k, %k, %q, %l, %q : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x2x8xf32>, memref<1x4x1x2xf32>, memref<1x4x1x2x8xf32>) outs(%q, %k, %k, %s : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>, memref<4xf32>) scale 5.0e-01
  return
}

// -----

func.func @attention_backward_c2(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %l: memref<1x4x1x2xf64>) {
  // expected-error @below {{has operands of element types that the runtime does not take together}}
  ppcrt.attention_backward ins(%q, %k, %k, %q, %l, %q : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x2x8xf32>, memref<1x4x1x2xf64>, memref<1x4x1x2x8xf32>) outs(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) scale 5.0e-01
  return
}

// -----

func.func @attention_backward_c3(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %l: memref<1x4x1x2xf32>) {
  // expected-error @below {{has a window without causal}}
  ppcrt.attention_backward ins(%q, %k, %k, %q, %l, %q : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x2x8xf32>, memref<1x4x1x2xf32>, memref<1x4x1x2x8xf32>) outs(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) scale 5.0e-01 window 2
  return
}

// -----

func.func @attention_backward_c4(%q: tensor<1x4x1x2x8xf32>, %k: tensor<1x4x1x8xf32>, %l: tensor<1x4x1x2xf32>) {
  // expected-error @below {{must return nothing or tensors of the destinations' types}}
  %r:3 = ppcrt.attention_backward ins(%q, %k, %k, %q, %l, %q : tensor<1x4x1x2x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x2x8xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x2x8xf32>) outs(%q, %k, %k : tensor<1x4x1x2x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>) scale 5.0e-01 -> tensor<1x4x1x2x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x2x8xf32>
  return
}

// -----

func.func @reach_c1(%x: memref<4xf32>) attributes {ppcrt.routine = "backward"} {
  // expected-error @below {{is entry -1}}
  ppcrt.reach -1 (%x : memref<4xf32>)
  return
}

// -----

func.func @reach_c2() attributes {ppcrt.routine = "backward"} {
  // expected-error @below {{finishes with no buffer}}
  ppcrt.reach 0 ()
  return
}

// -----

func.func @reach_c3(%x: memref<4xf32>) {
  // expected-error @below {{is in no block of the code of a routine}}
  ppcrt.reach 0 (%x : memref<4xf32>)
  return
}

// -----

module @kernels {
  func.func private @k(memref<4xf32>, index)
}
func.func @launch_c1(%x: memref<4xf32>, %n: index) {
  // expected-error @below {{has 0 blocks of 32 threads}}
  ppcrt.launch @kernels::@k blocks 0 threads 32 (%x, %n) reads [0] writes [] : memref<4xf32>, index
  return
}

// -----

module @kernels {
  func.func private @k(memref<4xf32>, index)
}
func.func @launch_c1(%x: memref<4xf32>, %n: index) {
  // expected-error @below {{has 1 blocks of 1025 threads}}
  ppcrt.launch @kernels::@k blocks 1 threads 1025 (%x, %n) reads [0] writes [] : memref<4xf32>, index
  return
}

// -----

module @kernels {
  func.func private @k(memref<4xf32>, index)
}
func.func @launch_c2(%x: memref<4xf32>, %n: index) {
  // expected-error @below {{reads or writes operand 1, which is not a memref}}
  ppcrt.launch @kernels::@k blocks 1 threads 32 (%x, %n) reads [0] writes [1] : memref<4xf32>, index
  return
}

// -----

module @kernels {
  func.func private @k(memref<4xf32>, index)
}
func.func @launch_c2(%x: memref<4xf32>, %n: index) {
  // expected-error @below {{names operand 0 after 0}}
  ppcrt.launch @kernels::@k blocks 1 threads 32 (%x, %n) reads [0, 0] writes [] : memref<4xf32>, index
  return
}

// -----

module @kernels {
  func.func private @k(memref<4xf32>, index)
}
func.func @launch_c2(%x: memref<4xf32>, %n: index) {
  // expected-error @below {{neither reads nor writes operand 0}}
  ppcrt.launch @kernels::@k blocks 1 threads 32 (%x, %n) reads [] writes [] : memref<4xf32>, index
  return
}

// -----

module @kernels {
  func.func private @k(memref<4xf32>, index)
}
func.func @launch_c3(%x: memref<4xf32>, %n: index) {
  // expected-error @below {{needs a function @kernels::@k with 1 parameters}}
  ppcrt.launch @kernels::@k blocks 1 threads 32 (%x) reads [0] writes [] : memref<4xf32>
  return
}

// -----

module @kernels {
  func.func private @k(memref<4xf32>, index)
}
func.func @launch_c3(%x: memref<4xf32>, %n: index) {
  // expected-error @below {{needs a function @kernels::@other with 1 parameters}}
  ppcrt.launch @kernels::@other blocks 1 threads 32 (%x) reads [0] writes [] : memref<4xf32>
  return
}
