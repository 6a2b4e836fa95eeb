// RUN: ppc-opt %s --split-input-file --ppc-lower-precision | FileCheck %s
// RUN: ppc-opt %s --split-input-file --ppc-lower-precision=precision=f32 | FileCheck %s --check-prefix=SAME
// RUN: ppc-opt %s --split-input-file --ppc-lower-precision --remarks-filter=ppc-precision -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: precision | Category:ppc-precision | Reason="2 matmuls read bf16, 4 values rounded to it"

// SAME-NOT: bf16

// Matmuls read bf16 and give f32. Ops between two matmuls are computed on rounded values; the residual stream, the
// norm and the sums are not.
// CHECK:       module attributes {{.*}}ppc.precision = "bf16"
// CHECK-LABEL: func.func @feed_forward
// CHECK-SAME:    %[[X:.*]]: tensor<8x16xf32> {{.*}}, %[[N:.*]]: tensor<16xf32> {{.*}}, %[[UP:.*]]: tensor<32x16xf32> {{.*}}, %[[DOWN:[a-z0-9]*]]: tensor<16x32xf32>
// CHECK:         %[[H:.*]] = ppc.rms_norm %[[X]], %[[N]] {{.*}} : tensor<8x16xf32>, tensor<16xf32>
// CHECK:         %[[HB:.*]] = ppc.convert %[[H]] : tensor<8x16xf32> to tensor<8x16xbf16>
// CHECK:         %[[UB:.*]] = ppc.convert %[[UP]] : tensor<32x16xf32> to tensor<32x16xbf16>
// CHECK:         %[[U:.*]] = ppc.matmul "bh,fh->bf" %[[HB]], %[[UB]] : (tensor<8x16xbf16>, tensor<32x16xbf16>) -> tensor<8x32xf32>
// CHECK:         %[[A:.*]] = ppc.convert %[[U]] : tensor<8x32xf32> to tensor<8x32xbf16>
// CHECK:         %[[S:.*]] = ppc.silu %[[A]] : tensor<8x32xbf16>
// CHECK:         %[[DB:.*]] = ppc.convert %[[DOWN]]
// CHECK:         %[[Y:.*]] = ppc.matmul "bf,hf->bh" %[[S]], %[[DB]] : (tensor<8x32xbf16>, tensor<16x32xbf16>) -> tensor<8x16xf32>
// CHECK:         ppc.add %[[X]], %[[Y]] : tensor<8x16xf32>

func.func @feed_forward(%x: tensor<8x16xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
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

// -----

// Attention gives bf16 and its sums in f32. A user in f32 reads a widened copy of the result.
// CHECK-LABEL: func.func @attention
// CHECK:         %[[Q:.*]] = ppc.convert
// CHECK:         %[[K:.*]] = ppc.convert
// CHECK:         %[[V:.*]] = ppc.convert
// CHECK:         %[[OUT:.*]], %{{.*}} = ppc.attention %[[Q]], %[[K]], %[[V]] {{.*}} -> tensor<2x8x2x3x4xbf16>, tensor<2x8x2x3xf32>
// CHECK:         %[[WIDE:.*]] = ppc.convert %[[OUT]] : tensor<2x8x2x3x4xbf16> to tensor<2x8x2x3x4xf32>
// CHECK:         ppc.reduce <sum> %[[WIDE]]
func.func @attention(%q: tensor<2x8x2x3x4xf32> {ppc.parameter = "q"}, %k: tensor<2x8x2x4xf32>, %v: tensor<2x8x2x4xf32>) -> tensor<f32> {
  %out, %lse = ppc.attention %q, %k, %v scale 0.5 causal : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  %l = ppc.reduce <sum> %out dims [0, 1, 2, 3, 4] : tensor<2x8x2x3x4xf32> to tensor<f32>
  return %l : tensor<f32>
}

// -----

// Partial sums stay in f32: a value that matmuls and sums read is rounded for the matmul alone, and each layer has
// its own copy. f64 is left alone.
// CHECK-LABEL: func.func @two_users
// CHECK:         %[[M:.*]] = ppc.matmul "bh,fh->bf"
// CHECK:         %[[G:.*]] = ppc.gelu %[[M]] {{.*}} : tensor<8x16xf32>
// CHECK:         %[[ONE:.*]] = ppc.convert %[[G]] {ppc.layer = 1 : i64}
// CHECK:         ppc.matmul "bh,fh->bf" %[[ONE]]
// CHECK:         %[[TWO:.*]] = ppc.convert %[[G]] {ppc.layer = 2 : i64}
// CHECK:         ppc.matmul "bh,fh->bf" %[[TWO]]
// CHECK:         ppc.add %[[G]]
func.func @two_users(%x: tensor<8x16xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                     %w: tensor<16x16xf32> {ppc.parameter = "w"}) -> tensor<f32> {
  %m = ppc.matmul "bh,fh->bf" %x, %w {ppc.layer = 1 : i64} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %g = ppc.gelu %m {ppc.layer = 1 : i64} : tensor<8x16xf32>
  %a = ppc.matmul "bh,fh->bf" %g, %w {ppc.layer = 1 : i64} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %b = ppc.matmul "bh,fh->bf" %g, %w {ppc.layer = 2 : i64} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %s = ppc.add %g, %a {ppc.layer = 2 : i64} : tensor<8x16xf32>
  %t = ppc.add %s, %b {ppc.layer = 2 : i64} : tensor<8x16xf32>
  %l = ppc.reduce <sum> %t dims [0, 1] {ppc.layer = 2 : i64} : tensor<8x16xf32> to tensor<f32>
  return %l : tensor<f32>
}
