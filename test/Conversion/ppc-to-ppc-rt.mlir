// RUN: ppc-opt %s --ppc-to-ppc-rt | FileCheck %s

// CHECK: ppcrt.group @over.tp axes ["tp"]
// CHECK: ppcrt.group @over.pp.0.3 axes ["pp"] stages [0, 3]

// Einsum indices that are contiguous in every tensor are one dimension; a transpose is a stride.
// CHECK-LABEL: func.func @query
// CHECK:         ppcrt.gemm {{.*}} sizes [16, 16, 16] strides [16, 1, 1, 16, 16, 1] loops []
func.func @query(%x: tensor<2x8x16xf32>, %w: tensor<2x2x4x16xf32>) -> tensor<2x8x2x2x4xf32> {
  %q = ppc.matmul "bsh,kgdh->bskgd" %x, %w : (tensor<2x8x16xf32>, tensor<2x2x4x16xf32>) -> tensor<2x8x2x2x4xf32>
  return %q : tensor<2x8x2x2x4xf32>
}

// Batches are loops.
// CHECK-LABEL: func.func @scores
// CHECK:         ppcrt.gemm {{.*}} sizes [8, 8, 4] strides [16, 1, 1, 8, 8, 1] loops [2, 128, 64, 256, 2, 8, 4, 128, 2, 4, 0, 64]
func.func @scores(%q: tensor<2x8x2x2x4xf32>, %k: tensor<2x8x2x4xf32>) -> tensor<2x2x2x8x8xf32> {
  %s = ppc.matmul "bskgd,btkd->bkgst" %q, %k : (tensor<2x8x2x2x4xf32>, tensor<2x8x2x4xf32>) -> tensor<2x2x2x8x8xf32>
  return %s : tensor<2x2x2x8x8xf32>
}

// The operand with the result's last dimension goes to the right.
// CHECK-LABEL: func.func @swapped
// CHECK:         ppcrt.gemm ins(%arg1, %arg0 : tensor<5x4xf32>, tensor<3x4xf32>) {{.*}} sizes [5, 3, 4] strides [4, 1, 1, 4, 3, 1]
func.func @swapped(%a: tensor<3x4xf32>, %b: tensor<5x4xf32>) -> tensor<5x3xf32> {
  %c = ppc.matmul "nk,mk->mn" %a, %b : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<5x3xf32>
  return %c : tensor<5x3xf32>
}

// CHECK-LABEL: func.func @collectives
// CHECK:         ppcrt.all_reduce sum group @over.tp outs(%arg0 : tensor<4x8xf32>)
// CHECK:         ppcrt.all_reduce max group @over.pp.0.3
// CHECK:         ppcrt.all_gather group @over.tp ins(%arg0 : tensor<4x8xf32>)
func.func @collectives(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>) {
  %a = ppc.all_reduce %x over ["tp"] <sum> : tensor<4x8xf32>
  %b = ppc.all_reduce %x over ["pp"] <max> stages [0, 3] : tensor<4x8xf32>
  %c = ppc.all_gather %x dim 0 over ["tp"] : tensor<4x8xf32> to tensor<8x8xf32>
  return %a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>
}

// Attention is a call with its own destinations.
// CHECK-LABEL: func.func @attention
// CHECK-SAME:    %[[Q:.*]]: tensor<1x4x1x2x8xf32>, %[[K:.*]]: tensor<1x6x1x8xf32>, %[[V:.*]]: tensor<1x6x1x3xf32>
// CHECK-DAG:     %[[OUT:.*]] = tensor.empty() : tensor<1x4x1x2x3xf32>
// CHECK-DAG:     %[[LSE:.*]] = tensor.empty() : tensor<1x4x1x2xf32>
// CHECK:         %[[R:.*]]:2 = ppcrt.attention ins(%[[Q]], %[[K]], %[[V]] : {{.*}}) outs(%[[OUT]], %[[LSE]] : {{.*}}) scale 5.000000e-01 causal window 3
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @attention(%q: tensor<1x4x1x2x8xf32>, %k: tensor<1x6x1x8xf32>, %v: tensor<1x6x1x3xf32>) -> (tensor<1x4x1x2x3xf32>, tensor<1x4x1x2xf32>) {
  %out, %lse = ppc.attention %q, %k, %v scale 5.0e-01 causal window 3 : tensor<1x4x1x2x8xf32>, tensor<1x6x1x8xf32>, tensor<1x6x1x3xf32> -> tensor<1x4x1x2x3xf32>, tensor<1x4x1x2xf32>
  return %out, %lse : tensor<1x4x1x2x3xf32>, tensor<1x4x1x2xf32>
}

