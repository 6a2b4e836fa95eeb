//===- AttentionDesign.h - GPU resources of an attention kernel ------------===//
//
// The bounds of attention forward that follow from its tiles alone, in the terms of KernelModel.h, by warpgroups (Shah
// et al., FlashAttention-3, 2024) and by tensor memory (Zadouri et al., FlashAttention-4, 2026): for a block that goes
// over one tile of keys,
//
//   matmuls        4 queries keys dim operations
//   shared memory  the rows of each matmul (64 or 128 queries) with the keys and the values: 2 dim (rows + 2 keys)
//                  bytes; copies write 4 dim keys
//   special        an exponential for each score
//   issue          for each score a maximum, a multiply-add, an exponential, a sum and half of a conversion;
//                  for each element of the result a multiplication
//
// Also the bounds of a kernel by tensor memory, whose warps have roles: a block issues the instructions of all its
// loops.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_KERNELMODEL_ATTENTIONDESIGN_H
#define PPC_KERNELMODEL_ATTENTIONDESIGN_H

#include "ppc/KernelModel/KernelModel.h"

#include <optional>

namespace mlir::ppc {

/// Tile sizes of a block: queries, keys, elements of a head; queries of one matmul.
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

/// A kernel of lib/Target/Cuda/AttentionTensorMemory.cpp: its tiles, keys as wide as values, and the instructions that
/// all warps of a block issue for one tile of keys that all queries see.
struct TensorMemoryAttention {
  AttentionDesign design;
  MachineCounts counts;
};
/// Returns std::nullopt if no loop has matmuls in tensor memory. Loops are recognized by their instructions:
/// exponentials belong to eight warps, f32 multiplications without exponentials to four, matmuls and copies to one
/// each.
std::optional<TensorMemoryAttention> tensorMemoryAttention(const MachineKernel &kernel);
AttentionBounds boundsOf(const TensorMemoryAttention &kernel, const GpuModel &gpu);

} // namespace mlir::ppc

#endif // PPC_KERNELMODEL_ATTENTIONDESIGN_H
