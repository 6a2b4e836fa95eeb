// --ppc-verify-program
// signal 6: LLVM ERROR: out of memory parseTokens < mlir::ppcrt::RunOp::parse < mlir::ppcrt::StepOp::parse
ppcrt.step {
        %2:2147483647 = ppcrt.run @backward micro_batch 0 on @compute
