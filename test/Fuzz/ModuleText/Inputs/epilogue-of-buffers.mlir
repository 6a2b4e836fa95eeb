// --ppc-fuse-epilogues
// signal 6: ppc-opt: Casting.h:N: decltype(auto) llvm::cast(const From &) [To = mlir::RankedTen mlir::ppc::EpilogueChain::takesEpilogue < mlir::ppc::EpilogueChain::EpilogueChain < run
func.func @gemm_c3(%a: memref<4x8xf32>, %c: memref<4x4xf32>) {
  ppcrt.gemm ins(%a, %a : memref<4x8xf32>, memref<4x8xf32>) outs(%c : memref<4x4xf32>) sizes [4, 4, 8] strides [8, 9223372036854775807, 8, 2, 4, 9223372036854775807] loops [2, 0, 9223372036854775807, 0]
  return
}
