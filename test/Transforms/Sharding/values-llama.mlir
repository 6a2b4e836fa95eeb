// A training step of a LLaMA with tied embeddings and grouped heads: as pinned, uneven and two-axis shardings of the heads among
// them, and in random layouts, against one device.
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence{layouts=20 seed=1})' --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{dp=2 tp=2},ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{dp=2 tp=3},ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{dp=1 tp=6},ppc-phase-train{micro-batches=4},test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{dp=2 tp=2 pp=2},ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// Sequences of 3 in 2 and in 3 blocks; optimizer state over 2 and 4 ranks, where 6 and 11 elements do not divide.
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{tp=2 sp},ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{dp=2 tp=3 sp zero=1},ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{dp=4 zero=1},ppc-phase-train,test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{dp=2 tp=2 pp=2 sp zero=1},ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s

// The sequence over ranks of its own, by itself and with everything else.
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{cp=3},ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s
// RUN: ppc-opt %s --pass-pipeline='builtin.module(ppc-make-plan{dp=2 cp=3 tp=2 pp=2 zero=1},ppc-phase-train{micro-batches=2},test-ppc-spmd-equivalence)' -o /dev/null 2>&1 | FileCheck %s

// CHECK: remark: 1 layouts compute what one device does
// expected-remark @below {{20 layouts compute what one device does}}
module {
func.func @loss(%ids: tensor<4x3xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<4x3xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %emb: tensor<11x6xf32> {ppc.parameter = "embed", ppc.dims = ["vocab", "hidden"]},
    %l1n1: tensor<6xf32> {ppc.parameter = "l1n1", ppc.dims = ["hidden"]},
    %l1wq: tensor<3x2x4x6xf32> {ppc.parameter = "l1wq", ppc.dims = ["kv_heads", "head_group", "head_dim", "hidden"]},
    %l1wk: tensor<3x4x6xf32> {ppc.parameter = "l1wk", ppc.dims = ["kv_heads", "head_dim", "hidden"]},
    %l1wv: tensor<3x4x6xf32> {ppc.parameter = "l1wv", ppc.dims = ["kv_heads", "head_dim", "hidden"]},
    %l1wo: tensor<6x3x2x4xf32> {ppc.parameter = "l1wo", ppc.dims = ["hidden", "kv_heads", "head_group", "head_dim"]},
    %l1n2: tensor<6xf32> {ppc.parameter = "l1n2", ppc.dims = ["hidden"]},
    %l1wg: tensor<7x6xf32> {ppc.parameter = "l1wg", ppc.dims = ["ffn", "hidden"]},
    %l1wu: tensor<7x6xf32> {ppc.parameter = "l1wu", ppc.dims = ["ffn", "hidden"]},
    %l1wd: tensor<6x7xf32> {ppc.parameter = "l1wd", ppc.dims = ["hidden", "ffn"]},
    %l2n1: tensor<6xf32> {ppc.parameter = "l2n1", ppc.dims = ["hidden"]},
    %l2wq: tensor<3x2x4x6xf32> {ppc.parameter = "l2wq", ppc.dims = ["kv_heads", "head_group", "head_dim", "hidden"]},
    %l2wk: tensor<3x4x6xf32> {ppc.parameter = "l2wk", ppc.dims = ["kv_heads", "head_dim", "hidden"]},
    %l2wv: tensor<3x4x6xf32> {ppc.parameter = "l2wv", ppc.dims = ["kv_heads", "head_dim", "hidden"]},
    %l2wo: tensor<6x3x2x4xf32> {ppc.parameter = "l2wo", ppc.dims = ["hidden", "kv_heads", "head_group", "head_dim"]},
    %l2n2: tensor<6xf32> {ppc.parameter = "l2n2", ppc.dims = ["hidden"]},
    %l2wg: tensor<7x6xf32> {ppc.parameter = "l2wg", ppc.dims = ["ffn", "hidden"]},
    %l2wu: tensor<7x6xf32> {ppc.parameter = "l2wu", ppc.dims = ["ffn", "hidden"]},
    %l2wd: tensor<6x7xf32> {ppc.parameter = "l2wd", ppc.dims = ["hidden", "ffn"]},
    %nf: tensor<6xf32> {ppc.parameter = "norm", ppc.dims = ["hidden"]}) -> tensor<f32> {
  %x0 = ppc.embedding %emb, %ids {ppc.layer = 0 : i64} : (tensor<11x6xf32>, tensor<4x3xi32>) -> tensor<4x3x6xf32>
  %l1h = ppc.rms_norm %x0, %l1n1 epsilon 1.0e-5 {ppc.layer = 1 : i64} : tensor<4x3x6xf32>, tensor<6xf32>
  %l1q0 = ppc.matmul "bsh,kgdh->bskgd" %l1h, %l1wq {ppc.layer = 1 : i64} : (tensor<4x3x6xf32>, tensor<3x2x4x6xf32>) -> tensor<4x3x3x2x4xf32>
  %l1k0 = ppc.matmul "bsh,kdh->bskd" %l1h, %l1wk {ppc.layer = 1 : i64} : (tensor<4x3x6xf32>, tensor<3x4x6xf32>) -> tensor<4x3x3x4xf32>
  %l1v = ppc.matmul "bsh,kdh->bskd" %l1h, %l1wv {ppc.layer = 1 : i64} : (tensor<4x3x6xf32>, tensor<3x4x6xf32>) -> tensor<4x3x3x4xf32>
  %l1q = ppc.rotary %l1q0 frequencies [1.0, 0.1] {ppc.layer = 1 : i64} : tensor<4x3x3x2x4xf32>
  %l1k = ppc.rotary %l1k0 frequencies [1.0, 0.1] {ppc.layer = 1 : i64} : tensor<4x3x3x4xf32>
  %l1o, %l1lse = ppc.attention %l1q, %l1k, %l1v scale 0.5 causal {ppc.layer = 1 : i64} : tensor<4x3x3x2x4xf32>, tensor<4x3x3x4xf32>, tensor<4x3x3x4xf32> -> tensor<4x3x3x2x4xf32>, tensor<4x3x3x2xf32>
  %l1ao = ppc.matmul "bskgd,hkgd->bsh" %l1o, %l1wo {ppc.layer = 1 : i64} : (tensor<4x3x3x2x4xf32>, tensor<6x3x2x4xf32>) -> tensor<4x3x6xf32>
  %l1x1 = ppc.add %x0, %l1ao {ppc.layer = 1 : i64} : tensor<4x3x6xf32>
  %l1h2 = ppc.rms_norm %l1x1, %l1n2 epsilon 1.0e-5 {ppc.layer = 1 : i64} : tensor<4x3x6xf32>, tensor<6xf32>
  %l1g = ppc.matmul "bsh,fh->bsf" %l1h2, %l1wg {ppc.layer = 1 : i64} : (tensor<4x3x6xf32>, tensor<7x6xf32>) -> tensor<4x3x7xf32>
  %l1u = ppc.matmul "bsh,fh->bsf" %l1h2, %l1wu {ppc.layer = 1 : i64} : (tensor<4x3x6xf32>, tensor<7x6xf32>) -> tensor<4x3x7xf32>
  %l1s = ppc.silu %l1g {ppc.layer = 1 : i64} : tensor<4x3x7xf32>
  %l1m = ppc.mul %l1s, %l1u {ppc.layer = 1 : i64} : tensor<4x3x7xf32>
  %l1y = ppc.matmul "bsf,hf->bsh" %l1m, %l1wd {ppc.layer = 1 : i64} : (tensor<4x3x7xf32>, tensor<6x7xf32>) -> tensor<4x3x6xf32>
  %l1x2 = ppc.add %l1x1, %l1y {ppc.layer = 1 : i64} : tensor<4x3x6xf32>
  %l2h = ppc.rms_norm %l1x2, %l2n1 epsilon 1.0e-5 {ppc.layer = 2 : i64} : tensor<4x3x6xf32>, tensor<6xf32>
  %l2q0 = ppc.matmul "bsh,kgdh->bskgd" %l2h, %l2wq {ppc.layer = 2 : i64} : (tensor<4x3x6xf32>, tensor<3x2x4x6xf32>) -> tensor<4x3x3x2x4xf32>
  %l2k0 = ppc.matmul "bsh,kdh->bskd" %l2h, %l2wk {ppc.layer = 2 : i64} : (tensor<4x3x6xf32>, tensor<3x4x6xf32>) -> tensor<4x3x3x4xf32>
  %l2v = ppc.matmul "bsh,kdh->bskd" %l2h, %l2wv {ppc.layer = 2 : i64} : (tensor<4x3x6xf32>, tensor<3x4x6xf32>) -> tensor<4x3x3x4xf32>
  %l2q = ppc.rotary %l2q0 frequencies [1.0, 0.1] {ppc.layer = 2 : i64} : tensor<4x3x3x2x4xf32>
  %l2k = ppc.rotary %l2k0 frequencies [1.0, 0.1] {ppc.layer = 2 : i64} : tensor<4x3x3x4xf32>
  %l2o, %l2lse = ppc.attention %l2q, %l2k, %l2v scale 0.5 causal {ppc.layer = 2 : i64} : tensor<4x3x3x2x4xf32>, tensor<4x3x3x4xf32>, tensor<4x3x3x4xf32> -> tensor<4x3x3x2x4xf32>, tensor<4x3x3x2xf32>
  %l2ao = ppc.matmul "bskgd,hkgd->bsh" %l2o, %l2wo {ppc.layer = 2 : i64} : (tensor<4x3x3x2x4xf32>, tensor<6x3x2x4xf32>) -> tensor<4x3x6xf32>
  %l2x1 = ppc.add %l1x2, %l2ao {ppc.layer = 2 : i64} : tensor<4x3x6xf32>
  %l2h2 = ppc.rms_norm %l2x1, %l2n2 epsilon 1.0e-5 {ppc.layer = 2 : i64} : tensor<4x3x6xf32>, tensor<6xf32>
  %l2g = ppc.matmul "bsh,fh->bsf" %l2h2, %l2wg {ppc.layer = 2 : i64} : (tensor<4x3x6xf32>, tensor<7x6xf32>) -> tensor<4x3x7xf32>
  %l2u = ppc.matmul "bsh,fh->bsf" %l2h2, %l2wu {ppc.layer = 2 : i64} : (tensor<4x3x6xf32>, tensor<7x6xf32>) -> tensor<4x3x7xf32>
  %l2s = ppc.silu %l2g {ppc.layer = 2 : i64} : tensor<4x3x7xf32>
  %l2m = ppc.mul %l2s, %l2u {ppc.layer = 2 : i64} : tensor<4x3x7xf32>
  %l2y = ppc.matmul "bsf,hf->bsh" %l2m, %l2wd {ppc.layer = 2 : i64} : (tensor<4x3x7xf32>, tensor<6x7xf32>) -> tensor<4x3x6xf32>
  %l2x2 = ppc.add %l2x1, %l2y {ppc.layer = 2 : i64} : tensor<4x3x6xf32>
  %hf = ppc.rms_norm %l2x2, %nf epsilon 1.0e-5 {ppc.layer = 3 : i64} : tensor<4x3x6xf32>, tensor<6xf32>
  %logits = ppc.matmul "bsh,vh->bsv" %hf, %emb {ppc.layer = 3 : i64} : (tensor<4x3x6xf32>, tensor<11x6xf32>) -> tensor<4x3x11xf32>
  %nll, %lse = ppc.cross_entropy %logits, %targets {ppc.layer = 3 : i64} : (tensor<4x3x11xf32>, tensor<4x3xi32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %sum = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] {ppc.layer = 3 : i64} : tensor<4x3xf32> to tensor<f32>
  %loss = ppc.scale %sum by 8.33333333333333287e-02 {ppc.layer = 3 : i64} : tensor<f32>
  return %loss : tensor<f32>
}
}
