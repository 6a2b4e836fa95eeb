// A prediction for each stage of a plan, on a machine that a file describes.
// RUN: ppc-opt %s --ppc-make-plan="tp=2 pp=2 layers-per-stage=1,3" --ppc-price-plan="cluster=%inputs/Clusters/four-cores.yaml" | FileCheck %s
// RUN: not ppc-opt %s --ppc-price-plan 2>&1 | FileCheck %s --check-prefix=NONE
// Parameters with shardings of their own have no degree of parallelism.
// RUN: ppc-opt %s --ppc-make-plan="dp=2" --mlir-print-op-generic=false | sed 's/parameters = {}/parameters = {k = #ppc.sharding<[{}, {}, {}, {dp}]>}/' > %t.mlir
// RUN: ppc-opt %t.mlir --ppc-price-plan --remarks-filter=ppc-plan 2>&1 | FileCheck %s --check-prefix=OWN

// CHECK: ppc.prediction = {layout = "tp 2 x pp 2, micro-batch 1, 1f1b, recompute none", machine = "four cores", memory_bytes = array<i64: [[#]], [[#]]>, step_time_s = {{[0-9.e-]+}} : f64}
// NONE: error: has no ppc.plan: run ppc-search-plan or ppc-make-plan first
// OWN: the plan shards parameter 'k' on its own
// OWN-NOT: ppc.prediction

module attributes {ppc.shape = {layers = 4 : i64, hidden = 64 : i64, heads = 4 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, ffn = 128 : i64,
                                gated = true, vocab = 256 : i64}} {
  func.func @loss(%ids: tensor<8x32xi32> {ppc.input = "ids", ppc.dims = ["batch", "seq"]},
                  %x: tensor<8x32xf32> {ppc.dims = ["batch", "seq"]},
                  %k: tensor<2x2x16x64xf32> {ppc.parameter = "k", ppc.dims = ["kv_heads", "head_group", "head_dim", "hidden"]}) -> tensor<f32> {
    %0 = ppc.silu %x {ppc.layer = 0 : i64} : tensor<8x32xf32>
    %1 = ppc.silu %0 {ppc.layer = 1 : i64} : tensor<8x32xf32>
    %2 = ppc.silu %1 {ppc.layer = 2 : i64} : tensor<8x32xf32>
    %3 = ppc.silu %2 {ppc.layer = 3 : i64} : tensor<8x32xf32>
    %4 = ppc.silu %3 {ppc.layer = 4 : i64} : tensor<8x32xf32>
    %5 = ppc.reduce #ppc.combiner<sum> %4 dims [0, 1] {ppc.layer = 5 : i64} : tensor<8x32xf32> to tensor<f32>
    return %5 : tensor<f32>
  }
}
