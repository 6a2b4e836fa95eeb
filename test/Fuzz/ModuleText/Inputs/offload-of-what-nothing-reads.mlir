// --ppc-offload-activations
// signal 11: mlir::ppc::ActionTokens::write < mlir::ppc::ActivationsOffload::run < operator
module attributes {ppc.plan = #ppc.plan<grid = #ppc.grid<dp = 1>, stages = [0], schedule = "1f1b", micro_batches = 4, dimensions = {}, parameters = {}, offload = "activations">} {
  ppcrt.program @train grid #ppc.grid<pp = 1, dp = 1> micro_batches 4 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 3
      ppcrt.buffer @a saved : memref<4xf32> slots 3
      ppcrt.buffer @b saved : memref<6xf32> slots 3
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.buffer @w parameter "w" : memref<4xf32>
      ppcrt.routine @forward forward code @stage0.forward reads [@x] writes [@a, @b]
      ppcrt.routine @backward backward code @stage0.backward reads [@x, @a, @b, @g] writes [@g]
      ppcrt.step {
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %8 = ppcrt.run @forward micro_batch 3 on @compute
      }
    }
  }
  func.func @stage0.forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<6xf32>) attributes {ppcrt.routine = "forward"} {
    %0 = ppc.scale %x by 2.0 : tensor<4xf32>
    %1 = ppc.constant dense<1.0> : tensor<6xf32>
    return %0, %1 : tensor<4xf32>, tensor<6xf32>
  }
  func.func @stage0.backward(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<6xf32>, %g: tensor<4xf32>) -> (tensor<4xf32> {ppc.destination = 3 : i64}) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.mul %x, %a : tensor<4xf32>
    %1 = ppc.add %g, %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func @device0.update(%g: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32> {ppc.destination = 1 : i64}) attributes {ppcrt.routine = "update"} {
    %0 = ppc.add %w, %g : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
