// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-split-stages=split-weight-gradient

// expected-error @below {{expected a module with a ppc.plan}}
module {
}

// -----

// expected-error @below {{expected a module with a function @step}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  // expected-error @below {{expected one ppc.accumulate, found 0}}
  func.func @step(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      // expected-error @below {{has no ppc.stage, so it belongs to no pipeline stage}}
      %y = ppc.neg %xi {ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      // expected-error @below {{has no ppc.part, so it belongs to no pipeline stage}}
      %y = ppc.neg %xi {ppc.stage = 0} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      // expected-error @below {{is on stage 2 of a plan with 2 stages}}
      %y = ppc.neg %xi {ppc.stage = 2, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      // expected-note @below {{it is computed in forward of stage 1}}
      %y = ppc.neg %xi {ppc.stage = 1, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      // expected-error @below {{in forward of stage 0 needs a value that is not computed yet}}
      %z = ppc.neg %y {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %z : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      // expected-note @below {{it is computed in backward of stage 0}}
      %y = ppc.neg %xi {ppc.stage = 0, ppc.part = #ppc.part<backward>} : tensor<2xf32>
      // expected-error @below {{in backward of stage 1 needs a value that is not computed yet}}
      %z = ppc.neg %y {ppc.stage = 1, ppc.part = #ppc.part<backward>} : tensor<2xf32>
      ppc.yield %z : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      // expected-note @below {{it is computed in weight_gradient of stage 0}}
      %y = ppc.neg %xi {ppc.stage = 0, ppc.part = #ppc.part<weight_gradient>} : tensor<2xf32>
      // expected-error @below {{in backward of stage 0 needs a value that is not computed yet}}
      %z = ppc.neg %y {ppc.stage = 0, ppc.part = #ppc.part<backward>} : tensor<2xf32>
      ppc.yield %z : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32>) -> (tensor<2xf32> {ppc.result = "loss"}) {
    // expected-error @below {{operand 0 is not a ppc.input of the step}}
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      %y = ppc.neg %xi {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  // expected-error @below {{argument 1 is used in the step but is not an input of its micro-batches, parameter, state or scalar}}
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}, %w: tensor<2xf32>) -> (tensor<2xf32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      %y = ppc.mul %xi, %w {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}, %w: tensor<2xf32> {ppc.parameter = "w"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    // expected-note @below {{it is computed in prepare of stage 1}}
    %n = ppc.neg %w {ppc.stage = 1, ppc.part = #ppc.part<forward>} : tensor<2xf32>
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      // expected-error @below {{in forward of stage 0 needs a value that is not computed yet}}
      %y = ppc.mul %xi, %n {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}, %w: tensor<2xf32> {ppc.parameter = "w"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    // expected-error @below {{has no ppc.stage, so it belongs to no pipeline stage}}
    %n = ppc.neg %w : tensor<2xf32>
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      %y = ppc.neg %xi {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      // expected-error @below {{yields a value that no micro-batch computes}}
      ppc.yield %xi : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  // expected-error @below {{result 0 has no ppc.result}}
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> tensor<2xf32> {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      %y = ppc.neg %xi {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  // expected-error @below {{result 0 updates "m" of "w", which is not an argument}}
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> (tensor<2xf32> {ppc.result = "m", ppc.of = "w"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      %y = ppc.neg %xi {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    %s:2 = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %y = ppc.neg %xi {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      %z = ppc.neg %xi {ppc.stage = 1, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y, %z : tensor<2xf32>, tensor<2xf32>
    }
    // expected-error @below {{needs values of different pipeline stages}}
    %p = ppc.mul %s#0, %s#1 : tensor<2xf32>
    return %p : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}) -> (tensor<2xf32> {ppc.result = "loss"}) {
    // expected-error @below {{is needed on stages that cannot compute it}}
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      %y = ppc.neg %xi {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    return %s : tensor<2xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<4xf32> {ppc.input = "x"}, %other: tensor<2xf32>) -> (tensor<2xf32> {ppc.result = "loss"}) {
    %s = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2xf32>) -> (tensor<2xf32>) {
      %y = ppc.neg %xi {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2xf32>
      ppc.yield %y : tensor<2xf32>
    }
    // expected-error @below {{has an operand that no stage can compute}}
    %p = ppc.sum %s, %other : tensor<2xf32>
    return %p : tensor<2xf32>
  }
}
