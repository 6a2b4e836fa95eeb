// RUN: ppc-opt %s --ppc-propagate-shardings --split-input-file | FileCheck %s

// Column- then row-parallel: the arguments decide, the contraction over the sharded factor leaves a partial sum.
#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // CHECK-LABEL: func.func @mlp
  // CHECK-SAME: -> (tensor<8x64xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>})
  func.func @mlp(%x: tensor<8x16xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>},
                 %up: tensor<32x16xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>},
                 %down: tensor<64x32xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>}) -> tensor<8x64xf32> {
    // CHECK: ppc.matmul {{.*}}ppc.factors = {m = ["dp"], n = ["tp"]}, ppc.shardings = [#ppc.sharding<[{dp}, {tp}]>]
    %h = ppc.matmul "mk,nk->mn" %x, %up : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
    // CHECK: ppc.silu {{.*}}ppc.factors = {d0 = ["dp"], d1 = ["tp"]}, ppc.shardings = [#ppc.sharding<[{dp}, {tp}]>]
    %a = ppc.silu %h : tensor<8x32xf32>
    // CHECK: ppc.matmul {{.*}}ppc.factors = {k = ["tp"], m = ["dp"]}, ppc.shardings = [#ppc.sharding<[{dp}, {}], partial = {tp: sum}>]
    %y = ppc.matmul "mk,nk->mn" %a, %down : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>
    return %y : tensor<8x64xf32>
  }
}

// -----

