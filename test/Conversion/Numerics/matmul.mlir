// RUN: ppc-opt %s --ppc-test-host-numerics -o /dev/null | FileCheck %s

// Matmuls of any shape, also into an accumulator.
// CHECK: @f32_projections agrees
// CHECK: @f32_output agrees
// CHECK: @f32_batches agrees
// CHECK: @f32_vectors agrees
// CHECK: @f32_accumulated agrees
// CHECK: @f64_projections agrees
// CHECK: @f64_output agrees
// CHECK: @f64_batches agrees
// CHECK: @f64_vectors agrees
// CHECK: @f64_accumulated agrees

func.func @f32_projections(%x: tensor<2x5x6xf32>, %w: tensor<2x3x4x6xf32>, %dy: tensor<2x5x2x3x4xf32>) -> (tensor<2x5x2x3x4xf32>, tensor<2x5x6xf32>, tensor<2x3x4x6xf32>) {
  %0 = ppc.matmul "bsh,kgdh->bskgd" %x, %w : (tensor<2x5x6xf32>, tensor<2x3x4x6xf32>) -> tensor<2x5x2x3x4xf32>
  %1 = ppc.matmul "bskgd,kgdh->bsh" %dy, %w : (tensor<2x5x2x3x4xf32>, tensor<2x3x4x6xf32>) -> tensor<2x5x6xf32>
  %2 = ppc.matmul "bskgd,bsh->kgdh" %dy, %x : (tensor<2x5x2x3x4xf32>, tensor<2x5x6xf32>) -> tensor<2x3x4x6xf32>
  return %0, %1, %2 : tensor<2x5x2x3x4xf32>, tensor<2x5x6xf32>, tensor<2x3x4x6xf32>
}
func.func @f32_output(%x: tensor<2x5x2x3x4xf32>, %w: tensor<6x2x3x4xf32>) -> tensor<2x5x6xf32> {
  %0 = ppc.matmul "bskgd,hkgd->bsh" %x, %w : (tensor<2x5x2x3x4xf32>, tensor<6x2x3x4xf32>) -> tensor<2x5x6xf32>
  return %0 : tensor<2x5x6xf32>
}
func.func @f32_batches(%a: tensor<3x4x5xf32>, %b: tensor<5x3x2xf32>) -> (tensor<4x2x3xf32>, tensor<3x2x4xf32>) {
  %0 = ppc.matmul "bmk,kbn->mnb" %a, %b : (tensor<3x4x5xf32>, tensor<5x3x2xf32>) -> tensor<4x2x3xf32>
  %1 = ppc.matmul "bmk,kbn->bnm" %a, %b : (tensor<3x4x5xf32>, tensor<5x3x2xf32>) -> tensor<3x2x4xf32>
  return %0, %1 : tensor<4x2x3xf32>, tensor<3x2x4xf32>
}
func.func @f32_vectors(%a: tensor<7xf32>, %b: tensor<7xf32>, %c: tensor<3xf32>) -> (tensor<f32>, tensor<7x3xf32>, tensor<7xf32>) {
  %0 = ppc.matmul "k,k->" %a, %b : (tensor<7xf32>, tensor<7xf32>) -> tensor<f32>
  %1 = ppc.matmul "m,n->mn" %a, %c : (tensor<7xf32>, tensor<3xf32>) -> tensor<7x3xf32>
  %2 = ppc.matmul "i,i->i" %a, %b : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
  return %0, %1, %2 : tensor<f32>, tensor<7x3xf32>, tensor<7xf32>
}
func.func @f32_accumulated(%acc: tensor<4x3xf32>, %a: tensor<5x4xf32>, %b: tensor<5x3xf32>) -> (tensor<4x3xf32> {ppc.destination = 0 : i64}) {
  %0 = ppc.matmul "km,kn->mn" %a, %b : (tensor<5x4xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %1 = ppc.add %acc, %0 : tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}
func.func @f64_projections(%x: tensor<2x5x6xf64>, %w: tensor<2x3x4x6xf64>, %dy: tensor<2x5x2x3x4xf64>) -> (tensor<2x5x2x3x4xf64>, tensor<2x5x6xf64>, tensor<2x3x4x6xf64>) {
  %0 = ppc.matmul "bsh,kgdh->bskgd" %x, %w : (tensor<2x5x6xf64>, tensor<2x3x4x6xf64>) -> tensor<2x5x2x3x4xf64>
  %1 = ppc.matmul "bskgd,kgdh->bsh" %dy, %w : (tensor<2x5x2x3x4xf64>, tensor<2x3x4x6xf64>) -> tensor<2x5x6xf64>
  %2 = ppc.matmul "bskgd,bsh->kgdh" %dy, %x : (tensor<2x5x2x3x4xf64>, tensor<2x5x6xf64>) -> tensor<2x3x4x6xf64>
  return %0, %1, %2 : tensor<2x5x2x3x4xf64>, tensor<2x5x6xf64>, tensor<2x3x4x6xf64>
}
func.func @f64_output(%x: tensor<2x5x2x3x4xf64>, %w: tensor<6x2x3x4xf64>) -> tensor<2x5x6xf64> {
  %0 = ppc.matmul "bskgd,hkgd->bsh" %x, %w : (tensor<2x5x2x3x4xf64>, tensor<6x2x3x4xf64>) -> tensor<2x5x6xf64>
  return %0 : tensor<2x5x6xf64>
}
func.func @f64_batches(%a: tensor<3x4x5xf64>, %b: tensor<5x3x2xf64>) -> (tensor<4x2x3xf64>, tensor<3x2x4xf64>) {
  %0 = ppc.matmul "bmk,kbn->mnb" %a, %b : (tensor<3x4x5xf64>, tensor<5x3x2xf64>) -> tensor<4x2x3xf64>
  %1 = ppc.matmul "bmk,kbn->bnm" %a, %b : (tensor<3x4x5xf64>, tensor<5x3x2xf64>) -> tensor<3x2x4xf64>
  return %0, %1 : tensor<4x2x3xf64>, tensor<3x2x4xf64>
}
func.func @f64_vectors(%a: tensor<7xf64>, %b: tensor<7xf64>, %c: tensor<3xf64>) -> (tensor<f64>, tensor<7x3xf64>, tensor<7xf64>) {
  %0 = ppc.matmul "k,k->" %a, %b : (tensor<7xf64>, tensor<7xf64>) -> tensor<f64>
  %1 = ppc.matmul "m,n->mn" %a, %c : (tensor<7xf64>, tensor<3xf64>) -> tensor<7x3xf64>
  %2 = ppc.matmul "i,i->i" %a, %b : (tensor<7xf64>, tensor<7xf64>) -> tensor<7xf64>
  return %0, %1, %2 : tensor<f64>, tensor<7x3xf64>, tensor<7xf64>
}
func.func @f64_accumulated(%acc: tensor<4x3xf64>, %a: tensor<5x4xf64>, %b: tensor<5x3xf64>) -> (tensor<4x3xf64> {ppc.destination = 0 : i64}) {
  %0 = ppc.matmul "km,kn->mn" %a, %b : (tensor<5x4xf64>, tensor<5x3xf64>) -> tensor<4x3xf64>
  %1 = ppc.add %acc, %0 : tensor<4x3xf64>
  return %1 : tensor<4x3xf64>
}
