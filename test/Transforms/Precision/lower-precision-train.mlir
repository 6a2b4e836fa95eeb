// RUN: ppc-opt %s --ppc-lower-precision --ppc-phase-train | FileCheck %s

// Weights are rounded once, before the micro-batches. The gradient of a weight comes from its matmul in f32, as sums of
// activations' gradients do; an incoming gradient is rounded once for both gradients of a matmul.
// CHECK-LABEL: func.func @step
// CHECK-DAG:     %[[UB:.*]] = ppc.convert {{.*}} : tensor<32x16xf32> to tensor<32x16xbf16>
// CHECK-DAG:     %[[DB:.*]] = ppc.convert {{.*}} : tensor<16x32xf32> to tensor<16x32xbf16>
// CHECK:         ppc.accumulate
// CHECK-NOT:       ppc.convert %{{(up|down)}}
// CHECK:           %[[DY:.*]] = ppc.convert {{.*}}ppc.part = #ppc.part<backward>{{.*}} : tensor<8x16xf32> to tensor<8x16xbf16>
// CHECK-DAG:       %[[DA:.*]] = ppc.matmul "bh,hf->bf" %[[DY]], %[[DB]] {{.*}}backward{{.*}} -> tensor<8x32xf32>
// CHECK-DAG:       ppc.matmul "bh,bf->hf" %[[DY]], {{.*}}weight_gradient{{.*}} : (tensor<8x16xbf16>, tensor<8x32xbf16>) -> tensor<16x32xf32>
// CHECK-DAG:       %[[DS:.*]] = ppc.convert %[[DA]] {{.*}} : tensor<8x32xf32> to tensor<8x32xbf16>
// CHECK:           %[[DU:.*]] = ppc.silu_backward %{{.*}}, %[[DS]] {{.*}} : tensor<8x32xbf16>
// CHECK-DAG:       ppc.matmul "bf,fh->bh" %[[DU]], %[[UB]] {{.*}}backward{{.*}} -> tensor<8x16xf32>
// CHECK-DAG:       ppc.matmul "bf,bh->fh" %[[DU]], {{.*}}weight_gradient{{.*}} -> tensor<32x16xf32>
// CHECK:         ppc.adamw {{.*}} : tensor<16xf32>
func.func @loss(%x: tensor<8x16xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                %n: tensor<16xf32> {ppc.parameter = "n"},
                %up: tensor<32x16xf32> {ppc.parameter = "up"},
                %down: tensor<16x32xf32> {ppc.parameter = "down"}) -> tensor<f32> {
  %h = ppc.rms_norm %x, %n epsilon 1.0e-5 : tensor<8x16xf32>, tensor<16xf32>
  %u = ppc.matmul "bh,fh->bf" %h, %up : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  %a = ppc.silu %u : tensor<8x32xf32>
  %y = ppc.matmul "bf,hf->bh" %a, %down : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %r = ppc.add %x, %y : tensor<8x16xf32>
  %l = ppc.reduce <sum> %r dims [0, 1] : tensor<8x16xf32> to tensor<f32>
  return %l : tensor<f32>
}
