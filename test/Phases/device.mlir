// RUN: ppc-opt %s --pass-pipeline="builtin.module(ppc-outline-layers,duplicate-function-elimination,ppc-bind-buffers,ppc-pass-destinations,ppc-to-ppc-rt,ppc-fuse-accumulation,ppc-to-linalg,ppc-to-ppc-rt,ppc-fuse-elementwise,canonicalize,cse,eliminate-empty-tensors,one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},canonicalize,drop-equivalent-buffer-results,canonicalize,ppc-assign-offsets,ppc-verify-device)" | FileCheck %s

// The passes of the device phase on a stage of two equal layers: one function, called twice; saved values and gradients are
// written to their buffers without copies; the communication of a layer is in its function.

// CHECK: ppcrt.group @over.tp axes ["tp"]
// CHECK: ppcrt.group @over.dp axes ["dp"]
// CHECK-NOT: memref.copy
// CHECK-LABEL: func.func @stage0.forward
// CHECK-SAME:    %[[SAVED1:[a-z0-9]+]]: memref<16x8xf32>, %[[SAVED2:[a-z0-9]+]]: memref<16x8xf32>, %[[OUT:[a-z0-9]+]]: memref<16x8xf32>, %[[SCRATCH:[a-z0-9]+]]: memref<[[BYTES:[0-9]+]]xi8>)
// CHECK:         ppcrt.call @[[BODY:[a-z_0-9]+]](%arg0, %arg1, %[[SAVED1]], %[[BETWEEN:[a-z_0-9]+]]
// CHECK:         ppcrt.call @[[BODY]](%[[BETWEEN]], %arg2, %[[SAVED2]], %[[OUT]]
func.func @stage0.forward(%x: tensor<16x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>)
    -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) attributes {ppcrt.routine = "forward"} {
  %a1 = ppc.matmul "sh,fh->sf" %x, %w1 {ppc.layer = 1 : i64} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %a2 = ppc.silu %a1 {ppc.layer = 1 : i64} : tensor<16x8xf32>
  %a3 = ppc.all_reduce %a2 over ["tp"] <sum> {ppc.layer = 1 : i64} : tensor<16x8xf32>
  %b1 = ppc.matmul "sh,fh->sf" %a3, %w2 {ppc.layer = 2 : i64} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %b2 = ppc.silu %b1 {ppc.layer = 2 : i64} : tensor<16x8xf32>
  %b3 = ppc.all_reduce %b2 over ["tp"] <sum> {ppc.layer = 2 : i64} : tensor<16x8xf32>
  return %a1, %b1, %b3 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
}

// The gradient is reduced in its own buffer, the parameter updated in place.
// CHECK-LABEL: func.func @device0.update
// CHECK:         ppcrt.call @all_reduce_body(%arg1)
// CHECK:         ppcrt.call @adamw_body(%arg0, %arg1, %arg2, %arg3,
func.func @device0.update(%p: tensor<8x8xf32>, %g: tensor<8x8xf32>, %m: tensor<8x8xf32>,
    %v: tensor<8x8xf32>, %lr: tensor<f32>, %step: tensor<f32>)
    -> (tensor<8x8xf32> {ppc.destination = 0 : i64}, tensor<8x8xf32> {ppc.destination = 2 : i64}, tensor<8x8xf32> {ppc.destination = 3 : i64}, tensor<f32>) attributes {ppcrt.routine = "update"} {
  %r = ppc.all_reduce %g over ["dp"] <sum> : tensor<8x8xf32>
  %q = ppc.squared_norm %r : tensor<8x8xf32> to tensor<f32>
  %n = ppc.sqrt %q : tensor<f32>
  %c = ppc.clip_scale %n max_norm 1.0 : tensor<f32>
  %p2, %m2, %v2 = ppc.adamw %p, %r, %m, %v, %lr, %step, %c {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<8x8xf32>, tensor<f32>
  return %p2, %m2, %v2, %n : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
}

// A GEMM adds into the gradient.
// CHECK-LABEL: func.func @stage0.backward
// CHECK:       func.func private @backward_body(%{{.*}}: memref<16x8xf32>, %{{.*}}: memref<16x8xf32>, %[[ACC:.*]]: memref<8x8xf32>)
// CHECK:         ppcrt.gemm {{.*}} outs(%[[ACC]] : memref<8x8xf32>) {{.*}} accumulate
func.func @stage0.backward(%x: tensor<16x8xf32>, %dy: tensor<16x8xf32>, %g: tensor<8x8xf32>)
    -> (tensor<8x8xf32> {ppc.destination = 2 : i64}) attributes {ppcrt.routine = "backward"} {
  %d = ppc.matmul "sh,sf->hf" %x, %dy {ppc.layer = 1 : i64} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %s = ppc.add %g, %d {ppc.layer = 1 : i64} : tensor<8x8xf32>
  return %s : tensor<8x8xf32>
}
