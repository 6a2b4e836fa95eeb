// Programs that cannot be run are refused at the op at fault.
// RUN: ppc-opt %s --test-ppc-interpreter --verify-diagnostics --split-input-file --mlir-print-op-on-diagnostic=0 --allow-unregistered-dialect -o /dev/null

// Two ranks that wait for different collectives.
module attributes {test.grid = #ppc.grid<pp = 2>, test.programs = [@a, @b]} {
  func.func @a() -> tensor<f32> {
    %x = ppc.constant dense<1.0> : tensor<f32>
    // expected-error @below {{'ppc.all_reduce' op never takes place: rank 0 waits for ranks 1}}
    %0 = ppc.all_reduce %x over ["pp"] <sum> : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @b() -> tensor<f32> {
    %x = ppc.constant dense<1.0> : tensor<f32>
    // expected-note @below {{rank 1 waits here}}
    %0 = ppc.all_reduce %x over ["pp"] <max> : tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// A rank that has returned.
module attributes {test.grid = #ppc.grid<pp = 2>, test.programs = [@a, @b]} {
  func.func @a() -> tensor<f32> {
    %x = ppc.constant dense<1.0> : tensor<f32>
    // expected-error @+2 {{'ppc.all_reduce' op never takes place: rank 0 waits for ranks 1}}
    // expected-note @+1 {{rank 1 has returned}}
    %0 = ppc.all_reduce %x over ["pp"] <sum> : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @b() {
    return
  }
}

// -----

// A collective on a stage that does not take part.
func.func @stages() -> tensor<f32> attributes {test.grid = #ppc.grid<pp = 2>} {
  %x = ppc.constant dense<1.0> : tensor<f32>
  // expected-error @below {{'ppc.all_reduce' op is reached by rank 0, which is not among its stages}}
  %0 = ppc.all_reduce %x over ["pp"] <sum> stages [1] : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// The block is one of two, the mesh has three ranks.
func.func @sizes() -> tensor<3xf32> attributes {test.grid = #ppc.grid<tp = 3>} {
  %x = ppc.constant dense<1.0> : tensor<5xf32>
  // expected-error @below {{'ppc.local_slice' op blocks of dimension 0, which is 5, are 2 over 3 devices, found 3}}
  %0 = ppc.local_slice %x dim 0 over ["tp"] : tensor<5xf32> to tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @exchange() -> tensor<1x4xf32> attributes {test.grid = #ppc.grid<tp = 3>} {
  %x = ppc.constant dense<1.0> : tensor<2x2xf32>
  // expected-error @below {{'ppc.all_to_all' op splits 2 elements into blocks of 1, found 3 devices}}
  %0 = ppc.all_to_all %x split 0 concat 1 over ["tp"] : tensor<2x2xf32> to tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

func.func @index() -> tensor<1x2xf32> attributes {test.grid = #ppc.grid<>} {
  %table = ppc.constant dense<1.0> : tensor<5x2xf32>
  %ids = ppc.constant dense<5> : tensor<1xi32>
  // expected-error @below {{'ppc.embedding' op index 5 at position 0 is outside the table of 5 rows}}
  %0 = ppc.embedding %table, %ids : (tensor<5x2xf32>, tensor<1xi32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// -----

func.func @class() -> (tensor<1xf32>, tensor<1xf32>) attributes {test.grid = #ppc.grid<>} {
  %logits = ppc.constant dense<1.0> : tensor<1x3xf32>
  %targets = ppc.constant dense<-1> : tensor<1xi32>
  // expected-error @below {{'ppc.cross_entropy' op index -1 at position 0 is not below 3 classes}}
  %0:2 = ppc.cross_entropy %logits, %targets : (tensor<1x3xf32>, tensor<1xi32>) -> (tensor<1xf32>, tensor<1xf32>)
  return %0#0, %0#1 : tensor<1xf32>, tensor<1xf32>
}

// -----

func.func @foreign() attributes {test.grid = #ppc.grid<>} {
  // expected-error @below {{'test.op' op cannot be interpreted: it has no reference semantics}}
  "test.op"() : () -> ()
  return
}

// -----

// expected-error @below {{takes 1 arguments, found 0}}
func.func @arguments(%x: tensor<f32>) attributes {test.grid = #ppc.grid<>} {
  return
}

// -----

// expected-error @below {{only functions with a body of one block can be interpreted}}
func.func private @declared() attributes {test.grid = #ppc.grid<>}
