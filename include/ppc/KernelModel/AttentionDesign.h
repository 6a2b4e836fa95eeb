//===- AttentionDesign.h - What a design of attention asks of a GPU --------===//
//
// The bounds of attention forward by warpgroups (Shah et al., FlashAttention-3, 2024) that follow from its tiles alone,
// in the terms of KernelModel.h: for a block that goes over one tile of keys,
//
//   products       4 queries keys dim operations
//   shared memory  each 64 queries read their rows, the keys and the values: 2 dim (64 + 2 keys) bytes; copies write
//                  4 dim keys
//   special        an exponential for each score
//   issue          for each score a maximum, a product with its sum, an exponential, a sum and half of a conversion;
//   for
//                  each element of the result a product
//
//===----------------------------------------------------------------------===//
#ifndef PPC_KERNELMODEL_ATTENTIONDESIGN_H
#define PPC_KERNELMODEL_ATTENTIONDESIGN_H

#include "ppc/KernelModel/KernelModel.h"

namespace mlir::ppc {

/// Tiles of a block: queries (64 for each warpgroup), keys, and elements of a head.
struct AttentionDesign {
  int64_t queries, keys, dim;
};

/// The tiles that are published for a head of 128: with a causal mask, and without.
llvm::ArrayRef<AttentionDesign> publishedAttentionDesigns();

/// Clocks of a multiprocessor.
struct AttentionBounds {
  double tensor = 0, operands = 0, copies = 0, special = 0, issue = 0; // operands, copies: of shared memory
};
AttentionBounds boundsOf(const AttentionDesign &design, const GpuModel &gpu);

} // namespace mlir::ppc

#endif // PPC_KERNELMODEL_ATTENTIONDESIGN_H
