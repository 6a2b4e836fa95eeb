// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-append-optimizer
// RUN: not ppc-opt %S/append-optimizer.mlir --ppc-append-optimizer=beta2=1 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not ppc-opt %S/append-optimizer.mlir --ppc-append-optimizer --ppc-append-optimizer 2>&1 | FileCheck %s --check-prefix=TWICE
// BETA: error: beta2 is 1.000000e+00, expected a number from 0 to below 1
// TWICE: error: 'func.func' op has optimizer state already, argument 2

// expected-error @below {{expected one function with gradients, found 0}}
module {
}

// -----

// expected-error @below {{must have one block and return the loss first: run ppc-build-backward first}}
func.func @loss(%w: tensor<f32> {ppc.parameter = "w"}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{must have one block and return the loss first: run ppc-build-backward first}}
func.func private @loss(tensor<f32> {ppc.parameter = "w"}) -> (tensor<f32> {ppc.result = "loss"})

// -----

// expected-error @below {{has no gradient for parameter "w": run ppc-build-backward first}}
func.func @loss(%w: tensor<f32> {ppc.parameter = "w"}) -> (tensor<f32> {ppc.result = "loss"}) {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{has no parameters to update: mark arguments with ppc.parameter}}
func.func @loss(%w: tensor<f32>) -> (tensor<f32> {ppc.result = "loss"}) {
  return %w : tensor<f32>
}
