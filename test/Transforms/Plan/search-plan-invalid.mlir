// RUN: not ppc-opt %s --ppc-search-plan="ranks=0" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not ppc-opt %s --ppc-search-plan="ranks=4 tp=3" 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not ppc-opt %s --ppc-search-plan="ranks=4 schedule=zigzag" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ppc-opt %s --ppc-search-plan="ranks=4 pp=2 cp=2 schedule=seq1f1b" 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not ppc-opt %s --ppc-search-plan="ranks=4 memory=1e5" 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not ppc-opt %s --ppc-search-plan="ranks=2 cluster=moon" 2>&1 | FileCheck %s --check-prefix=CLUSTER

// RANKS: error: ranks is 0, expected at least 1
// SHAPE: error: no plan for 4 ranks: {{.*}}4
// NAME: error: {{.*}}zigzag
// PART: error: compiled programs cannot run pipeline schedule seq1f1b with context parallelism (cp 2)
// MEMORY: error: no plan for 4 ranks: every layout needs more memory than the {{.*}}: the least is {{.*}} on stage {{[01]}} {{.*}}, with {{.*}}tp
// CLUSTER: error: unknown cluster 'moon'

// A file may pin the layout; what programs cannot run is named.
// RUN: printf 'layout: { tp: 2, cp: 2, context: ring }\n' > %t.cp.yaml
// RUN: not ppc-opt %s --ppc-search-plan="ranks=4 plan-file=%t.cp.yaml" 2>&1 | FileCheck %s --check-prefix=CP
// RUN: printf 'layout:\n  dp: 2\n  etp: 2\ngrid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\n' > %t.etp.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.etp.yaml" 2>&1 | FileCheck %s --check-prefix=ETP
// RUN: printf 'layout: { tp: 2 }\n' > %t.tp.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.tp.yaml" 2>&1 | FileCheck %s --check-prefix=GRID
// CP: error: {{.*}}cp.yaml:1:{{[0-9]+}}: key "context": compiled programs cannot run context parallelism of that kind (context ring)
// ETP: error: {{.*}}etp.yaml:3:8: key "etp": compiled programs cannot run tensor parallelism inside experts (etp 2)
// GRID: error: {{.*}}tp.yaml: has a section 'layout:' and no 'grid:'

module attributes {ppc.shape = {layers = 2 : i64, hidden = 64 : i64, heads = 4 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, ffn = 128 : i64,
                                gated = true, vocab = 256 : i64}} {
  func.func @loss(%ids: tensor<8x32xi32> {ppc.input = "ids", ppc.dims = ["batch", "seq"]},
                  %x: tensor<8x32xf32> {ppc.dims = ["batch", "seq"]}) -> tensor<f32> {
    %0 = ppc.reduce #ppc.combiner<sum> %x dims [0, 1] : tensor<8x32xf32> to tensor<f32>
    return %0 : tensor<f32>
  }
}
