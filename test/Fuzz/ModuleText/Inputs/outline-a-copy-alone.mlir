// --ppc-outline-kernels
// signal 11: withLoops < mlir::ppc::cuda::buildKernels < mlir::ppc::cuda::KernelOutliner::run
ppcrt.group @tp axes ["tp"]
func.func @pieces(%x: memref<5xf32>, %scratch: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %a = memref.view %scratch[%c0][] : memref<64xi8> to memref<16xf32>
  %first = memref.subview %a[0] [5] [1] : memref<16xf32> to memref<5xf32, strided<[1]>>
  %second = memref.subview %a[5] [5] [1] : memref<16xf32> to memref<5xf32, strided<[1], offset: 5>>
  %t = ppcrt.start all_reduce sum group @tp outs(%first : memref<5xf32, strided<[1]>>)
  memref.copy %x, %second : memref<5xf32> to memref<5xf32, strided<[1], offset: 5>>
  ppcrt.wait %t (%first : memref<5xf32, strided<[1]>>)
  return
}
