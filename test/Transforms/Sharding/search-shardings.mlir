// Two decoder layers of LLaMA 3 8B without attention's rotary embeddings, on eight H100 with little memory: columns, rows,
// and the sequence in between.
// RUN: split-file %s %t
// RUN: ppc-opt %t/llama.mlir --ppc-search-shardings="cluster=dgx-h100 tensor-parallel=8 memory-limit=1800000000" | FileCheck %s
// RUN: ppc-opt %t/llama.mlir --ppc-search-shardings="cluster=dgx-h100 tensor-parallel=8 memory-limit=1800000000" --remarks-filter=ppc-plan --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// Layers are found by their structure too.
// RUN: sed 's/ {ppc.layer = . : i64}//' %t/llama.mlir | ppc-opt --ppc-search-shardings="cluster=dgx-h100 dp=2 tensor-parallel=4" --remarks-filter=ppc-plan --remark-policy=all 2>&1 | FileCheck %s --check-prefix=STRUCTURE
// RUN: ppc-opt %t/towers.mlir --ppc-search-shardings="cluster=dgx-h100 tensor-parallel=8 micro-batch=32768" | FileCheck %s --check-prefix=TOWERS

// CHECK: ppc.plan = #ppc.plan<grid = <dp = 1, tp = 8>, stages = [0], schedule = "1f1b", micro_batches = 8,
// CHECK-SAME: wd1 = #ppc.sharding<[{}, {tp}]>
// CHECK-SAME: wg1 = #ppc.sharding<[{tp}, {}]>
// CHECK-SAME: wo1 = #ppc.sharding<[{}, {tp}, {}, {}]>
// CHECK-SAME: wq1 = #ppc.sharding<[{tp}, {}, {}, {}]>
// CHECK: ppc.matmul "bsh,kgdh->bskgd" {{.*}}ppc.factors = {k = ["tp"]}
// CHECK: ppc.attention {{.*}}ppc.factors = {k = ["tp"]}
// CHECK: ppc.matmul "bskgd,hkgd->bsh" {{.*}}ppc.factors = {k = ["tp"]}
// CHECK: ppc.add {{.*}}ppc.factors = {d1 = ["tp"]}
// CHECK: ppc.rms_norm {{.*}}ppc.factors = {d1 = ["tp"]}
// CHECK: ppc.matmul "bsh,fh->bsf" {{.*}}ppc.factors = {f = ["tp"]}
// CHECK: ppc.silu {{.*}}ppc.factors = {d2 = ["tp"]}
// CHECK: ppc.matmul "bsf,hf->bsh" {{.*}}ppc.factors = {f = ["tp"]}
// CHECK: ppc.add {{.*}}ppc.factors = {d1 = ["tp"]}

// REMARK: shardings | Category:ppc-plan | Layers=4, {{.*}}Templates=3
// REMARK: strategy | Category:ppc-plan | Backward="{{[0-9.]+ .?s}}", Forward="{{[0-9.]+ .?s}}", {{.*}}Op="matmul bsh,fh->bsf", RunnerUp="{{.*}}", Slower="{{.*}}", Strategy="{f: tp}"

// The embedding belongs to the first attention, for its rows may be a partial sum; both feed-forward blocks are one template.
// STRUCTURE: shardings | Category:ppc-plan | Layers=7, {{.*}}Templates=6
// STRUCTURE: grid = <dp = 2, tp = 4>
// STRUCTURE-SAME: dimensions = {batch = ["dp"
// STRUCTURE: ppc.embedding {{.*}}ppc.factors = {{{.*}}d0 = ["dp"]

