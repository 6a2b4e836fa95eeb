// Results of each collective on each rank, against values worked out by hand. A local_slice of a constant gives every rank
// a value of its own.
// RUN: ppc-opt %s --test-ppc-interpreter --verify-diagnostics --mlir-print-op-on-diagnostic=0 -o /dev/null

// Blocks of 2 of 5 elements over 3 ranks: the last is padded with a zero.
// expected-remark @+3 {{rank 0 returns [1, 2]}}
// expected-remark @+2 {{rank 1 returns [3, 4]}}
// expected-remark @+1 {{rank 2 returns [5, 0]}}
func.func @local_slice() -> tensor<2xf32> attributes {test.grid = #ppc.grid<tp = 3>} {
  %x = ppc.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %y = ppc.local_slice %x dim 0 over ["tp"] : tensor<5xf32> to tensor<2xf32>
  return %y : tensor<2xf32>
}

// 4 elements over 3 ranks leave the last rank without any.
// expected-remark @+3 {{rank 0 returns [1, 2]}}
// expected-remark @+2 {{rank 1 returns [3, 4]}}
// expected-remark @+1 {{rank 2 returns [0, 0]}}
func.func @local_slice_empty() -> tensor<2xf32> attributes {test.grid = #ppc.grid<tp = 3>} {
  %x = ppc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = ppc.local_slice %x dim 0 over ["tp"] : tensor<4xf32> to tensor<2xf32>
  return %y : tensor<2xf32>
}

// Sum, maximum, and ln(e^1 + e^3 + e^5) = 5.14293, of 1, 3 and 5.
// expected-remark @+3 {{rank 0 returns [9] [5] [5.14293]}}
// expected-remark @+2 {{rank 1 returns [9] [5] [5.14293]}}
// expected-remark @+1 {{rank 2 returns [9] [5] [5.14293]}}
func.func @all_reduce() -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) attributes {test.grid = #ppc.grid<tp = 3>} {
  %x = ppc.constant dense<[1.0, 3.0, 5.0]> : tensor<3xf32>
  %y = ppc.local_slice %x dim 0 over ["tp"] : tensor<3xf32> to tensor<1xf32>
  %0 = ppc.all_reduce %y over ["tp"] <sum> : tensor<1xf32>
  %1 = ppc.all_reduce %y over ["tp"] <max> : tensor<1xf32>
  %2 = ppc.all_reduce %y over ["tp"] <log_sum_exp> : tensor<1xf32>
  return %0, %1, %2 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}

// Groups are the ranks that differ in the named axes only: 1 + 2, 3 + 4 along tp, 1 + 3, 2 + 4 along dp.
// expected-remark @+4 {{rank 0 returns [3] [4] [10]}}
// expected-remark @+3 {{rank 1 returns [3] [6] [10]}}
// expected-remark @+2 {{rank 2 returns [7] [4] [10]}}
// expected-remark @+1 {{rank 3 returns [7] [6] [10]}}
func.func @groups() -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) attributes {test.grid = #ppc.grid<dp = 2, tp = 2>} {
  %x = ppc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = ppc.local_slice %x dim 0 over ["dp", "tp"] : tensor<4xf32> to tensor<1xf32>
  %0 = ppc.all_reduce %y over ["tp"] <sum> : tensor<1xf32>
  %1 = ppc.all_reduce %y over ["dp"] <sum> : tensor<1xf32>
  %2 = ppc.all_reduce %y over ["tp", "dp"] <sum> : tensor<1xf32>
  return %0, %1, %2 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}

// Within a group ranks stand in the order of the listed axes, whatever the order of the mesh.
// expected-remark @+4 {{rank 0 returns [1] [1, 3, 2, 4]}}
// expected-remark @+3 {{rank 1 returns [3] [1, 3, 2, 4]}}
// expected-remark @+2 {{rank 2 returns [2] [1, 3, 2, 4]}}
// expected-remark @+1 {{rank 3 returns [4] [1, 3, 2, 4]}}
func.func @order() -> (tensor<1xf32>, tensor<4xf32>) attributes {test.grid = #ppc.grid<dp = 2, tp = 2>} {
  %x = ppc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = ppc.local_slice %x dim 0 over ["tp", "dp"] : tensor<4xf32> to tensor<1xf32>
  %z = ppc.all_gather %y dim 0 over ["dp", "tp"] : tensor<1xf32> to tensor<4xf32>
  return %y, %z : tensor<1xf32>, tensor<4xf32>
}

