// RUN: ppc-opt %s --ppc-simplify-collectives --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>)
func.func @sum(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[P:.*]] = ppc.sum %[[A]], %[[B]]
  // CHECK-NEXT: %[[R:.*]] = ppc.all_reduce %[[P]] over ["tp"] <sum> {ppc.layer = 1 : i64}
  // CHECK-NEXT: ppc.sum %[[R]], %[[C]]
  %ra = ppc.all_reduce %a over ["tp"] <sum> {ppc.layer = 1 : i64} : tensor<4xf32>
  %rb = ppc.all_reduce %b over ["tp"] <sum> : tensor<4xf32>
  %s = ppc.sum %ra, %rb, %c : tensor<4xf32>
  return %s : tensor<4xf32>
}

// CHECK-LABEL: func.func @sub
func.func @sub(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[P:.*]] = ppc.sub
  // CHECK-NEXT: ppc.all_reduce %[[P]]
  // CHECK-NEXT: return
  %ra = ppc.all_reduce %a over ["tp"] <sum> : tensor<4xf32>
  %rb = ppc.all_reduce %b over ["tp"] <sum> : tensor<4xf32>
  %s = ppc.sub %ra, %rb : tensor<4xf32>
  return %s : tensor<4xf32>
}

// Different groups, other combiners and other users stay.
// CHECK-LABEL: func.func @stays
func.func @stays(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-5: ppc.all_reduce
  %ra = ppc.all_reduce %a over ["tp"] <sum> : tensor<4xf32>
  %rb = ppc.all_reduce %b over ["tp"] <sum> : tensor<4xf32>
  %s = ppc.add %ra, %rb : tensor<4xf32>
  %rc = ppc.all_reduce %a over ["dp"] <sum> : tensor<4xf32>
  %t = ppc.add %rb, %rc : tensor<4xf32>
  %ma = ppc.all_reduce %a over ["tp"] <max> : tensor<4xf32>
  %mb = ppc.all_reduce %b over ["tp"] <max> : tensor<4xf32>
  %m = ppc.add %ma, %mb : tensor<4xf32>
  return %s, %t, %m, %ra : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @nested
func.func @nested(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: ppc.all_reduce %{{.*}} over ["dp", "tp"] <sum>
  // CHECK-NEXT: return
  %r = ppc.all_reduce %a over ["dp"] <sum> : tensor<4xf32>
  %s = ppc.all_reduce %r over ["tp"] <sum> : tensor<4xf32>
  return %s : tensor<4xf32>
}

// Reducing twice over one axis counts everything twice: that is not one reduction.
// CHECK-LABEL: func.func @twice
func.func @twice(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-COUNT-2: ppc.all_reduce
  %r = ppc.all_reduce %a over ["tp"] <sum> : tensor<4xf32>
  %s = ppc.all_reduce %r over ["tp"] <sum> : tensor<4xf32>
  return %s : tensor<4xf32>
}

// Scattered values are added first, unless they have other blocks or another use.
// CHECK-LABEL: func.func @scattered
// CHECK-SAME: (%[[A:.*]]: tensor<4x4xf32>, %[[B:.*]]: tensor<4x4xf32>)
func.func @scattered(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>) {
  // CHECK-NEXT: %[[P:.*]] = ppc.add %[[A]], %[[B]]
  // CHECK-NEXT: ppc.reduce_scatter %[[P]] dim 0 over ["tp"] <sum>
  // CHECK-NEXT: %[[Q:.*]] = ppc.reduce_scatter %[[A]] dim 1
  // CHECK-NEXT: ppc.sum %[[Q]], %[[Q]]
  // CHECK-NEXT: return
  %ra = ppc.reduce_scatter %a dim 0 over ["tp"] <sum> : tensor<4x4xf32> to tensor<2x4xf32>
  %rb = ppc.reduce_scatter %b dim 0 over ["tp"] <sum> : tensor<4x4xf32> to tensor<2x4xf32>
  %s = ppc.add %ra, %rb : tensor<2x4xf32>
  %rc = ppc.reduce_scatter %a dim 1 over ["tp"] <sum> : tensor<4x4xf32> to tensor<4x2xf32>
  %t = ppc.sum %rc, %rc : tensor<4x2xf32>
  return %s, %t : tensor<2x4xf32>, tensor<4x2xf32>
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%a: tensor<5xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: ppc.reduce_scatter %{{.*}} dim 0 over ["tp"] <sum> : tensor<5xf32> to tensor<3xf32>
  // CHECK-NEXT: return
  %r = ppc.all_reduce %a over ["tp"] <sum> : tensor<5xf32>
  %s = ppc.local_slice %r dim 0 over ["tp"] : tensor<5xf32> to tensor<3xf32>
  return %s : tensor<3xf32>
}

// CHECK-LABEL: func.func @cancel
// CHECK-SAME: (%[[A:.*]]: tensor<3xf32>, %[[B:.*]]: tensor<5xf32>)
func.func @cancel(%a: tensor<3xf32>, %b: tensor<5xf32>) -> (tensor<3xf32>, tensor<5xf32>, tensor<3xf32>) {
  // CHECK-NEXT: %[[G:.*]] = ppc.all_gather
  // CHECK-NEXT: %[[S:.*]] = ppc.local_slice %[[G]]
  // CHECK-NEXT: return %[[A]], %[[B]], %[[S]]
  %g = ppc.all_gather %a dim 0 over ["tp"] : tensor<3xf32> to tensor<6xf32>
  %s = ppc.local_slice %g dim 0 over ["tp"] : tensor<6xf32> to tensor<3xf32>
  %t = ppc.local_slice %b dim 0 over ["tp"] : tensor<5xf32> to tensor<3xf32>
  %u = ppc.all_gather %t dim 0 over ["tp"] : tensor<3xf32> to tensor<5xf32>
  %v = ppc.all_gather %a dim 0 over ["tp"] : tensor<3xf32> to tensor<5xf32> // the padding of %a may be anything
  %w = ppc.local_slice %v dim 0 over ["tp"] : tensor<5xf32> to tensor<3xf32>
  return %s, %u, %w : tensor<3xf32>, tensor<5xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @equal
func.func @equal(%a: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[G:.*]] = ppc.all_gather
  // CHECK-NEXT: return %[[G]], %[[G]]
  %g = ppc.all_gather %a dim 0 over ["tp"] : tensor<4xf32> to tensor<8xf32>
  %h = ppc.all_gather %a dim 0 over ["tp"] : tensor<4xf32> to tensor<8xf32>
  return %g, %h : tensor<8xf32>, tensor<8xf32>
}
