// Mistakes that parallel frameworks have shipped, one per program; each is refused at the op that makes it. In the published
// reports the loss looked fine and gradients, norms or other ranks were wrong.
// RUN: ppc-opt %s --split-input-file --ppc-verify-equivalence --verify-diagnostics

// The log-sum-exp of logits that have been gathered is combined once more: the loss has ln(tp) too much.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @gathered_logits_combined_again(%x: tensor<4x6xf32>) -> tensor<4xf32> {
      %0 = ppc.log_sum_exp %x : tensor<4x6xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
  func.func @gathered_logits_combined_again(%x: tensor<4x3xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<4x6xf32>})
      -> (tensor<4xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xf32>}) {
    %0 = ppc.all_gather %x dim 1 over ["tp"] : tensor<4x3xf32> to tensor<4x6xf32>
    %1 = ppc.log_sum_exp %0 : tensor<4x6xf32> to tensor<4xf32>
    // expected-error @below {{combines over tp what is complete there already, and so counts it 2 times}}
    %2 = ppc.all_reduce %1 over ["tp"] <log_sum_exp> : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

// -----

// The picked logit of a cut vocabulary is used before it is summed: zero on all ranks but one.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @vocabulary_parallel_loss(%x: tensor<4x6xf32>, %t: tensor<4xi32>) -> tensor<4xf32> {
      %nll, %lse = ppc.cross_entropy %x, %t : (tensor<4x6xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
      return %nll : tensor<4xf32>
    }
  }
  func.func @vocabulary_parallel_loss(%x: tensor<4x3xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<4x6xf32>},
                                      %t: tensor<4xi32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xi32>})
      -> (tensor<4xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xf32>}) {
    %0 = ppc.log_sum_exp %x classes <[tp], 6> : tensor<4x3xf32> to tensor<4xf32>
    %1 = ppc.all_reduce %0 over ["tp"] <log_sum_exp> : tensor<4xf32>
    %2 = ppc.pick %x, %t classes <[tp], 6> : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<4xf32>
    // expected-error @below {{adds up values that are pending over different axes}}
    %3 = ppc.sub %1, %2 : tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}

// -----

// A rank looks for its targets in classes that are another rank's: the block is not said.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @vocabulary_offset(%x: tensor<4x6xf32>, %t: tensor<4xi32>) -> tensor<4xf32> {
      %0 = ppc.pick %x, %t : (tensor<4x6xf32>, tensor<4xi32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
  func.func @vocabulary_offset(%x: tensor<4x3xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<4x6xf32>},
                               %t: tensor<4xi32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xi32>})
      -> (tensor<4xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xf32>}) {
    // expected-error @below {{goes by index along a dimension that is cut over {tp} and is not told which block it holds}}
    %0 = ppc.pick %x, %t : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<4xf32>
    %1 = ppc.all_reduce %0 over ["tp"] <sum> : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// The mean is taken over the tokens of a rank, then summed over ranks.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @mean_over_local_tokens(%x: tensor<8xf32>) -> tensor<f32> {
      %0 = ppc.reduce <sum> %x dims [0] : tensor<8xf32> to tensor<f32>
      %1 = ppc.scale %0 by 0.125 : tensor<f32>
      return %1 : tensor<f32>
    }
  }
  // expected-error @below {{result 0 is not as declared: expected 0.125 * reduce, whole; found 0.25 * reduce, whole}}
  func.func @mean_over_local_tokens(%x: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<8xf32>})
      -> (tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>}) {
    %0 = ppc.reduce <sum> %x dims [0] : tensor<4xf32> to tensor<f32>
    %1 = ppc.scale %0 by 0.25 : tensor<f32>
    %2 = ppc.all_reduce %1 over ["dp"] <sum> : tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// What is computed again for the backward pass is reduced over the wrong group.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @recompute_in_wrong_group(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
      %0 = ppc.matmul "bh,fh->bf" %x, %w : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
      %1 = ppc.silu %0 : tensor<4x6xf32>
      %2 = ppc.silu_backward %0, %1 : tensor<4x6xf32>
      return %2 : tensor<4x6xf32>
    }
  }
  func.func @recompute_in_wrong_group(%x: tensor<2x4xf32> {ppc.sharding = #ppc.sharding<[{dp}, {tp}]>, ppc.logical_type = tensor<4x8xf32>},
                                      %w: tensor<6x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<6x8xf32>})
      -> (tensor<2x6xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<4x6xf32>}) {
    %0 = ppc.matmul "bh,fh->bf" %x, %w : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
    %1 = ppc.all_reduce %0 over ["tp"] <sum> : tensor<2x6xf32>
    %2 = ppc.silu %1 : tensor<2x6xf32>
    %3 = ppc.matmul "bh,fh->bf" %x, %w : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
    // expected-error @below {{combines different blocks: its operand is matmul "bh,fh->bf", cut [{dp}, {}], pending over tp (sum)}}
    %4 = ppc.all_reduce %3 over ["dp"] <sum> : tensor<2x6xf32>
    %5 = ppc.silu_backward %4, %2 : tensor<2x6xf32>
    return %5 : tensor<2x6xf32>
  }
}