// The padding of the last block is dropped; blocks lie along the dimension that is named.
// expected-remark @+2 {{rank 0 returns [1, 2, 3; 4, 5, 6]}}
// expected-remark @+1 {{rank 1 returns [1, 2, 3; 4, 5, 6]}}
func.func @all_gather() -> tensor<2x3xf32> attributes {test.grid = #ppc.grid<tp = 2>} {
  %x = ppc.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = ppc.local_slice %x dim 1 over ["tp"] : tensor<2x3xf32> to tensor<2x2xf32>
  %z = ppc.all_gather %y dim 1 over ["tp"] : tensor<2x2xf32> to tensor<2x3xf32>
  return %z : tensor<2x3xf32>
}

// Ranks hold [1, 2, 3] times 1 and times 2: sums are [3, 6, 9], maxima [2, 4, 6].
// expected-remark @+2 {{rank 0 returns [3, 6] [2, 4]}}
// expected-remark @+1 {{rank 1 returns [9, 0] [6, 0]}}
func.func @reduce_scatter() -> (tensor<2xf32>, tensor<2xf32>) attributes {test.grid = #ppc.grid<tp = 2>} {
  %x = ppc.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %s = ppc.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %t = ppc.local_slice %s dim 0 over ["tp"] : tensor<2xf32> to tensor<1xf32>
  %p = ppc.matmul "a,b->ab" %t, %x : (tensor<1xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  %y = ppc.reshape %p : tensor<1x3xf32> to tensor<3xf32>
  %0 = ppc.reduce_scatter %y dim 0 over ["tp"] <sum> : tensor<3xf32> to tensor<2xf32>
  %1 = ppc.reduce_scatter %y dim 0 over ["tp"] <max> : tensor<3xf32> to tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// Rank 0 holds rows [1, 2, 3, 4], rank 1 [5, 6, 7, 8]; afterwards columns are sharded instead.
// expected-remark @+2 {{rank 0 returns [1, 2; 5, 6]}}
// expected-remark @+1 {{rank 1 returns [3, 4; 7, 8]}}
func.func @all_to_all() -> tensor<2x2xf32> attributes {test.grid = #ppc.grid<tp = 2>} {
  %x = ppc.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %y = ppc.local_slice %x dim 0 over ["tp"] : tensor<2x4xf32> to tensor<1x4xf32>
  %z = ppc.all_to_all %y split 1 concat 0 over ["tp"] : tensor<1x4xf32> to tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}

// An axis that the mesh does not have is one device.
// expected-remark @below {{rank 0 returns [1, 2] [1, 2]}}
func.func @no_axis() -> (tensor<2xf32>, tensor<2xf32>) attributes {test.grid = #ppc.grid<>} {
  %x = ppc.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = ppc.all_reduce %x over ["tp"] <sum> : tensor<2xf32>
  %1 = ppc.local_slice %x dim 0 over ["tp"] : tensor<2xf32> to tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// Ops that ask for their block: rows 0 to 2 of 5 on rank 0, rows 3 and 4 and padding on rank 1.
// expected-remark @+2 {{rank 0 returns [0; 10; 20] [0; 0; 20] [40; 0; 20]}}
// expected-remark @+1 {{rank 1 returns [30; 40; 0] [40; 0; 0] [40; 0; 20]}}
func.func @blocks() -> (tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>) attributes {test.grid = #ppc.grid<tp = 2>} {
  %table = ppc.constant dense<[[0.0], [10.0], [20.0], [30.0], [40.0]]> : tensor<5x1xf32>
  %ids = ppc.constant dense<[4, 0, 2]> : tensor<3xi32>
  %rows = ppc.local_slice %table dim 0 over ["tp"] : tensor<5x1xf32> to tensor<3x1xf32>
  %masked = ppc.mask_padding %rows dim 0 block <[tp], 5> : tensor<3x1xf32>
  %y = ppc.embedding %masked, %ids rows <[tp], 5> : (tensor<3x1xf32>, tensor<3xi32>) -> tensor<3x1xf32>
  %z = ppc.all_reduce %y over ["tp"] <sum> : tensor<3x1xf32>
  return %masked, %y, %z : tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>
}
