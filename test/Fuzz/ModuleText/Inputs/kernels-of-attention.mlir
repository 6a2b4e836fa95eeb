// --ppc-outline-kernels
// signal 11: fma < mlir::ppc::cuda::AttentionWriter::dot < mlir::ppc::cuda::AttentionWriter::scoreOfRows
func.func @attention_c3(%q: memref<1x4x1x2x8xf32>, %k: memref<1x4x1x8xf32>, %o: memref<1x4x1x2x8xf32>, %l: memref<1x4x1x2xf32>) {
  ppcrt.attention ins(%q, %k, %k : memref<1x4x1x2x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) outs(%o, %l : memref<1x4x1x2x8xf32>, memref<1x4x1x2xf32>) scale 5.0e-01 
  return
}
