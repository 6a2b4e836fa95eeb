// Calls, micro-batches, and programs that differ from rank to rank.
// RUN: ppc-opt %s --test-ppc-interpreter --verify-diagnostics --split-input-file --mlir-print-op-on-diagnostic=0 -o /dev/null

// Twice the same function, each time with values of its own.
func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = ppc.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// expected-remark @below {{rank 0 returns [2, 4] [4, 8]}}
func.func @calls() -> (tensor<2xf32>, tensor<2xf32>) attributes {test.grid = #ppc.grid<>} {
  %x = ppc.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = func.call @double(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = func.call @double(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Three micro-batches of two rows: sums of rows, and 3 times the captured value.
// expected-remark @below {{rank 0 returns [9, 12] [3]}}
func.func @accumulate() -> (tensor<2xf32>, tensor<f32>) attributes {test.grid = #ppc.grid<>} {
  %x = ppc.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %one = ppc.constant dense<1.0> : tensor<f32>
  %0:2 = ppc.accumulate (%xi = %x) micro_batches(3) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {
    ppc.yield %xi, %one : tensor<2xf32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<f32>
}

// -----

// Collectives within calls within micro-batches.
func.func private @reduce(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = ppc.all_reduce %x over ["dp"] <max> : tensor<1xf32>
  return %0 : tensor<1xf32>
}

// Rank 0 holds 1 and 5, rank 1 holds 3 and 4: the maxima are 3 and 5.
// expected-remark @+2 {{rank 0 returns [8]}}
// expected-remark @+1 {{rank 1 returns [8]}}
func.func @nested() -> tensor<1xf32> attributes {test.grid = #ppc.grid<dp = 2>} {
  %x = ppc.constant dense<[1.0, 5.0, 3.0, 4.0]> : tensor<4xf32>
  %y = ppc.local_slice %x dim 0 over ["dp"] : tensor<4xf32> to tensor<2xf32>
  %0 = ppc.accumulate (%yi = %y) micro_batches(2) : (tensor<1xf32>) -> (tensor<1xf32>) {
    %1 = func.call @reduce(%yi) : (tensor<1xf32>) -> tensor<1xf32>
    ppc.yield %1 : tensor<1xf32>
  }
  return %0 : tensor<1xf32>
}

// -----

// Another program on each stage; the first and the last share a value, and all add up another.
module attributes {test.grid = #ppc.grid<pp = 3>, test.programs = [@first, @middle, @last]} {
  // expected-remark @below {{rank 0 returns [101] [111]}}
  func.func @first() -> (tensor<f32>, tensor<f32>) {
    %x = ppc.constant dense<1.0> : tensor<f32>
    %0 = ppc.all_reduce %x over ["pp"] <sum> stages [0, 2] : tensor<f32>
    %1 = ppc.all_reduce %x over ["pp"] <sum> : tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
  // expected-remark @below {{rank 1 returns [111]}}
  func.func @middle() -> tensor<f32> {
    %x = ppc.constant dense<10.0> : tensor<f32>
    %0 = ppc.all_reduce %x over ["pp"] <sum> : tensor<f32>
    return %0 : tensor<f32>
  }
  // expected-remark @below {{rank 2 returns [101] [111]}}
  func.func @last() -> (tensor<f32>, tensor<f32>) {
    %x = ppc.constant dense<100.0> : tensor<f32>
    %0 = ppc.all_reduce %x over ["pp"] <sum> stages [0, 2] : tensor<f32>
    %1 = ppc.all_reduce %x over ["pp"] <sum> : tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}