// -----

// A router's balance loss, a sum over the tokens of a rank, is divided by the number of tokens on all ranks, and then averaged over the ranks as well.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @router_loss_scaled_twice(%p: tensor<8x3xf32>) -> tensor<3xf32> {
      %0 = ppc.reduce <sum> %p dims [0] : tensor<8x3xf32> to tensor<3xf32>
      %1 = ppc.scale %0 by 0.125 : tensor<3xf32>
      return %1 : tensor<3xf32>
    }
  }
  // expected-error @below {{result 0 is not as declared: expected 0.125 * reduce, whole; found 0.03125 * reduce, whole}}
  func.func @router_loss_scaled_twice(%p: tensor<2x3xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<8x3xf32>})
      -> (tensor<3xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<3xf32>}) {
    %0 = ppc.reduce <sum> %p dims [0] : tensor<2x3xf32> to tensor<3xf32>
    %1 = ppc.scale %0 by 0.125 : tensor<3xf32>
    %2 = ppc.all_reduce %1 over ["dp"] <sum> : tensor<3xf32>
    %3 = ppc.scale %2 by 0.25 : tensor<3xf32>
    return %3 : tensor<3xf32>
  }
}

// -----

// The gradient norm counts a parameter that all ranks have once per rank.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @norm_counts_replicated_parameters(%a: tensor<8xf32>, %b: tensor<4xf32>) -> tensor<f32> {
      %0 = ppc.squared_norm %a : tensor<8xf32> to tensor<f32>
      %1 = ppc.squared_norm %b : tensor<4xf32> to tensor<f32>
      %2 = ppc.sum %0, %1 : tensor<f32>
      return %2 : tensor<f32>
    }
  }
  func.func @norm_counts_replicated_parameters(%a: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{tp}]>, ppc.logical_type = tensor<8xf32>},
                                               %b: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xf32>})
      -> (tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>}) {
    %0 = ppc.squared_norm %a : tensor<4xf32> to tensor<f32>
    %1 = ppc.squared_norm %b : tensor<4xf32> to tensor<f32>
    // expected-error @below {{adds up values that are pending over different axes}}
    %2 = ppc.sum %0, %1 : tensor<f32>
    %3 = ppc.all_reduce %2 over ["tp"] <sum> : tensor<f32>
    return %3 : tensor<f32>
  }
}

// -----

