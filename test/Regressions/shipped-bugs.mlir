// More bugs that parallel frameworks have shipped since those of test/Transforms/Contracts/verify-equivalence-invalid.mlir were
// written down (docs/internals/SilentBugs.md): one per program, each refused at the op that makes it.
// RUN: ppc-opt %s --split-input-file --ppc-verify-equivalence --verify-diagnostics

// A group of one rank: its "sum" is added to what it is a sum of, which doubles the gradient.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, ep = 1>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @group_of_one(%g: tensor<8x6xf32>) -> tensor<6xf32> {
      %0 = ppc.reduce <sum> %g dims [0] : tensor<8x6xf32> to tensor<6xf32>
      return %0 : tensor<6xf32>
    }
  }
  // expected-error @below {{result 0 is not as declared: expected reduce, replicated; found 2 * reduce, replicated}}
  func.func @group_of_one(%g: tensor<4x6xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<8x6xf32>})
      -> (tensor<6xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<6xf32>}) {
    %0 = ppc.reduce <sum> %g dims [0] : tensor<4x6xf32> to tensor<6xf32>
    %1 = ppc.all_reduce %0 over ["dp"] <sum> : tensor<6xf32>
    %2 = ppc.all_reduce %1 over ["ep"] <sum> : tensor<6xf32>
    %3 = ppc.add %1, %2 : tensor<6xf32>
    return %3 : tensor<6xf32>
  }
}

// -----

// A weight that two layers use: one of its two contributions is lost.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @used_twice(%x: tensor<8x6xf32>, %dy: tensor<8x4xf32>, %z: tensor<8x6xf32>, %du: tensor<8x4xf32>) -> tensor<4x6xf32> {
      %0 = ppc.matmul "bf,bh->fh" %dy, %x : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
      %1 = ppc.matmul "bf,bh->fh" %du, %z : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
      %2 = ppc.add %0, %1 : tensor<4x6xf32>
      return %2 : tensor<4x6xf32>
    }
  }
  // expected-error @below {{result 0 is not as declared: expected matmul "bf,bh->fh" + matmul "bf,bh->fh", replicated; found matmul "bf,bh->fh", replicated}}
  func.func @used_twice(
      %x: tensor<4x6xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<8x6xf32>},
      %dy: tensor<4x4xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<8x4xf32>},
      %z: tensor<4x6xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<8x6xf32>},
      %du: tensor<4x4xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<8x4xf32>})
      -> (tensor<4x6xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<4x6xf32>}) {
    %0 = ppc.matmul "bf,bh->fh" %dy, %x : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = ppc.all_reduce %0 over ["dp"] <sum> : tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
}

// -----

// A bias that every rank has is added to each rank's partial sum: tp times in the end.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @bias_before_the_sum(%x: tensor<4x6xf32>, %w: tensor<8x6xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
      %0 = ppc.matmul "bf,hf->bh" %x, %w : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
      %1 = ppc.broadcast %b dims [0] : tensor<8xf32> to tensor<4x8xf32>
      %2 = ppc.add %0, %1 : tensor<4x8xf32>
      return %2 : tensor<4x8xf32>
    }
  }
  func.func @bias_before_the_sum(
      %x: tensor<4x3xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<4x6xf32>},
      %w: tensor<8x3xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<8x6xf32>},
      %b: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<8xf32>})
      -> (tensor<4x8xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<4x8xf32>}) {
    %0 = ppc.matmul "bf,hf->bh" %x, %w : (tensor<4x3xf32>, tensor<8x3xf32>) -> tensor<4x8xf32>
    %1 = ppc.broadcast %b dims [0] : tensor<8xf32> to tensor<4x8xf32>
    // expected-error @below {{adds values that are partial over different axes}}
    %2 = ppc.add %0, %1 : tensor<4x8xf32>
    %3 = ppc.all_reduce %2 over ["tp"] <sum> : tensor<4x8xf32>
    return %3 : tensor<4x8xf32>
  }
}

