// Gradients of embeddings as kernels of a warp a position: rows that many positions share, in their order; positions that
// fill no block of 32; tables whose columns are several warps'; a table that is added to.
// What RowScatterKernel.cpp writes, against the interpreter.
// RUN: ppc-opt %s --ppc-test-kernel-numerics=ptx=%t.ptx -o /dev/null | FileCheck %s
// RUN: FileCheck --check-prefix=PTX --input-file=%t.ptx %s

// CHECK: @few_rows agrees
// CHECK: @one_row agrees
// CHECK: @wide agrees
// CHECK: @odd_columns agrees
// CHECK: @two_dims agrees
// CHECK: @accumulated agrees
// CHECK: @padding agrees

// PTX-COUNT-6: vote.sync.ballot.b32
// PTX-NOT: vote.sync.ballot.b32

func.func @few_rows(%ids: tensor<70xi32> {test.below = 3 : i64}, %dy: tensor<70x64xf32>) -> tensor<5x64xf32> {
  %0 = ppc.embedding_backward %ids, %dy : (tensor<70xi32>, tensor<70x64xf32>) -> tensor<5x64xf32>
  return %0 : tensor<5x64xf32>
}
func.func @one_row(%ids: tensor<130xi32> {test.below = 1 : i64}, %dy: tensor<130x32xf32>) -> tensor<2x32xf32> {
  %0 = ppc.embedding_backward %ids, %dy : (tensor<130xi32>, tensor<130x32xf32>) -> tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}
func.func @wide(%ids: tensor<40xi32> {test.below = 16 : i64}, %dy: tensor<40x1056xf32>) -> tensor<16x1056xf32> {
  %0 = ppc.embedding_backward %ids, %dy : (tensor<40xi32>, tensor<40x1056xf32>) -> tensor<16x1056xf32>
  return %0 : tensor<16x1056xf32>
}
func.func @odd_columns(%ids: tensor<9xi32> {test.below = 4 : i64}, %dy: tensor<9x30xf32>) -> tensor<4x30xf32> {
  %0 = ppc.embedding_backward %ids, %dy : (tensor<9xi32>, tensor<9x30xf32>) -> tensor<4x30xf32>
  return %0 : tensor<4x30xf32>
}
func.func @two_dims(%ids: tensor<3x21xi32> {test.below = 6 : i64}, %dy: tensor<3x21x96xf32>) -> tensor<6x96xf32> {
  %0 = ppc.embedding_backward %ids, %dy : (tensor<3x21xi32>, tensor<3x21x96xf32>) -> tensor<6x96xf32>
  return %0 : tensor<6x96xf32>
}
func.func @accumulated(%ids: tensor<2x33xi32> {test.below = 8 : i64}, %dy: tensor<2x33x64xf32>, %sum: tensor<8x64xf32>) -> (tensor<8x64xf32> {ppc.destination = 2 : i64}) {
  %0 = ppc.embedding_backward %ids, %dy : (tensor<2x33xi32>, tensor<2x33x64xf32>) -> tensor<8x64xf32>
  %1 = ppc.add %sum, %0 : tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}
func.func @padding(%ids: tensor<70xi32> {test.below = 3 : i64}, %dy: tensor<70x64xf32>) -> tensor<5x64xf32> {
  %0 = ppc.embedding_backward %ids, %dy padding_index 1 : (tensor<70xi32>, tensor<70x64xf32>) -> tensor<5x64xf32>
  return %0 : tensor<5x64xf32>
}
