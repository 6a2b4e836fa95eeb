// One case for each numbered constraint of routing.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics

func.func @top_k_c1(%x: tensor<2x8x4xf32>) {
  // expected-error @below {{'ppc.top_k' op 'values' and 'ids' must be rows of at most 'tensor<2x8x4xf32>', found 'tensor<2x8x5xf32>' and 'tensor<2x8x5xi32>'}}
  %0:2 = ppc.top_k %x : tensor<2x8x4xf32> -> tensor<2x8x5xf32>, tensor<2x8x5xi32>
  return
}

// -----

func.func @top_k_c2(%x: tensor<2x8x4xf32>) {
  // expected-error @below {{'ppc.top_k' op element types differ: 'tensor<2x8x4xf32>' and 'tensor<2x8x2xbf16>'}}
  %0:2 = ppc.top_k %x : tensor<2x8x4xf32> -> tensor<2x8x2xbf16>, tensor<2x8x2xi32>
  return
}

// -----

func.func @top_k_c3(%x: tensor<2x8x4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'ppc.top_k' op 'bias' must be 'tensor<4xf32>', found 'tensor<8xf32>'}}
  %0:2 = ppc.top_k %x bias %b as tensor<8xf32> : tensor<2x8x4xf32> -> tensor<2x8x2xf32>, tensor<2x8x2xi32>
  return
}

// -----

func.func @top_k_c4(%x: tensor<2x8x4xf32>) {
  // expected-error @below {{'ppc.top_k' op 1 of 4 groups of a row of 4 cannot hold 2 elements}}
  %0:2 = ppc.top_k %x groups 4 : tensor<2x8x4xf32> -> tensor<2x8x2xf32>, tensor<2x8x2xi32>
  return
}

// -----

func.func @top_k_c4_divides(%x: tensor<2x8x4xf32>) {
  // expected-error @below {{'ppc.top_k' op 2 of 3 groups of a row of 4 cannot hold 2 elements}}
  %0:2 = ppc.top_k %x groups 3 groups_per_row 2 : tensor<2x8x4xf32> -> tensor<2x8x2xf32>, tensor<2x8x2xi32>
  return
}

// -----

