// Each sharding rule: the op, sharded by it in every way, computes the same as the unsharded op.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @collective(%x: tensor<4x8xf32>) {
  // expected-remark @below {{none: it is part of a partitioned program}}
  %0 = ppc.all_reduce %x over ["tp"] <sum> : tensor<4x8xf32>
  // expected-remark @below {{none: it is part of a partitioned program}}
  %1 = ppc.all_gather %x dim 0 over ["tp"] : tensor<4x8xf32> to tensor<8x8xf32>
  // expected-remark @below {{none: it is part of a partitioned program}}
  %2 = ppc.reduce_scatter %x dim 0 over ["tp"] <sum> : tensor<4x8xf32> to tensor<2x8xf32>
  // expected-remark @below {{none: it is part of a partitioned program}}
  %3 = ppc.all_to_all %x split 0 concat 1 over ["tp"] : tensor<4x8xf32> to tensor<2x16xf32>
  // expected-remark @below {{none: it is part of a partitioned program}}
  %4 = ppc.local_slice %x dim 0 over ["tp"] : tensor<4x8xf32> to tensor<2x8xf32>
  return
}
