// RUN: ppc-opt %s --ppc-make-plan="dp=2 tp=3 micro-batch=2 schedule=gpipe" | FileCheck %s
// RUN: ppc-opt %s --ppc-make-plan="pp=2 layers-per-stage=0,1" | FileCheck %s --check-prefix=PINNED
// RUN: ppc-opt %s --ppc-make-plan="pp=3" | FileCheck %s --check-prefix=STAGES
// RUN: ppc-opt %s --ppc-make-plan="tp=6" | FileCheck %s --check-prefix=BOTH
// RUN: ppc-opt %s --ppc-make-plan="tp=2" | FileCheck %s --check-prefix=GROUP
// RUN: ppc-opt %s --ppc-make-plan="tp=5" | FileCheck %s --check-prefix=PADDED
// RUN: ppc-opt %s --ppc-make-plan="dp=2 tp=2 zero=1" | FileCheck %s --check-prefix=STATE
// RUN: sed 's/8x8xf32> {ppc.input = "x", ppc.dims = \["batch", "hidden"\]/8x8xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence"]/' %s > %t.mlir
// RUN: ppc-opt %t.mlir --ppc-make-plan="tp=6 sp" | FileCheck %s --check-prefix=SEQUENCE
// RUN: ppc-opt %t.mlir --ppc-make-plan="sp zero=1" | FileCheck %s --check-prefix=ALONE
// RUN: ppc-opt %t.mlir --ppc-make-plan="dp=2 cp=4 tp=2 sp zero=1" | FileCheck %s --check-prefix=CONTEXT
// RUN: ppc-opt %t.mlir --ppc-make-plan="cp=2 context=ulysses" | FileCheck %s --check-prefix=ULYSSES
// RUN: not ppc-opt %t.mlir --ppc-make-plan="cp=4 context=ulysses" 2>&1 | FileCheck %s --check-prefix=ULYSSES-FEW
// RUN: not ppc-opt %t.mlir --ppc-make-plan="cp=2 context=ring" 2>&1 | FileCheck %s --check-prefix=RING
// RUN: not ppc-opt %t.mlir --ppc-make-plan="cp=2 context=zigzag" 2>&1 | FileCheck %s --check-prefix=NO-CONTEXT
// RUN: not ppc-opt %t.mlir --ppc-make-plan="cp=3" 2>&1 | FileCheck %s --check-prefix=CONTEXT-UNEVEN
// RUN: not ppc-opt %t.mlir --ppc-make-plan="cp=4 tp=3 sp" 2>&1 | FileCheck %s --check-prefix=CONTEXT-SEQUENCE
// RUN: not ppc-opt %s --ppc-make-plan="cp=2" 2>&1 | FileCheck %s --check-prefix=CONTEXT-NAMELESS
// RUN: ppc-opt %s --ppc-make-plan="tp=12 tp-rows=2" | FileCheck %s --check-prefix=ROWS
// RUN: ppc-opt %t.mlir --ppc-make-plan="tp=6 tp-depth=2" | FileCheck %s --check-prefix=DEPTH
// RUN: ppc-opt %t.mlir --ppc-make-plan="tp=6 tp-rows=2 sp" | FileCheck %s --check-prefix=ROWS-SEQUENCE
// RUN: not ppc-opt %s --ppc-make-plan="tp=4 tp-rows=3" 2>&1 | FileCheck %s --check-prefix=ROWS-PART
// RUN: not ppc-opt %s --ppc-make-plan="tp-rows=2" 2>&1 | FileCheck %s --check-prefix=ROWS-ALONE
// RUN: not ppc-opt %t.mlir --ppc-make-plan="tp=4 tp-rows=3 tp-depth=2" 2>&1 | FileCheck %s --check-prefix=ROWS-DEPTH
// RUN: not ppc-opt %t.mlir --ppc-make-plan="tp=2 tp-rows=2 sp" 2>&1 | FileCheck %s --check-prefix=ROWS-ONLY
// RUN: not ppc-opt %s --ppc-make-plan="tp=3 tp-rows=3" 2>&1 | FileCheck %s --check-prefix=ROWS-UNEVEN
// RUN: not ppc-opt %t.mlir --ppc-make-plan="tp=6 tp-depth=3" 2>&1 | FileCheck %s --check-prefix=DEPTH-UNEVEN
// RUN: not ppc-opt %s --ppc-make-plan="tp=2 tp-depth=2" 2>&1 | FileCheck %s --check-prefix=DEPTH-NAMELESS
// RUN: sed 's/"head_dim", "hidden"/"head_dim", "experts"/' %s > %t.experts.mlir
// RUN: ppc-opt %t.experts.mlir --ppc-make-plan="dp=4 tp=2 ep=8 zero=1" | FileCheck %s --check-prefix=EXPERTS
// RUN: ppc-opt %t.experts.mlir --ppc-make-plan="dp=2 tp=2 ep=2" | FileCheck %s --check-prefix=EXPERTS-TENSOR
// RUN: ppc-opt %t.experts.mlir --ppc-make-plan="dp=2 tp=2" | FileCheck %s --check-prefix=EXPERTS-WIDTH
// RUN: not ppc-opt %t.experts.mlir --ppc-make-plan="dp=3 ep=3" 2>&1 | FileCheck %s --check-prefix=EXPERTS-UNEVEN
// RUN: not ppc-opt %t.experts.mlir --ppc-make-plan="dp=2 tp=4 ep=2" 2>&1 | FileCheck %s --check-prefix=EXPERTS-TP
// RUN: not ppc-opt %t.experts.mlir --ppc-make-plan="dp=2 tp=2 ep=8" 2>&1 | FileCheck %s --check-prefix=EXPERTS-DP
// RUN: not ppc-opt %s --ppc-make-plan="dp=2 ep=2" 2>&1 | FileCheck %s --check-prefix=EXPERTS-NONE
// RUN: not ppc-opt %t.mlir --ppc-make-plan="tp=9 sp" 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: not ppc-opt %s --ppc-make-plan="tp=2 sp" 2>&1 | FileCheck %s --check-prefix=NAMELESS
// RUN: not ppc-opt %s --ppc-make-plan="zero=4" 2>&1 | FileCheck %s --check-prefix=ZERO

