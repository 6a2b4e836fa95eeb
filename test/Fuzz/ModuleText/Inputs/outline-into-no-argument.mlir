// --ppc-outline-layers --duplicate-function-elimination
// signal 6: ppc-opt: ArrayRef.h:N: T &llvm::MutableArrayRef<mlir::BlockArgument>::operator[](size_t mlir::ppc::OutlineLayersPass::runOnOperation
func.func @stage0.forward(%x: tensor<4x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>) -> tensor<4x8xf32>
    attributes {ppcrt.routine = "forward"} {
  %one = ppc.constant dense<1.0> : tensor<4x8xf32>
  %a = ppc.matmul "mk,nk->mn" %x, %w1 {ppc.layer = 1 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b = ppc.add %a, %one {ppc.layer = 1 : i64} : tensor<4x8xf32>
  %c = ppc.matmul "mk,nk->mn" %b, %w2 {ppc.layer = 2 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %d = ppc.add %c, %one {ppc.layer = 2 : i64} : tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}
func.func @stage0.backward(%acc: tensor<8xf32>, %x: tensor<8xf32>, %y: tensor<8xf32>)
    -> (tensor<8xf32> {ppc.destination = 13 : i64}) attributes {ppcrt.routine = "backward"} {
  %a = ppc.add %acc, %x {ppc.layer = 2 : i64} : tensor<8xf32>
  %y2 = ppc.exp %y {ppc.layer = 13 : i64} : tensor<8xf32>
  %b = ppc.add %a, %y2 {ppc.layer = 13 : i64} : tensor<8xf32>
  return %b : tensor<8xf32>
}
func.func @stage0.update(%g: tensor<8x8xf32>, %h: tensor<8x8xf32>) -> tensor<f32> attributes {ppcrt.routine = "update"} {
  %r = ppc.all_reduce %g over ["dp"] <sum> : tensor<8x8xf32>
  %a = ppc.squared_norm %r : tensor<8x8xf32> to tensor<f32>
  %b = ppc.squared_norm %h : tensor<8x8xf32> to tensor<f32>
  %c = ppc.sum %a, %b : tensor<f32>
  return %c : tensor<f32>
}
func.func @stage1.forward(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) attributes {ppcrt.routine = "forward"} {
  %zero = ppc.constant dense<0.0> : tensor<f32>
  %a = ppc.exp %x : tensor<8xf32>
  %b = ppc.exp %a : tensor<8xf32>
  return %b, %zero : tensor<8xf32>, tensor<f32>
}
func.func @stage1.update(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> attributes {ppcrt.routine = "update"} {
  %s = ppc.sum %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a,
               %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %a : tensor<f32>
  return %s : tensor<f32>
}