// Backwards: a constant is sharded as its use is. A factor that needs replication is not sharded, and an axis that an argument gives
// to one factor is not given to another.
#plan = #ppc.plan<grid = <a = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // CHECK-LABEL: func.func @conflicts
  func.func @conflicts(%x: tensor<8x16xf32> {ppc.sharding = #ppc.sharding<[{}, {a}]>},
                       %w: tensor<16x16xf32> {ppc.sharding = #ppc.sharding<[{a}, {}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    // CHECK: ppc.constant {{.*}}ppc.factors = {d1 = ["a"]}
    %c = ppc.constant dense<0.5> : tensor<8x16xf32>
    // CHECK: ppc.mul {{.*}}ppc.factors = {d1 = ["a"]}
    %m = ppc.mul %x, %c : tensor<8x16xf32>
    // CHECK: ppc.softmax
    // CHECK-NOT: ppc.factors
    // CHECK-SAME: ppc.shardings = [#ppc.sharding<[{}, {}]>]
    %s = ppc.softmax %x : tensor<8x16xf32>
    // CHECK: ppc.matmul {{.*}}ppc.factors = {n = ["a"]}
    %y = ppc.matmul "mk,nk->mn" %m, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    return %s, %y : tensor<8x16xf32>, tensor<8x16xf32>
  }
}

// -----

// Into and out of micro-batches; new values lie like the parameter or state that they replace, gradients like the state that they
// change; axes of one device vanish.
#plan = #ppc.plan<grid = <dp = 2, tp = 1>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: %{{.*}}: tensor<4x16xf32> {ppc.parameter = "w", ppc.sharding = #ppc.sharding<[{}, {}]>}
  // CHECK-SAME: ppc.state = "m"
  // CHECK-SAME: -> (tensor<4x16xf32> {ppc.of = "w", ppc.result = "gradient", ppc.sharding = #ppc.sharding<[{dp}, {}]>},
  // CHECK-SAME:     tensor<4x16xf32> {ppc.of = "w", ppc.result = "m", ppc.sharding = #ppc.sharding<[{dp}, {}]>})
  func.func @step(%x: tensor<8x16xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>},
                  %w: tensor<4x16xf32> {ppc.parameter = "w", ppc.sharding = #ppc.sharding<[{tp}, {}]>},
                  %m: tensor<4x16xf32> {ppc.state = "m", ppc.of = "w", ppc.sharding = #ppc.sharding<[{dp}, {}]>})
      -> (tensor<4x16xf32> {ppc.result = "gradient", ppc.of = "w"}, tensor<4x16xf32> {ppc.result = "m", ppc.of = "w"}) {
    %g = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<4x16xf32>) -> (tensor<4x16xf32>) {
      // CHECK: ppc.matmul {{.*}}ppc.factors = {m = ["dp"]}, ppc.shardings = [#ppc.sharding<[{dp}, {}]>]
      %y = ppc.matmul "mk,nk->mn" %xi, %w : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
      // CHECK: ppc.matmul {{.*}}ppc.factors = {m = ["dp"]}, ppc.shardings = [#ppc.sharding<[{}, {}], partial = {dp: sum}>]
      %dw = ppc.matmul "mn,mk->nk" %y, %xi : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
      ppc.yield %dw : tensor<4x16xf32>
      // CHECK: attributes {ppc.operand_shardings = [#ppc.sharding<[{dp}, {}]>],
      // CHECK-SAME: ppc.shardings = [#ppc.sharding<[{}, {}], partial = {dp: sum}>]}
    }
    // CHECK: ppc.add {{.*}}ppc.factors = {d0 = ["dp"]}
    %m2 = ppc.add %m, %g : tensor<4x16xf32>
    return %g, %m2 : tensor<4x16xf32>, tensor<4x16xf32>
  }
}

// -----

// Activations that no axis of tp shards otherwise are sharded along the sequence; the inputs stay, and so do values without features.
#plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1,
                  dimensions = {}, parameters = {}, activations = {sequence = ["tp"]}>
module attributes {ppc.plan = #plan} {
  // CHECK-LABEL: func.func @activations
  func.func @activations(%x: tensor<2x8xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence"]},
                         %w: tensor<4xf32> {ppc.parameter = "w"},
                         %up: tensor<6x4xf32> {ppc.parameter = "up", ppc.sharding = #ppc.sharding<[{tp}, {}]>}) -> tensor<2x8x6xf32> {
    // CHECK: ppc.scale
    // CHECK-NOT: ppc.factors
    // CHECK: ppc.matmul "bs,h->bsh" {{.*}}ppc.factors = {s = ["tp"]}, ppc.shardings = [#ppc.sharding<[{}, {tp}, {}]>]
    // CHECK: ppc.silu {{.*}}ppc.factors = {d1 = ["tp"]}
    // CHECK: ppc.matmul {{.*}}ppc.factors = {f = ["tp"]}, ppc.shardings = [#ppc.sharding<[{}, {}, {tp}]>]
    %s = ppc.scale %x by 2.0 : tensor<2x8xf32>
    %e = ppc.matmul "bs,h->bsh" %s, %w : (tensor<2x8xf32>, tensor<4xf32>) -> tensor<2x8x4xf32>
    %a = ppc.silu %e : tensor<2x8x4xf32>
    %y = ppc.matmul "bsh,fh->bsf" %a, %up : (tensor<2x8x4xf32>, tensor<6x4xf32>) -> tensor<2x8x6xf32>
    return %y : tensor<2x8x6xf32>
  }
}

// -----

// A gradient has the sharding of the state that is updated with it. Micro-batches do not see that: there it is partial over the rows' axis.
#plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // CHECK-LABEL: func.func @state
  // CHECK-SAME: -> (tensor<4x16xf32> {ppc.of = "w", ppc.result = "gradient", ppc.sharding = #ppc.sharding<[{}, {dp}]>},
  func.func @state(%x: tensor<8x16xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>},
                   %w: tensor<4x16xf32> {ppc.parameter = "w", ppc.sharding = #ppc.sharding<[{}, {}]>},
                   %m: tensor<4x16xf32> {ppc.state = "m", ppc.of = "w", ppc.sharding = #ppc.sharding<[{}, {dp}]>})
      -> (tensor<4x16xf32> {ppc.result = "gradient", ppc.of = "w"}, tensor<4x16xf32> {ppc.result = "m", ppc.of = "w"}) {
    %g = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<4x16xf32>) -> (tensor<4x16xf32>) {
      %y = ppc.matmul "mk,nk->mn" %xi, %w : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
      // CHECK: ppc.matmul "mn,mk->nk"
      // CHECK-SAME: ppc.shardings = [#ppc.sharding<[{}, {}], partial = {dp: sum}>]
      %dw = ppc.matmul "mn,mk->nk" %y, %xi : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
      // CHECK: ppc.scale {{.*}}ppc.shardings = [#ppc.sharding<[{}, {}]>]
      %dv = ppc.scale %dw by 2.0 : tensor<4x16xf32>
      ppc.yield %dv : tensor<4x16xf32>
    }
    %m2 = ppc.add %m, %g : tensor<4x16xf32>
    return %g, %m2 : tensor<4x16xf32>, tensor<4x16xf32>
  }
}
