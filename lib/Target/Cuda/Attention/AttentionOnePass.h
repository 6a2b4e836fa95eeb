// Gradients of attention in one pass over scores, and what its kernels pass to each other.
#ifndef PPC_LIB_TARGET_CUDA_ATTENTIONONEPASS_H
#define PPC_LIB_TARGET_CUDA_ATTENTIONONEPASS_H

#include "AttentionProblem.h"

namespace mlir::ppc::cuda {

/// Two buffers of scratch, by places of 4 bytes. Of statistics: for each query of whole tiles of a head the logarithm
/// (times log2 e) and the delta (the sum of the result times its gradient), of f32; then, of i32, for each tile how
/// many blocks of keys have added to it, for each block of keys how many heads of its group have, and the number of the
/// next block. Of sums (f32): gradients of queries, if there are several blocks of keys; then those of keys and values,
/// if groups have several heads. Sums lie as threads have them: of a tile or block the elements of a thread, for each
/// the threads side by side.
struct AttentionScratch {
  static constexpr int64_t queriesOfTile = 64, keysOfBlock = 128, threads = 256;

  explicit AttentionScratch(const AttentionProblem &p)
      : tiles(llvm::divideCeil(p.queries, queriesOfTile)), keyTiles(llvm::divideCeil(p.keys, keysOfBlock)),
        heads(p.batch * p.heads * p.groups), rows(heads * tiles * queriesOfTile), deltas(rows), turns(2 * rows),
        keyTurns(turns + heads * tiles), numbers(keyTurns + (p.groups > 1 ? p.batch * p.heads * keyTiles : 0)),
        statisticsWords(numbers + 1), ofTile(queriesOfTile * p.keyDim), ofBlock(keysOfBlock * (p.keyDim + p.valueDim)),
        keySums(keyTiles > 1 ? heads * tiles * ofTile : 0),
        sumWords(keySums + (p.groups > 1 ? p.batch * p.heads * keyTiles * ofBlock : 0)) {}

  int64_t tiles, keyTiles, heads, rows; // tiles of a head; heads of queries of all batches; their rows
  int64_t deltas, turns, keyTurns, numbers, statisticsWords;
  int64_t ofTile, ofBlock, keySums, sumWords;
};

/// Whether heads have sizes that this form takes: 64 or 128, in bf16.
bool fitsOnePass(const AttentionProblem &problem);

/// The kernels in their order: counters become zero, logarithms and deltas are computed, and gradients of queries that
/// see no key are zero; then all gradients. `w` has begun.
void writePreparation(KernelWriter &w, const AttentionProblem &problem);
void writeOnePass(KernelWriter &w, const AttentionProblem &problem);

/// Gives gradients of attention on buffers the scratch that their kernels want.
std::unique_ptr<Pass> createAttentionScratchPass();

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_ATTENTIONONEPASS_H
