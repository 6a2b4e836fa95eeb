// RUN: ppc-opt %s --ppc-propagate-shardings --split-input-file --verify-diagnostics

// expected-error @below {{has no ppc.plan: run ppc-make-plan and ppc-apply-plan first}}
module {
}

// -----

#plan = #ppc.plan<grid = <dp = 3>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // expected-error @below {{a micro-batch of 4 rows cannot be sharded evenly 3 ways over ["dp"]}}
  func.func @rows(%x: tensor<8x16xf32> {ppc.sharding = #ppc.sharding<[{dp}, {}]>}) -> tensor<4x16xf32> {
    %g = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<4x16xf32>) -> (tensor<4x16xf32>) {
      ppc.yield %xi : tensor<4x16xf32>
    }
    return %g : tensor<4x16xf32>
  }
}

// -----

#plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // expected-error @below {{argument 0 of type 'tensor<8x16xf32>' cannot have the sharding #ppc.sharding<[{dp}]>}}
  func.func @rank(%x: tensor<8x16xf32> {ppc.sharding = #ppc.sharding<[{dp}]>}) {
    return
  }
}