// Three kv heads of two query heads each: tp 3 shards kv heads, tp 2 groups, tp 6 both, tp 5 neither and pads.

// CHECK: ppc.plan = #ppc.plan<grid = <dp = 2, tp = 3>, stages = [0], schedule = "gpipe", micro_batches = 2, dimensions =
// CHECK-SAME: batch = ["dp"], ffn = ["tp"], kv_heads = ["tp"], vocab = ["tp"]
// PINNED: stages = [0, 1]
// STAGES: stages = [0, 1, 2]
// BOTH: grid = <dp = 1, tp0 = 3, tp1 = 2>
// BOTH-SAME: ffn = ["tp0", "tp1"], head_group = ["tp1"], kv_heads = ["tp0"], vocab = ["tp0", "tp1"]
// GROUP: grid = <dp = 1, tp = 2>
// GROUP-SAME: head_group = ["tp"]
// PADDED: kv_heads = ["tp"]
// The norm and dropout regions, and the optimizer's state.
// STATE: ffn = ["tp"], head_group = ["tp"], vocab = ["tp"]}, parameters = {}, update = ["dp"], overlap = true>
// SEQUENCE: activations = {sequence = ["tp0", "tp1"]}
// ALONE-NOT: activations
// ALONE-NOT: update
// CONTEXT: grid = <dp = 2, cp = 4, tp = 2>
// CONTEXT-SAME: batch = ["dp"], ffn = ["tp"], head_group = ["tp"], sequence = ["cp"], vocab = ["tp"]}, parameters = {}, activations = {sequence = ["tp"]}, update = ["dp", "cp"], overlap = true>
// ULYSSES: sequence = ["cp"], vocab = ["tp"]}, parameters = {}, activations = {head_group = ["cp"]}, overlap = true>
// ULYSSES-FEW: error: context ulysses cannot exchange sequences in cp 4 parts for heads: of 3 key-value heads of 2 query heads each, tp 1 leaves 3 of 2, and cp divides neither; use context all-gather
// RING: error: programs of target host do not have context ring
// NO-CONTEXT: error: context is 'zigzag', expected all-gather or ulysses
// CONTEXT-UNEVEN: error: context parallelism cannot shard sequences of 8 tokens evenly over cp 3: it must divide them
// CONTEXT-SEQUENCE: error: sequence parallelism cannot shard the 2 tokens of a sequence on each of cp 4 ranks evenly over tp 3: leave one of the two out
// CONTEXT-NAMELESS: error: no argument has a dimension called "sequence" in ppc.dims, which context parallelism shards
// Experts over all tensor-parallel ranks, then over some of the data-parallel ones, which are an axis of their own; or by width.
// EXPERTS: grid = <dp = 1, ep = 4 : data, tp = 2>
// EXPERTS-SAME: batch = ["dp", "ep"], experts = ["ep", "tp"], ffn = ["tp"], head_group = ["tp"], vocab = ["tp"]}, parameters = {}, update = ["dp", "ep"], overlap = true>
// EXPERTS-TENSOR: grid = <dp = 2, tp = 2>
// EXPERTS-TENSOR-SAME: batch = ["dp"], experts = ["tp"], ffn = ["tp"], head_group = ["tp"], vocab = ["tp"]}
// EXPERTS-WIDTH: batch = ["dp"], expert_ffn = ["tp"], ffn = ["tp"], head_group = ["tp"], vocab = ["tp"]}
// EXPERTS-UNEVEN: error: expert parallelism cannot shard 8 experts evenly over ep 3: it must divide them
// EXPERTS-TP: error: ep 2 is not a multiple of tp 4: experts are sharded over all tensor-parallel ranks first
// EXPERTS-DP: error: ep 8 needs experts on 4 data-parallel ranks (ep / tp): it must divide dp 2 or cp 1, or be cp times what divides dp
// EXPERTS-NONE: error: ep is 2, but no argument has a dimension called "experts" in ppc.dims
// Some ranks of tp shard hidden features; others also the sequence.
// ROWS: grid = <dp = 1, rows = 2, tp0 = 3, tp1 = 2>
// ROWS-SAME: ffn = ["tp0", "tp1"], head_group = ["tp1"], hidden = ["rows"], kv_heads = ["tp0"], vocab = ["tp0", "tp1"]}
// DEPTH: grid = <dp = 1, depth = 2, tp0 = 3, tp1 = 1>
// DEPTH-SAME: ffn = ["depth", "tp0", "tp1"], head_group = ["depth", "tp1"], kv_heads = ["tp0"], vocab = ["depth", "tp0", "tp1"]}, parameters = {}, activations = {sequence = ["depth"]}
// ROWS-SEQUENCE: hidden = ["rows"], kv_heads = ["tp"], vocab = ["tp"]}, parameters = {}, activations = {sequence = ["tp"]}
// ROWS-PART: error: tp_rows 3 does not divide tp 4, of which it is a part: use a divisor of tp
// ROWS-ALONE: error: tp_rows 2 is a part of the ranks of tp, and tp is 1: give --tp, a multiple of 2
// ROWS-DEPTH: error: tp_rows 3 x tp_depth 2 do not divide tp 4, of which they are parts: use divisors of tp
// ROWS-ONLY: error: sequence parallelism shards sequences over the columns of tp, and tp 2 of tp_rows 2 has one: leave sp out, or use fewer rows
// ROWS-UNEVEN: error: tp_rows 3 does not divide the 8 hidden features that it shards: use a divisor of tp that does, or leave it out
// DEPTH-UNEVEN: error: tp_depth 3 does not divide the 8 tokens of a sequence on a rank, which it shards
// DEPTH-NAMELESS: error: no argument has a dimension called "sequence" in ppc.dims, which depth of tp shards
// SHORT: error: sequence parallelism cannot shard sequences of 8 tokens over tp 9
// NAMELESS: error: no argument has a dimension called "sequence" in ppc.dims, which sequence parallelism shards
// ZERO: error: zero is 4: programs of this target run levels 0, 1, 2, 3

