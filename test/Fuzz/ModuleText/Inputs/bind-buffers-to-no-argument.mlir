// --ppc-bind-buffers
// signal 6: ppc-opt: ArrayRef.h:N: T &llvm::MutableArrayRef<mlir::BlockArgument>::operator[](size_t mlir::ppc::BindBuffersPass::runOnOperation
func.func @stage0.backward(%acc: tensor<8xf32>, %x: tensor<8xf32>)
    -> (tensor<8xf32> {ppc.destination = 3 : i64}, tensor<8xf32>) attributes {ppcrt.routine = "backward"} {
  %s = call @add(%acc, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a = call @exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = call @exp(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %s, %b : tensor<8xf32>, tensor<8xf32>
}
func.func @stage1.backward(%p: tensor<8xf32>, %acc: tensor<8xf32>)
    -> (tensor<8xf32> {ppc.destination = 0 : i64}, tensor<8xf32> {ppc.destination = 1 : i64}) attributes {ppcrt.routine = "backward"} {
  %p2 = call @exp(%p) : (tensor<8xf32>) -> tensor<8xf32>
  %s = call @add(%acc, %p) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %t = call @add(%acc, %s) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %p2, %t : tensor<8xf32>, tensor<8xf32>
}
func.func @stage2.forward(%a: tensor<8xf32>, %b: tensor<8xf32>)
    -> (tensor<8xf32> {ppc.destination = 0 : i64}, tensor<8xf32> {ppc.destination = 1 : i64}) attributes {ppcrt.routine = "forward"} {
  return %b, %a : tensor<8xf32>, tensor<8xf32>
}
func.func private @add(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32> {ppc.destination = 0 : i64}) {
  %y = ppc.add %a, %b : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @exp(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = ppc.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
