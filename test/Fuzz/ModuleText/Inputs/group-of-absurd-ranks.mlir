// --ppc-overlap-reductions
// signal 6: ppc-opt: DenseMap.h:N: bool llvm::DenseMapBase<llvm::SmallDenseMap<long, llvm::detail:: 
module {
  ppcrt.group @pairs ranks [array<i64: 0, 3>, array<i64: 9223372036854775807, 2>]
  ppcrt.program @train grid <pp = 2, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.step {
      }
    }
  }
}
