// RUN: ppc-opt %s --ppc-verify-model --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @below {{argument 0 must have one of ppc.input, ppc.parameter, ppc.state and ppc.scalar}}
func.func @no_role(%x: tensor<8xf32>) {
  return
}

// -----

// expected-error @below {{argument 0 must have one of ppc.input, ppc.parameter, ppc.state and ppc.scalar}}
func.func @two_roles(%x: tensor<8xf32> {ppc.input = "x", ppc.parameter = "x"}) {
  return
}

// -----

// expected-error @below {{arguments 0 and 1 are both parameter "w"}}
func.func @one_name(%x: tensor<8xf32> {ppc.parameter = "w"}, %y: tensor<8xf32> {ppc.parameter = "w"}) {
  return
}

// -----

// expected-error @below {{argument 0 has 1 dimensions but ppc.dims ["batch", "hidden"]}}
func.func @dims(%x: tensor<8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]}) {
  return
}

// -----

// expected-error @below {{argument 0 must be a tensor of static shape, found 'tensor<?xf32>'}}
func.func @dynamic(%x: tensor<?xf32> {ppc.input = "x"}) {
  return
}

// -----

func.func @foreign(%x: tensor<8xf32> {ppc.input = "x"}) {
  // expected-error @below {{does not belong to a model: only ppc and func ops do}}
  "other.op"() : () -> ()
  return
}

// -----

func.func @collective(%x: tensor<8xf32> {ppc.input = "x"}) {
  // expected-error @below {{is a collective, but a model knows no devices}}
  %y = ppc.all_gather %x dim 0 over ["tp"] : tensor<8xf32> to tensor<16xf32>
  return
}

// -----

func.func @reshard(%x: tensor<8xf32> {ppc.input = "x"}) {
  // expected-error @below {{is created by partitioning, but a model knows no devices}}
  %y = ppc.reshard %x to <[{tp}]> : tensor<8xf32>
  return
}

// -----

func.func @block(%x: tensor<8x4xf32> {ppc.input = "x"}) {
  // expected-error @below {{is bound to one block by 'classes', but a model knows no devices}}
  %y = ppc.log_sum_exp %x classes <[tp], 8> : tensor<8x4xf32> to tensor<8xf32>
  return
}

// -----

// expected-error @below {{argument 0 begins with zeros in row 5, which 'tensor<5x4xf32>' does not have}}
func.func @zero_row(%t: tensor<5x4xf32> {ppc.parameter = "t", ppc.init = #ppc.init<normal, 0.02, zero_row 5>}) {
  return
}

// -----

func.func @table(%t: tensor<5x4xf32> {ppc.parameter = "t"}) {
  %i = ppc.constant dense<[0, 5]> : tensor<2xi32>
  // expected-error @below {{looks up by operand 1, which has the id 5, but there are 5 rows of its table, 0 to 4}}
  %y = ppc.embedding %t, %i : (tensor<5x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @classes(%x: tensor<3x4xf32> {ppc.input = "x"}) {
  %i = ppc.constant dense<[0, -1, 2]> : tensor<3xi32>
  // expected-error @below {{looks up by operand 1, which has the id -1, but there are 4 classes, 0 to 3}}
  %nll, %lse = ppc.cross_entropy %x, %i : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @experts(%x: tensor<2x8x4xf32> {ppc.input = "x"}, %r: tensor<2x8x6xf32> {ppc.input = "r"}) {
  %v, %i = ppc.top_k %r : tensor<2x8x6xf32> -> tensor<2x8x2xf32>, tensor<2x8x2xi32>
  // expected-error @below {{looks up by operand 1, which has the id 5, but there are 3 experts, 0 to 2}}
  %slots = ppc.dispatch %x, %i : (tensor<2x8x4xf32>, tensor<2x8x2xi32>) -> tensor<2x3x4x4xf32>
  return
}

// -----

// expected-error @below {{argument 0 has the sharding #ppc.sharding<[{tp}]>, but a model knows no devices: say in a plan how it is cut}}
func.func @sharding(%x: tensor<8xf32> {ppc.input = "x", ppc.sharding = #ppc.sharding<[{tp}]>}) {
  return
}

// -----

func.func @shardings(%x: tensor<8xf32> {ppc.input = "x"}) {
  // expected-error @below {{but a model knows no devices: say in a plan how it is cut}}
  %y = ppc.neg %x {ppc.shardings = [#ppc.sharding<[{tp}]>]} : tensor<8xf32>
  return
}
