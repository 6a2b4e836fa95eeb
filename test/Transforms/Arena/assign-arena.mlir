// Offsets are multiples of 64; slots follow the persistent buffers, scratch comes last and is shared.
// RUN: ppc-opt %s --ppc-assign-arena | FileCheck %s

// 5 x 7 floats need 140 bytes, the next buffer starts at 192; three slots of 128 bytes start at 256; scratch at 640.
// CHECK:      ppc.stages = [{arena_bytes = 704 : i64, buffers = [
// CHECK-SAME:   {offset = 0 : i64, role = "parameter", space = "arena", type = tensor<5x7xf32>},
// CHECK-SAME:   {offset = 192 : i64, role = "metric", space = "arena", type = tensor<f32>},
// CHECK-SAME:   {offset = 0 : i64, role = "input", space = "slot", type = tensor<3xi32>},
// CHECK-SAME:   {offset = 64 : i64, role = "saved", space = "slot", type = tensor<3xf64>},
// CHECK-SAME:   {bytes = 40 : i64, offset = 640 : i64, role = "scratch", space = "arena"}],
// CHECK-SAME: functions = {forward = {buffers = array<i64: 2, 0, 3, 4>, entry = "stage0.forward"},
// CHECK-SAME:              update = {buffers = array<i64: 0, 1, 4>, entry = "stage0.update"}},
// CHECK-SAME: slot_bytes = 128 : i64, slot_offset = 256 : i64, slots = 3 : i64}]
module attributes {ppc.stages = [{
    buffers = [{role = "parameter", space = "arena", type = tensor<5x7xf32>}, {role = "metric", space = "arena", type = tensor<f32>},
               {role = "input", space = "slot", type = tensor<3xi32>}, {role = "saved", space = "slot", type = tensor<3xf64>}],
    functions = {forward = {entry = "stage0.forward", buffers = array<i64: 2, 0, 3>}, update = {entry = "stage0.update", buffers = array<i64: 0, 1>}},
    slots = 3}]} {
  func.func private @stage0.forward() attributes {ppc.scratch_bytes = 40 : i64}
  func.func private @stage0.update() attributes {ppc.scratch_bytes = 8 : i64}
}
