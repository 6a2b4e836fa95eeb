// --ppc-forward-fills --ppc-split-sums --ppc-fuse-rows=explain
// signal 6: ppc-opt: /usr/lib/llvm-N/include/mlir/IR/BuiltinTypeInterfaces.h.inc:N: intN_t mlir::detail::ShapedTypeTrait<mlir::MemRe mlir::ppc::RegionChoice::RegionChoice < fuse < fuse
#full = affine_map<(d0, d1) -> (d0, d1)>
func.func @parts(%x: memref<64x?xf32>, %y: memref<64x256xf32>) {
  %first = memref.subview %y[0, 0] [64, 128] [1, 1] : memref<64x256xf32> to memref<64x128xf32, strided<[256, 1]>>
  %second = memref.subview %y[0, 128] [64, 128] [1, 1] : memref<64x256xf32> to memref<64x128xf32, strided<[256, 1], offset: 128>>
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x?xf32>) outs(%first : memref<64x128xf32, strided<[256, 1]>>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x?xf32>) outs(%second : memref<64x128xf32, strided<[256, 1], offset: 128>>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  }
  return
}
