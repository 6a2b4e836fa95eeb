// --ppc-cut-products --remarks-filter=ppc-overlap
// signal 6: ppc-opt: /usr/lib/llvm-N/include/llvm/Support/Casting.h:N: decltype(auto) llvm::cast(const From &) [To = mlir::detail::T mlir::ppc::AllGatherOp::canRotate < mlir::ppc::AllGatherOp::verify
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, update = ["dp"], overlap = true, storage = ["dp"], rotate = true, pieces = 2>} {
  ppcrt.program @train grid <pp = 1, dp = 2, tp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
    }
  }
  func.func @rotated(%x: memref<1x5x4xf32>, %w: tensor<3x4xf32>) -> tensor<1x5x6xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.all_gather %w dim 0 over ["dp"] rotated : tensor<3x4xf32> to tensor<6x4xf32>
    %1 = ppc.matmul "bsf,hf->bsh" %x, %0 : (memref<1x5x4xf32>, tensor<6x4xf32>) -> tensor<1x5x6xf32>
    %2 = ppc.all_reduce %1 over ["tp"] <sum> : tensor<1x5x6xf32>
  }
}
