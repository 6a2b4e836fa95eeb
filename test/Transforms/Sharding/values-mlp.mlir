// A training step of a small MLP with a loss over sharded classes, in random layouts and as a plan says, against one device.
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence{layouts=60 seed=7})' --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{dp=2 tp=3 micro-batch=2},ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s

// CHECK: remark: 1 layouts compute what one device does
// expected-remark @below {{60 layouts compute what one device does}}
module {
func.func @loss(%x: tensor<8x16xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]}, %t: tensor<8xi32> {ppc.input = "targets", ppc.dims = ["batch"]},
                %up: tensor<33x16xf32> {ppc.parameter = "up", ppc.dims = ["ffn", "hidden"]},
                %down: tensor<16x33xf32> {ppc.parameter = "down", ppc.dims = ["hidden", "ffn"]},
                %w: tensor<16xf32> {ppc.parameter = "norm", ppc.dims = ["hidden"]},
                %head: tensor<65x16xf32> {ppc.parameter = "head", ppc.dims = ["vocab", "hidden"]}) -> tensor<f32> {
  %n = ppc.rms_norm %x, %w epsilon 1.0e-5 {ppc.layer = 1} : tensor<8x16xf32>, tensor<16xf32>
  %h = ppc.matmul "mk,nk->mn" %n, %up {ppc.layer = 1}: (tensor<8x16xf32>, tensor<33x16xf32>) -> tensor<8x33xf32>
  %a = ppc.silu %h {ppc.layer = 1}: tensor<8x33xf32>
  %y = ppc.matmul "mk,nk->mn" %a, %down {ppc.layer = 1}: (tensor<8x33xf32>, tensor<16x33xf32>) -> tensor<8x16xf32>
  %r = ppc.add %x, %y {ppc.layer = 1}: tensor<8x16xf32>
  %z = ppc.matmul "mk,nk->mn" %r, %head {ppc.layer = 2}: (tensor<8x16xf32>, tensor<65x16xf32>) -> tensor<8x65xf32>
  %nll, %lse = ppc.cross_entropy %z, %t {ppc.layer = 2}: (tensor<8x65xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xf32>)
  %s = ppc.reduce #ppc.combiner<sum> %nll dims [0] {ppc.layer = 2} : tensor<8xf32> to tensor<f32>
  %l = ppc.scale %s by 0.125 {ppc.layer = 2}: tensor<f32>
  return %l : tensor<f32>
}
}
