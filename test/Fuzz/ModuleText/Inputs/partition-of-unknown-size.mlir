// '--test-ppc-spmd-equivalence=layouts=80 seed=5'
// signal 6: terminate called after throwing an instance of 'std::length_error' mlir::ppc::ReferenceTensor::ReferenceTensor < uniform < randomArguments
module {
  func.func @uneven(%x: tensor<13x7x?xf32>) -> (tensor<13x7x?xf32>, tensor<13x7x?xf32>, tensor<13x7x?xf32>, tensor<13x7x?xf32>, tensor<13x7x?xf32>, tensor<13x7x?xf32>) {
    return %x, %x, %x, %x, %x, %x : tensor<13x7x?xf32>, tensor<13x7x?xf32>, tensor<13x7x?xf32>, tensor<13x7x?xf32>, tensor<13x7x?xf32>, tensor<13x7x?xf32>
  }
}
