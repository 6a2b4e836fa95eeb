// RUN: ppc-opt %s --ppc-propagate-shardings --ppc-insert-reshards --split-input-file | FileCheck %s
// RUN: ppc-opt %s --ppc-propagate-shardings --ppc-insert-reshards --ppc-insert-reshards --split-input-file | FileCheck %s
// RUN: ppc-opt %s --ppc-propagate-shardings --ppc-insert-reshards --remarks-filter=ppc-sharding --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: [Passed] reshard | Category:ppc-sharding | Bytes=1.024000e+03, Steps="all_reduce {tp} sum -> [{dp}, {}]"
#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // One reduction for two users, right after the producer and of its part, layer and stage.
  // CHECK-LABEL: func.func @shared
  func.func @shared(%a: tensor<8x32xf32> {ppc.sharding = #ppc.sharding<[{dp}, {tp}]>},
                    %w: tensor<64x32xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>}) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    // CHECK: %[[P:.*]] = ppc.matmul
    // CHECK-NEXT: %[[Y:.*]] = ppc.reshard %[[P]] to <[{dp}, {}]> {ppc.layer = 2 : i64, ppc.part = #ppc.part<forward>, ppc.shardings = {{.*}}, ppc.stage = 1 : i64}
    // CHECK-NEXT: ppc.exp %[[Y]]
    // CHECK-NEXT: ppc.silu %[[Y]]
    // CHECK-NEXT: return
    %y = ppc.matmul "mk,nk->mn" %a, %w {ppc.part = #ppc.part<forward>, ppc.layer = 2 : i64, ppc.stage = 1 : i64}
        : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>
    %e = ppc.exp %y : tensor<8x64xf32>
    %s = ppc.silu %y : tensor<8x64xf32>
    return %e, %s : tensor<8x64xf32>, tensor<8x64xf32>
  }

  // Partial sums flow through linear ops, and both summands through one reduction.
  // CHECK-LABEL: func.func @flows
  func.func @flows(%a: tensor<8x32xf32> {ppc.sharding = #ppc.sharding<[{dp}, {tp}]>},
                   %w: tensor<64x32xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>},
                   %v: tensor<64x32xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>}) -> tensor<8xf32> {
    // CHECK: %[[P:.*]] = ppc.matmul
    // CHECK: %[[Q:.*]] = ppc.matmul
    // CHECK-NEXT: %[[A:.*]] = ppc.add %[[P]], %[[Q]] {{.*}}ppc.shardings = [#ppc.sharding<[{dp}, {}], partial = {tp: sum}>]
    // CHECK-NEXT: %[[S:.*]] = ppc.scale %[[A]]
    // CHECK-NEXT: %[[R:.*]] = ppc.reduce <sum> %[[S]] {{.*}}ppc.shardings = [#ppc.sharding<[{dp}], partial = {tp: sum}>]
    // CHECK-NEXT: %[[Y:.*]] = ppc.reshard %[[R]] to <[{dp}]>
    // CHECK-NEXT: return %[[Y]]
    %p = ppc.matmul "mk,nk->mn" %a, %w : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>
    %q = ppc.matmul "mk,nk->mn" %a, %v : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>
    %s = ppc.add %p, %q : tensor<8x64xf32>
    %t = ppc.scale %s by 2.0 : tensor<8x64xf32>
    %r = ppc.reduce #ppc.combiner<sum> %t dims [1] : tensor<8x64xf32> to tensor<8xf32>
    return %r : tensor<8xf32>
  }

  // Not through matmuls, not next to a complete summand, not into something larger.
  // CHECK-LABEL: func.func @stops
  func.func @stops(%a: tensor<8x32xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>}, %x: tensor<8xf32>)
      -> (tensor<8xf32>, tensor<8xf32>, tensor<8x4xf32>) {
    // CHECK: %[[P:.*]] = ppc.reduce
    // CHECK-NEXT: %[[Y:.*]] = ppc.reshard %[[P]] to <[{}]>
    // CHECK-NEXT: ppc.mul %[[Y]], %[[Y]]
    // CHECK-NEXT: ppc.add %[[Y]], %{{.*}}
    // CHECK-NEXT: ppc.broadcast %[[Y]]
    %p = ppc.reduce #ppc.combiner<sum> %a dims [1] : tensor<8x32xf32> to tensor<8xf32>
    %m = ppc.mul %p, %p : tensor<8xf32>
    %s = ppc.add %p, %x : tensor<8xf32>
    %b = ppc.broadcast %p dims [1] : tensor<8xf32> to tensor<8x4xf32>
    return %m, %s, %b : tensor<8xf32>, tensor<8xf32>, tensor<8x4xf32>
  }

  // The norm of all gradients: one reduction per set of partial axes.
  // CHECK-LABEL: func.func @norm
  func.func @norm(%a: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{tp}]>}, %b: tensor<8xf32>,
                  %c: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{tp}]>}, %d: tensor<8xf32>) -> tensor<f32> {
    // CHECK: %[[A:.*]] = ppc.squared_norm
    // CHECK: %[[B:.*]] = ppc.squared_norm
    // CHECK: %[[C:.*]] = ppc.squared_norm
    // CHECK: %[[D:.*]] = ppc.squared_norm
    // CHECK-NEXT: %[[AC:.*]] = ppc.sum %[[A]], %[[C]] {ppc.shardings = [#ppc.sharding<[], partial = {tp: sum}>]}
    // CHECK-NEXT: %[[R:.*]] = ppc.reshard %[[AC]] to <[]>
    // CHECK-NEXT: %[[BD:.*]] = ppc.sum %[[B]], %[[D]]
    // CHECK-NEXT: ppc.sum %[[R]], %[[BD]]
    %na = ppc.squared_norm %a : tensor<8xf32> to tensor<f32>
    %nb = ppc.squared_norm %b : tensor<8xf32> to tensor<f32>
    %nc = ppc.squared_norm %c : tensor<8xf32> to tensor<f32>
    %nd = ppc.squared_norm %d : tensor<8xf32> to tensor<f32>
    %n = ppc.sum %na, %nb, %nc, %nd : tensor<f32>
    return %n : tensor<f32>
  }

  // Gradients are reduced once per step, after the last micro-batch; values that are not sums, in each.
  // CHECK-LABEL: func.func @micro_batches
  func.func @micro_batches(%x: tensor<8x16xf32> {ppc.sharding = #ppc.sharding<[{dp}, {tp}]>}) -> (tensor<16xf32>, tensor<4xf32>) {
    // CHECK: ppc.accumulate
    // CHECK-NEXT: %[[G:.*]] = ppc.reduce <sum>
    // CHECK-NEXT: %[[L:.*]] = ppc.log_sum_exp
    // CHECK-NEXT: %[[R:.*]] = ppc.reshard %[[L]] to <[{dp}]>
    // CHECK-NEXT: ppc.yield %[[G]], %[[R]]
    // CHECK: ppc.shardings = [#ppc.sharding<[{tp}], partial = {dp: sum}>, #ppc.sharding<[{dp}]>]
    // CHECK-NEXT: ppc.reshard %{{.*}}#0 to <[{tp}]> {ppc.part = #ppc.part<update>
    %g, %m = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<4x16xf32>) -> (tensor<16xf32>, tensor<4xf32>) {
      %dw = ppc.reduce #ppc.combiner<sum> %xi dims [0] : tensor<4x16xf32> to tensor<16xf32>
      %lse = ppc.log_sum_exp %xi : tensor<4x16xf32> to tensor<4xf32>
      ppc.yield %dw, %lse : tensor<16xf32>, tensor<4xf32>
    }
    return %g, %m : tensor<16xf32>, tensor<4xf32>
  }

  // A constant is written again, not moved.
  // CHECK-LABEL: func.func @constant
  func.func @constant(%x: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{tp}]>}, %y: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{dp}]>})
      -> (tensor<8xf32>, tensor<8xf32>) {
    // CHECK-COUNT-2: ppc.constant
    // CHECK-NOT: ppc.reshard
    %c = ppc.constant dense<2.0> : tensor<8xf32>
    %a = ppc.mul %x, %c : tensor<8xf32>
    %b = ppc.mul %y, %c : tensor<8xf32>
    return %a, %b : tensor<8xf32>, tensor<8xf32>
  }

  // Through a matmul, if the result is added to a partial sum anyway.
  // CHECK-LABEL: func.func @meets
  func.func @meets(%a: tensor<8x32xf32> {ppc.sharding = #ppc.sharding<[{dp}, {tp}]>},
                   %w: tensor<64x32xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>},
                   %v: tensor<4x32xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}]>}, %u: tensor<64x4xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    // CHECK: %[[D:.*]] = ppc.matmul "mk,dk->md"
    // CHECK-NEXT: %[[Q:.*]] = ppc.matmul "md,nd->mn" %[[D]], %{{.*}}ppc.shardings = [#ppc.sharding<[{dp}, {}], partial = {tp: sum}>]
    // CHECK-NEXT: %[[S:.*]] = ppc.add %{{.*}}, %[[Q]]
    // CHECK-NEXT: ppc.reshard %[[S]] to <[{dp}, {}]>
    %p = ppc.matmul "mk,nk->mn" %a, %w : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>
    %d = ppc.matmul "mk,dk->md" %a, %v : (tensor<8x32xf32>, tensor<4x32xf32>) -> tensor<8x4xf32>
    %q = ppc.matmul "md,nd->mn" %d, %u : (tensor<8x4xf32>, tensor<64x4xf32>) -> tensor<8x64xf32>
    %s = ppc.add %p, %q : tensor<8x64xf32>
    // CHECK: %[[E:.*]] = ppc.matmul "mk,dk->md"
    // CHECK-NEXT: %[[R:.*]] = ppc.reshard %[[E]]
    // CHECK-NEXT: ppc.matmul "md,nd->mn" %[[R]]
    %e = ppc.matmul "mk,dk->md" %a, %v {alone} : (tensor<8x32xf32>, tensor<4x32xf32>) -> tensor<8x4xf32>
    %f = ppc.matmul "md,nd->mn" %e, %u : (tensor<8x4xf32>, tensor<64x4xf32>) -> tensor<8x64xf32>
    return %s, %f : tensor<8x64xf32>, tensor<8x64xf32>
  }

  // Tensors that the forward pass gathers are not kept for the weight gradients: they gather them again.
  // CHECK-LABEL: func.func @again
  func.func @again(%x: tensor<2x8x4xf32> {ppc.sharding = #ppc.sharding<[{}, {tp}, {}]>},
                   %up: tensor<6x4xf32> {ppc.sharding = #ppc.sharding<[{tp}, {}]>}) -> (tensor<2x8x6xf32>, tensor<6x4xf32>) {
    // CHECK: %[[E:.*]] = ppc.silu
    // CHECK-NEXT: %[[F:.*]] = ppc.reshard %[[E]] to <[{}, {}, {}]> {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>
    // CHECK-NEXT: ppc.matmul "bsh,fh->bsf" %[[F]]
    // CHECK: %[[G:.*]] = ppc.reshard %[[E]] to <[{}, {}, {}]> {ppc.layer = 2 : i64, ppc.part = #ppc.part<weight_gradient>
    // CHECK-NEXT: ppc.matmul "bsf,bsh->fh" %{{.*}}, %[[G]]
    %e = ppc.silu %x {ppc.layer = 1 : i64, ppc.part = #ppc.part<forward>} : tensor<2x8x4xf32>
    %y = ppc.matmul "bsh,fh->bsf" %e, %up {ppc.layer = 2 : i64, ppc.part = #ppc.part<forward>, ppc.factors = {f = ["tp"]}}
        : (tensor<2x8x4xf32>, tensor<6x4xf32>) -> tensor<2x8x6xf32>
    %dw = ppc.matmul "bsf,bsh->fh" %y, %e {ppc.layer = 2 : i64, ppc.part = #ppc.part<weight_gradient>, ppc.factors = {f = ["tp"]}}
        : (tensor<2x8x6xf32>, tensor<2x8x4xf32>) -> tensor<6x4xf32>
    return %y, %dw : tensor<2x8x6xf32>, tensor<6x4xf32>
  }
}
