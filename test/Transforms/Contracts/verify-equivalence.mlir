// Programs of one rank that compute what the nested logical program computes, one per rule.
// RUN: ppc-opt %s --split-input-file --ppc-verify-equivalence | FileCheck %s
// RUN: ppc-opt %s --split-input-file --ppc-verify-equivalence --remarks-filter=ppc-equivalence -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: equivalence | Category:ppc-equivalence | Reason="4 local ops related to the logical program, 1 outputs as declared"

// Column then row parallel: a block, then a partial sum, then the full value.
// CHECK-LABEL: func.func @mlp
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @mlp(%x: tensor<4x8xf32>, %up: tensor<16x8xf32>, %down: tensor<8x16xf32>) -> tensor<4x8xf32> {
      %0 = ppc.matmul "bh,fh->bf" %x, %up : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
      %1 = ppc.silu %0 : tensor<4x16xf32>
      %2 = ppc.matmul "bf,hf->bh" %1, %down : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
      return %2 : tensor<4x8xf32>
    }
  }
  func.func @mlp(%x: tensor<2x8xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<4x8xf32>},
                 %up: tensor<8x8xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>, ppc.logical_type = tensor<16x8xf32>},
                 %down: tensor<8x8xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<8x16xf32>})
      -> (tensor<2x8xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<4x8xf32>}) {
    %0 = ppc.matmul "bh,fh->bf" %x, %up : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %1 = ppc.silu %0 : tensor<2x8xf32>
    %2 = ppc.matmul "bf,hf->bh" %1, %down : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %3 = ppc.all_reduce %2 over ["tp"] <sum> : tensor<2x8xf32>
    return %3 : tensor<2x8xf32>
  }
}

// -----

// Matmuls and their sum over ranks in chunks: rows of both sequences, then rows of one (PieceRules.cpp).
// CHECK-LABEL: func.func @pieces
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @pieces(%x: tensor<4x5x8xf32>, %y: tensor<4x5x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x5x6xf32> {
      %0 = ppc.matmul "bsf,hf->bsh" %x, %w : (tensor<4x5x8xf32>, tensor<6x8xf32>) -> tensor<4x5x6xf32>
      %1 = ppc.matmul "bsf,hf->bsh" %y, %w : (tensor<4x5x8xf32>, tensor<6x8xf32>) -> tensor<4x5x6xf32>
      %2 = ppc.add %0, %1 : tensor<4x5x6xf32>
      return %2 : tensor<4x5x6xf32>
    }
  }
  func.func @pieces(%x: tensor<2x5x4xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}, {tp}]>, ppc.logical_type = tensor<4x5x8xf32>},
                    %y: tensor<2x5x4xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}, {tp}]>, ppc.logical_type = tensor<4x5x8xf32>},
                    %w: tensor<6x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<6x8xf32>})
      -> (tensor<2x5x6xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}, {}]>, ppc.logical_type = tensor<4x5x6xf32>}) {
    %x0, %x1 = ppc.split %x dim 0 : tensor<2x5x4xf32> to tensor<1x5x4xf32>, tensor<1x5x4xf32>
    %y0, %y1 = ppc.split %y dim 0 : tensor<2x5x4xf32> to tensor<1x5x4xf32>, tensor<1x5x4xf32>
    %p0 = ppc.matmul "bsf,hf->bsh" %x0, %w : (tensor<1x5x4xf32>, tensor<6x4xf32>) -> tensor<1x5x6xf32>
    %q0 = ppc.matmul "bsf,hf->bsh" %y0, %w : (tensor<1x5x4xf32>, tensor<6x4xf32>) -> tensor<1x5x6xf32>
    %s0 = ppc.add %p0, %q0 : tensor<1x5x6xf32>
    %r0 = ppc.all_reduce %s0 over ["tp"] <sum> : tensor<1x5x6xf32>
    %x2, %x3 = ppc.split %x1 dim 1 : tensor<1x5x4xf32> to tensor<1x3x4xf32>, tensor<1x2x4xf32>
    %y2, %y3 = ppc.split %y1 dim 1 : tensor<1x5x4xf32> to tensor<1x3x4xf32>, tensor<1x2x4xf32>
    %p2 = ppc.matmul "bsf,hf->bsh" %x2, %w : (tensor<1x3x4xf32>, tensor<6x4xf32>) -> tensor<1x3x6xf32>
    %q2 = ppc.matmul "bsf,hf->bsh" %y2, %w : (tensor<1x3x4xf32>, tensor<6x4xf32>) -> tensor<1x3x6xf32>
    %s2 = ppc.add %p2, %q2 : tensor<1x3x6xf32>
    %r2 = ppc.all_reduce %s2 over ["tp"] <sum> : tensor<1x3x6xf32>
    %p3 = ppc.matmul "bsf,hf->bsh" %x3, %w : (tensor<1x2x4xf32>, tensor<6x4xf32>) -> tensor<1x2x6xf32>
    %q3 = ppc.matmul "bsf,hf->bsh" %y3, %w : (tensor<1x2x4xf32>, tensor<6x4xf32>) -> tensor<1x2x6xf32>
    %s3 = ppc.add %p3, %q3 : tensor<1x2x6xf32>
    %r3 = ppc.all_reduce %s3 over ["tp"] <sum> : tensor<1x2x6xf32>
    %r1 = ppc.concat %r2, %r3 dim 1 : tensor<1x3x6xf32>, tensor<1x2x6xf32> to tensor<1x5x6xf32>
    %r = ppc.concat %r0, %r1 dim 0 : tensor<1x5x6xf32>, tensor<1x5x6xf32> to tensor<2x5x6xf32>
    return %r : tensor<2x5x6xf32>
  }
}