// -----

// The mirror of it: each rank adds its block of a sharded bias to columns that all of them have.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @block_of_a_bias(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
      %1 = ppc.broadcast %b dims [0] : tensor<8xf32> to tensor<4x8xf32>
      %2 = ppc.add %x, %1 : tensor<4x8xf32>
      return %2 : tensor<4x8xf32>
    }
  }
  func.func @block_of_a_bias(
      %x: tensor<4x8xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<4x8xf32>},
      %b: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{tp}]>, ppc.logical_type = tensor<8xf32>})
      -> (tensor<4x8xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<4x8xf32>}) {
    // expected-error @below {{combines blocks of two different loops that are sharded over the same axis tp}}
    %0 = ppc.concat %b, %b dim 0 : tensor<4xf32>, tensor<4xf32> to tensor<8xf32>
    %1 = ppc.broadcast %0 dims [0] : tensor<8xf32> to tensor<4x8xf32>
    %2 = ppc.add %x, %1 : tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}

// -----

// Two copies of a tied table get different updates: one is not decayed.
module attributes {ppc.plan = #ppc.plan<grid = <pp0 = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @copies_with_different_optimizers(%w: tensor<6xf32>, %m: tensor<6xf32>, %v: tensor<6xf32>, %g: tensor<6xf32>, %s: tensor<f32>) -> tensor<6xf32> {
      %w2, %m2, %v2 = ppc.adamw %w, %g, %m, %v, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<6xf32>, tensor<f32>
      return %w2 : tensor<6xf32>
    }
  }
  func.func @copies_with_different_optimizers(
      %w: tensor<6xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<6xf32>},
      %m: tensor<6xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<6xf32>},
      %v: tensor<6xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<6xf32>},
      %g: tensor<6xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<6xf32>},
      %s: tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>})
      -> (tensor<6xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<6xf32>}) {
    // expected-error @below {{computes a value that the logical program does not compute}}
    %w2, %m2, %v2 = ppc.adamw %w, %g, %m, %v, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.0} : tensor<6xf32>, tensor<f32>
    return %w2 : tensor<6xf32>
  }
}

// -----

// The view of a gradient is lost: it has as many elements, in another order.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @view_of_a_gradient(%g: tensor<8x4x4xf32>) -> tensor<4x4xf32> {
      %0 = ppc.reduce <sum> %g dims [0] : tensor<8x4x4xf32> to tensor<4x4xf32>
      %1 = ppc.transpose %0 by [1, 0] : tensor<4x4xf32> to tensor<4x4xf32>
      return %1 : tensor<4x4xf32>
    }
  }
  // expected-error @below {{result 0 is not as declared: expected transpose, replicated; found reduce, replicated}}
  func.func @view_of_a_gradient(%g: tensor<4x4x4xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}, {}]>, ppc.logical_type = tensor<8x4x4xf32>})
      -> (tensor<4x4xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<4x4xf32>}) {
    %0 = ppc.reduce <sum> %g dims [0] : tensor<4x4x4xf32> to tensor<4x4xf32>
    %1 = ppc.all_reduce %0 over ["dp"] <sum> : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}

// -----