// Ranks clip by the norm of their own experts, each by another factor.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @clip_by_local_norm(%a: tensor<8xf32>) -> tensor<f32> {
      %0 = ppc.squared_norm %a : tensor<8xf32> to tensor<f32>
      %1 = ppc.sqrt %0 : tensor<f32>
      %2 = ppc.clip_scale %1 max_norm 1.0 : tensor<f32>
      return %2 : tensor<f32>
    }
  }
  func.func @clip_by_local_norm(%a: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{tp}]>, ppc.logical_type = tensor<8xf32>})
      -> (tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>}) {
    %0 = ppc.squared_norm %a : tensor<4xf32> to tensor<f32>
    // expected-error @below {{is not linear in operand 0, which is still pending: squared_norm, pending over tp (sum)}}
    %1 = ppc.sqrt %0 : tensor<f32>
    %2 = ppc.clip_scale %1 max_norm 1.0 : tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// Norm weights under sequence parallelism: each rank has the gradient of its own positions only.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @norm_weights_under_sequence_parallelism(%x: tensor<2x8x4xf32>, %dy: tensor<2x8x4xf32>) -> tensor<4xf32> {
      %0 = ppc.rms_norm_weight_gradient %x, %dy epsilon 1.0e-05 : tensor<2x8x4xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
  // expected-error @below {{result 0 is not as declared: expected rms_norm_weight_gradient, whole; found rms_norm_weight_gradient, pending over tp (sum)}}
  func.func @norm_weights_under_sequence_parallelism(
      %x: tensor<2x4x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}, {}]>, ppc.logical_type = tensor<2x8x4xf32>},
      %dy: tensor<2x4x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}, {}]>, ppc.logical_type = tensor<2x8x4xf32>})
      -> (tensor<4xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xf32>}) {
    %0 = ppc.rms_norm_weight_gradient %x, %dy epsilon 1.0e-05 : tensor<2x4x4xf32> to tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Rotary positions of a sequence that is cut: every rank counts from zero.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @positions_count_from_zero(%x: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
      %0 = ppc.rotary %x frequencies [1.0, 0.01] : tensor<2x8x3x4xf32>
      return %0 : tensor<2x8x3x4xf32>
    }
  }
  func.func @positions_count_from_zero(%x: tensor<2x4x3x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}, {}, {}]>, ppc.logical_type = tensor<2x8x3x4xf32>})
      -> (tensor<2x4x3x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}, {}, {}]>, ppc.logical_type = tensor<2x8x3x4xf32>}) {
    // expected-error @below {{goes by index along a dimension that is cut over {tp} and is not told which block it holds}}
    %0 = ppc.rotary %x frequencies [1.0, 0.01] : tensor<2x4x3x4xf32>
    return %0 : tensor<2x4x3x4xf32>
  }
}

// -----

// Context parallelism: a block of the queries whose positions count from zero.
module attributes {ppc.plan = #ppc.plan<grid = <cp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @queries_count_from_zero(%q: tensor<2x8x1x2x4xf32>, %k: tensor<2x8x1x4xf32>) -> tensor<2x8x1x2x4xf32> {
      %o, %lse = ppc.attention %q, %k, %k scale 0.5 causal : tensor<2x8x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32> -> tensor<2x8x1x2x4xf32>, tensor<2x8x1x2xf32>
      return %o : tensor<2x8x1x2x4xf32>
    }
  }
  func.func @queries_count_from_zero(
      %q: tensor<2x4x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x2x4xf32>},
      %k: tensor<2x4x1x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}]>, ppc.logical_type = tensor<2x8x1x4xf32>})
      -> (tensor<2x4x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x2x4xf32>}) {
    %all = ppc.all_gather %k dim 1 over ["cp"] : tensor<2x4x1x4xf32> to tensor<2x8x1x4xf32>
    // expected-error @below {{goes by index along a dimension that is cut over {cp} and is not told which block it holds}}
    %o, %lse = ppc.attention %q, %all, %all scale 0.5 causal : tensor<2x4x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32> -> tensor<2x4x1x2x4xf32>, tensor<2x4x1x2xf32>
    return %o : tensor<2x4x1x2x4xf32>
  }
}

// -----

// Keys and values of the rank's own block of the sequence only.
module attributes {ppc.plan = #ppc.plan<grid = <cp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @keys_not_gathered(%q: tensor<2x8x1x2x4xf32>, %k: tensor<2x8x1x4xf32>) -> tensor<2x8x1x2x4xf32> {
      %o, %lse = ppc.attention %q, %k, %k scale 0.5 causal : tensor<2x8x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32> -> tensor<2x8x1x2x4xf32>, tensor<2x8x1x2xf32>
      return %o : tensor<2x8x1x2x4xf32>
    }
  }
  func.func @keys_not_gathered(
      %q: tensor<2x4x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x2x4xf32>},
      %k: tensor<2x4x1x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}]>, ppc.logical_type = tensor<2x8x1x4xf32>})
      -> (tensor<2x4x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x2x4xf32>}) {
    // expected-error @below {{combines blocks of two different loops that are cut over the same axis cp}}
    %o, %lse = ppc.attention %q, %k, %k scale 0.5 queries <[cp], 8> : tensor<2x4x1x2x4xf32>, tensor<2x4x1x4xf32>, tensor<2x4x1x4xf32> -> tensor<2x4x1x2x4xf32>, tensor<2x4x1x2xf32>
    return %o : tensor<2x4x1x2x4xf32>
  }
}

// -----

