// RUN: not ppc-opt %s --ppc-make-plan="dp=3" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not ppc-opt %s --ppc-make-plan="dp=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not ppc-opt %s --ppc-make-plan="pp=4" 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not ppc-opt %s --ppc-make-plan="pp=2 layers-per-stage=1,1" 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not ppc-opt %s --ppc-make-plan="pp=2 layers-per-stage=1" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not ppc-opt %s --ppc-make-plan="schedule=zigzag" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.none" 2>&1 | FileCheck %s --check-prefix=MISSING

// BATCH: error: global batch of 8 sequences is not a multiple of dp 3 x micro-batch 1 = 3
// ZERO: error: dp is 0, expected at least 1
// STAGES: error: {{.*}}3{{.*}}4
// SUM: error: layers-per-stage adds up to 2 layers, the model has 1
// COUNT: error: layers-per-stage names 1 stages, pp is 2
// SCHEDULE: error: {{.*}}zigzag{{.*}}gpipe
// MISSING: error: cannot read plan file '{{.*}}.none': No such file or directory

// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: many\n' > %t.type.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.type.yaml" 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: {{.*}}type.yaml:4:16: key "micro_batches": expected an integer >= 1, found "many"
// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\noverlap: maybe\n' > %t.overlap.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.overlap.yaml" 2>&1 | FileCheck %s --check-prefix=OVERLAP
// OVERLAP: error: {{.*}}overlap.yaml:5:10: key "overlap": expected on or off, found 'maybe'
// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\nstage: 2\n' > %t.key.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.key.yaml" 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: {{.*}}key.yaml:5:1: unknown key "stage"; did you mean "stages"?; possible: grid
// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\ndimensions: {ffn: [tp]}\n' > %t.axis.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.axis.yaml" 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: error: {{.*}}axis.yaml:5:19: key "ffn": is sharded over axis "tp", which the mesh does not have; it has dp
// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 3\ndimensions: {batch: [dp]}\n' > %t.batch.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.batch.yaml" 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: error: {{.*}}batch.yaml:4:16: key "micro_batches": global batch of 8 sequences cannot be split into 3 micro-batches for 2 data-parallel ranks: it must be a multiple of 6

// Options without meaning, or that would fail later, are refused with their position.
// RUN: printf 'grid: {dp: 2, pp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\ndimensions: {batch: [dp]}\n' > %t.pp.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.pp.yaml" 2>&1 | FileCheck %s --check-prefix=STAGE-AXIS
// STAGE-AXIS: error: {{.*}}pp.yaml:1:19: key "pp": the pipeline is not an axis: 'stages:' lists the first layer of each stage
// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\ndimensions: {batsh: [dp]}\n' > %t.name.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.name.yaml" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: {{.*}}name.yaml:5:21: key "batsh": no argument of the model has a dimension of that name; known are batch, hidden
// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\ndimensions: {batch: [dp]}\nactivations: {kv_heads: [dp]}\n' > %t.heads.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.heads.yaml" 2>&1 | FileCheck %s --check-prefix=HEADS
// HEADS: error: {{.*}}heads.yaml:6:25: key "kv_heads": attention reshards from the sequence to heads: expected the axes that 'dimensions:' gives 'sequence', which is not sharded
// RUN: printf 'grid: {a: 3}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\ndimensions: {hidden: [a]}\n' > %t.uneven.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.uneven.yaml" 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: error: {{.*}}uneven.yaml:5:22: key "hidden": the 8 elements of input 'x' along it are not a multiple of 3 parts: inputs are not padded
// RUN: printf 'grid: {dp: 4294967298}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\n' > %t.large.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.large.yaml" 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: error: {{.*}}large.yaml:1:12: key "dp": expected at most 4096, found 4294967298
// RUN: printf 'grid: {dp: 2, a: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\ndimensions: {batch: [dp]}\n' > %t.idle.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.idle.yaml" 2>&1 | FileCheck %s --check-prefix=IDLE
// IDLE: error: {{.*}}idle.yaml:1:18: key "a": the 2 ranks along axis 'a' would do the same work, as it shards nothing
// RUN: printf 'grid: {dp: 2, a: 2}\nroles: {a: replica}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\ndimensions: {batch: [dp]}\n' > %t.replica.yaml
// RUN: ppc-opt %s --ppc-make-plan="plan-file=%t.replica.yaml" | FileCheck %s --check-prefix=REPLICA
// REPLICA: grid = <dp = 2, a = 2 : replica>
// RUN: printf 'grid: {rows: 2}\nstages: [0, 9]\nschedule: 1f1b\nmicro_batches: 1\ndimensions: {batch: [rows]}\n' > %t.layer.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.layer.yaml" 2>&1 | FileCheck %s --check-prefix=LAYER
// LAYER: error: {{.*}}layer.yaml:2:9: key "stages": the last stage starts at layer 9 but the model's last layer is 2
// RUN: sed 's/, 9//' %t.layer.yaml > %t.rows.yaml
// RUN: ppc-opt %s --ppc-make-plan="plan-file=%t.rows.yaml" | FileCheck %s --check-prefix=ROWS
// ROWS: grid = <rows = 2 : data>

func.func @loss(%x: tensor<8x8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]}) -> tensor<f32> {
  %0 = ppc.silu %x {ppc.layer = 0 : i64} : tensor<8x8xf32>
  %1 = ppc.silu %0 {ppc.layer = 1 : i64} : tensor<8x8xf32>
  %2 = ppc.reduce #ppc.combiner<sum> %1 dims [0, 1] {ppc.layer = 2 : i64} : tensor<8x8xf32> to tensor<f32>
  return %2 : tensor<f32>
}
