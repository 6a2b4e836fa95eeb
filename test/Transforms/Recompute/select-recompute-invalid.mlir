// RUN: ppc-opt %s --ppc-select-recompute --split-input-file --verify-diagnostics

// expected-error @+1 {{has no ppc.plan: run ppc-search-plan or ppc-make-plan first}}
module {}

// -----

// expected-error @+1 {{the plan recomputes layers 5 to 6, the model's last layer is 0}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}, recompute = {"5-6" = "full"}>} {}

// -----

// expected-error @+1 {{recompute: expected a layer or a range of layers such as "1-8", found "8-1"}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}, recompute = {"8-1" = "full"}>} {}

// -----

// expected-error @+1 {{recompute of layers "1" must be none, selective, full or a list of op names, found "half"}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}, recompute = {"1" = "half"}>} {}

// -----

// expected-error @+1 {{recompute of layers "1": there is no op ppc.swish; expected none, selective, full or names of ops}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}, recompute = {"1" = ["swish"]}>} {}

// -----

// expected-error @+1 {{the plan recomputes "silu.1" of layers "1", where forward has no such op}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}, recompute = {"1" = ["silu", "silu.1"]}>} {
  func.func @step(%x: tensor<4x4xf32> {ppc.input = "x"}) -> (tensor<f32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2x4xf32>) -> tensor<f32> {
      %a = ppc.silu %xi {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x4xf32>
      %b = ppc.reduce <sum> %a dims [0, 1] {ppc.layer = 1, ppc.part = #ppc.part<forward>} : tensor<2x4xf32> to tensor<f32>
      ppc.yield %b : tensor<f32>
    }
    return %s : tensor<f32>
  }
}
