// --ppc-mark-operations
// signal 6: ppc-opt: BuiltinTypeInterfaces.h.inc:N: intN_t mlir::detail::ShapedTypeTrait<mlir::MemRe mlir::ppc::workOf < mlir::ppc::workOf < mlir::ppc::MarkOperationsPass::runOnOperation
#map = affine_map<(d0) -> (d0)>
func.func @forward_body_1(%x: memref<?xf32>, %y: memref<?xf32>, %a: memref<2x4xf32>, %b: memref<4x4xf32>, %c: memref<2x4xf32>,
                          %d: memref<2x4xf32>) {
  linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = math.exp %v : f32
    %1 = arith.addf %0, %o : f32
    linalg.yield %1 : f32
  } loc(fused["exp", "add"])
  return
}
