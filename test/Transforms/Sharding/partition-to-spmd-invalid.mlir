// RUN: ppc-opt %s --ppc-partition-to-spmd --split-input-file --verify-diagnostics

// expected-error @below {{has no ppc.plan: run ppc-make-plan and ppc-apply-plan first}}
module {
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @wrong_operand(%x: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{a}]>}) {
    // expected-error @below {{needs operand 0 as #ppc.sharding<[{}]> but it is #ppc.sharding<[{a}]>: run ppc-insert-reshards first}}
    %y = ppc.exp %x : tensor<8xf32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @pending(%x: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{a}]>}) {
    %y = ppc.reduce #ppc.combiner<sum> %x dims [0] {ppc.factors = {d0 = ["a"]}, ppc.shardings = [#ppc.sharding<[], partial = {a: sum}>]}
        : tensor<8xf32> to tensor<f32>
    // expected-error @below {{cannot use operand 0, which is partial: #ppc.sharding<[], partial = {a: sum}>: run ppc-insert-reshards first}}
    %z = ppc.exp %y {ppc.shardings = [#ppc.sharding<[]>]} : tensor<f32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @cannot_unreduce(%x: tensor<8xf32>) {
    // expected-error @below {{'ppc.reshard' op}}
    %y = ppc.reshard %x to <[{}], partial = {a: sum}> {ppc.shardings = [#ppc.sharding<[{}], partial = {a: sum}>]} : tensor<8xf32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @wrong_result(%x: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{a}]>}) {
    // expected-error @below {{states result 0 as #ppc.sharding<[]>, but makes it #ppc.sharding<[], partial = {a: sum}>: run ppc-insert-reshards first}}
    %y = ppc.reduce #ppc.combiner<sum> %x dims [0] {ppc.factors = {d0 = ["a"]}, ppc.shardings = [#ppc.sharding<[]>]} : tensor<8xf32> to tensor<f32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @one_pending(%x: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{a}]>}, %z: tensor<f32> {ppc.sharding = #ppc.sharding<[]>}) {
    %y = ppc.reduce #ppc.combiner<sum> %x dims [0] {ppc.factors = {d0 = ["a"]}, ppc.shardings = [#ppc.sharding<[], partial = {a: sum}>]}
        : tensor<8xf32> to tensor<f32>
    // expected-error @below {{adds values that are partial over different axes, #ppc.sharding<[], partial = {a: sum}> and #ppc.sharding<[]>: run ppc-insert-reshards first}}
    %s = ppc.add %y, %z {ppc.shardings = [#ppc.sharding<[], partial = {a: sum}>]} : tensor<f32>
    return
  }
}
