// --test-ppc-time-mutations
// signal 6: LLVM ERROR: out of memory mlir::ppc::ReferenceTensor::ReferenceTensor < uniform < operator
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 256 {
      ppcrt.buffer @w parameter "w" : memref<2147483647xf64>
    }
  }
}
