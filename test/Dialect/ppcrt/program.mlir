// A program with all that its vocabulary has, also what no pass makes yet.
// RUN: ppc-opt %s | ppc-opt | FileCheck %s

ppcrt.group @dp axes ["dp"]

// CHECK: ppcrt.program @train grid <pp = 2, dp = 2> micro_batches 4 {
ppcrt.program @train grid <pp = 2, dp = 2> micro_batches 4 {
  // CHECK: ppcrt.device @device0 at 0 arena 4096 {
  ppcrt.device @device0 at 0 arena 4096 {
    // CHECK-NEXT: ppcrt.stream @compute
    ppcrt.stream @compute
    ppcrt.stream @messages
    ppcrt.stream @dp_comm
    ppcrt.stream @copies
    // CHECK: ppcrt.buffer @w parameter "w" : memref<2x4xf32> of tensor<4x4xf32> sharding <[{dp}, {}]> init <normal, 2.000000e-02> offset 0
    ppcrt.buffer @w parameter "w" : memref<2x4xf32> of tensor<4x4xf32> sharding <[{dp}, {}]> init <normal, 0.02> offset 0
    // CHECK: ppcrt.buffer @m state "w" state "m" : memref<2x4xf32>
    ppcrt.buffer @m state "w" state "m" : memref<2x4xf32>
    ppcrt.buffer @full gathered : memref<4x4xf32>
    ppcrt.buffer @ids input "ids" : memref<8xi32> slots 2
    // CHECK: ppcrt.buffer @h saved "layer" : memref<8xf32> order 3 slots 2 offset 64 stride 64
    ppcrt.buffer @h saved "layer" : memref<8xf32> order 3 slots 2 offset 64 stride 64
    // CHECK: ppcrt.buffer @spilled saved : memref<8xf32> slots 4 memory host
    ppcrt.buffer @spilled saved : memref<8xf32> slots 4 memory host
    // CHECK: ppcrt.buffer @a saved : memref<8xf32> slots 3 places [0, 1, 2, 0]
    ppcrt.buffer @a saved : memref<8xf32> slots 3 places [0, 1, 2, 0]
    // CHECK: ppcrt.buffer @b saved : memref<8xf32> slots 3 places [2, 2, 1, 1] shares @a offset 128 stride 64
    ppcrt.buffer @b saved : memref<8xf32> slots 3 places [2, 2, 1, 1] shares @a offset 128 stride 64
    ppcrt.buffer @g message : memref<8xf32> slots 2
    ppcrt.buffer @dw gradient "w" : memref<2x4xf32>
    ppcrt.buffer @loss metric "loss" : memref<f32>
    ppcrt.buffer @scratch scratch : memref<64xi8>
    // CHECK: ppcrt.routine @forward forward code @code reads [@ids, @w] writes [@h] scratch @scratch
    ppcrt.routine @forward forward code @code reads [@ids, @w] writes [@h] scratch @scratch
    // Several routines of a kind, and several chunks.
    ppcrt.routine @backward backward code @code reads [@g, @h, @dw] writes [@dw]
    // CHECK: ppcrt.routine @backward_last backward code @code reads [@g, @h, @dw] writes [@dw] early {{\[\[}}@dw]]
    ppcrt.routine @backward_last backward code @code reads [@g, @h, @dw] writes [@dw] early [[@dw]]
    // CHECK: ppcrt.routine @forward1 forward chunk 1 code @code reads [] writes []
    ppcrt.routine @forward1 forward chunk 1 code @code reads [] writes []
    ppcrt.routine @update update code @code reads [@dw] writes [@w, @loss]
    ppcrt.routine @evaluate evaluate code @code reads [] writes [@loss]
    // CHECK: ppcrt.step {
    ppcrt.step {
      // CHECK-NEXT: %[[L:.*]] = ppcrt.load micro_batch 0 on @compute{{$}}
      %l = ppcrt.load micro_batch 0 on @compute
      // CHECK-NEXT: %[[F:.*]] = ppcrt.run @forward micro_batch 0 after(%[[L]]) on @compute
      %f = ppcrt.run @forward micro_batch 0 after (%l) on @compute
      // CHECK-NEXT: %[[C:.*]] = ppcrt.copy @h to @spilled micro_batch 0 after(%[[F]]) on @copies
      %c = ppcrt.copy @h to @spilled micro_batch 0 after (%f) on @copies
      // CHECK-NEXT: %[[S:.*]] = ppcrt.send @down micro_batch 0 after(%[[F]]) on @messages
      %s = ppcrt.send @down micro_batch 0 after (%f) on @messages
      // CHECK-NEXT: %[[R:.*]] = ppcrt.receive @up micro_batch 0 on @messages
      %r = ppcrt.receive @up micro_batch 0 on @messages
      // CHECK-NEXT: %[[X:.*]] = ppcrt.exchange send @down micro_batch 1 receive @up micro_batch 1 after(%[[S]], %[[R]]) on @messages
      %x = ppcrt.exchange send @down micro_batch 1 receive @up micro_batch 1 after (%s, %r) on @messages
      // CHECK-NEXT: %[[B:.*]]:2 = ppcrt.run @backward_last micro_batch 0 after(%[[X]], %[[C]]) on @compute
      %b:2 = ppcrt.run @backward_last micro_batch 0 after (%x, %c) on @compute
      // CHECK-NEXT: %[[A:.*]] = ppcrt.collective all_reduce sum group @dp reads [@dw] writes [@dw] after(%[[B]]#0) on @dp_comm
      %a = ppcrt.collective all_reduce sum group @dp reads [@dw] writes [@dw] after (%b#0) on @dp_comm
      // CHECK-NEXT: ppcrt.collective all_gather group @dp reads [@w] writes [@full] on @dp_comm
      %w = ppcrt.collective all_gather group @dp reads [@w] writes [@full] on @dp_comm
      // CHECK-NEXT: ppcrt.run @update after(%[[A]]) on @compute
      %u = ppcrt.run @update after (%a) on @compute
      // CHECK-NEXT: ppcrt.check_finite [@loss] after(%{{.*}}) on @compute
      ppcrt.check_finite [@loss] after (%u) on @compute
    }
    // CHECK: ppcrt.evaluate {
    ppcrt.evaluate {
      ppcrt.run @evaluate on @compute
    }
  }
  ppcrt.device @device1 at 1 {
    ppcrt.buffer @x message : memref<8xf32> slots 1
    ppcrt.buffer @dx saved : memref<8xf32> slots 1
    ppcrt.routine @both backward code @code reads [@x] writes [@dx]
  }
  // CHECK: ppcrt.message @down from @device0::@h after @forward to @device1::@x before @both
  ppcrt.message @down from @device0::@h after @forward to @device1::@x before @both
  ppcrt.message @up from @device1::@dx after @both to @device0::@g before @backward
}
func.func private @code()

// CHECK-LABEL: func.func @asynchronous
func.func @asynchronous(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %rows: memref<6x4xf32>, %to: memref<9x4xf32>) {
  // CHECK: %[[T:.*]] = ppcrt.start all_gather group @dp ins(%{{.*}} : memref<3xf32>) outs(%{{.*}} : memref<6xf32>)
  %t = ppcrt.start all_gather group @dp ins(%x : memref<3xf32>) outs(%y : memref<6xf32>)
  // CHECK: ppcrt.wait %[[T]](%{{.*}}, %{{.*}} : memref<3xf32>, memref<6xf32>)
  ppcrt.wait %t (%x, %y : memref<3xf32>, memref<6xf32>)
  // CHECK: ppcrt.start all_reduce sum group @dp outs(%{{.*}} : memref<3xf32>)
  %u = ppcrt.start all_reduce sum group @dp outs(%x : memref<3xf32>)
  ppcrt.wait %u (%x : memref<3xf32>)
  // CHECK: ppcrt.start permute group @dp shift -1 ins
  %p = ppcrt.start permute group @dp shift -1 ins(%x : memref<3xf32>) outs(%x : memref<3xf32>)
  ppcrt.wait %p (%x, %x : memref<3xf32>, memref<3xf32>)
  // CHECK: ppcrt.permute group @dp shift 1 ins(%{{.*}} : memref<3xf32>) outs(%{{.*}} : memref<3xf32>)
  ppcrt.permute group @dp shift 1 ins(%x : memref<3xf32>) outs(%x : memref<3xf32>)
  // CHECK: ppcrt.ragged_all_to_all group @dp ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<6x4xf32>, memref<2xi32>, memref<2xi32>) outs(%{{.*}} : memref<9x4xf32>)
  ppcrt.ragged_all_to_all group @dp ins(%rows, %n, %n : memref<6x4xf32>, memref<2xi32>, memref<2xi32>) outs(%to : memref<9x4xf32>)
  return
}
