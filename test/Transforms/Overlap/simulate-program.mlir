// The first all-reduce is waited for, the second one overlaps 2 s; a bucket starts at the completion event; the update waits.
// RUN: echo '{"links": [{"name": "ring", "axes": ["pp", "dp"], "bytes_per_s": 16, "latency_s": 0.25}]}' > %t.links
// RUN: echo '{"slowdown": 1, "devices": [{"bodies": [{"entry": "backward", "pieces_s": [1, 1, 2, 1, 3]}, {"entry": "update", "pieces_s": [1]}]}]}' > %t.durations
// RUN: ppc-opt %s --ppc-simulate-program="emulation=%t.links durations=%t.durations" -o /dev/null 2>&1 | FileCheck %s
// RUN: not ppc-opt %s --ppc-simulate-program="emulation=%t.links" -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not ppc-opt %s --ppc-simulate-program -o /dev/null 2>&1 | FileCheck %s --check-prefix=LINKS
// RUN: echo '{"slowdown": 1, "devices": [{"bodies": [{"entry": "backward", "pieces_s": [1]}, {"entry": "update", "pieces_s": [1]}]}]}' > %t.other
// RUN: not ppc-opt %s --ppc-simulate-program="emulation=%t.links durations=%t.other" -o /dev/null 2>&1 | FileCheck %s --check-prefix=PIECES

// An all-reduce of 32 bytes takes 2 x 0.25 s and 2 s. 1 + 2.5 + 1 + 2.5 (2 of it computed) + 1 is 8 s to the completion event, then 3 s of the
// run, during which the bucket of 16 bytes takes 1.5 s, and the update: 12 s, of which 9 s are computed.
// CHECK: rank,step_s,exposed_s
// CHECK-NEXT: 0,12,3
// CHECK-NEXT: 1,12,3
// MISSING: has no "durations": give the file that --save-durations wrote
// LINKS: give the links with emulation=FILE
// PIECES: the program's routine has another number of segments at {{.*}}.devices[0].bodies[0].pieces_s

ppcrt.group @dp axes ["dp"]
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.stream @dp_comm
    ppcrt.buffer @g accumulator : memref<8xf32>
    ppcrt.buffer @h accumulator : memref<4xf32>
    ppcrt.routine @backward backward code @backward reads [@g, @h] writes [@g, @h] early [[@h]]
    ppcrt.routine @update update code @update reads [@h] writes [@h]
    ppcrt.step {
      %0:2 = ppcrt.run @backward micro_batch 0 on @compute
      %1 = ppcrt.collective all_reduce sum group @dp reads [@h] writes [@h] after(%0#0) on @dp_comm
      %2 = ppcrt.run @update after(%1) on @compute
    }
  }
}

func.func private @backward(%g: memref<8xf32>, %h: memref<4xf32>) attributes {ppcrt.routine = "backward"} {
  ppcrt.call @sums(%g) : memref<8xf32>
  ppcrt.reach 0(%h : memref<4xf32>)
  return
}
func.func private @sums(%g: memref<8xf32>) {
  ppcrt.all_reduce sum group @dp outs(%g : memref<8xf32>)
  %t = ppcrt.start all_reduce sum group @dp outs(%g : memref<8xf32>)
  ppcrt.wait %t(%g : memref<8xf32>)
  return
}
func.func private @update(%h: memref<4xf32>) attributes {ppcrt.routine = "update"} {
  return
}