// The wide branch is column- and row-parallel, the narrow one sharded by tokens: its weights are small compared with its activations.
// TOWERS: ppc.plan
// TOWERS-SAME: u1 = #ppc.sharding<[{tp}, {}]>, u2 = #ppc.sharding<[{}, {}]>, w1 = #ppc.sharding<[{}, {tp}]>, w2 = #ppc.sharding<[{}, {}]>
// TOWERS: ppc.matmul "th,wh->tw" {{.*}}ppc.factors = {w = ["tp"]}
// TOWERS: ppc.matmul "tw,hw->th" {{.*}}ppc.factors = {w = ["tp"]}
// TOWERS: ppc.matmul "th,nh->tn" {{.*}}ppc.factors = {t = ["tp"]}
// TOWERS: ppc.matmul "tn,hn->th" {{.*}}ppc.factors = {t = ["tp"]}

//--- llama.mlir
func.func @loss(%ids: tensor<8x4096xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x4096xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %emb: tensor<32000x4096xbf16> {ppc.parameter = "emb"},
    %n1: tensor<4096xbf16> {ppc.parameter = "n1"}, %wq1: tensor<8x4x128x4096xbf16> {ppc.parameter = "wq1"},
    %wk1: tensor<8x128x4096xbf16> {ppc.parameter = "wk1"}, %wv1: tensor<8x128x4096xbf16> {ppc.parameter = "wv1"},
    %wo1: tensor<4096x8x4x128xbf16> {ppc.parameter = "wo1"}, %m1: tensor<4096xbf16> {ppc.parameter = "m1"},
    %wg1: tensor<14336x4096xbf16> {ppc.parameter = "wg1"}, %wu1: tensor<14336x4096xbf16> {ppc.parameter = "wu1"},
    %wd1: tensor<4096x14336xbf16> {ppc.parameter = "wd1"},
    %n2: tensor<4096xbf16> {ppc.parameter = "n2"}, %wq2: tensor<8x4x128x4096xbf16> {ppc.parameter = "wq2"},
    %wk2: tensor<8x128x4096xbf16> {ppc.parameter = "wk2"}, %wv2: tensor<8x128x4096xbf16> {ppc.parameter = "wv2"},
    %wo2: tensor<4096x8x4x128xbf16> {ppc.parameter = "wo2"}, %m2: tensor<4096xbf16> {ppc.parameter = "m2"},
    %wg2: tensor<14336x4096xbf16> {ppc.parameter = "wg2"}, %wu2: tensor<14336x4096xbf16> {ppc.parameter = "wu2"},
    %wd2: tensor<4096x14336xbf16> {ppc.parameter = "wd2"},
    %nf: tensor<4096xbf16> {ppc.parameter = "nf"}, %head: tensor<32000x4096xbf16> {ppc.parameter = "head"}) -> tensor<bf16> {
  %x0 = ppc.embedding %emb, %ids {ppc.layer = 0 : i64} : (tensor<32000x4096xbf16>, tensor<8x4096xi32>) -> tensor<8x4096x4096xbf16>
  %h1 = ppc.rms_norm %x0, %n1 epsilon 1.0e-5 {ppc.layer = 1 : i64} : tensor<8x4096x4096xbf16>, tensor<4096xbf16>
  %q1 = ppc.matmul "bsh,kgdh->bskgd" %h1, %wq1 {ppc.layer = 1 : i64} : (tensor<8x4096x4096xbf16>, tensor<8x4x128x4096xbf16>) -> tensor<8x4096x8x4x128xbf16>
  %k1 = ppc.matmul "bsh,kdh->bskd" %h1, %wk1 {ppc.layer = 1 : i64} : (tensor<8x4096x4096xbf16>, tensor<8x128x4096xbf16>) -> tensor<8x4096x8x128xbf16>
  %v1 = ppc.matmul "bsh,kdh->bskd" %h1, %wv1 {ppc.layer = 1 : i64} : (tensor<8x4096x4096xbf16>, tensor<8x128x4096xbf16>) -> tensor<8x4096x8x128xbf16>
  %o1, %l1 = ppc.attention %q1, %k1, %v1 scale 0.088 causal {ppc.layer = 1 : i64} : tensor<8x4096x8x4x128xbf16>, tensor<8x4096x8x128xbf16>, tensor<8x4096x8x128xbf16> -> tensor<8x4096x8x4x128xbf16>, tensor<8x4096x8x4xbf16>
  %a1 = ppc.matmul "bskgd,hkgd->bsh" %o1, %wo1 {ppc.layer = 1 : i64} : (tensor<8x4096x8x4x128xbf16>, tensor<4096x8x4x128xbf16>) -> tensor<8x4096x4096xbf16>
  %x1 = ppc.add %x0, %a1 {ppc.layer = 1 : i64} : tensor<8x4096x4096xbf16>
  %i1 = ppc.rms_norm %x1, %m1 epsilon 1.0e-5 {ppc.layer = 1 : i64} : tensor<8x4096x4096xbf16>, tensor<4096xbf16>
  %g1 = ppc.matmul "bsh,fh->bsf" %i1, %wg1 {ppc.layer = 1 : i64} : (tensor<8x4096x4096xbf16>, tensor<14336x4096xbf16>) -> tensor<8x4096x14336xbf16>
  %u1 = ppc.matmul "bsh,fh->bsf" %i1, %wu1 {ppc.layer = 1 : i64} : (tensor<8x4096x4096xbf16>, tensor<14336x4096xbf16>) -> tensor<8x4096x14336xbf16>
  %s1 = ppc.silu %g1 {ppc.layer = 1 : i64} : tensor<8x4096x14336xbf16>
  %p1 = ppc.mul %s1, %u1 {ppc.layer = 1 : i64} : tensor<8x4096x14336xbf16>
  %y1 = ppc.matmul "bsf,hf->bsh" %p1, %wd1 {ppc.layer = 1 : i64} : (tensor<8x4096x14336xbf16>, tensor<4096x14336xbf16>) -> tensor<8x4096x4096xbf16>
  %x2 = ppc.add %x1, %y1 {ppc.layer = 1 : i64} : tensor<8x4096x4096xbf16>
  %h2 = ppc.rms_norm %x2, %n2 epsilon 1.0e-5 {ppc.layer = 2 : i64} : tensor<8x4096x4096xbf16>, tensor<4096xbf16>
  %q2 = ppc.matmul "bsh,kgdh->bskgd" %h2, %wq2 {ppc.layer = 2 : i64} : (tensor<8x4096x4096xbf16>, tensor<8x4x128x4096xbf16>) -> tensor<8x4096x8x4x128xbf16>
  %k2 = ppc.matmul "bsh,kdh->bskd" %h2, %wk2 {ppc.layer = 2 : i64} : (tensor<8x4096x4096xbf16>, tensor<8x128x4096xbf16>) -> tensor<8x4096x8x128xbf16>
  %v2 = ppc.matmul "bsh,kdh->bskd" %h2, %wv2 {ppc.layer = 2 : i64} : (tensor<8x4096x4096xbf16>, tensor<8x128x4096xbf16>) -> tensor<8x4096x8x128xbf16>
  %o2, %l2 = ppc.attention %q2, %k2, %v2 scale 0.088 causal {ppc.layer = 2 : i64} : tensor<8x4096x8x4x128xbf16>, tensor<8x4096x8x128xbf16>, tensor<8x4096x8x128xbf16> -> tensor<8x4096x8x4x128xbf16>, tensor<8x4096x8x4xbf16>
  %a2 = ppc.matmul "bskgd,hkgd->bsh" %o2, %wo2 {ppc.layer = 2 : i64} : (tensor<8x4096x8x4x128xbf16>, tensor<4096x8x4x128xbf16>) -> tensor<8x4096x4096xbf16>
  %x3 = ppc.add %x2, %a2 {ppc.layer = 2 : i64} : tensor<8x4096x4096xbf16>
  %i2 = ppc.rms_norm %x3, %m2 epsilon 1.0e-5 {ppc.layer = 2 : i64} : tensor<8x4096x4096xbf16>, tensor<4096xbf16>
  %g2 = ppc.matmul "bsh,fh->bsf" %i2, %wg2 {ppc.layer = 2 : i64} : (tensor<8x4096x4096xbf16>, tensor<14336x4096xbf16>) -> tensor<8x4096x14336xbf16>
  %u2 = ppc.matmul "bsh,fh->bsf" %i2, %wu2 {ppc.layer = 2 : i64} : (tensor<8x4096x4096xbf16>, tensor<14336x4096xbf16>) -> tensor<8x4096x14336xbf16>
  %s2 = ppc.silu %g2 {ppc.layer = 2 : i64} : tensor<8x4096x14336xbf16>
  %p2 = ppc.mul %s2, %u2 {ppc.layer = 2 : i64} : tensor<8x4096x14336xbf16>
  %y2 = ppc.matmul "bsf,hf->bsh" %p2, %wd2 {ppc.layer = 2 : i64} : (tensor<8x4096x14336xbf16>, tensor<4096x14336xbf16>) -> tensor<8x4096x4096xbf16>
  %x4 = ppc.add %x3, %y2 {ppc.layer = 2 : i64} : tensor<8x4096x4096xbf16>
  %h = ppc.rms_norm %x4, %nf epsilon 1.0e-5 {ppc.layer = 3 : i64} : tensor<8x4096x4096xbf16>, tensor<4096xbf16>
  %z = ppc.matmul "bsh,vh->bsv" %h, %head {ppc.layer = 3 : i64} : (tensor<8x4096x4096xbf16>, tensor<32000x4096xbf16>) -> tensor<8x4096x32000xbf16>
  %nll, %lse = ppc.cross_entropy %z, %targets {ppc.layer = 3 : i64} : (tensor<8x4096x32000xbf16>, tensor<8x4096xi32>) -> (tensor<8x4096xbf16>, tensor<8x4096xbf16>)
  %loss = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] {ppc.layer = 3 : i64} : tensor<8x4096xbf16> to tensor<bf16>
  return %loss : tensor<bf16>
}

