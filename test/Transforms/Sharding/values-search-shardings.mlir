// Layouts that the search finds compute what one device computes: on a machine where small tensors are worth sharding, over
// one axis and two, with data-parallel ranks, uneven, and with as little memory as there can be. First a LLaMA with grouped
// heads, then two branches of different width without norms, which no user shards by habit.
// RUN: ppc-opt %S/values-llama.mlir --pass-pipeline='builtin.module(ppc-search-shardings{cluster=%S/Inputs/eager.yaml tensor-parallel=2},ppc-phase-train,test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %S/values-llama.mlir --pass-pipeline='builtin.module(ppc-search-shardings{cluster=%S/Inputs/eager.yaml tensor-parallel=2,3 memory-limit=14000},ppc-phase-train,test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %S/values-llama.mlir --pass-pipeline='builtin.module(ppc-search-shardings{cluster=%S/Inputs/eager.yaml dp=2 tensor-parallel=2,2},ppc-phase-train,test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-search-shardings{cluster=%S/Inputs/eager.yaml tensor-parallel=4 micro-batch=4},ppc-phase-train,test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-search-shardings{cluster=%S/Inputs/eager.yaml dp=2 tensor-parallel=3,2 micro-batch=2},ppc-phase-train,test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s

// CHECK: remark: 1 layouts compute what one device does
module {
func.func @loss(%x: tensor<8x6xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
    %s: tensor<6xf32> {ppc.parameter = "s", ppc.dims = ["hidden"]},
    %u1: tensor<13x6xf32> {ppc.parameter = "u1", ppc.dims = ["wide", "hidden"]}, %w1: tensor<6x13xf32> {ppc.parameter = "w1", ppc.dims = ["hidden", "wide"]},
    %u2: tensor<4x6xf32> {ppc.parameter = "u2", ppc.dims = ["narrow", "hidden"]}, %w2: tensor<6x4xf32> {ppc.parameter = "w2", ppc.dims = ["hidden", "narrow"]}) -> tensor<f32> {
  %r = ppc.broadcast %s dims [0] : tensor<6xf32> to tensor<8x6xf32>
  %z = ppc.mul %x, %r : tensor<8x6xf32>
  %a = ppc.matmul "th,wh->tw" %z, %u1 : (tensor<8x6xf32>, tensor<13x6xf32>) -> tensor<8x13xf32>
  %b = ppc.silu %a : tensor<8x13xf32>
  %c = ppc.mul %a, %b : tensor<8x13xf32>
  %d = ppc.mul %c, %b : tensor<8x13xf32>
  %y1 = ppc.matmul "tw,hw->th" %d, %w1 : (tensor<8x13xf32>, tensor<6x13xf32>) -> tensor<8x6xf32>
  %e = ppc.matmul "th,nh->tn" %z, %u2 : (tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<8x4xf32>
  %f = ppc.silu %e : tensor<8x4xf32>
  %y2 = ppc.matmul "tn,hn->th" %f, %w2 : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
  %g = ppc.add %y1, %y2 : tensor<8x6xf32>
  %o = ppc.add %z, %g : tensor<8x6xf32>
  %q = ppc.mul %o, %o : tensor<8x6xf32>
  %t = ppc.reduce #ppc.combiner<sum> %q dims [0, 1] : tensor<8x6xf32> to tensor<f32>
  %loss = ppc.scale %t by 0.0625 : tensor<f32>
  return %loss : tensor<f32>
}
}
