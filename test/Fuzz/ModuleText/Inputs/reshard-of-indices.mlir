// '--test-ppc-spmd-equivalence=layouts=80 seed=5'
// signal 11: mlir::ppc::planReshard < mlir::ppc::ReshardPlans::find < mlir::ppc::ReshardInserter::convert
module {
  func.func @uneven(%x: tensor<13x7x5xindex>) -> (tensor<13x7x5xindex>, tensor<13x7x5xindex>, tensor<13x7x5xindex>, tensor<13x7x5xindex>, tensor<13x7x5xindex>, tensor<13x7x5xindex>) {
    return %x, %x, %x, %x, %x, %x : tensor<13x7x5xindex>, tensor<13x7x5xindex>, tensor<13x7x5xindex>, tensor<13x7x5xindex>, tensor<13x7x5xindex>, tensor<13x7x5xindex>
  }
}