// -----

// A part of the block of every rank is scattered, and one is gathered: runs of rows.
// CHECK-LABEL: func.func @pieces_of_blocks
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @pieces_of_blocks(%x: tensor<12x8xf32>, %w: tensor<6x8xf32>, %z: tensor<12x6xf32>, %v: tensor<10x6xf32>) -> (tensor<12x6xf32>, tensor<12x10xf32>) {
      %0 = ppc.matmul "sf,hf->sh" %x, %w : (tensor<12x8xf32>, tensor<6x8xf32>) -> tensor<12x6xf32>
      %1 = ppc.matmul "sh,fh->sf" %z, %v : (tensor<12x6xf32>, tensor<10x6xf32>) -> tensor<12x10xf32>
      return %0, %1 : tensor<12x6xf32>, tensor<12x10xf32>
    }
  }
  func.func @pieces_of_blocks(%x: tensor<12x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<12x8xf32>},
                              %w: tensor<6x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<6x8xf32>},
                              %z: tensor<6x6xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>, ppc.logical_type = tensor<12x6xf32>},
                              %v: tensor<5x6xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>, ppc.logical_type = tensor<10x6xf32>})
      -> (tensor<6x6xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>, ppc.logical_type = tensor<12x6xf32>},
          tensor<12x5xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<12x10xf32>}) {
    %x0, %x1 = ppc.split %x dim 0 runs 2 : tensor<12x4xf32> to tensor<8x4xf32>, tensor<4x4xf32>
    %p0 = ppc.matmul "sf,hf->sh" %x0, %w : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
    %r0 = ppc.reduce_scatter %p0 dim 0 over ["tp"] <sum> : tensor<8x6xf32> to tensor<4x6xf32>
    %p1 = ppc.matmul "sf,hf->sh" %x1, %w : (tensor<4x4xf32>, tensor<6x4xf32>) -> tensor<4x6xf32>
    %r1 = ppc.reduce_scatter %p1 dim 0 over ["tp"] <sum> : tensor<4x6xf32> to tensor<2x6xf32>
    %r = ppc.concat %r0, %r1 dim 0 : tensor<4x6xf32>, tensor<2x6xf32> to tensor<6x6xf32>
    %z0, %z1 = ppc.split %z dim 0 : tensor<6x6xf32> to tensor<4x6xf32>, tensor<2x6xf32>
    %g0 = ppc.all_gather %z0 dim 0 over ["tp"] : tensor<4x6xf32> to tensor<8x6xf32>
    %g1 = ppc.all_gather %z1 dim 0 over ["tp"] : tensor<2x6xf32> to tensor<4x6xf32>
    %y0 = ppc.matmul "sh,fh->sf" %g0, %v : (tensor<8x6xf32>, tensor<5x6xf32>) -> tensor<8x5xf32>
    %y1 = ppc.matmul "sh,fh->sf" %g1, %v : (tensor<4x6xf32>, tensor<5x6xf32>) -> tensor<4x5xf32>
    %y = ppc.concat %y0, %y1 dim 0 runs 2 : tensor<8x5xf32>, tensor<4x5xf32> to tensor<12x5xf32>
    return %r, %y : tensor<6x6xf32>, tensor<12x5xf32>
  }
}

// -----