//--- towers.mlir
func.func @loss(%x: tensor<32768x4096xbf16> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
    %u1: tensor<16384x4096xbf16> {ppc.parameter = "u1"}, %w1: tensor<4096x16384xbf16> {ppc.parameter = "w1"},
    %u2: tensor<512x4096xbf16> {ppc.parameter = "u2"}, %w2: tensor<4096x512xbf16> {ppc.parameter = "w2"}) -> tensor<bf16> {
  %a = ppc.matmul "th,wh->tw" %x, %u1 : (tensor<32768x4096xbf16>, tensor<16384x4096xbf16>) -> tensor<32768x16384xbf16>
  %b = ppc.silu %a : tensor<32768x16384xbf16>
  %c = ppc.mul %a, %b : tensor<32768x16384xbf16>
  %d = ppc.mul %c, %b : tensor<32768x16384xbf16>
  %y1 = ppc.matmul "tw,hw->th" %d, %w1 : (tensor<32768x16384xbf16>, tensor<4096x16384xbf16>) -> tensor<32768x4096xbf16>
  %e = ppc.matmul "th,nh->tn" %x, %u2 : (tensor<32768x4096xbf16>, tensor<512x4096xbf16>) -> tensor<32768x512xbf16>
  %f = ppc.silu %e : tensor<32768x512xbf16>
  %y2 = ppc.matmul "tn,hn->th" %f, %w2 : (tensor<32768x512xbf16>, tensor<4096x512xbf16>) -> tensor<32768x4096xbf16>
  %s = ppc.add %y1, %y2 : tensor<32768x4096xbf16>
  %o = ppc.add %x, %s : tensor<32768x4096xbf16>
  %q = ppc.mul %o, %o : tensor<32768x4096xbf16>
  %loss = ppc.reduce #ppc.combiner<sum> %q dims [0, 1] : tensor<32768x4096xbf16> to tensor<bf16>
  return %loss : tensor<bf16>
}
