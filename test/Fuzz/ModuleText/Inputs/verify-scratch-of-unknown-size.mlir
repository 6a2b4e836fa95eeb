// --ppc-verify-arena
// signal 6: ppc-opt: BuiltinTypeInterfaces.h.inc:N: intN_t mlir::detail::ShapedTypeTrait<mlir::MemRe read < operator < run
func.func @loop(%x: memref<16xf32>, %scratch: memref<?xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %a = memref.view %scratch[%c0][] : memref<?xi8> to memref<16xf32>
  %b = memref.view %scratch[%c0][] : memref<?xi8> to memref<16xf32>
  scf.for %i = %c0 to %c16 step %c1 {
    %v = memref.load %a[%i] : memref<16xf32>
  }
  return
}
