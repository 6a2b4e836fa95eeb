// Programs in which nothing depends on the order: messages, exchanges, copies, collectives, slots that are used again. Logical programs
// define their results.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --test-ppc-timed-execution -o /dev/null
// RUN: grep -v expected- %s | ppc-opt --split-input-file --ppc-verify-program --ppc-verify-equivalence -o /dev/null

// Two devices, slots that are used twice, tokens as the passes write them.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 4, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @step(%x: tensor<8x4xf32> {ppc.input = "x"}, %w: tensor<4x4xf32> {ppc.parameter = "w"})
        -> (tensor<4x4xf32> {ppc.result = "parameter", ppc.of = "w"}, tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "w"}) {
      %0 = ppc.accumulate (%xi = %x) micro_batches(4) : (tensor<2x4xf32>) -> (tensor<4x4xf32>) {
        %h = ppc.matmul "bh,fh->bf" %xi, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
        %g = ppc.silu %h : tensor<2x4xf32>
        %dw = ppc.matmul "bf,bh->fh" %g, %h : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
        ppc.yield %dw : tensor<4x4xf32>
      }
      %1 = ppc.sub %w, %0 : tensor<4x4xf32>
      return %1, %0 : tensor<4x4xf32>, tensor<4x4xf32>
    }
  }
  // expected-remark @below {{100 orders agree (seed 1)}}
  ppcrt.program @train grid <pp = 2, dp = 2> micro_batches 4 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.stream @from1
      ppcrt.buffer @x input "x" : memref<1x4xf32> sharding <[{dp}, {}]> slots 2
      ppcrt.buffer @w parameter "w" : memref<4x4xf32> of tensor<4x4xf32> sharding <[{}, {}]>
      ppcrt.buffer @h saved : memref<1x4xf32> slots 2
      ppcrt.buffer @g message : memref<1x4xf32> slots 2
      ppcrt.buffer @dw accumulator : memref<4x4xf32>
      ppcrt.buffer @own gradient "w" : memref<4x4xf32> of tensor<4x4xf32> sharding <[{}, {}]>
      ppcrt.routine @forward forward code @multiply reads [@x, @w] writes [@h]
      ppcrt.routine @backward backward code @gradient reads [@g, @h, @dw] writes [@dw]
      ppcrt.routine @update update code @step reads [@w, @dw] writes [@w, @own]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.send @down micro_batch 0 after (%1) on @to1
        %3 = ppcrt.load micro_batch 1 on @compute
        %4 = ppcrt.run @forward micro_batch 1 on @compute
        %5 = ppcrt.send @down micro_batch 1 after (%4) on @to1
        %6 = ppcrt.receive @up micro_batch 0 on @from1
        %7 = ppcrt.run @backward micro_batch 0 after (%6) on @compute
        %8 = ppcrt.load micro_batch 2 on @compute
        %9 = ppcrt.run @forward micro_batch 2 after (%2) on @compute
        %10 = ppcrt.send @down micro_batch 2 after (%9) on @to1
        %11 = ppcrt.receive @up micro_batch 1 on @from1
        %12 = ppcrt.run @backward micro_batch 1 after (%11) on @compute
        %13 = ppcrt.load micro_batch 3 on @compute
        %14 = ppcrt.run @forward micro_batch 3 after (%5) on @compute
        %15 = ppcrt.send @down micro_batch 3 after (%14) on @to1
        %16 = ppcrt.receive @up micro_batch 2 after (%7) on @from1
        %17 = ppcrt.run @backward micro_batch 2 after (%16) on @compute
        %18 = ppcrt.receive @up micro_batch 3 after (%12) on @from1
        %19 = ppcrt.run @backward micro_batch 3 after (%18) on @compute
        %20 = ppcrt.run @update on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @to0
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<1x4xf32> slots 1
      ppcrt.buffer @dy saved : memref<1x4xf32> slots 1
      ppcrt.routine @both forward code @activate reads [@y] writes [@dy]
      ppcrt.routine @update update code @nothing reads [] writes []
      ppcrt.step {
        %0 = ppcrt.receive @down micro_batch 0 on @from0
        %1 = ppcrt.run @both micro_batch 0 after (%0) on @compute
        %2 = ppcrt.send @up micro_batch 0 after (%1) on @to0
        %3 = ppcrt.receive @down micro_batch 1 after (%1) on @from0
        %4 = ppcrt.run @both micro_batch 1 after (%3, %2) on @compute
        %5 = ppcrt.send @up micro_batch 1 after (%4) on @to0
        %6 = ppcrt.receive @down micro_batch 2 after (%4) on @from0
        %7 = ppcrt.run @both micro_batch 2 after (%6, %5) on @compute
        %8 = ppcrt.send @up micro_batch 2 after (%7) on @to0
        %9 = ppcrt.receive @down micro_batch 3 after (%7) on @from0
        %10 = ppcrt.run @both micro_batch 3 after (%9, %8) on @compute
        %11 = ppcrt.send @up micro_batch 3 after (%10) on @to0
        %12 = ppcrt.run @update on @compute
      }
    }
    ppcrt.message @down from @device0::@h after @forward to @device1::@y before @both
    ppcrt.message @up from @device1::@dy after @both to @device0::@g before @backward
  }
  func.func @multiply(%x: tensor<1x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.matmul "bh,fh->bf" %x, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }
  func.func @activate(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.silu %x : tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }
  func.func @gradient(%g: tensor<1x4xf32>, %h: tensor<1x4xf32>, %dw: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {ppcrt.routine = "backward"} {
    %0 = ppc.matmul "bf,bh->fh" %g, %h : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %1 = ppc.add %dw, %0 : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  func.func @step(%w: tensor<4x4xf32>, %dw: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) attributes {ppcrt.routine = "update"} {
    %0 = ppc.all_reduce %dw over ["dp"] <sum> : tensor<4x4xf32>
    %1 = ppc.sub %w, %0 : tensor<4x4xf32>
    return %1, %0 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.func @nothing() attributes {ppcrt.routine = "update"} {
    return
  }
}

// -----

// Buckets of gradients on a stream of their own, weights gathered beforehand, copies to the host and back; offsets that
// share bytes where one use comes before the other.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @step(%x: tensor<4x4xf32> {ppc.input = "x"}, %w: tensor<4x4xf32> {ppc.parameter = "w"})
        -> (tensor<4x4xf32> {ppc.result = "parameter", ppc.of = "w"}, tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "w"},
            tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "v"}, tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "u"}) {
      %0:3 = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
        %h = ppc.matmul "bh,fh->bf" %xi, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
        %dw = ppc.matmul "bf,bh->fh" %h, %xi : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
        %dv = ppc.matmul "bf,bg->fg" %h, %h : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
        %du = ppc.matmul "bh,bg->hg" %xi, %xi : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
        ppc.yield %dw, %dv, %du : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
      }
      %1 = ppc.sub %w, %0#0 : tensor<4x4xf32>
      return %1, %0#0, %0#1, %0#2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
    }
  }
  ppcrt.group @dp axes ["dp"]
  // expected-remark @below {{100 orders agree (seed 1)}}
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 arena 576 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.stream @copies
      ppcrt.buffer @x input "x" : memref<1x4xf32> sharding <[{dp}, {}]> slots 2 offset 0 stride 64
      ppcrt.buffer @w parameter "w" : memref<2x4xf32> of tensor<4x4xf32> sharding <[{dp}, {}]> offset 128
      ppcrt.buffer @full gathered : memref<4x4xf32> offset 192
      ppcrt.buffer @h saved : memref<1x4xf32> slots 1 offset 256 stride 64
      ppcrt.buffer @spilled saved : memref<1x4xf32> slots 2 memory host
      ppcrt.buffer @back saved : memref<1x4xf32> slots 1 offset 256 stride 64
      ppcrt.buffer @dw accumulator : memref<4x4xf32> offset 320
      ppcrt.buffer @dv gradient "v" : memref<4x4xf32> of tensor<4x4xf32> sharding <[{}, {}]> offset 384
      ppcrt.buffer @du gradient "u" : memref<4x4xf32> of tensor<4x4xf32> sharding <[{}, {}]> offset 448
      ppcrt.buffer @own gradient "w" : memref<2x4xf32> of tensor<4x4xf32> sharding <[{dp}, {}]> offset 512
      ppcrt.buffer @empty scratch : memref<0xi8> offset 66
      ppcrt.routine @forward forward code @multiply reads [@x, @full] writes [@h] scratch @empty
      ppcrt.routine @backward backward code @gradient reads [@x, @back, @dw, @dv, @du] writes [@dw, @dv, @du]
      ppcrt.routine @update update code @step reads [@w, @own] writes [@w]
      ppcrt.step {
        %0 = ppcrt.collective all_gather group @dp reads [@w] writes [@full] on @dp_comm
        %1 = ppcrt.load micro_batch 0 on @compute
        %2 = ppcrt.run @forward micro_batch 0 after (%0) on @compute
        %3 = ppcrt.copy @h to @spilled micro_batch 0 after (%2) on @copies
        %4 = ppcrt.load micro_batch 1 on @compute
        %5 = ppcrt.run @forward micro_batch 1 after (%3) on @compute
        %6 = ppcrt.copy @h to @spilled micro_batch 1 after (%5) on @copies
        %7 = ppcrt.copy @spilled to @back micro_batch 0 on @copies
        %8 = ppcrt.run @backward micro_batch 0 after (%7) on @compute
        %9 = ppcrt.copy @spilled to @back micro_batch 1 after (%8) on @copies
        %10 = ppcrt.run @backward micro_batch 1 after (%9) on @compute
        %11 = ppcrt.collective all_reduce sum group @dp reads [@dv, @du] writes [@dv, @du] after (%10) on @dp_comm
        %12 = ppcrt.collective reduce_scatter sum group @dp reads [@dw] writes [@own] on @dp_comm
        %13 = ppcrt.check_finite [@own, @dv] on @dp_comm
        %14 = ppcrt.run @update after (%13) on @compute
      }
    }
  }
  func.func @multiply(%x: tensor<1x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.matmul "bh,fh->bf" %x, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }
  func.func @gradient(%x: tensor<1x4xf32>, %h: tensor<1x4xf32>, %dw: tensor<4x4xf32>, %dv: tensor<4x4xf32>, %du: tensor<4x4xf32>)
      -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.matmul "bf,bh->fh" %h, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %1 = ppc.add %dw, %0 : tensor<4x4xf32>
    %2 = ppc.matmul "bf,bg->fg" %h, %h : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %3 = ppc.add %dv, %2 : tensor<4x4xf32>
    %4 = ppc.matmul "bh,bg->hg" %x, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %5 = ppc.add %du, %4 : tensor<4x4xf32>
    return %1, %3, %5 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.func @step(%w: tensor<2x4xf32>, %dw: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.sub %w, %dw : tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
}