// Each rank adds to the gradients of all keys; nobody puts the parts together.
module attributes {ppc.plan = #ppc.plan<grid = <cp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @key_gradients_not_reduced(%q: tensor<2x8x1x2x4xf32>, %k: tensor<2x8x1x4xf32>, %do: tensor<2x8x1x2x4xf32>) -> tensor<2x8x1x4xf32> {
      %o, %lse = ppc.attention %q, %k, %k scale 0.5 causal : tensor<2x8x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32> -> tensor<2x8x1x2x4xf32>, tensor<2x8x1x2xf32>
      %dq, %dk, %dv = ppc.attention_backward %q, %k, %k, %o, %lse, %do scale 0.5 causal : tensor<2x8x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x2x4xf32>, tensor<2x8x1x2xf32>
      return %dk : tensor<2x8x1x4xf32>
    }
  }
  func.func @key_gradients_not_reduced(
      %q: tensor<2x4x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x2x4xf32>},
      %k: tensor<2x4x1x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}]>, ppc.logical_type = tensor<2x8x1x4xf32>},
      %do: tensor<2x4x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x2x4xf32>})
      -> (tensor<2x4x1x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}]>, ppc.logical_type = tensor<2x8x1x4xf32>}) {
    %all = ppc.all_gather %k dim 1 over ["cp"] : tensor<2x4x1x4xf32> to tensor<2x8x1x4xf32>
    %o, %lse = ppc.attention %q, %all, %all scale 0.5 causal queries <[cp], 8> : tensor<2x4x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32> -> tensor<2x4x1x2x4xf32>, tensor<2x4x1x2xf32>
    %dq, %dk, %dv = ppc.attention_backward %q, %all, %all, %o, %lse, %do scale 0.5 causal queries <[cp], 8> : tensor<2x4x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x4x1x2x4xf32>, tensor<2x4x1x2xf32>
    // expected-error @below {{cuts over cp what differs over it: its operand is result 1 of attention_backward, pending over cp (sum)}}
    %mine = ppc.local_slice %dk dim 1 over ["cp"] : tensor<2x8x1x4xf32> to tensor<2x4x1x4xf32>
    return %mine : tensor<2x4x1x4xf32>
  }
}

// -----

// A router's gradient, of which each rank has the part of its own experts, goes on as if it were whole.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @router_gradient_taken_as_replicated(%s: tensor<2x4x4x8xf32>, %i: tensor<2x6x2xi32>, %x: tensor<2x6x8xf32>, %y: tensor<2x6x2xf32>) -> tensor<2x6x2xf32> {
      %0 = ppc.routing_weights_gradient %s, %i, %x : (tensor<2x4x4x8xf32>, tensor<2x6x2xi32>, tensor<2x6x8xf32>) -> tensor<2x6x2xf32>
      %1 = ppc.softmax_backward %y, %0 : tensor<2x6x2xf32>
      %2 = ppc.add %1, %y : tensor<2x6x2xf32>
      return %2 : tensor<2x6x2xf32>
    }
  }
  func.func @router_gradient_taken_as_replicated(
      %s: tensor<2x2x4x8xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}, {}, {}]>, ppc.logical_type = tensor<2x4x4x8xf32>},
      %i: tensor<2x6x2xi32> {ppc.sharding = #ppc.sharding<[{}, {}, {}]>, ppc.logical_type = tensor<2x6x2xi32>},
      %x: tensor<2x6x8xf32> {ppc.sharding = #ppc.sharding<[{}, {}, {}]>, ppc.logical_type = tensor<2x6x8xf32>},
      %y: tensor<2x6x2xf32> {ppc.sharding = #ppc.sharding<[{}, {}, {}]>, ppc.logical_type = tensor<2x6x2xf32>})
      -> (tensor<2x6x2xf32> {ppc.sharding = #ppc.sharding<[{}, {}, {}]>, ppc.logical_type = tensor<2x6x2xf32>}) {
    %0 = ppc.routing_weights_gradient %s, %i, %x experts <[tp], 4> : (tensor<2x2x4x8xf32>, tensor<2x6x2xi32>, tensor<2x6x8xf32>) -> tensor<2x6x2xf32>
    %1 = ppc.softmax_backward %y, %0 : tensor<2x6x2xf32>
    // expected-error @below {{adds up values that are pending over different axes}}
    %2 = ppc.add %1, %y : tensor<2x6x2xf32>
    return %2 : tensor<2x6x2xf32>
  }
}

// -----

// Multi-query attention: query heads are cut, keys and values shared, and the gradients of keys not summed over the ranks.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @multi_query_gradient(%q: tensor<2x8x1x4x4xf32>, %k: tensor<2x8x1x4xf32>, %do: tensor<2x8x1x4x4xf32>) -> tensor<2x8x1x4xf32> {
      %o, %lse = ppc.attention %q, %k, %k scale 0.5 causal : tensor<2x8x1x4x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32> -> tensor<2x8x1x4x4xf32>, tensor<2x8x1x4xf32>
      %dq, %dk, %dv = ppc.attention_backward %q, %k, %k, %o, %lse, %do scale 0.5 causal : tensor<2x8x1x4x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4x4xf32>, tensor<2x8x1x4xf32>
      return %dk : tensor<2x8x1x4xf32>
    }
  }
  // expected-error @below {{found result 1 of attention_backward, pending over tp (sum)}}
  func.func @multi_query_gradient(
      %q: tensor<2x8x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {}, {}, {tp}, {}]>, ppc.logical_type = tensor<2x8x1x4x4xf32>},
      %k: tensor<2x8x1x4xf32> {ppc.sharding = #ppc.sharding<[{}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x4xf32>},
      %do: tensor<2x8x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {}, {}, {tp}, {}]>, ppc.logical_type = tensor<2x8x1x4x4xf32>})
      -> (tensor<2x8x1x4xf32> {ppc.sharding = #ppc.sharding<[{}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x4xf32>}) {
    %o, %lse = ppc.attention %q, %k, %k scale 0.5 causal : tensor<2x8x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32> -> tensor<2x8x1x2x4xf32>, tensor<2x8x1x2xf32>
    %dq, %dk, %dv = ppc.attention_backward %q, %k, %k, %o, %lse, %do scale 0.5 causal : tensor<2x8x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x2x4xf32>, tensor<2x8x1x2xf32>
    return %dk : tensor<2x8x1x4xf32>
  }
}

