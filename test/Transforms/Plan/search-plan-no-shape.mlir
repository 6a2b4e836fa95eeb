// Without the sizes of a transformer there is nothing to price: the batch is cut over what the pins leave.
// RUN: ppc-opt %s --ppc-search-plan="ranks=4 tp=2" | FileCheck %s
// RUN: ppc-opt %s --ppc-search-plan="ranks=4" --ppc-price-plan --remarks-filter=ppc-plan 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not ppc-opt %s --ppc-search-plan="ranks=3 tp=2" 2>&1 | FileCheck %s --check-prefix=DIVIDE

// CHECK: ppc.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 4
// REMARK: no argument has a dimension called "ffn" in ppc.dims
// REMARK-NOT: ppc.prediction
// DIVIDE: error: tp 2 x pp 1 do not divide 3 ranks, and there is nothing to search: no argument has a dimension called "ffn"
func.func @loss(%x: tensor<8x8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]}) -> tensor<f32> {
  %0 = ppc.reduce #ppc.combiner<sum> %x dims [0, 1] {ppc.layer = 0 : i64} : tensor<8x8xf32> to tensor<f32>
  return %0 : tensor<f32>
}
