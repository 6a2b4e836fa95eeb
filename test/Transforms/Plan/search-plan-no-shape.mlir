// A model that is not a transformer has op-level sharding, around the pins.
// RUN: ppc-opt %s --ppc-search-plan="ranks=4 tp=2" | FileCheck %s
// RUN: ppc-opt %s --ppc-search-plan="ranks=4" --ppc-price-plan --remarks-filter=ppc-plan 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not ppc-opt %s --ppc-search-plan="ranks=3 tp=2" 2>&1 | FileCheck %s --check-prefix=DIVIDE

// CHECK: ppc.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b"
// CHECK: ppc.reduce {{.*}}ppc.factors = {d0 = ["dp"
// REMARK: the model is not a transformer, so the plan uses op-level sharding: no argument has a dimension called "ffn" in ppc.dims
// REMARK: ppc.prediction = {layout = "{{.*}}op-level sharding"
// DIVIDE: error: no plan for 3 ranks: no layout of 3 devices divides a batch of 8 and 1 layers as asked
func.func @loss(%x: tensor<8x8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]}) -> tensor<f32> {
  %0 = ppc.reduce #ppc.combiner<sum> %x dims [0, 1] {ppc.layer = 0 : i64} : tensor<8x8xf32> to tensor<f32>
  return %0 : tensor<f32>
}