func.func @loss(%x: tensor<8x8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                %q: tensor<3x2x4x8xf32> {ppc.parameter = "q", ppc.dims = ["kv_heads", "head_group", "head_dim", "hidden"]},
                %h: tensor<16x8xf32> {ppc.parameter = "h", ppc.dims = ["vocab", "hidden"]}) -> tensor<f32> {
  %0 = ppc.silu %x {ppc.layer = 0 : i64} : tensor<8x8xf32>
  %1 = ppc.matmul "bh,kgdh->bkgd" %0, %q {ppc.layer = 1 : i64} : (tensor<8x8xf32>, tensor<3x2x4x8xf32>) -> tensor<8x3x2x4xf32>
  %2 = ppc.matmul "bkgd,kgdh->bh" %1, %q {ppc.layer = 1 : i64} : (tensor<8x3x2x4xf32>, tensor<3x2x4x8xf32>) -> tensor<8x8xf32>
  %3 = ppc.matmul "bh,vh->bv" %2, %h {ppc.layer = 2 : i64} : (tensor<8x8xf32>, tensor<16x8xf32>) -> tensor<8x16xf32>
  %4 = ppc.reduce #ppc.combiner<sum> %3 dims [0, 1] {ppc.layer = 2 : i64} : tensor<8x16xf32> to tensor<f32>
  return %4 : tensor<f32>
}
