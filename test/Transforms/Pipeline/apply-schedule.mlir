// The actions of two stages and three micro-batches. A function that a stage lacks (no backward on stage 0) is left out, and
// messages stand next to the actions that make or use them.
// RUN: ppc-opt %s --ppc-apply-schedule | FileCheck %s

// 1F1B on stage 0, two slots: F0 F1 | W0 F2 | W1 W2.
// CHECK:      actions = [{do = "forward", micro_batch = 0 : i64},
// CHECK-SAME:   {buffer = 2 : i64, do = "send", micro_batch = 0 : i64, stage = 1 : i64, tag = 0 : i64},
// CHECK-SAME:   {do = "forward", micro_batch = 1 : i64},
// CHECK-SAME:   {buffer = 2 : i64, do = "send", micro_batch = 1 : i64, stage = 1 : i64, tag = 0 : i64},
// CHECK-SAME:   {buffer = 3 : i64, do = "receive", micro_batch = 0 : i64, stage = 1 : i64, tag = 1 : i64},
// CHECK-SAME:   {do = "weight_gradient", micro_batch = 0 : i64},
// CHECK-SAME:   {do = "forward", micro_batch = 2 : i64},
// CHECK-SAME:   {do = "weight_gradient", micro_batch = 2 : i64}],
// CHECK-SAME: slots = 2 : i64
// Stage 1, one slot: F0 B0 W0 | F1 B1 W1 | F2 B2 W2; the gradient leaves before W.
// CHECK-SAME: actions = [{buffer = 0 : i64, do = "receive", micro_batch = 0 : i64, stage = 0 : i64, tag = 0 : i64},
// CHECK-SAME:   {do = "forward", micro_batch = 0 : i64},
// CHECK-SAME:   {do = "backward", micro_batch = 0 : i64},
// CHECK-SAME:   {buffer = 1 : i64, do = "send", micro_batch = 0 : i64, stage = 0 : i64, tag = 1 : i64},
// CHECK-SAME:   {do = "weight_gradient", micro_batch = 0 : i64},
// CHECK-SAME:   {buffer = 0 : i64, do = "receive", micro_batch = 1 : i64, stage = 0 : i64, tag = 0 : i64},
// CHECK-SAME:   {do = "weight_gradient", micro_batch = 2 : i64}],
// CHECK-SAME: slots = 1 : i64
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 3, dimensions = {}, parameters = {}>,
  ppc.stages = [
    {buffers = [], functions = {forward = {}, weight_gradient = {}, update = {}},
     sends = [{after = "forward", buffer = 2, stage = 1, tag = 0}], receives = [{before = "weight_gradient", buffer = 3, stage = 1, tag = 1}]},
    {buffers = [], functions = {forward = {}, backward = {}, weight_gradient = {}, update = {}},
     sends = [{after = "backward", buffer = 1, stage = 0, tag = 1}], receives = [{before = "forward", buffer = 0, stage = 0, tag = 0}]}]} {
}
