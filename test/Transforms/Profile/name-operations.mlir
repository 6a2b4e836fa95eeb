// RUN: ppc-opt %s --ppc-name-operations --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: func.func @model
func.func @model(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %a: tensor<8x2xf32>) -> tensor<4x2xf32> {
  // CHECK: ppc.rms_norm {{.*}} loc("rms_norm")
  %n = ppc.rms_norm %x, %w epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: ppc.matmul {{.*}} loc("matmul sd,df->sf")
  %y = ppc.matmul "sd,df->sf" %n, %a : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}
