// Many kinds of ops on sizes that divide by nothing, in random layouts on random grids, against one device.
// RUN: ppc-opt %s --test-ppc-spmd-equivalence="layouts=120 seed=3" --verify-diagnostics -o /dev/null

// expected-remark @below {{120 layouts compute what one device does}}
module {
func.func @loss(%x: tensor<5x6x7xf32>, %w: tensor<2x3x4x7xf32>, %u: tensor<7x2x3x4xf32>, %ids: tensor<5x6xi32>, %table: tensor<13x7xf32>) -> (tensor<5x6x7xf32>, tensor<5x6xf32>, tensor<7xf32>, tensor<f32>, tensor<13x7xf32>) {
  %e = ppc.embedding %table, %ids : (tensor<13x7xf32>, tensor<5x6xi32>) -> tensor<5x6x7xf32>
  %s = ppc.add %x, %e : tensor<5x6x7xf32>
  %q = ppc.matmul "bsh,kgdh->bskgd" %s, %w : (tensor<5x6x7xf32>, tensor<2x3x4x7xf32>) -> tensor<5x6x2x3x4xf32>
  %kw = ppc.reduce #ppc.combiner<sum> %w dims [1] : tensor<2x3x4x7xf32> to tensor<2x4x7xf32>
  %k = ppc.matmul "bsh,kdh->bskd" %s, %kw : (tensor<5x6x7xf32>, tensor<2x4x7xf32>) -> tensor<5x6x2x4xf32>
  %r = ppc.rotary %q frequencies [1.0, 0.1] : tensor<5x6x2x3x4xf32>
  %o, %lse = ppc.attention %r, %k, %k scale 0.5 causal : tensor<5x6x2x3x4xf32>, tensor<5x6x2x4xf32>, tensor<5x6x2x4xf32> -> tensor<5x6x2x3x4xf32>, tensor<5x6x2x3xf32>
  %y = ppc.matmul "bskgd,hkgd->bsh" %o, %u : (tensor<5x6x2x3x4xf32>, tensor<7x2x3x4xf32>) -> tensor<5x6x7xf32>
  %z = ppc.sum %x, %y, %e : tensor<5x6x7xf32>
  %zz = ppc.exp %z : tensor<5x6x7xf32>
  %neg = ppc.neg %zz : tensor<5x6x7xf32>
  %m = ppc.reduce #ppc.combiner<max> %neg dims [2] : tensor<5x6x7xf32> to tensor<5x6xf32>
  %c = ppc.reduce #ppc.combiner<sum> %zz dims [0, 1] : tensor<5x6x7xf32> to tensor<7xf32>
  %t = ppc.transpose %zz by [2, 0, 1] : tensor<5x6x7xf32> to tensor<7x5x6xf32>
  %p = ppc.reshape %t : tensor<7x5x6xf32> to tensor<7x30xf32>
  %one = ppc.constant dense<0.5> : tensor<7x30xf32>
  %pp = ppc.mul %p, %one : tensor<7x30xf32>
  %sq = ppc.mul %c, %c : tensor<7xf32>
  %n = ppc.squared_norm %pp : tensor<7x30xf32> to tensor<f32>
  %n2 = ppc.squared_norm %u : tensor<7x2x3x4xf32> to tensor<f32>
  %n3 = ppc.squared_norm %table : tensor<13x7xf32> to tensor<f32>
  %nn = ppc.sum %n, %n2, %n3 : tensor<f32>
  %b = ppc.embedding_backward %ids, %zz : (tensor<5x6xi32>, tensor<5x6x7xf32>) -> tensor<13x7xf32>
  return %z, %m, %sq, %nn, %b : tensor<5x6x7xf32>, tensor<5x6xf32>, tensor<7xf32>, tensor<f32>, tensor<13x7xf32>
}
}
