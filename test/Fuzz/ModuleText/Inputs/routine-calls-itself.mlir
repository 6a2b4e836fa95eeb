// --ppc-rt-to-llvm
// signal 11: mlir::ppc::addEntry < operator < mlir::ppc::CallTables::emit
ppcrt.group @tp axes ["tp"]
func.func @stage0.forward(%x: memref<4xf32>, %y: memref<8xf32>, %z: memref<4xf32>, %v: memref<4xf32>) attributes {ppcrt.routine = "forward"} {
  ppcrt.call @stage0.forward(%x, %y, %z, %v) : memref<4xf32>, memref<8xf32>, memref<4xf32>, memref<4xf32>
  return
}
func.func private @body(%x: memref<4xf32>, %y: memref<8xf32>, %z: memref<4xf32>, %v: memref<4xf32>) {
  %0 = ppcrt.start all_gather group @tp ins(%x : memref<4xf32>) outs(%y : memref<8xf32>)
  %1 = ppcrt.start all_reduce sum group @tp outs(%z : memref<4xf32>)
  ppcrt.wait %1 (%z : memref<4xf32>)
  ppcrt.wait %0 (%x, %y : memref<4xf32>, memref<8xf32>)
  %2 = ppcrt.start reduce_scatter sum group @tp ins(%y : memref<8xf32>) outs(%x : memref<4xf32>)
  %3 = ppcrt.start permute group @tp shift 1 ins(%z : memref<4xf32>) outs(%v : memref<4xf32>)
  ppcrt.wait %2 (%y, %x : memref<8xf32>, memref<4xf32>)
  ppcrt.wait %3 (%z, %v : memref<4xf32>, memref<4xf32>)
  return
}
