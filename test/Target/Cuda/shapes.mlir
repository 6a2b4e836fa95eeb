// Sizes at which kernels take their own shapes: accesses of 16 bytes and odd ends, rows of a warp and rows of a block. What
// they become shows in the PTX.
// RUN: ppc-opt %s --ppc-test-kernel-numerics=ptx=%t.ptx -o /dev/null | FileCheck %s
// RUN: FileCheck --check-prefix=PTX --input-file=%t.ptx %s

// CHECK: @chain agrees
// CHECK: @chain_bf16 agrees
// CHECK: @odd agrees
// CHECK: @broadcast agrees
// CHECK: @rows agrees
// CHECK: @long_rows agrees
// CHECK: @norm agrees
// CHECK: @softmax agrees
// CHECK: @columns agrees
// CHECK: @many_rows agrees
// CHECK: @own_slots agrees

// PTX-DAG: ld.global.v4.b32
// PTX-DAG: st.global.v4.b32
// PTX-DAG: shfl.sync.bfly.b32
// PTX-DAG: bar.sync
// PTX-DAG: st.shared.b32

func.func @chain(%x: tensor<3x5x48xf32>, %y: tensor<3x5x48xf32>) -> tensor<3x5x48xf32> {
  %0 = ppc.mul %x, %y : tensor<3x5x48xf32>
  %1 = ppc.exp %0 : tensor<3x5x48xf32>
  %2 = ppc.add %1, %x : tensor<3x5x48xf32>
  return %2 : tensor<3x5x48xf32>
}
func.func @chain_bf16(%x: tensor<7x64xbf16>, %y: tensor<7x64xbf16>) -> tensor<7x64xbf16> {
  %0 = ppc.mul %x, %y : tensor<7x64xbf16>
  return %0 : tensor<7x64xbf16>
}
func.func @odd(%x: tensor<1021xf32>, %y: tensor<1021xf32>) -> tensor<1021xf32> {
  %0 = ppc.add %x, %y : tensor<1021xf32>
  return %0 : tensor<1021xf32>
}
func.func @broadcast(%x: tensor<6x40xf32>, %w: tensor<40xf32>) -> tensor<6x40xf32> {
  %0 = ppc.broadcast %w dims [0] : tensor<40xf32> to tensor<6x40xf32>
  %1 = ppc.mul %x, %0 : tensor<6x40xf32>
  return %1 : tensor<6x40xf32>
}
func.func @rows(%x: tensor<5x100xf32>, %y: tensor<9x33xf32>) -> (tensor<5xf32>, tensor<9xf32>, tensor<9xf32>) {
  %0 = ppc.reduce <sum> %x dims [1] : tensor<5x100xf32> to tensor<5xf32>
  %1 = ppc.reduce <max> %y dims [1] : tensor<9x33xf32> to tensor<9xf32>
  %2 = ppc.reduce <sum> %y dims [1] : tensor<9x33xf32> to tensor<9xf32>
  return %0, %1, %2 : tensor<5xf32>, tensor<9xf32>, tensor<9xf32>
}
func.func @long_rows(%x: tensor<3x4100xf32>, %y: tensor<2x2049xf32>) -> (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = ppc.reduce <sum> %x dims [1] : tensor<3x4100xf32> to tensor<3xf32>
  %1 = ppc.reduce <max> %y dims [1] : tensor<2x2049xf32> to tensor<2xf32>
  %2 = ppc.reduce <sum> %y dims [1] : tensor<2x2049xf32> to tensor<2xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<2xf32>, tensor<2xf32>
}
func.func @norm(%x: tensor<2x3x96xf32>, %w: tensor<96xf32>, %dy: tensor<2x3x96xf32>) -> (tensor<2x3x96xf32>, tensor<2x3x96xf32>, tensor<96xf32>) {
  %0 = ppc.rms_norm %x, %w epsilon 1.0e-05 : tensor<2x3x96xf32>, tensor<96xf32>
  %1 = ppc.rms_norm_input_gradient %x, %w, %dy epsilon 1.0e-05 : tensor<2x3x96xf32>, tensor<96xf32>
  %2 = ppc.rms_norm_weight_gradient %x, %dy epsilon 1.0e-05 : tensor<2x3x96xf32> to tensor<96xf32>
  return %0, %1, %2 : tensor<2x3x96xf32>, tensor<2x3x96xf32>, tensor<96xf32>
}
func.func @softmax(%x: tensor<2x2048xf32>) -> (tensor<2x2048xf32>, tensor<2xf32>) {
  %0 = ppc.softmax %x : tensor<2x2048xf32>
  %1 = ppc.log_sum_exp %x : tensor<2x2048xf32> to tensor<2xf32>
  return %0, %1 : tensor<2x2048xf32>, tensor<2xf32>
}
func.func @columns(%x: tensor<45x70xf32>) -> tensor<70xf32> {
  %0 = ppc.reduce <sum> %x dims [0] : tensor<45x70xf32> to tensor<70xf32>
  return %0 : tensor<70xf32>
}
func.func @many_rows(%x: tensor<300x70xf32>) -> tensor<70xf32> {
  %0 = ppc.reduce <sum> %x dims [0] : tensor<300x70xf32> to tensor<70xf32>
  return %0 : tensor<70xf32>
}
// Neighbouring threads have the experts of one token, whose row is read once; what is rounded is written once.
func.func @own_slots(%x: tensor<1x520x128xf32>, %ids: tensor<1x520x2xi32> {test.below = 3 : i64}, %w: tensor<1x520x2xf32>) -> (tensor<1x3x520x128xbf16>, tensor<1x520x128xf32>) {
  %0 = ppc.dispatch %x, %ids weights %w : (tensor<1x520x128xf32>, tensor<1x520x2xi32>, tensor<1x520x2xf32>) -> tensor<1x3x520x128xf32>
  %1 = ppc.convert %0 : tensor<1x3x520x128xf32> to tensor<1x3x520x128xbf16>
  %2 = ppc.dispatch %x, %ids : (tensor<1x520x128xf32>, tensor<1x520x2xi32>) -> tensor<1x3x520x128xf32>
  %3 = ppc.combine %2, %ids weights %w : (tensor<1x3x520x128xf32>, tensor<1x520x2xi32>, tensor<1x520x2xf32>) -> tensor<1x520x128xf32>
  return %1, %3 : tensor<1x3x520x128xbf16>, tensor<1x520x128xf32>
}
