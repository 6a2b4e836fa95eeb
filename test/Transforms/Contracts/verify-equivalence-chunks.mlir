// Chunked matmuls and their sums over ranks (lib/Equivalence/PieceRules.cpp) with one fault each. Sound ones are in
// verify-equivalence.mlir.
// RUN: ppc-opt %s --split-input-file --ppc-verify-equivalence --verify-diagnostics

// One chunk occurs twice.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @piece_twice(%x: tensor<12x8xf32>, %w: tensor<6x8xf32>) -> tensor<12x6xf32> {
      %0 = ppc.matmul "sf,hf->sh" %x, %w : (tensor<12x8xf32>, tensor<6x8xf32>) -> tensor<12x6xf32>
      return %0 : tensor<12x6xf32>
    }
  }
  func.func @piece_twice(%x: tensor<12x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<12x8xf32>},
                    %w: tensor<6x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<6x8xf32>})
      -> (tensor<12x6xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<12x6xf32>}) {
    %x0, %x1 = ppc.split %x dim 0 : tensor<12x4xf32> to tensor<6x4xf32>, tensor<6x4xf32>
    %p0 = ppc.matmul "sf,hf->sh" %x0, %w : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
    %r0 = ppc.all_reduce %p0 over ["tp"] <sum> : tensor<6x6xf32>
    // expected-error @below {{concatenates values that are not neighbouring chunks of one value: operand 1 is matmul "sf,hf->sh", elements 0 to 6 of dimension 0}}
    %r = ppc.concat %r0, %r0 dim 0 : tensor<6x6xf32>, tensor<6x6xf32> to tensor<12x6xf32>
    return %r : tensor<12x6xf32>
  }
}

// -----

// Chunks are swapped.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @pieces_exchanged(%x: tensor<12x8xf32>, %w: tensor<6x8xf32>) -> tensor<12x6xf32> {
      %0 = ppc.matmul "sf,hf->sh" %x, %w : (tensor<12x8xf32>, tensor<6x8xf32>) -> tensor<12x6xf32>
      return %0 : tensor<12x6xf32>
    }
  }
  func.func @pieces_exchanged(%x: tensor<12x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<12x8xf32>},
                    %w: tensor<6x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<6x8xf32>})
      -> (tensor<12x6xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<12x6xf32>}) {
    %x0, %x1 = ppc.split %x dim 0 : tensor<12x4xf32> to tensor<6x4xf32>, tensor<6x4xf32>
    %p0 = ppc.matmul "sf,hf->sh" %x0, %w : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
    %r0 = ppc.all_reduce %p0 over ["tp"] <sum> : tensor<6x6xf32>
    %p1 = ppc.matmul "sf,hf->sh" %x1, %w : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
    %r1 = ppc.all_reduce %p1 over ["tp"] <sum> : tensor<6x6xf32>
    // expected-error @below {{concatenates values that are not neighbouring chunks of one value}}
    %r = ppc.concat %r1, %r0 dim 0 : tensor<6x6xf32>, tensor<6x6xf32> to tensor<12x6xf32>
    return %r : tensor<12x6xf32>
  }
}

// -----

// A chunk is not summed over the ranks.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @piece_not_reduced(%x: tensor<12x8xf32>, %w: tensor<6x8xf32>) -> tensor<12x6xf32> {
      %0 = ppc.matmul "sf,hf->sh" %x, %w : (tensor<12x8xf32>, tensor<6x8xf32>) -> tensor<12x6xf32>
      return %0 : tensor<12x6xf32>
    }
  }
  func.func @piece_not_reduced(%x: tensor<12x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<12x8xf32>},
                    %w: tensor<6x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<6x8xf32>})
      -> (tensor<12x6xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<12x6xf32>}) {
    %x0, %x1 = ppc.split %x dim 0 : tensor<12x4xf32> to tensor<6x4xf32>, tensor<6x4xf32>
    %p0 = ppc.matmul "sf,hf->sh" %x0, %w : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
    %r0 = ppc.all_reduce %p0 over ["tp"] <sum> : tensor<6x6xf32>
    %p1 = ppc.matmul "sf,hf->sh" %x1, %w : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
    // expected-error @below {{concatenates values that are not neighbouring chunks of one value}}
    %r = ppc.concat %r0, %p1 dim 0 : tensor<6x6xf32>, tensor<6x6xf32> to tensor<12x6xf32>
    return %r : tensor<12x6xf32>
  }
}

// -----

// Neighbouring rows are scattered chunk by chunk, so that no rank has its block.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @rows_scattered(%x: tensor<12x8xf32>, %w: tensor<6x8xf32>) -> tensor<12x6xf32> {
      %0 = ppc.matmul "sf,hf->sh" %x, %w : (tensor<12x8xf32>, tensor<6x8xf32>) -> tensor<12x6xf32>
      return %0 : tensor<12x6xf32>
    }
  }
  func.func @rows_scattered(%x: tensor<12x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<12x8xf32>},
                    %w: tensor<6x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<6x8xf32>})
      -> (tensor<6x6xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>, ppc.logical_type = tensor<12x6xf32>}) {
    %x0, %x1 = ppc.split %x dim 0 : tensor<12x4xf32> to tensor<6x4xf32>, tensor<6x4xf32>
    %p0 = ppc.matmul "sf,hf->sh" %x0, %w : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
    // expected-error @below {{scatters a value that is not a chunk of each block}}
    %r0 = ppc.reduce_scatter %p0 dim 0 over ["tp"] <sum> : tensor<6x6xf32> to tensor<3x6xf32>
    %p1 = ppc.matmul "sf,hf->sh" %x1, %w : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
    %r1 = ppc.reduce_scatter %p1 dim 0 over ["tp"] <sum> : tensor<6x6xf32> to tensor<3x6xf32>
    %r = ppc.concat %r0, %r1 dim 0 : tensor<3x6xf32>, tensor<3x6xf32> to tensor<6x6xf32>
    return %r : tensor<6x6xf32>
  }
}
