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