// Sums may be regrouped, and partial sums pass linear ops: x W1 + 2 (x W2) with one reduction, scattered and gathered.
// CHECK-LABEL: func.func @linear
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @linear(%x: tensor<4x8xf32>, %a: tensor<6x8xf32>, %b: tensor<6x8xf32>) -> tensor<4x6xf32> {
      %0 = ppc.matmul "bh,fh->bf" %x, %a : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
      %1 = ppc.matmul "bh,fh->bf" %x, %b : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
      %2 = ppc.scale %1 by 2.0 : tensor<4x6xf32>
      %3 = ppc.add %2, %0 : tensor<4x6xf32>
      return %3 : tensor<4x6xf32>
    }
  }
  func.func @linear(%x: tensor<4x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<4x8xf32>},
                    %a: tensor<6x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<6x8xf32>},
                    %b: tensor<6x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<6x8xf32>})
      -> (tensor<4x6xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<4x6xf32>}) {
    %0 = ppc.matmul "bh,fh->bf" %x, %a : (tensor<4x4xf32>, tensor<6x4xf32>) -> tensor<4x6xf32>
    %1 = ppc.matmul "bh,fh->bf" %x, %b : (tensor<4x4xf32>, tensor<6x4xf32>) -> tensor<4x6xf32>
    %2 = ppc.add %1, %1 : tensor<4x6xf32>
    %3 = ppc.add %0, %2 : tensor<4x6xf32>
    %4 = ppc.reduce_scatter %3 dim 0 over ["tp"] <sum> : tensor<4x6xf32> to tensor<2x6xf32>
    %5 = ppc.all_gather %4 dim 0 over ["tp"] : tensor<2x6xf32> to tensor<4x6xf32>
    return %5 : tensor<4x6xf32>
  }
}

// -----

// A loss over a vocabulary of 5 that is unevenly sharded in two.
// CHECK-LABEL: func.func @loss
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @loss(%x: tensor<4x5xf32>, %t: tensor<4xi32>) -> tensor<f32> {
      %nll, %lse = ppc.cross_entropy %x, %t : (tensor<4x5xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
      %0 = ppc.reduce <sum> %nll dims [0] : tensor<4xf32> to tensor<f32>
      return %0 : tensor<f32>
    }
  }
  func.func @loss(%x: tensor<4x3xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>, ppc.logical_type = tensor<4x5xf32>},
                  %t: tensor<4xi32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<4xi32>})
      -> (tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>}) {
    %0 = ppc.log_sum_exp %x classes <[tp], 5> : tensor<4x3xf32> to tensor<4xf32>
    %1 = ppc.all_reduce %0 over ["tp"] <log_sum_exp> : tensor<4xf32>
    %2 = ppc.pick %x, %t classes <[tp], 5> : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<4xf32>
    %3 = ppc.all_reduce %2 over ["tp"] <sum> : tensor<4xf32>
    %4 = ppc.sub %1, %3 : tensor<4xf32>
    %5 = ppc.reduce <sum> %4 dims [0] : tensor<4xf32> to tensor<f32>
    return %5 : tensor<f32>
  }
}

// -----

// An optimizer state sharded over dp: each rank updates a block, and the parameter is gathered.
// CHECK-LABEL: func.func @zero
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @zero(%x: tensor<8x4xf32>, %w: tensor<6xf32>, %m: tensor<6xf32>, %v: tensor<6xf32>, %y: tensor<8x6xf32>, %s: tensor<f32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
      %g = ppc.accumulate (%yi = %y) micro_batches(2) : (tensor<4x6xf32>) -> (tensor<6xf32>) {
        %0 = ppc.reduce <sum> %yi dims [0] : tensor<4x6xf32> to tensor<6xf32>
        ppc.yield %0 : tensor<6xf32>
      }
      %w2, %m2, %v2 = ppc.adamw %w, %g, %m, %v, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<6xf32>, tensor<f32>
      return %w2, %m2, %v2 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
    }
  }
  func.func @zero(%x: tensor<8x4xf32> {ppc.sharding = #ppc.sharding<[{}, {}]>, ppc.logical_type = tensor<8x4xf32>},
                  %w: tensor<6xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<6xf32>},
                  %m: tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>},
                  %v: tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>},
                  %y: tensor<4x6xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>, ppc.logical_type = tensor<8x6xf32>},
                  %s: tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>})
      -> (tensor<6xf32> {ppc.sharding = #ppc.sharding<[{}]>, ppc.logical_type = tensor<6xf32>},
          tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>},
          tensor<3xf32> {ppc.sharding = #ppc.sharding<[{dp}]>, ppc.logical_type = tensor<6xf32>}) {
    %g = ppc.accumulate (%yi = %y) micro_batches(2) : (tensor<2x6xf32>) -> (tensor<6xf32>) {
      %0 = ppc.reduce <sum> %yi dims [0] : tensor<2x6xf32> to tensor<6xf32>
      ppc.yield %0 : tensor<6xf32>
    }
    %1 = ppc.reduce_scatter %g dim 0 over ["dp"] <sum> : tensor<6xf32> to tensor<3xf32>
    %2 = ppc.local_slice %w dim 0 over ["dp"] : tensor<6xf32> to tensor<3xf32>
    %w2, %m2, %v2 = ppc.adamw %2, %1, %m, %v, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<3xf32>, tensor<f32>
    %3 = ppc.all_gather %w2 dim 0 over ["dp"] : tensor<3xf32> to tensor<6xf32>
    return %3, %m2, %v2 : tensor<6xf32>, tensor<3xf32>, tensor<3xf32>
  }
}

