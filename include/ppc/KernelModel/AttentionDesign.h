//===- AttentionDesign.h - What a design of attention asks of a GPU --------===//
//
// The bounds of attention forward that follow from its tiles alone, in the terms of KernelModel.h, by warpgroups (Shah
// et al., FlashAttention-3, 2024) and by tensor memory (Zadouri et al., FlashAttention-4, 2026): for a block that goes
// over one tile of keys,
//
//   products       4 queries keys dim operations
//   shared memory  the rows of each product (64 or 128 queries) with the keys and the values: 2 dim (rows + 2 keys)
//                  bytes; copies write 4 dim keys
//   special        an exponential for each score
//   issue          for each score a maximum, a product with its sum, an exponential, a sum and half of a conversion;
//                  for each element of the result a product
//
// And the same of a kernel by tensor memory, whose warps have roles: none of its loops alone says what a block issues.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_KERNELMODEL_ATTENTIONDESIGN_H
#define PPC_KERNELMODEL_ATTENTIONDESIGN_H

#include "ppc/KernelModel/KernelModel.h"

#include <optional>

namespace mlir::ppc {

/// Tiles of a block: queries, keys, elements of a head; queries of one product.
struct AttentionDesign {
  int64_t queries, keys, dim, rows;
};

/// The tiles that are published for a head of 128 on an architecture; on sm_90a with a causal mask, and without.
llvm::ArrayRef<AttentionDesign> publishedAttentionDesigns(llvm::StringRef architecture);

/// Clocks of a multiprocessor.
struct AttentionBounds {
  double tensor = 0, operands = 0, copies = 0, special = 0, issue = 0; // operands, copies: of shared memory
};
AttentionBounds boundsOf(const AttentionDesign &design, const GpuModel &gpu);

/// A kernel of lib/Target/Cuda/Attention/AttentionTensorMemory.cpp: its tiles, keys as wide as values, and what all
/// warps of a block issue while it goes over one tile of keys that all queries see.
struct TensorMemoryAttention {
  AttentionDesign design;
  MachineCounts counts;
};
/// None if no loop has products in tensor memory. Loops are told by what they do: exponentials are of eight warps,
/// products of f32 without them of four, products and copies of one each.
std::optional<TensorMemoryAttention> tensorMemoryAttention(const MachineKernel &kernel);
AttentionBounds boundsOf(const TensorMemoryAttention &kernel, const GpuModel &gpu);

} // namespace mlir::ppc

#endif // PPC_KERNELMODEL_ATTENTIONDESIGN_H
