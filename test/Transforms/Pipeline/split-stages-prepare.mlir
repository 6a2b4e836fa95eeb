// Ops before the micro-batches are a function of their own, with buffers that all of them read.
// RUN: ppc-opt %s --ppc-split-stages | FileCheck %s

// CHECK: ppcrt.buffer @[[NARROW:.*]] prepared : memref<4x4xbf16>
// CHECK: ppcrt.routine @prepare prepare code @device0.prepare reads [@[[WIDE:.*]]] writes [@[[NARROW]]]
// CHECK: ppcrt.routine @forward forward code @stage0.forward reads [{{.*}}@[[NARROW]]{{.*}}]
// CHECK-LABEL: func.func @device0.prepare
// CHECK-SAME:    (%[[W:.*]]: tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK:         ppc.convert %[[W]]
// CHECK-LABEL: func.func @stage0.forward
// CHECK-NOT:     ppc.convert
// CHECK-LABEL: func.func @device0.update
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 3, dimensions = {}, parameters = {}>} {
  func.func @step(%x: tensor<6x4xbf16> {ppc.input = "x"}, %w: tensor<4x4xf32> {ppc.parameter = "w"}) -> (tensor<f32> {ppc.result = "loss"}) {
    %c = ppc.convert %w {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<4x4xf32> to tensor<4x4xbf16>
    %s = ppc.accumulate (%xi = %x) micro_batches(3) : (tensor<2x4xbf16>) -> (tensor<f32>) {
      %a = ppc.matmul "bi,oi->bo" %xi, %c {ppc.stage = 0, ppc.part = #ppc.part<forward>} : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xf32>
      %l = ppc.reduce <sum> %a dims [0, 1] {ppc.stage = 0, ppc.part = #ppc.part<forward>} : tensor<2x4xf32> to tensor<f32>
      ppc.yield %l : tensor<f32>
    }
    return %s : tensor<f32>
  }
}