// -----

// Neighbours that have something for each other exchange it.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 1>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @step(%x: tensor<2x4xf32> {ppc.input = "x"}) -> (tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "w"}) {
      %0 = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<1x4xf32>) -> (tensor<4x4xf32>) {
        %g = ppc.silu %xi : tensor<1x4xf32>
        %dw = ppc.matmul "bf,bg->fg" %g, %g : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
        ppc.yield %dw : tensor<4x4xf32>
      }
      return %0 : tensor<4x4xf32>
    }
  }
  // expected-remark @below {{100 orders agree (seed 1)}}
  ppcrt.program @train grid <pp = 2, dp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @x input "x" : memref<1x4xf32> slots 2
      ppcrt.buffer @h saved : memref<1x4xf32> slots 2
      ppcrt.buffer @g message : memref<1x4xf32> slots 2
      ppcrt.buffer @sum gradient "w" : memref<4x4xf32>
      ppcrt.routine @forward forward code @copy reads [@x] writes [@h]
      ppcrt.routine @backward backward code @add reads [@g, @sum] writes [@sum]
      ppcrt.routine @update update code @keep reads [@sum] writes [@sum]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.send @down micro_batch 0 after (%1) on @messages
        %3 = ppcrt.load micro_batch 1 on @compute
        %4 = ppcrt.run @forward micro_batch 1 on @compute
        %5 = ppcrt.exchange send @down micro_batch 1 receive @up micro_batch 0 after (%4) on @messages
        %6 = ppcrt.run @backward micro_batch 0 after (%5) on @compute
        %7 = ppcrt.receive @up micro_batch 1 on @messages
        %8 = ppcrt.run @backward micro_batch 1 after (%7) on @compute
        %9 = ppcrt.run @update on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @y message : memref<1x4xf32> slots 2
      ppcrt.buffer @dy saved : memref<1x4xf32> slots 2
      ppcrt.routine @both forward code @activate reads [@y] writes [@dy]
      ppcrt.routine @update update code @nothing reads [] writes []
      ppcrt.step {
        %0 = ppcrt.receive @down micro_batch 0 on @messages
        %1 = ppcrt.run @both micro_batch 0 after (%0) on @compute
        %2 = ppcrt.exchange send @up micro_batch 0 receive @down micro_batch 1 after (%1) on @messages
        %3 = ppcrt.run @both micro_batch 1 after (%2) on @compute
        %4 = ppcrt.send @up micro_batch 1 after (%3) on @messages
        %5 = ppcrt.run @update on @compute
      }
    }
    ppcrt.message @down from @device0::@h after @forward to @device1::@y before @both
    ppcrt.message @up from @device1::@dy after @both to @device0::@g before @backward
  }
  func.func @copy(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<1x4xf32>
  }
  func.func @activate(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.silu %x : tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }
  func.func @add(%g: tensor<1x4xf32>, %sum: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {ppcrt.routine = "backward"} {
    %0 = ppc.matmul "bf,bg->fg" %g, %g : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %1 = ppc.add %sum, %0 : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  func.func @keep(%sum: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {ppcrt.routine = "update"} {
    return %sum : tensor<4x4xf32>
  }
  func.func @nothing() attributes {ppcrt.routine = "update"} {
    return
  }
}

// -----

// Gradients are summed between ranks while the code that made them computes the next ones.
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>} {
  module @logical {
    func.func @step(%x: tensor<4x4xf32> {ppc.input = "x"}, %w: tensor<4x4xf32> {ppc.parameter = "w"})
        -> (tensor<4x4xf32> {ppc.result = "parameter", ppc.of = "w"}, tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "w"},
            tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "v"}, tensor<4x4xf32> {ppc.result = "gradient", ppc.of = "u"}) {
      %0:3 = ppc.accumulate (%xi = %x) micro_batches(2) : (tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
        %h = ppc.silu %xi : tensor<2x4xf32>
        %dw = ppc.matmul "bf,bh->fh" %h, %h : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
        %dv = ppc.matmul "bf,bg->fg" %xi, %xi : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
        %du = ppc.matmul "bh,bg->hg" %xi, %h : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
        ppc.yield %dw, %dv, %du : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
      }
      %1 = ppc.sub %w, %0#0 : tensor<4x4xf32>
      return %1, %0#0, %0#1, %0#2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
    }
  }
  ppcrt.group @dp axes ["dp"]
  // expected-remark @below {{100 orders agree (seed 1)}}
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "x" : memref<1x4xf32> sharding <[{dp}, {}]> slots 1
      ppcrt.buffer @w parameter "w" : memref<4x4xf32> of tensor<4x4xf32> sharding <[{}, {}]>
      ppcrt.buffer @h saved : memref<1x4xf32> slots 1
      ppcrt.buffer @dw gradient "w" : memref<4x4xf32> of tensor<4x4xf32> sharding <[{}, {}]>
      ppcrt.buffer @dv gradient "v" : memref<4x4xf32> of tensor<4x4xf32> sharding <[{}, {}]>
      ppcrt.buffer @du gradient "u" : memref<4x4xf32> of tensor<4x4xf32> sharding <[{}, {}]>
      ppcrt.routine @forward forward code @activate reads [@x] writes [@h]
      ppcrt.routine @backward backward code @gradient reads [@x, @h, @dw, @dv, @du] writes [@dw, @dv, @du] early [[@du, @dv], [@dw]]
      ppcrt.routine @update update code @step reads [@w, @dw] writes [@w]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.load micro_batch 1 on @compute
        %4 = ppcrt.run @forward micro_batch 1 on @compute
        %5:3 = ppcrt.run @backward micro_batch 1 on @compute
        %6 = ppcrt.collective all_reduce sum group @dp reads [@dv, @du] writes [@dv, @du] after (%5#0) on @dp_comm
        %7 = ppcrt.collective all_reduce sum group @dp reads [@dw] writes [@dw] after (%5#1) on @dp_comm
        %8 = ppcrt.run @update after (%7) on @compute
      }
    }
  }
  func.func @activate(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.silu %x : tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }
  func.func @gradient(%x: tensor<1x4xf32>, %h: tensor<1x4xf32>, %dw: tensor<4x4xf32>, %dv: tensor<4x4xf32>, %du: tensor<4x4xf32>)
      -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.matmul "bf,bg->fg" %x, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %1 = ppc.add %dv, %0 : tensor<4x4xf32>
    %2 = ppc.matmul "bh,bg->hg" %x, %h : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %3 = ppc.add %du, %2 : tensor<4x4xf32>
    ppcrt.reach 0 (%3, %1 : tensor<4x4xf32>, tensor<4x4xf32>)
    %4 = ppc.matmul "bf,bh->fh" %h, %h : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %5 = ppc.add %dw, %4 : tensor<4x4xf32>
    ppcrt.reach 1 (%5 : tensor<4x4xf32>)
    return %5, %1, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.func @step(%w: tensor<4x4xf32>, %dw: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.sub %w, %dw : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
