// An entry for each kind of transfer, for the FLOPs of matmuls and of attention, and for the bytes of buffers.
// RUN: ppc-opt %s --ppc-make-plan="dp=2 tp=2 micro-batch=2" --ppc-phase-train --ppc-phase-plan --ppc-phase-partition --ppc-print-ledger -o %t 2>&1 | FileCheck %s
// RUN: not ppc-opt %s --ppc-print-ledger 2>&1 | FileCheck %s --check-prefix=EARLY

// CHECK: part,device,phase,kind,members,element_bits,elements,emitted
// Two micro-batches of 2 x 2 x 16; the tensor-parallel ranks add up the results of their columns of `up`.
// CHECK: transfer,0,update,all_reduce,2x2,32,256,1
// A matmul of 2 x 16 with 16 x 16 in each of two micro-batches, and the gradient of `up`; the input needs none.
// CHECK: work,0,forward,products,,,,2048
// CHECK: work,0,backward,products,,,,2048
// CHECK: memory,0,,parameters,,,,1024
// CHECK: memory,0,,state,,,,2048
// CHECK: memory,0,,gradients,,,,1024

// EARLY: error: has no ppcrt.program: run ppc-phase-partition first

func.func @loss(%x: tensor<8x16xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                %up: tensor<32x16xf32> {ppc.parameter = "up", ppc.dims = ["ffn", "hidden"], ppc.init = #ppc.init<normal, 0.02>})
    -> tensor<f32> {
  %h = ppc.matmul "bh,fh->bf" %x, %up : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  %a = ppc.silu %h : tensor<8x32xf32>
  %l = ppc.reduce <sum> %a dims [0, 1] : tensor<8x32xf32> to tensor<f32>
  return %l : tensor<f32>
}