// -----

// ZeRO: a rank updates a block of the parameter, and nobody puts the blocks together.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @updated_block_not_gathered(%w: tensor<6xf32>, %m: tensor<6xf32>, %v: tensor<6xf32>, %g: tensor<6xf32>, %s: tensor<f32>) -> tensor<6xf32> {
      %w2, %m2, %v2 = ppc.adamw %w, %g, %m, %v, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<6xf32>, tensor<f32>
      return %w2 : tensor<6xf32>
    }
  }
  // expected-error @below {{result 0 is not as declared: expected result 0 of adamw, cut [{dp}]; found argument 0, cut [{dp}]}}
  func.func @updated_block_not_gathered(
      %w: tensor<6xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<6xf32>},
      %m: tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>},
      %v: tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>},
      %g: tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>},
      %s: tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>})
      -> (tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>}) {
    %0 = ppc.local_slice %w dim 0 over ["dp"] : tensor<6xf32> to tensor<3xf32>
    %w2, %m2, %v2 = ppc.adamw %0, %g, %m, %v, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<3xf32>, tensor<f32>
    return %0 : tensor<3xf32>
  }
}

// -----

// ZeRO: the gradient is reduced into blocks over the wrong axis, so that they do not meet their optimizer state.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @state_of_another_block(%x: tensor<4x6xf32>, %w: tensor<6xf32>, %m: tensor<6xf32>, %v: tensor<6xf32>, %s: tensor<f32>) -> tensor<6xf32> {
      %g = ppc.reduce <sum> %x dims [0] : tensor<4x6xf32> to tensor<6xf32>
      %w2, %m2, %v2 = ppc.adamw %w, %g, %m, %v, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<6xf32>, tensor<f32>
      return %m2 : tensor<6xf32>
    }
  }
  func.func @state_of_another_block(
      %x: tensor<2x6xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<4x6xf32>},
      %w: tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>},
      %m: tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>},
      %v: tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>},
      %s: tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>})
      -> (tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>}) {
    %0 = ppc.reduce <sum> %x dims [0] : tensor<2x6xf32> to tensor<6xf32>
    %1 = ppc.all_reduce %0 over ["dp"] <sum> : tensor<6xf32>
    %g = ppc.local_slice %1 dim 0 over ["tp"] : tensor<6xf32> to tensor<3xf32>
    // expected-error @below {{puts together operands that lie differently: dimension 0 of operand 1 is 6 elements cut over {tp}, elsewhere the same loop is 6 cut over {dp}}}
    %w2, %m2, %v2 = ppc.adamw %w, %g, %m, %v, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<3xf32>, tensor<f32>
    return %m2 : tensor<3xf32>
  }
}

