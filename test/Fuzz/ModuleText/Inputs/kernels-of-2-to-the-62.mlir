// --ppc-outline-kernels
// signal 6: ppc-opt: APInt.h:N: llvm::APInt::APInt(unsigned int, uintN_t, bool, bool): Assertion `l mlir::ppc::cuda::KernelWriter::block < mlir::ppc::cuda::KernelWriter::threadsBelow < mlir::ppc::cuda::writeElementwise
#id = affine_map<(d0) -> (d0)>
#row = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
func.func @twice(%x: memref<4611686018427387904xf32>, %y: memref<4611686018427387904xf32>, %z: memref<4611686018427387904xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<4611686018427387904xf32>) outs(%y : memref<4611686018427387904xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : memref<4611686018427387904xf32>) outs(%z : memref<4611686018427387904xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  }
  return
}
ppcrt.group @dp axes ["dp"]
func.func @scalars(%factor: memref<f32>, %y: memref<4611686018427387904xf32>, %m: memref<4096x8192xf32>, %r: memref<4096xf32>) {
  %f = memref.load %factor[] : memref<f32>
  %i = ppcrt.coordinate group @dp
  %n = arith.index_cast %i : index to i64
  %g = arith.sitofp %n : i64 to f32
  %p = arith.mulf %f, %g : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%y : memref<4611686018427387904xf32>) {
  ^bb0(%old: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "reduction"]} ins(%m : memref<4096x8192xf32>) outs(%r : memref<4096xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %s = arith.addf %a, %sum : f32
    linalg.yield %s : f32
  }
  return
}
