// RUN: not ppc-opt %s --ppc-lower-precision=precision=fp4 2>&1 | FileCheck %s

// CHECK: error: precision is 'fp4', expected f32 or bf16
func.func @loss(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
