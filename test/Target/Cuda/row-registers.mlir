// Regions of wide rows, of which buffers are written twice: what fits into registers as the region is chosen fits when each value has a buffer of its
// own. Drawn by random_rows.py.
// RUN: ppc-opt %s --ppc-test-kernel-numerics=rounding=3e-5 -o /dev/null 2>&1 | FileCheck %s

// CHECK: @sum_of_norm agrees
func.func @sum_of_norm(%arg0: tensor<1x16x8192xf32>, %arg1: tensor<1x16x8192xf32>, %arg2: tensor<1x16x8192xbf16>, %arg3: tensor<1x16xf32>, %arg4: tensor<8192xf32>) -> (tensor<1x16x8192xf32>, tensor<1x16x8192xf32>, tensor<1x16x8192xbf16>, tensor<1x16x8192xf32>) {
  %0 = ppc.softmax %arg1 : tensor<1x16x8192xf32>
  %1 = ppc.softmax %0 : tensor<1x16x8192xf32>
  %2 = ppc.broadcast %arg4 dims [0, 1] : tensor<8192xf32> to tensor<1x16x8192xf32>
  %3 = ppc.add %2, %1 : tensor<1x16x8192xf32>
  %4 = ppc.reduce <max> %3 dims [2] : tensor<1x16x8192xf32> to tensor<1x16xf32>
  %5 = ppc.broadcast %arg3 dims [2] : tensor<1x16xf32> to tensor<1x16x8192xf32>
  %6 = ppc.convert %5 : tensor<1x16x8192xf32> to tensor<1x16x8192xbf16>
  %7 = ppc.rms_norm_input_gradient %2, %arg4, %3 epsilon 1.0e-02 : tensor<1x16x8192xf32>, tensor<8192xf32>
  return %0, %3, %6, %7 : tensor<1x16x8192xf32>, tensor<1x16x8192xf32>, tensor<1x16x8192xbf16>, tensor<1x16x8192xf32>
}

// CHECK: @weight_gradient agrees
func.func @weight_gradient(%arg0: tensor<1x16x8192xf32>, %arg1: tensor<1x16x8192xf32>, %arg2: tensor<1x16x8192xbf16>, %arg3: tensor<1x16xf32>, %arg4: tensor<8192xf32>) -> (tensor<1x16x8192xf32>, tensor<8192xf32>) {
  %0 = ppc.layer_norm %arg0, %arg4, %arg4 epsilon 1.0e-02 : tensor<1x16x8192xf32>, tensor<8192xf32>
  %1 = ppc.sub %arg1, %arg0 : tensor<1x16x8192xf32>
  %2 = ppc.softmax %1 : tensor<1x16x8192xf32>
  %3 = ppc.sub %0, %2 : tensor<1x16x8192xf32>
  %4 = ppc.convert %3 : tensor<1x16x8192xf32> to tensor<1x16x8192xbf16>
  %5 = ppc.silu %0 : tensor<1x16x8192xf32>
  %6 = ppc.rms_norm_weight_gradient %5, %2 epsilon 1.0e-02 : tensor<1x16x8192xf32> to tensor<8192xf32>
  return %2, %6 : tensor<1x16x8192xf32>, tensor<8192xf32>
}

// CHECK: @two_softmaxes agrees
func.func @two_softmaxes(%arg0: tensor<1x3x8192xf32>, %arg1: tensor<1x3x8192xf32>, %arg2: tensor<1x3x8192xbf16>, %arg3: tensor<1x3xf32>, %arg4: tensor<8192xf32>) -> (tensor<1x3x8192xf32>, tensor<1x3x8192xf32>, tensor<1x3x8192xf32>, tensor<1x3x8192xf32>) {
  %0 = ppc.convert %arg1 : tensor<1x3x8192xf32> to tensor<1x3x8192xbf16>
  %1 = ppc.silu %arg1 : tensor<1x3x8192xf32>
  %2 = ppc.layer_norm %arg0, %arg4, %arg4 epsilon 1.0e-02 : tensor<1x3x8192xf32>, tensor<8192xf32>
  %3 = ppc.broadcast %arg4 dims [0, 1] : tensor<8192xf32> to tensor<1x3x8192xf32>
  %4 = ppc.softmax %2 : tensor<1x3x8192xf32>
  %5 = ppc.sigmoid %2 : tensor<1x3x8192xf32>
  %6 = ppc.softmax %3 : tensor<1x3x8192xf32>
  %7 = ppc.add %6, %5 : tensor<1x3x8192xf32>
  return %1, %4, %6, %7 : tensor<1x3x8192xf32>, tensor<1x3x8192xf32>, tensor<1x3x8192xf32>, tensor<1x3x8192xf32>
}
