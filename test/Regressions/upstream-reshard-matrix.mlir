// From any layout to any other (of MLIR 22's `shard` dialect, 44 of 90 pairs came out with a wrong type and 20 crashed): the
// argument and most results of an identity have random layouts, on even and on uneven sizes.
// RUN: ppc-opt %s --test-ppc-spmd-equivalence="layouts=80 seed=5" --split-input-file --verify-diagnostics -o /dev/null

// expected-remark @below {{80 layouts compute what one device does}}
module {
  func.func @even(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
    return %x, %x, %x, %x, %x, %x : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// -----

// expected-remark @below {{80 layouts compute what one device does}}
module {
  func.func @uneven(%x: tensor<13x7x5xf32>) -> (tensor<13x7x5xf32>, tensor<13x7x5xf32>, tensor<13x7x5xf32>, tensor<13x7x5xf32>, tensor<13x7x5xf32>, tensor<13x7x5xf32>) {
    return %x, %x, %x, %x, %x, %x : tensor<13x7x5xf32>, tensor<13x7x5xf32>, tensor<13x7x5xf32>, tensor<13x7x5xf32>, tensor<13x7x5xf32>, tensor<13x7x5xf32>
  }
}

// -----

// Partial sums, into any layout.
// expected-remark @below {{80 layouts compute what one device does}}
module {
  func.func @pending(%x: tensor<11x9x6xf32>, %w: tensor<10x6xf32>) -> (tensor<11x9x10xf32>, tensor<11x9x10xf32>, tensor<11x9x10xf32>, tensor<9x6xf32>, tensor<9x6xf32>, tensor<9x6xf32>) {
    %y = ppc.matmul "bsh,fh->bsf" %x, %w : (tensor<11x9x6xf32>, tensor<10x6xf32>) -> tensor<11x9x10xf32>
    %z = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<11x9x6xf32> to tensor<9x6xf32>
    return %y, %y, %y, %z, %z, %z : tensor<11x9x10xf32>, tensor<11x9x10xf32>, tensor<11x9x10xf32>, tensor<9x6xf32>, tensor<9x6xf32>, tensor<9x6xf32>
  }
}