// -----

// Context parallelism by gathered keys and values: a block of the queries against all keys; gradients of keys are partial sums
// that are scattered into blocks. Positions belong to the block.
// CHECK-LABEL: func.func @gathered_keys
module attributes {ppc.plan = #ppc.plan<grid = <cp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @gathered_keys(%q: tensor<2x8x1x2x4xf32>, %k: tensor<2x8x1x4xf32>, %do: tensor<2x8x1x2x4xf32>) -> (tensor<2x8x1x2x4xf32>, tensor<2x8x1x2x4xf32>, tensor<2x8x1x4xf32>) {
      %r = ppc.rotary %k frequencies [1.0, 0.1] : tensor<2x8x1x4xf32>
      %o, %lse = ppc.attention %q, %r, %k scale 0.5 causal window 3 : tensor<2x8x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32> -> tensor<2x8x1x2x4xf32>, tensor<2x8x1x2xf32>
      %dq, %dr, %dv = ppc.attention_backward %q, %r, %k, %o, %lse, %do scale 0.5 causal window 3 : tensor<2x8x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x2x4xf32>, tensor<2x8x1x2xf32>
      %b = ppc.rotary %dr frequencies [1.0, 0.1] inverse : tensor<2x8x1x4xf32>
      %dk = ppc.add %b, %dv : tensor<2x8x1x4xf32>
      return %o, %dq, %dk : tensor<2x8x1x2x4xf32>, tensor<2x8x1x2x4xf32>, tensor<2x8x1x4xf32>
    }
  }
  func.func @gathered_keys(
      %q: tensor<2x4x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x2x4xf32>},
      %k: tensor<2x4x1x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}]>, ppc.logical_type = tensor<2x8x1x4xf32>},
      %do: tensor<2x4x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x2x4xf32>})
      -> (tensor<2x4x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x2x4xf32>},
          tensor<2x4x1x2x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}, {}]>, ppc.logical_type = tensor<2x8x1x2x4xf32>},
          tensor<2x4x1x4xf32> {ppc.sharding = #ppc.sharding<[{}, {cp}, {}, {}]>, ppc.logical_type = tensor<2x8x1x4xf32>}) {
    %r = ppc.rotary %k frequencies [1.0, 0.1] positions <[cp], 8> : tensor<2x4x1x4xf32>
    %keys = ppc.all_gather %r dim 1 over ["cp"] : tensor<2x4x1x4xf32> to tensor<2x8x1x4xf32>
    %values = ppc.all_gather %k dim 1 over ["cp"] : tensor<2x4x1x4xf32> to tensor<2x8x1x4xf32>
    %o, %lse = ppc.attention %q, %keys, %values scale 0.5 causal window 3 queries <[cp], 8> : tensor<2x4x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32> -> tensor<2x4x1x2x4xf32>, tensor<2x4x1x2xf32>
    %dq, %dr, %dv = ppc.attention_backward %q, %keys, %values, %o, %lse, %do scale 0.5 causal window 3 queries <[cp], 8> : tensor<2x4x1x2x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x4x1x2x4xf32>, tensor<2x4x1x2xf32>
    %mine = ppc.reduce_scatter %dr dim 1 over ["cp"] <sum> : tensor<2x8x1x4xf32> to tensor<2x4x1x4xf32>
    %dvalues = ppc.reduce_scatter %dv dim 1 over ["cp"] <sum> : tensor<2x8x1x4xf32> to tensor<2x4x1x4xf32>
    %b = ppc.rotary %mine frequencies [1.0, 0.1] inverse positions <[cp], 8> : tensor<2x4x1x4xf32>
    %dk = ppc.add %b, %dvalues : tensor<2x4x1x4xf32>
    return %o, %dq, %dk : tensor<2x4x1x2x4xf32>, tensor<2x4x1x2x4xf32>, tensor<2x4x1x4xf32>
  }
}
