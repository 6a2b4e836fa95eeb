// A layer of experts: tokens go from rows to experts and back by all-to-all; one axis, two, and with data-parallel ranks.
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-search-shardings{cluster=%S/Inputs/eager.yaml tensor-parallel=4},ppc-phase-train,test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-search-shardings{cluster=%S/Inputs/eager.yaml dp=2 tensor-parallel=2,2},ppc-phase-train,test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --ppc-search-shardings="cluster=%S/Inputs/eager.yaml tensor-parallel=4" | FileCheck %s --check-prefix=PLAN

// CHECK: remark: 1 layouts compute what one device does
// PLAN: ppc.dispatch {{.*}}ppc.factors = {h = ["tp"]}
// PLAN: ppc.matmul "bech,efh->becf" {{.*}}ppc.factors = {e = ["tp"]}
// PLAN: ppc.combine {{.*}}ppc.factors = {h = ["tp"]}
module {
func.func @loss(%x: tensor<4x6x8xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence", "hidden"]},
    %n: tensor<8xf32> {ppc.parameter = "n", ppc.dims = ["hidden"]},
    %r: tensor<4x8xf32> {ppc.parameter = "r", ppc.dims = ["experts", "hidden"]},
    %u: tensor<4x10x8xf32> {ppc.parameter = "u", ppc.dims = ["experts", "ffn", "hidden"]},
    %d: tensor<4x8x10xf32> {ppc.parameter = "d", ppc.dims = ["experts", "hidden", "ffn"]}) -> tensor<f32> {
  %h = ppc.rms_norm %x, %n epsilon 1.0e-5 : tensor<4x6x8xf32>, tensor<8xf32>
  %s = ppc.matmul "bsh,eh->bse" %h, %r : (tensor<4x6x8xf32>, tensor<4x8xf32>) -> tensor<4x6x4xf32>
  %p = ppc.softmax %s : tensor<4x6x4xf32>
  %v, %i = ppc.top_k %p : tensor<4x6x4xf32> -> tensor<4x6x2xf32>, tensor<4x6x2xi32>
  %t = ppc.dispatch %h, %i : (tensor<4x6x8xf32>, tensor<4x6x2xi32>) -> tensor<4x4x6x8xf32>
  %a = ppc.matmul "bech,efh->becf" %t, %u : (tensor<4x4x6x8xf32>, tensor<4x10x8xf32>) -> tensor<4x4x6x10xf32>
  %b = ppc.silu %a : tensor<4x4x6x10xf32>
  %c = ppc.matmul "becf,ehf->bech" %b, %d : (tensor<4x4x6x10xf32>, tensor<4x8x10xf32>) -> tensor<4x4x6x8xf32>
  %y = ppc.combine %c, %i weights %v : (tensor<4x4x6x8xf32>, tensor<4x6x2xi32>, tensor<4x6x2xf32>) -> tensor<4x6x8xf32>
  %z = ppc.add %h, %y : tensor<4x6x8xf32>
  %q = ppc.mul %z, %z : tensor<4x6x8xf32>
  %l = ppc.reduce #ppc.combiner<sum> %q dims [0, 1, 2] : tensor<4x6x8xf32> to tensor<f32>
  return %l : tensor<f32>
}
}
