// Identities fold away; what only looks like one stays.
// RUN: ppc-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func @zeros_and_ones
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @zeros_and_ones(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = ppc.constant dense<0.0> : tensor<4xf32>
  %one = ppc.constant dense<1.0> : tensor<4xf32>
  %0 = ppc.add %x, %zero : tensor<4xf32>
  %1 = ppc.add %zero, %x : tensor<4xf32>
  %2 = ppc.sub %x, %zero : tensor<4xf32>
  %3 = ppc.mul %x, %one : tensor<4xf32>
  %4 = ppc.mul %one, %x : tensor<4xf32>
  %5 = ppc.scale %x by 1.0 : tensor<4xf32>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
  return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func @not_identities
func.func @not_identities(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %zero = ppc.constant dense<0.0> : tensor<2xf32>
  %mixed = ppc.constant dense<[0.0, 1.0]> : tensor<2xf32>
  // CHECK: ppc.sub
  %0 = ppc.sub %zero, %x : tensor<2xf32>
  // CHECK: ppc.add
  %1 = ppc.add %x, %mixed : tensor<2xf32>
  // CHECK: ppc.mul
  %2 = ppc.mul %x, %zero : tensor<2xf32>
  // CHECK: ppc.scale
  %3 = ppc.scale %x by 0.0 : tensor<2xf32>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// CHECK-LABEL: func @twice
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ppc.neg %x : tensor<4xf32>
  %1 = ppc.neg %0 : tensor<4xf32>
  // CHECK-NEXT: return %[[X]]
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func @sum
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @sum(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ppc.sum %x : tensor<4xf32>
  // CHECK-NEXT: %[[S:.*]] = ppc.sum %[[X]], %[[X]]
  %1 = ppc.sum %x, %x : tensor<4xf32>
  // CHECK-NEXT: return %[[X]], %[[S]]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func @convert
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @convert(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ppc.convert %x : tensor<4xf32> to tensor<4xf32>
  // Rounding on the way is not undone.
  // CHECK-NEXT: %[[B:.*]] = ppc.convert %[[X]] : tensor<4xf32> to tensor<4xbf16>
  %1 = ppc.convert %x : tensor<4xf32> to tensor<4xbf16>
  // CHECK-NEXT: %[[Y:.*]] = ppc.convert %[[B]]
  %2 = ppc.convert %1 : tensor<4xbf16> to tensor<4xf32>
  // CHECK-NEXT: return %[[X]], %[[Y]]
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func @shapes
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>)
func.func @shapes(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = ppc.transpose %x by [0, 1] : tensor<4x4xf32> to tensor<4x4xf32>
  %1 = ppc.reshape %x : tensor<4x4xf32> to tensor<4x4xf32>
  // CHECK-DAG: %[[T:.*]] = ppc.transpose %[[X]] by [1, 0]
  %2 = ppc.transpose %x by [1, 0] : tensor<4x4xf32> to tensor<4x4xf32>
  %3 = ppc.reshape %x : tensor<4x4xf32> to tensor<16xf32>
  // CHECK-DAG: %[[R:.*]] = ppc.reshape %[[X]] : tensor<4x4xf32> to tensor<2x8xf32>
  %4 = ppc.reshape %3 : tensor<16xf32> to tensor<2x8xf32>
  // There and back.
  %5 = ppc.reshape %4 : tensor<2x8xf32> to tensor<4x4xf32>
  // CHECK: return %[[X]], %[[X]], %[[R]], %[[T]], %[[X]]
  return %0, %1, %4, %2, %5 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// An op of the dialect has no side effects: unused, it goes.
// CHECK-LABEL: func @unused
func.func @unused(%x: tensor<4xf32>) {
  // CHECK-NEXT: return
  %0 = ppc.all_reduce %x over ["tp"] <sum> : tensor<4xf32>
  %1 = ppc.exp %x : tensor<4xf32>
  return
}

// All-reduces between stages stay, dead or alike: the other stages wait for them. Within a stage they are pure.
// CHECK-LABEL: func.func @all_reduce_between_stages
// CHECK: ppc.all_reduce {{.*}} over ["pp"]
// CHECK: ppc.all_reduce {{.*}} over ["pp"]
// CHECK-NOT: over ["tp"]
func.func @all_reduce_between_stages(%x: tensor<f32>) -> tensor<f32> {
  %0 = ppc.all_reduce %x over ["pp"] <sum> : tensor<f32>
  %1 = ppc.all_reduce %x over ["pp"] <sum> : tensor<f32>
  %2 = ppc.all_reduce %x over ["tp"] <sum> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// A wider type holds every value of a narrower one; the other way round rounds.
// CHECK-LABEL: func @there_and_back
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>, %[[Y:.*]]: tensor<4xf32>)
func.func @there_and_back(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0 = ppc.convert %x : tensor<4xbf16> to tensor<4xf32>
  %1 = ppc.convert %0 : tensor<4xf32> to tensor<4xbf16>
  // CHECK: %[[ROUNDED:.*]] = ppc.convert %[[Y]]
  %2 = ppc.convert %y : tensor<4xf32> to tensor<4xbf16>
  // CHECK: %[[WIDE:.*]] = ppc.convert %[[ROUNDED]]
  %3 = ppc.convert %2 : tensor<4xbf16> to tensor<4xf32>
  // CHECK: return %[[X]], %[[WIDE]]
  return %1, %3 : tensor<4xbf16>, tensor<4xf32>
}
