// Each sharding rule: the op, sharded by it in every way, computes the same as the unsharded op.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @placement(%x: tensor<6x4xf32>) {
  // expected-remark @below {{none: its region is propagated through, op by op}}
  %0 = ppc.accumulate (%xi = %x) micro_batches(3) : (tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    // expected-remark @below {{none: the results of accumulate take its shardings}}
    ppc.yield %xi : tensor<2x4xf32>
  }
  // expected-remark @below {{none: it moves between the two shardings it names}}
  %1 = ppc.reshard %x to <[{dp}, {}]> : tensor<6x4xf32>
  // expected-remark @below {{([d0, d1]) -> ([d0, d1]) {d1: replicated}, 3 cuts}}
  %2 = ppc.mask_padding %x dim 1 block <[tp], 3> : tensor<6x4xf32>
  return
}