// CHECK-LABEL: func.func @attention_backward
// CHECK-SAME:    %[[Q:.*]]: tensor<1x4x1x2x8xbf16>, %[[K:.*]]: tensor<1x4x1x8xbf16>, %[[OUT:.*]]: tensor<1x4x1x2x8xbf16>, %[[LSE:.*]]: tensor<1x4x1x2xf32>, %[[DOUT:.*]]: tensor<1x4x1x2x8xbf16>, %[[SLOPES:.*]]: tensor<1x2xf32>
// CHECK-NOT:     ppc.convert
// CHECK:         ppcrt.attention_backward ins(%[[Q]], %[[K]], %[[K]], %[[OUT]], %[[LSE]], %[[DOUT]], %[[SLOPES]] : {{.*}}) outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<1x4x1x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>) scale 5.000000e-01 causal ->
func.func @attention_backward(%q: tensor<1x4x1x2x8xbf16>, %k: tensor<1x4x1x8xbf16>, %out: tensor<1x4x1x2x8xbf16>, %lse: tensor<1x4x1x2xf32>, %dout: tensor<1x4x1x2x8xbf16>, %slopes: tensor<1x2xf32>) -> (tensor<1x4x1x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>) {
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %k, %out, %lse, %dout scale 5.0e-01 causal slopes %slopes as tensor<1x2xf32> : tensor<1x4x1x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x2x8xbf16>, tensor<1x4x1x2xf32>
  return %dq, %dk, %dv : tensor<1x4x1x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>
}

// Logarithms and slopes are f32 in the call, also where the model keeps them in bf16.
// CHECK-LABEL: func.func @narrow_rows
// CHECK:         %[[S:.*]] = ppc.convert %{{.*}} : tensor<1x2xbf16> to tensor<1x2xf32>
// CHECK:         %[[F:.*]]:2 = ppcrt.attention ins({{.*}}, %[[S]] : {{.*}}) {{.*}} -> tensor<1x4x1x2x8xbf16>, tensor<1x4x1x2xf32>
// CHECK:         %[[NARROW:.*]] = ppc.convert %[[F]]#1 : tensor<1x4x1x2xf32> to tensor<1x4x1x2xbf16>
// CHECK:         %[[WIDE:.*]] = ppc.convert %[[NARROW]] : tensor<1x4x1x2xbf16> to tensor<1x4x1x2xf32>
// CHECK:         ppcrt.attention_backward ins({{.*}}, %[[F]]#0, %[[WIDE]], {{.*}}
func.func @narrow_rows(%q: tensor<1x4x1x2x8xbf16>, %k: tensor<1x4x1x8xbf16>, %dout: tensor<1x4x1x2x8xbf16>, %slopes: tensor<1x2xbf16>) -> tensor<1x4x1x8xbf16> {
  %out, %lse = ppc.attention %q, %k, %k scale 5.0e-01 causal slopes %slopes as tensor<1x2xbf16> : tensor<1x4x1x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16> -> tensor<1x4x1x2x8xbf16>, tensor<1x4x1x2xbf16>
  %dq, %dk, %dv = ppc.attention_backward %q, %k, %k, %out, %lse, %dout scale 5.0e-01 causal slopes %slopes as tensor<1x2xbf16> : tensor<1x4x1x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x2x8xbf16>, tensor<1x4x1x2xbf16>
  return %dk : tensor<1x4x1x8xbf16>
}

// The block of queries is known at run time: the third rank of the axis cp holds queries 8 to 11, after two more keys.
// CHECK-LABEL: func.func @block_of_queries
// CHECK:         %[[C:.*]] = ppcrt.coordinate group
// CHECK:         %[[START:.*]] = arith.muli %[[C]], %c4{{.*}} : index
// CHECK:         %[[FIRST:.*]] = arith.addi %[[START]], %c2{{.*}} : index
// CHECK:         ppcrt.attention ins({{.*}}) outs({{.*}}) scale 5.000000e-01 causal first %[[FIRST]]
func.func @block_of_queries(%q: tensor<1x4x1x2x8xf32>, %k: tensor<1x14x1x8xf32>) -> tensor<1x4x1x2x8xf32> {
  %out, %lse = ppc.attention %q, %k, %k scale 5.0e-01 causal queries <[cp], 12> : tensor<1x4x1x2x8xf32>, tensor<1x14x1x8xf32>, tensor<1x14x1x8xf32> -> tensor<1x4x1x2x8xf32>, tensor<1x4x1x2xf32>
  return %out : tensor<1x4x1x2x8xf32>
}
