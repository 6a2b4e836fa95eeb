// --ppc-assign-arena --remarks-filter=ppc-arena
// signal 6: ppc-opt: BuiltinTypeInterfaces.h.inc:N: intN_t mlir::detail::ShapedTypeTrait<mlir::MemRe mlir::ppc::ArenaLayout::place < run < mlir::ppc::AssignArenaPass::runOnOperation
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<16xi32>
    ppcrt.buffer @full gathered : memref<32xf32>
    ppcrt.buffer @grown gathered : memref<16xi32>
    ppcrt.routine @gather prepare code @gather reads [@w] writes [@full]
    ppcrt.routine @forward forward code @forward reads [@full] writes []
    ppcrt.routine @update update code @update reads [] writes [@grown]
    ppcrt.step {
    }
  }
}
func.func @gather(%w: memref<16xi32>, %full: memref<32xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "prepare"} {
  return
}
func.func @forward(%full: memref<32xf32>, %scratch: memref<?xi8>) attributes {ppcrt.routine = "forward"} {
  return
}
func.func @weight(%scratch: memref<64xi8>) attributes {ppcrt.routine = "weight_gradient"} {
  return
}
func.func @update(%grown: memref<16xi32>, %scratch: memref<32xi8>) attributes {ppcrt.routine = "update"} {
  return
}
