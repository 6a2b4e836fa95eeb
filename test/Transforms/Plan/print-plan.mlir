// ppc-make-plan reads the output of ppc-print-plan.
// RUN: ppc-opt %s --ppc-print-plan -o %t.mlir 2> %t.yaml
// RUN: FileCheck %s < %t.yaml
// RUN: ppc-opt %s --ppc-make-plan=plan-file=%t.yaml | FileCheck %s --check-prefix=AGAIN
// RUN: not ppc-opt %t.mlir --ppc-print-plan --ppc-make-plan=dp=8 --ppc-print-plan 2>&1 | FileCheck %s --check-prefix=BATCH

// CHECK: grid:
// CHECK-NEXT: dp: 2
// CHECK-NEXT: tp: 4
// CHECK-NEXT: stages: [ 0, 1 ]
// CHECK-NEXT: schedule: gpipe
// CHECK-NEXT: micro_batches: 2
// CHECK-NEXT: dimensions:
// CHECK-NEXT: batch: [ dp ]
// CHECK-NEXT: parameters:
// CHECK-NEXT: w: {{\[ \[ tp \], \[ +\] \]|\[ \[ tp \], \[\] \]}}
// CHECK-NEXT: activations:
// CHECK-NEXT: sequence: [ tp ]
// CHECK-NEXT: update: [ dp ]
// CHECK-NEXT: overlap: on

// AGAIN: ppc.plan = #ppc.plan<grid = <dp = 2, tp = 4>, stages = [0, 1], schedule = "gpipe", micro_batches = 2,
// AGAIN-SAME: dimensions = {batch = ["dp"]}, parameters = {w = #ppc.sharding<[{tp}, {}]>}, activations = {sequence = ["tp"]}, update = ["dp"], overlap = true>
// BATCH: global batch of 4 sequences is not a multiple of dp 8

module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 4>, stages = [0, 1], schedule = "gpipe", micro_batches = 2,
                                        dimensions = {batch = ["dp"]}, parameters = {w = #ppc.sharding<[{tp}, {}]>},
                                        activations = {sequence = ["tp"]}, update = ["dp"], overlap = true>} {
  func.func @loss(%x: tensor<4x8xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence"]},
                  %w: tensor<8x8xf32> {ppc.parameter = "w", ppc.dims = ["ffn", "hidden"]}) -> tensor<f32> {
    %0 = ppc.matmul "bh,fh->bf" %x, %w {ppc.layer = 0 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = ppc.reduce #ppc.combiner<sum> %0 dims [0, 1] {ppc.layer = 1 : i64} : tensor<4x8xf32> to tensor<f32>
    return %1 : tensor<f32>
  }
}
