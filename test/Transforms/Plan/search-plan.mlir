// The sizes come from ppc.shape; what is pinned is kept, the rest is searched, and every rank is used.
// RUN: ppc-opt %s --ppc-search-plan="ranks=4" | FileCheck %s --check-prefix=FREE
// RUN: ppc-opt %s --ppc-search-plan="ranks=4 tp=2 pp=2" | FileCheck %s --check-prefix=DEGREES
// RUN: ppc-opt %s --ppc-search-plan="ranks=4 pp=4 layers-per-stage=1,1,1,1 schedule=gpipe micro-batch=2" | FileCheck %s --check-prefix=STAGES
// RUN: ppc-opt %s --ppc-search-plan="ranks=4 cluster=local:4 dp=4 micro-batch=1" | FileCheck %s --check-prefix=BATCH
// RUN: ppc-opt %s --ppc-search-plan="ranks=1" --ppc-price-plan --ppc-print-plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRINT
// RUN: ppc-opt %s --ppc-search-plan="ranks=4" --remarks-filter=ppc-plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// FREE: ppc.plan = #ppc.plan<grid = <dp = {{[124]}}, tp = {{[124]}}>, stages = [0{{.*}}],{{( vp = [0-9]+,)?}} schedule = "{{[a-z0-9-]+}}"
// DEGREES: ppc.plan = #ppc.plan<grid = <dp = 1, tp = 2>, stages = [0, {{[1-5, ]+}}],{{( vp = [23],)?}} schedule = "{{[a-z0-9-]+}}"
// STAGES: ppc.plan = #ppc.plan<grid = <dp = 1, tp = 1>, stages = [0, 2, 3, 4], schedule = "gpipe", micro_batches = 4
// BATCH: ppc.plan = #ppc.plan<grid = <dp = 4, tp = 1>, stages = [0], schedule = "1f1b", micro_batches = 2
// PRINT: micro_batches: {{[1-8]}}
// PRINT: # predicted for one device, micro-batch {{[1-8]}}, recompute none on local, which was not measured (see ppc-bench):
// PRINT: # step {{[0-9.]+}} {{[um]?s}}
// PRINT: # memory of a rank of stage 0 {{[0-9.]+}} MiB
// REMARK: Passed{{.*}}plan{{.*}}ppc-plan
// REMARK: runner-up
// REMARK: decision

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