func.func @top_k_backward_c1(%i: tensor<2x8x2xi32>, %v: tensor<2x8x2xf32>) {
  // expected-error @below {{'ppc.top_k_backward' op 'ids', 'dvalues' and the result must have the same rows, found 'tensor<2x8x2xi32>', 'tensor<2x8x2xf32>' and 'tensor<2x9x4xf32>'}}
  %0 = ppc.top_k_backward %i, %v : (tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x9x4xf32>
  return
}

// -----

func.func @dispatch_c1_ranks(%x: tensor<2x8x16xf32>, %i: tensor<2x8x2xi32>, %s: tensor<2x4x4x16xf32>, %w: tensor<2x8x3xf32>, %h: tensor<2x8x2xbf16>) {
  // expected-error @below {{'ppc.dispatch' op tokens must be [batch, token, hidden], 'ids' [batch, token, k] and slots [batch, expert, slot, hidden], found 'tensor<2x8x16xf32>', 'tensor<2x8x2xi32>' and 'tensor<2x16x16xf32>'}}
  %0 = ppc.dispatch %x, %i : (tensor<2x8x16xf32>, tensor<2x8x2xi32>) -> tensor<2x16x16xf32>
  return
}

// -----

func.func @dispatch_c1_hidden(%x: tensor<2x8x16xf32>, %i: tensor<2x8x2xi32>, %s: tensor<2x4x4x16xf32>, %w: tensor<2x8x3xf32>, %h: tensor<2x8x2xbf16>) {
  // expected-error @below {{'ppc.dispatch' op batch, tokens and hidden must agree, found 'tensor<2x8x16xf32>', 'tensor<2x8x2xi32>' and 'tensor<2x4x4x8xf32>'}}
  %0 = ppc.dispatch %x, %i : (tensor<2x8x16xf32>, tensor<2x8x2xi32>) -> tensor<2x4x4x8xf32>
  return
}

// -----

func.func @dispatch_c1_weights(%x: tensor<2x8x16xf32>, %i: tensor<2x8x2xi32>, %s: tensor<2x4x4x16xf32>, %w: tensor<2x8x3xf32>, %h: tensor<2x8x2xbf16>) {
  // expected-error @below {{'ppc.dispatch' op weights must be shaped like 'ids', found 'tensor<2x8x3xf32>' and 'tensor<2x8x2xi32>'}}
  %0 = ppc.dispatch %x, %i weights %w : (tensor<2x8x16xf32>, tensor<2x8x2xi32>, tensor<2x8x3xf32>) -> tensor<2x4x4x16xf32>
  return
}

// -----

func.func @dispatch_c2(%x: tensor<2x8x16xf32>, %i: tensor<2x8x2xi32>, %s: tensor<2x4x4x16xf32>, %w: tensor<2x8x3xf32>, %h: tensor<2x8x2xbf16>) {
  // expected-error @below {{'ppc.dispatch' op element types differ: 'tensor<2x8x16xf32>' and 'tensor<2x8x2xbf16>'}}
  %0 = ppc.dispatch %x, %i weights %h : (tensor<2x8x16xf32>, tensor<2x8x2xi32>, tensor<2x8x2xbf16>) -> tensor<2x4x4x16xf32>
  return
}

// -----

func.func @combine_c1(%x: tensor<2x8x16xf32>, %i: tensor<2x8x2xi32>, %s: tensor<2x4x4x16xf32>, %w: tensor<2x8x3xf32>, %h: tensor<2x8x2xbf16>) {
  // expected-error @below {{'ppc.combine' op batch, tokens and hidden must agree, found 'tensor<2x7x16xf32>', 'tensor<2x8x2xi32>' and 'tensor<2x4x4x16xf32>'}}
  %0 = ppc.combine %s, %i : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>) -> tensor<2x7x16xf32>
  return
}

// -----

func.func @combine_c2(%x: tensor<2x8x16xf32>, %i: tensor<2x8x2xi32>, %s: tensor<2x4x4x16xf32>, %w: tensor<2x8x3xf32>, %h: tensor<2x8x2xbf16>) {
  // expected-error @below {{'ppc.combine' op element types differ: 'tensor<2x8x16xbf16>' and 'tensor<2x4x4x16xf32>'}}
  %0 = ppc.combine %s, %i : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>) -> tensor<2x8x16xbf16>
  return
}

// -----

func.func @routing_weights_gradient_c1(%x: tensor<2x8x16xf32>, %i: tensor<2x8x2xi32>, %s: tensor<2x4x4x16xf32>, %w: tensor<2x8x3xf32>, %h: tensor<2x8x2xbf16>) {
  // expected-error @below {{'ppc.routing_weights_gradient' op weights must be shaped like 'ids', found 'tensor<2x8x3xf32>' and 'tensor<2x8x2xi32>'}}
  %0 = ppc.routing_weights_gradient %s, %i, %x : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>, tensor<2x8x16xf32>) -> tensor<2x8x3xf32>
  return
}

// -----

func.func @routing_weights_gradient_c2(%x: tensor<2x8x16xf32>, %i: tensor<2x8x2xi32>, %s: tensor<2x4x4x16xf32>, %w: tensor<2x8x3xf32>, %h: tensor<2x8x2xbf16>) {
  // expected-error @below {{'ppc.routing_weights_gradient' op element types differ: 'tensor<2x8x16xf32>' and 'tensor<2x8x2xbf16>'}}
  %0 = ppc.routing_weights_gradient %s, %i, %x : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>, tensor<2x8x16xf32>) -> tensor<2x8x2xbf16>
  return
}
