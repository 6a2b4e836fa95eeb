// RUN: ppc-opt %s --ppc-fuse-rounding | FileCheck %s

// CHECK-LABEL: func.func @rounded
// CHECK:         %[[OUT:.*]] = tensor.empty() : tensor<4x4xbf16>
// CHECK:         %[[P:.*]] = ppcrt.gemm ins({{.*}}) outs(%[[OUT]] : tensor<4x4xbf16>)
// CHECK-NOT:     ppc.convert
// CHECK:         return %[[P]]
func.func @rounded(%a: tensor<4x8xbf16>, %b: tensor<8x4xbf16>) -> tensor<4x4xbf16> {
  %empty = tensor.empty() : tensor<4x4xf32>
  %p = ppcrt.gemm ins(%a, %b : tensor<4x8xbf16>, tensor<8x4xbf16>) outs(%empty : tensor<4x4xf32>)
    sizes [4, 4, 8] strides [8, 1, 4, 1, 4, 1] loops [] -> tensor<4x4xf32>
  %r = ppc.convert %p : tensor<4x4xf32> to tensor<4x4xbf16>
  return %r : tensor<4x4xbf16>
}

// The sum is needed in f32 too; a matmul of f32 stays one.
// CHECK-LABEL: func.func @two_users
// CHECK-COUNT-2: ppc.convert
func.func @two_users(%a: tensor<4x8xbf16>, %b: tensor<8x4xbf16>, %c: tensor<4x4xf32>) -> (tensor<4x4xbf16>, tensor<4x4xf32>, tensor<4x4xbf16>) {
  %empty = tensor.empty() : tensor<4x4xf32>
  %p = ppcrt.gemm ins(%a, %b : tensor<4x8xbf16>, tensor<8x4xbf16>) outs(%empty : tensor<4x4xf32>)
    sizes [4, 4, 8] strides [8, 1, 4, 1, 4, 1] loops [] -> tensor<4x4xf32>
  %r = ppc.convert %p : tensor<4x4xf32> to tensor<4x4xbf16>
  %q = ppcrt.gemm ins(%c, %c : tensor<4x4xf32>, tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>)
    sizes [4, 4, 4] strides [4, 1, 4, 1, 4, 1] loops [] -> tensor<4x4xf32>
  %s = ppc.convert %q : tensor<4x4xf32> to tensor<4x4xbf16>
  return %r, %p, %s : tensor<4x4xbf16>, tensor<4x4xf32>, tensor<4x4xbf16>
}