// -----

// Blocks of two axes are put together in the wrong order.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @gathered_in_wrong_order(%x: tensor<8xf32>) -> tensor<8xf32> {
      return %x : tensor<8xf32>
    }
  }
  func.func @gathered_in_wrong_order(%x: tensor<2xf32> {ppc.sharding = #ppc.sharding<[{dp, tp}]>, ppc.logical_type = tensor<8xf32>})
      -> (tensor<8xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<8xf32>}) {
    // expected-error @below {{puts together blocks over {dp}, but along dimension 0 its operand is cut over {dp, tp}}}
    %0 = ppc.all_gather %x dim 0 over ["dp"] : tensor<2xf32> to tensor<4xf32>
    %1 = ppc.all_gather %0 dim 0 over ["tp"] : tensor<4xf32> to tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// Padding of an uneven block takes part in a sum.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @padding_in_sum(%x: tensor<5xf32>) -> tensor<f32> {
      %0 = ppc.exp %x : tensor<5xf32>
      %1 = ppc.reduce <sum> %0 dims [0] : tensor<5xf32> to tensor<f32>
      return %1 : tensor<f32>
    }
  }
  func.func @padding_in_sum(%x: tensor<3xf32> {ppc.sharding = #ppc.sharding<[{tp}]>, ppc.logical_type = tensor<5xf32>})
      -> (tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>}) {
    %0 = ppc.exp %x : tensor<3xf32>
    // expected-error @below {{reduces over a dimension that is cut over {tp} unevenly, with padding that is not zero}}
    %1 = ppc.reduce <sum> %0 dims [0] : tensor<3xf32> to tensor<f32>
    %2 = ppc.all_reduce %1 over ["tp"] <sum> : tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// A factor that is 0 in the numbers of the program: no rank can compute what the model says.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @factor_of_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
      // expected-error @below {{in the logical program: has factor 1e-50, which is 0 in f32}}
      %0 = ppc.scale %x by 1.000000e-50 : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
  func.func @factor_of_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = ppc.scale %x by 1.000000e-50 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Two factors that f32 can hold, whose product it cannot, and one that makes up for it: equal in exact arithmetic only.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @product_of_factors(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
  func.func @product_of_factors(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = ppc.scale %x by 1.000000e-20 : tensor<4xf32>
    // expected-error @below {{multiplies argument 0, in all, by 1e-40, which is denormal in f32}}
    %1 = ppc.scale %0 by 1.000000e-20 : tensor<4xf32>
    %2 = ppc.scale %1 by 1.000000e+20 : tensor<4xf32>
    %3 = ppc.scale %2 by 1.000000e+20 : tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}

// -----

// The same the other way round, by a constant.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @constant_too_large(%x: tensor<4xbf16>) -> tensor<4xbf16> {
      return %x : tensor<4xbf16>
    }
  }
  func.func @constant_too_large(%x: tensor<4xbf16>) -> tensor<4xbf16> {
    %c = ppc.constant dense<1.000000e+30> : tensor<4xbf16>
    %0 = ppc.mul %x, %c : tensor<4xbf16>
    // expected-error @below {{multiplies argument 0, in all, by 1.00051e+60, which is infinite in f32}}
    %1 = ppc.mul %0, %c : tensor<4xbf16>
    return %1 : tensor<4xbf16>
  }
}

// -----

// Numbers that are lost one after the other do not cancel what they multiply.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @product_that_vanishes(%x: tensor<4xf64>) -> tensor<4xf64> {
      %0 = ppc.constant dense<0.000000e+00> : tensor<4xf64>
      return %0 : tensor<4xf64>
    }
  }
  func.func @product_that_vanishes(%x: tensor<4xf64>) -> tensor<4xf64> {
    %0 = ppc.scale %x by 1.000000e-200 : tensor<4xf64>
    // expected-error @below {{which is denormal in f64}}
    %1 = ppc.scale %0 by 1.000000e-200 : tensor<4xf64>
    return %1 : tensor<4xf64>
  }
}

// -----

