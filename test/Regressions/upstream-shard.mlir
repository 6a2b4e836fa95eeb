// Silent errors of the partitioner of MLIR 22's `shard` dialect, run here on numbers. Each module is one case.
// RUN: ppc-opt %s --test-ppc-spmd-equivalence --split-input-file --verify-diagnostics -o /dev/null

// 10 rows over 4 devices: upstream drops two rows. Both results, sums and maxima, must be complete.
#plan = #ppc.plan<grid = <a = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {rows = ["a"]}, parameters = {}>
// expected-remark @below {{1 layouts compute what one device does}}
module attributes {ppc.plan = #plan} {
  func.func @uneven(%x: tensor<10x3xf32> {ppc.dims = ["rows", "columns"]}) -> (tensor<10x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<10xf32>) {
    %e = ppc.exp %x : tensor<10x3xf32>
    %s = ppc.reduce #ppc.combiner<sum> %e dims [0] : tensor<10x3xf32> to tensor<3xf32>
    %n = ppc.neg %e : tensor<10x3xf32>
    %m = ppc.reduce #ppc.combiner<max> %n dims [0] : tensor<10x3xf32> to tensor<3xf32>
    %r = ppc.reduce #ppc.combiner<sum> %e dims [1] : tensor<10x3xf32> to tensor<10xf32>
    return %e, %s, %m, %r : tensor<10x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<10xf32>
  }
}

// -----

// Two axes at once on one dimension: upstream crashes. [[a, b]] to [[]], and to [[b, a]].
#plan = #ppc.plan<grid = <a = 2, b = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {rows = ["a", "b"]}, parameters = {}>
// expected-remark @below {{1 layouts compute what one device does}}
module attributes {ppc.plan = #plan} {
  func.func @two_axes(%x: tensor<8x8xf32> {ppc.dims = ["rows", "columns"]})
      -> (tensor<8x8xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>}, tensor<8x8xf32> {ppc.sharding = #ppc.sharding<[{b, a}, {}]>}) {
    return %x, %x : tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// -----

// [[a], [b]] to [[b], [a]]: upstream gives 8x2 blocks where 4x4 is meant.
#plan = #ppc.plan<grid = <a = 2, b = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {rows = ["a"], columns = ["b"]}, parameters = {}>
// expected-remark @below {{1 layouts compute what one device does}}
module attributes {ppc.plan = #plan} {
  func.func @exchange(%x: tensor<8x8xf32> {ppc.dims = ["rows", "columns"]}) -> (tensor<8x8xf32> {ppc.sharding = #ppc.sharding<[{b}, {a}]>}) {
    return %x : tensor<8x8xf32>
  }
}

// -----

// Meaning that depends on the global index (upstream: linalg.index is not moved by the rank): rows of a table, classes.
#plan = #ppc.plan<grid = <a = 3>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {rows = ["a"]}, parameters = {}>
// expected-remark @below {{1 layouts compute what one device does}}
module attributes {ppc.plan = #plan} {
  func.func @indices(%table: tensor<7x4xf32> {ppc.dims = ["rows", "columns"]}, %ids: tensor<5xi32>) -> (tensor<5x4xf32>, tensor<5xf32>) {
    %y = ppc.embedding %table, %ids : (tensor<7x4xf32>, tensor<5xi32>) -> tensor<5x4xf32>
    %z = ppc.matmul "ph,vh->pv" %y, %table : (tensor<5x4xf32>, tensor<7x4xf32>) -> tensor<5x7xf32>
    %nll, %lse = ppc.cross_entropy %z, %ids : (tensor<5x7xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xf32>)
    return %y, %nll : tensor<5x4xf32>, tensor<5xf32>
  }
}

// -----

// Contraction sharded on one side, free dimension on the other, over one axis; and a scalar, which upstream cannot even print.
#plan = #ppc.plan<grid = <a = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {k = ["a"], n = ["a"]}, parameters = {}>
// expected-remark @below {{1 layouts compute what one device does}}
module attributes {ppc.plan = #plan} {
  func.func @conflict(%x: tensor<6x4xf32> {ppc.dims = ["m", "k"]}, %w: tensor<5x4xf32> {ppc.dims = ["n", "other"]}) -> (tensor<6x5xf32>, tensor<f32>) {
    %y = ppc.matmul "mk,nk->mn" %x, %w : (tensor<6x4xf32>, tensor<5x4xf32>) -> tensor<6x5xf32>
    %n = ppc.squared_norm %y : tensor<6x5xf32> to tensor<f32>
    return %y, %n : tensor<6x5xf32>, tensor<f32>
  }
}
