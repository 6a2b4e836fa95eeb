// --test-ppc-equivalence-rules
// signal 6: ppc-opt: SmallVector.h:N: const_reference llvm::SmallVectorTemplateCommon<mlir::ppc::Cu mlir::ppc::Derivation::joinLoops[abi:cxx11] < mlir::ppc::Derivation::deriveFromLoops < operator
func.func @shardings(%x: tensor<1099511627776x1x1x1x1x1x1x1x1x1x1x1x8xf32> {ppc.input = "x"}) {
  %y = ppc.neg %x {ppc.shardings = [#ppc.sharding<[{tp}]>]} : tensor<1099511627776x1x1x1x1x1x1x1x1x1x1x1x8xf32>
  return
}