// A parameter begins as another than the model says.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @other_beginning(%w: tensor<4xf32> {ppc.parameter = "w", ppc.init = #ppc.init<normal, 0.02>}) -> tensor<4xf32> {
      return %w : tensor<4xf32>
    }
  }
  // expected-error @below {{begins with parameter w as #ppc.init<ones>, the logical program as #ppc.init<normal, 2.000000e-02>}}
  func.func @other_beginning(%w: tensor<2xf32> {ppc.parameter = "w", ppc.init = #ppc.init<ones>, ppc.sharding = #ppc.sharding<[{tp}]>, ppc.logical_type = tensor<4xf32>})
      -> (tensor<2xf32> {ppc.sharding = #ppc.sharding<[{tp}]>, ppc.logical_type = tensor<4xf32>}) {
    return %w : tensor<2xf32>
  }
}

// -----

// The result is said to be a block of another tensor, which has equally large blocks.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @other_extent(%x: tensor<5xf32>) -> tensor<5xf32> {
      return %x : tensor<5xf32>
    }
  }
  // expected-error @below {{result 0 is declared as a block of tensor<6xf32>, but the logical program makes tensor<5xf32>}}
  func.func @other_extent(%x: tensor<3xf32> {ppc.sharding = #ppc.sharding<[{tp}]>, ppc.logical_type = tensor<5xf32>})
      -> (tensor<3xf32> {ppc.sharding = #ppc.sharding<[{tp}]>, ppc.logical_type = tensor<6xf32>}) {
    return %x : tensor<3xf32>
  }
}

// -----

// The row of a padding token learns: the ranks compute the gradient of every row.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @padding_learns(%ids: tensor<4xi32>, %dy: tensor<4x3xf32>) -> tensor<6x3xf32> {
      %0 = ppc.embedding_backward %ids, %dy padding_index 4 : (tensor<4xi32>, tensor<4x3xf32>) -> tensor<6x3xf32>
      return %0 : tensor<6x3xf32>
    }
  }
  func.func @padding_learns(%ids: tensor<4xi32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xi32>},
                            %dy: tensor<4x3xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<4x3xf32>})
      -> (tensor<3x3xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>, ppc.logical_type = tensor<6x3xf32>}) {
    // expected-error @below {{computes what the logical program does not compute: embedding_backward}}
    %0 = ppc.embedding_backward %ids, %dy rows <[tp], 6> : (tensor<4xi32>, tensor<4x3xf32>) -> tensor<3x3xf32>
    return %0 : tensor<3x3xf32>
  }
}

// -----

// The index is that of a row of the rank's block, where it is to be of the whole table.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @padding_of_block(%ids: tensor<4xi32>, %dy: tensor<4x3xf32>) -> tensor<6x3xf32> {
      %0 = ppc.embedding_backward %ids, %dy padding_index 4 : (tensor<4xi32>, tensor<4x3xf32>) -> tensor<6x3xf32>
      return %0 : tensor<6x3xf32>
    }
  }
  func.func @padding_of_block(%ids: tensor<4xi32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xi32>},
                              %dy: tensor<4x3xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<4x3xf32>})
      -> (tensor<3x3xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>, ppc.logical_type = tensor<6x3xf32>}) {
    // expected-error @below {{it does so with {padding_index = 4 : i64}, here it is {padding_index = 1 : i64}}}
    %0 = ppc.embedding_backward %ids, %dy rows <[tp], 6> padding_index 1 : (tensor<4xi32>, tensor<4x3xf32>) -> tensor<3x3xf32>
    return %0 : tensor<3x3xf32>
  }
}

// -----

// A parameter whose row of a padding token begins with other values.
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @zero_row(%t: tensor<6x3xf32> {ppc.parameter = "t", ppc.init = #ppc.init<normal, 0.5, zero_row 4>}) -> tensor<6x3xf32> {
      return %t : tensor<6x3xf32>
    }
  }
  // expected-error @below {{begins with parameter t as #ppc.init<normal, 5.000000e-01, zero_row 1>, the logical program as #ppc.init<normal, 5.000000e-01, zero_row 4>}}
  func.func @zero_row(%t: tensor<3x3xf32> {ppc.parameter = "t", ppc.init = #ppc.init<normal, 0.5, zero_row 1>, ppc.sharding = #ppc.sharding<[{tp}, {}]>, ppc.logical_type = tensor<6x3xf32>})
      -> (tensor<3x3xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>, ppc.logical_type = tensor<6x3xf32>}) {
    return %t : tensor<3x3xf32>
  }
}
