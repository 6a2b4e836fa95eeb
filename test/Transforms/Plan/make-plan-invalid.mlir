// RUN: not ppc-opt %s --ppc-make-plan="dp=3" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not ppc-opt %s --ppc-make-plan="dp=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not ppc-opt %s --ppc-make-plan="pp=4" 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not ppc-opt %s --ppc-make-plan="pp=2 layers-per-stage=1,1" 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not ppc-opt %s --ppc-make-plan="pp=2 layers-per-stage=1" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not ppc-opt %s --ppc-make-plan="schedule=zigzag" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.none" 2>&1 | FileCheck %s --check-prefix=MISSING

// BATCH: error: global batch of 8 sequences is no multiple of dp 3 x micro-batch 1 = 3
// ZERO: error: dp is 0, expected at least 1
// STAGES: error: {{.*}}3{{.*}}4
// SUM: error: layers-per-stage adds up to 2 layers, the model has 1
// COUNT: error: layers-per-stage names 1 stages, pp is 2
// SCHEDULE: error: {{.*}}zigzag{{.*}}gpipe
// MISSING: error: cannot read plan file '{{.*}}.none': No such file or directory

// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: many\n' > %t.type.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.type.yaml" 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: {{.*}}type.yaml:4:16: invalid number
// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\nstage: 2\n' > %t.key.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.key.yaml" 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: {{.*}}key.yaml:5:1: unknown key 'stage'
// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 1\ndimensions: {ffn: [tp]}\n' > %t.axis.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.axis.yaml" 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: error: {{.*}}axis.yaml: dimension "ffn" is cut over axis "tp", which the grid does not have
// RUN: printf 'grid: {dp: 2}\nstages: [0]\nschedule: 1f1b\nmicro_batches: 3\ndimensions: {batch: [dp]}\n' > %t.batch.yaml
// RUN: not ppc-opt %s --ppc-make-plan="plan-file=%t.batch.yaml" 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: error: global batch of 8 sequences cannot be cut into 3 micro-batches for 2 data-parallel ranks: it must be a multiple of 6

func.func @loss(%x: tensor<8x8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]}) -> tensor<f32> {
  %0 = ppc.silu %x {ppc.layer = 0 : i64} : tensor<8x8xf32>
  %1 = ppc.silu %0 {ppc.layer = 1 : i64} : tensor<8x8xf32>
  %2 = ppc.reduce #ppc.combiner<sum> %1 dims [0, 1] {ppc.layer = 2 : i64} : tensor<8x8xf32> to tensor<f32>
  return %2 : tensor<f32>
}