// A parameter is missing from the norm of all gradients (sinks of attention), or counted nowhere since no rank holds it alone.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @missing_from_the_norm(%a: tensor<8xf32>, %b: tensor<4xf32>) -> tensor<f32> {
      %0 = ppc.squared_norm %a : tensor<8xf32> to tensor<f32>
      %1 = ppc.squared_norm %b : tensor<4xf32> to tensor<f32>
      %2 = ppc.sum %0, %1 : tensor<f32>
      return %2 : tensor<f32>
    }
  }
  // expected-error @below {{result 0 is not as declared: expected squared_norm + squared_norm, replicated; found squared_norm, replicated}}
  func.func @missing_from_the_norm(%a: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{tp}]>, ppc.logical_type = tensor<8xf32>},
                                   %b: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xf32>})
      -> (tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>}) {
    %0 = ppc.squared_norm %a : tensor<4xf32> to tensor<f32>
    %1 = ppc.all_reduce %0 over ["tp"] <sum> : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// Ranks have different numbers of tokens that count: the mean of their means is not the mean.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @mean_of_means(%x: tensor<8xf32>, %mask: tensor<8xf32>) -> tensor<f32> {
      %0 = ppc.mul %x, %mask : tensor<8xf32>
      %1 = ppc.reduce <sum> %0 dims [0] : tensor<8xf32> to tensor<f32>
      %2 = ppc.reduce <sum> %mask dims [0] : tensor<8xf32> to tensor<f32>
      %3 = ppc.div %1, %2 : tensor<f32>
      return %3 : tensor<f32>
    }
  }
  func.func @mean_of_means(%x: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<8xf32>},
                           %mask: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<8xf32>})
      -> (tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>}) {
    %0 = ppc.mul %x, %mask : tensor<4xf32>
    %1 = ppc.reduce <sum> %0 dims [0] : tensor<4xf32> to tensor<f32>
    %2 = ppc.reduce <sum> %mask dims [0] : tensor<4xf32> to tensor<f32>
    // expected-error @below {{is not linear in operand 1, which is still partial}}
    %3 = ppc.div %1, %2 : tensor<f32>
    %4 = ppc.all_reduce %3 over ["dp"] <sum> : tensor<f32>
    %5 = ppc.scale %4 by 0.5 : tensor<f32>
    return %5 : tensor<f32>
  }
}

// -----

// Context parallelism: the loss of a rank is the mean over its part of the sequence, and the parts are added up.
module attributes {ppc.plan = #ppc.plan<grid = <cp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @scale_of_a_cut_sequence(%x: tensor<2x8xf32>) -> tensor<f32> {
      %0 = ppc.reduce <sum> %x dims [0, 1] : tensor<2x8xf32> to tensor<f32>
      %1 = ppc.scale %0 by 0.0625 : tensor<f32>
      return %1 : tensor<f32>
    }
  }
  // expected-error @below {{result 0 is not as declared: expected 0.0625 * reduce, replicated; found 0.125 * reduce, replicated}}
  func.func @scale_of_a_cut_sequence(%x: tensor<2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}]>, ppc.logical_type = tensor<2x8xf32>})
      -> (tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>}) {
    %0 = ppc.reduce <sum> %x dims [0, 1] : tensor<2x4xf32> to tensor<f32>
    %1 = ppc.scale %0 by 0.125 : tensor<f32>
    %2 = ppc.all_reduce %1 over ["cp"] <sum> : tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// Label smoothing over a sharded vocabulary: the mean of the logits of a rank's own classes.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @label_smoothing(%x: tensor<4x6xf32>) -> tensor<4xf32> {
      %0 = ppc.log_sum_exp %x : tensor<4x6xf32> to tensor<4xf32>
      %1 = ppc.reduce <sum> %x dims [1] : tensor<4x6xf32> to tensor<4xf32>
      %2 = ppc.scale %1 by 0.125 : tensor<4xf32>
      %3 = ppc.sub %0, %2 : tensor<4xf32>
      return %3 : tensor<4xf32>
    }
  }
  func.func @label_smoothing(%x: tensor<4x3xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<4x6xf32>})
      -> (tensor<4xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xf32>}) {
    %0 = ppc.log_sum_exp %x classes <[tp], 6> : tensor<4x3xf32> to tensor<4xf32>
    %1 = ppc.all_reduce %0 over ["tp"] <log_sum_exp> : tensor<4xf32>
    %2 = ppc.reduce <sum> %x dims [1] : tensor<4x3xf32> to tensor<4xf32>
    %3 = ppc.scale %2 by 0.125 : tensor<4xf32>
    // expected-error @below {{adds values that are partial over different axes}}
    %4 = ppc.sub %1, %3 : tensor<4xf32>
    return %4 : tensor<4xf32>
  }
}
