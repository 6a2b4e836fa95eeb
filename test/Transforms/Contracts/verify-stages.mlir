// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-verify-stages

// Sound.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 1>, stages = [0, 1], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>,
  ppc.stages = [
    {buffers = [{role = "saved", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage0.forward"}, update = {buffers = array<i64: 1>, entry = "stage0.update"}},
     sends = [{after = "forward", buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}], receives = [],
     actions = [{do = "forward", micro_batch = 0 : i64}, {do = "send", micro_batch = 0 : i64, buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}]},
    {buffers = [{role = "message", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage1.forward"}, update = {buffers = array<i64: 1>, entry = "stage1.update"}},
     sends = [], receives = [{before = "forward", buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}],
     actions = [{do = "receive", micro_batch = 0 : i64, buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}, {do = "forward", micro_batch = 0 : i64}]}]} {
  func.func @stage0.forward() -> (tensor<4xf32> {ppc.buffer = 0 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage1.forward(%x: tensor<4xf32> {ppc.buffer = 0 : i64}) {
    return
  }
  func.func @stage0.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @stage1.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C1: the argument of another type.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 1>, stages = [0, 1], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>,
  ppc.stages = [
    {buffers = [{role = "saved", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage0.forward"}, update = {buffers = array<i64: 1>, entry = "stage0.update"}},
     sends = [{after = "forward", buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}], receives = [],
     actions = [{do = "forward", micro_batch = 0 : i64}, {do = "send", micro_batch = 0 : i64, buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}]},
    {buffers = [{role = "message", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage1.forward"}, update = {buffers = array<i64: 1>, entry = "stage1.update"}},
     sends = [], receives = [{before = "forward", buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}],
     actions = [{do = "receive", micro_batch = 0 : i64, buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}, {do = "forward", micro_batch = 0 : i64}]}]} {
  func.func @stage0.forward() -> (tensor<4xf32> {ppc.buffer = 0 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // expected-error @below {{argument 0 of type 'tensor<8xf32>' is bound to buffer 0 of stage 1, which is 'tensor<4xf32>'}}
  func.func @stage1.forward(%x: tensor<8xf32> {ppc.buffer = 0 : i64}) {
    return
  }
  func.func @stage0.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @stage1.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C1: no such function.
// expected-error @below {{stage 1: its "forward" names a function that the module does not have}}
module attributes {ppc.plan = #ppc.plan<grid = <dp = 1>, stages = [0, 1], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>,
  ppc.stages = [
    {buffers = [{role = "saved", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage0.forward"}, update = {buffers = array<i64: 1>, entry = "stage0.update"}},
     sends = [{after = "forward", buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}], receives = [],
     actions = [{do = "forward", micro_batch = 0 : i64}, {do = "send", micro_batch = 0 : i64, buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}]},
    {buffers = [{role = "message", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage1.backward"}, update = {buffers = array<i64: 1>, entry = "stage1.update"}},
     sends = [], receives = [{before = "forward", buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}],
     actions = [{do = "receive", micro_batch = 0 : i64, buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}, {do = "forward", micro_batch = 0 : i64}]}]} {
  func.func @stage0.forward() -> (tensor<4xf32> {ppc.buffer = 0 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage1.forward(%x: tensor<4xf32> {ppc.buffer = 0 : i64}) {
    return
  }
  func.func @stage0.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @stage1.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C2: an action is missing.
// expected-error @below {{stage 0: does 'forward' for 0 of 1 micro-batches}}
module attributes {ppc.plan = #ppc.plan<grid = <dp = 1>, stages = [0, 1], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>,
  ppc.stages = [
    {buffers = [{role = "saved", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage0.forward"}, update = {buffers = array<i64: 1>, entry = "stage0.update"}},
     sends = [{after = "forward", buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}], receives = [],
     actions = [{do = "send", micro_batch = 0 : i64, buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}]},
    {buffers = [{role = "message", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage1.forward"}, update = {buffers = array<i64: 1>, entry = "stage1.update"}},
     sends = [], receives = [{before = "forward", buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}],
     actions = [{do = "receive", micro_batch = 0 : i64, buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}, {do = "forward", micro_batch = 0 : i64}]}]} {
  func.func @stage0.forward() -> (tensor<4xf32> {ppc.buffer = 0 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage1.forward(%x: tensor<4xf32> {ppc.buffer = 0 : i64}) {
    return
  }
  func.func @stage0.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @stage1.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C2: an action twice.
// expected-error @below {{stage 0: does 'forward' twice for micro-batch 0}}
module attributes {ppc.plan = #ppc.plan<grid = <dp = 1>, stages = [0, 1], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>,
  ppc.stages = [
    {buffers = [{role = "saved", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage0.forward"}, update = {buffers = array<i64: 1>, entry = "stage0.update"}},
     sends = [{after = "forward", buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}], receives = [],
     actions = [{do = "forward", micro_batch = 0 : i64}, {do = "forward", micro_batch = 0 : i64}, {do = "send", micro_batch = 0 : i64, buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}]},
    {buffers = [{role = "message", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage1.forward"}, update = {buffers = array<i64: 1>, entry = "stage1.update"}},
     sends = [], receives = [{before = "forward", buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}],
     actions = [{do = "receive", micro_batch = 0 : i64, buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}, {do = "forward", micro_batch = 0 : i64}]}]} {
  func.func @stage0.forward() -> (tensor<4xf32> {ppc.buffer = 0 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage1.forward(%x: tensor<4xf32> {ppc.buffer = 0 : i64}) {
    return
  }
  func.func @stage0.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @stage1.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C3: another tag.
// expected-error @below {{stage 0: sends message 7 to stage 1, which does not receive it from there}}
module attributes {ppc.plan = #ppc.plan<grid = <dp = 1>, stages = [0, 1], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>,
  ppc.stages = [
    {buffers = [{role = "saved", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage0.forward"}, update = {buffers = array<i64: 1>, entry = "stage0.update"}},
     sends = [{after = "forward", buffer = 0 : i64, stage = 1 : i64, tag = 7 : i64}], receives = [],
     actions = [{do = "forward", micro_batch = 0 : i64}, {do = "send", micro_batch = 0 : i64, buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}]},
    {buffers = [{role = "message", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage1.forward"}, update = {buffers = array<i64: 1>, entry = "stage1.update"}},
     sends = [], receives = [{before = "forward", buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}],
     actions = [{do = "receive", micro_batch = 0 : i64, buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}, {do = "forward", micro_batch = 0 : i64}]}]} {
  func.func @stage0.forward() -> (tensor<4xf32> {ppc.buffer = 0 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage1.forward(%x: tensor<4xf32> {ppc.buffer = 0 : i64}) {
    return
  }
  func.func @stage0.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @stage1.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C3: nobody sends.
// expected-error @below {{stage 1: receives message 0, which nobody sends}}
module attributes {ppc.plan = #ppc.plan<grid = <dp = 1>, stages = [0, 1], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>,
  ppc.stages = [
    {buffers = [{role = "saved", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage0.forward"}, update = {buffers = array<i64: 1>, entry = "stage0.update"}},
     sends = [], receives = [],
     actions = [{do = "forward", micro_batch = 0 : i64}, {do = "send", micro_batch = 0 : i64, buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}]},
    {buffers = [{role = "message", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage1.forward"}, update = {buffers = array<i64: 1>, entry = "stage1.update"}},
     sends = [], receives = [{before = "forward", buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}],
     actions = [{do = "receive", micro_batch = 0 : i64, buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}, {do = "forward", micro_batch = 0 : i64}]}]} {
  func.func @stage0.forward() -> (tensor<4xf32> {ppc.buffer = 0 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage1.forward(%x: tensor<4xf32> {ppc.buffer = 0 : i64}) {
    return
  }
  func.func @stage0.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @stage1.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C4: another channel.
// expected-error @below {{stage 0: and stage 1 disagree on their all-reduce 0 over "pp"}}
module attributes {ppc.plan = #ppc.plan<grid = <dp = 1>, stages = [0, 1], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>,
  ppc.stages = [
    {buffers = [{role = "saved", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage0.forward"}, update = {buffers = array<i64: 1>, entry = "stage0.update"}},
     sends = [{after = "forward", buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}], receives = [],
     actions = [{do = "forward", micro_batch = 0 : i64}, {do = "send", micro_batch = 0 : i64, buffer = 0 : i64, stage = 1 : i64, tag = 0 : i64}]},
    {buffers = [{role = "message", space = "slot", type = tensor<4xf32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {forward = {buffers = array<i64: 0>, entry = "stage1.forward"}, update = {buffers = array<i64: 1>, entry = "stage1.update"}},
     sends = [], receives = [{before = "forward", buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}],
     actions = [{do = "receive", micro_batch = 0 : i64, buffer = 0 : i64, stage = 0 : i64, tag = 0 : i64}, {do = "forward", micro_batch = 0 : i64}]}]} {
  func.func @stage0.forward() -> (tensor<4xf32> {ppc.buffer = 0 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage1.forward(%x: tensor<4xf32> {ppc.buffer = 0 : i64}) {
    return
  }
  func.func @stage0.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 1 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @stage1.update() -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C5: without backward there is nothing to read.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 1>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>,
  ppc.stages = [
    {buffers = [{role = "accumulator", space = "arena", type = tensor<f32>}, {role = "metric", space = "arena", type = tensor<f32>}],
     functions = {backward = {buffers = array<i64: 0>, entry = "stage0.backward"}, evaluate = {buffers = array<i64: 0, 1>, entry = "stage0.evaluate"},
                  forward = {buffers = array<i64>, entry = "stage0.forward"}},
     sends = [], receives = [], actions = [{do = "forward", micro_batch = 0 : i64}, {do = "backward", micro_batch = 0 : i64}]}]} {
  func.func @stage0.forward() {
    return
  }
  func.func @stage0.backward(%x: tensor<f32> {ppc.buffer = 0 : i64}) -> (tensor<f32> {ppc.buffer = 0 : i64}) {
    %0 = ppc.add %x, %x : tensor<f32>
    return %0 : tensor<f32>
  }
  // expected-error @below {{argument 0 is bound to buffer 0 : i64, which forward does not write}}
  func.func @stage0.evaluate(%x: tensor<f32> {ppc.buffer = 0 : i64}) -> (tensor<f32> {ppc.buffer = 1 : i64}) {
    %0 = ppc.scale %x by 2.000000e+00 : tensor<f32>
    return %0 : tensor<f32>
  }
}
