// How far ahead gathers start is decided for all stages together, and across layers only if that is worth it, so that
// layers stay equal: there are as many distinct functions as without prefetching.
// RUN: ppc-compile %S/../../Integration/Inputs/even.json --seq-len 64 --global-batch 8 --micro-batch 1 --dp 2 --pp 2 --vp 2 --zero 3 --emit=device --explain -o %t.ahead 2>&1 | FileCheck %s
// CHECK: gathers: stage0.forward: {{[0-9]+}} gathers of parameters begin [[FORWARD:[^;]*]];
// CHECK: gathers: stage1.forward: {{[0-9]+}} gathers of parameters begin [[FORWARD]];
// RUN: ppc-compile %S/../../Integration/Inputs/even.json --seq-len 64 --global-batch 8 --micro-batch 1 --dp 2 --pp 2 --vp 2 --zero 3 --emit=device --overlap=off -o %t.apart
// RUN: grep -cE 'func.func .*(forward|backward)_body' %t.ahead > %t.ahead.count
// RUN: grep -cE 'func.func .*(forward|backward)_body' %t.apart | cmp %t.ahead.count -

// Where gathers cross layers, a stage has its first gathers, its layers and its last layer, and all stages share these.
// RUN: ppc-compile %S/../../Inputs/Models/llama-3-8b.json --seq-len 4096 --global-batch 64 --micro-batch 1 --dp 8 --pp 4 --vp 2 --zero 3 --cluster dgx-h100:4 --precision bf16 --emit=device --explain -o %t.far 2>&1 | FileCheck %s --check-prefix=FAR
// FAR: gathers: stage3.forward: 36 gathers of parameters begin {{[12]}} ahead; of
// RUN: FileCheck %s --check-prefix=KINDS --input-file %t.far
// KINDS-LABEL: func.func @stage1.forward(
// KINDS: call @[[FIRST:forward_body[_0-9]*]](
// KINDS: call @[[LAYER:forward_body[_0-9]*]](
// KINDS: call @[[LAYER]](
// KINDS-LABEL: func.func @stage3.forward(
// KINDS: call @[[FIRST]](
// KINDS: call @[[LAYER]](
// KINDS: call @[[LAYER]](
