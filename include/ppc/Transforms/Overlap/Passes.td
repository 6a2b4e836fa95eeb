// Passes that put communication beside computation.
#ifndef PPC_TRANSFORMS_OVERLAP_PASSES_TD
#define PPC_TRANSFORMS_OVERLAP_PASSES_TD

include "mlir/Pass/PassBase.td"

def OverlapReductionsPass : Pass<"ppc-overlap-reductions", "ModuleOp"> {
  let summary = "reduce gradients between ranks while backward computes the next ones";
  let description = [{
    Takes all-reduces and reduce-scatters of sums of micro-batches out of the update: they become `ppcrt.collective` actions in
    buckets, on a stream for each group, after what adds to these sums last. Where that is a run that goes on afterwards, its routine says
    when it has finished with a bucket (`early`, `ppcrt.reach` behind the layer of the bucket's last gradient), and the run of the last
    micro-batch gives tokens for that. What is reduced and scattered goes to the buffer of the gradient, so that no memory is added.

    Which gradients are a bucket is decided by cost: the estimated times at which layers of the remaining runs finish theirs, and the time
    of a collective of so many bytes over these ranks of `cluster`. A bucket more must save 1 % of what reducing all at once takes. A group
    whose reductions would begin after the last run in any case stays in the update.

    Stays in the update: what is no sum of micro-batches or is combined before (over stages, say), what an evaluation reads (the loss),
    groups over which micro-batches communicate themselves, blocks that do not lie one after the other in memory.

    Requires: a scheduled `ppcrt.program` on tensors (`ppc-apply-schedule`). Guarantees: the same sums, in the same order of ranks; every
    bucket's stream order is that of the list. Remarks of the category `ppc-overlap` say what moved, and how much of it is estimated
    to be hidden.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "", "machine, as for ppc-search-plan; default: this one, not measured">,
    Option<"buckets", "buckets", "int64_t", "0", "as many buckets for each group, whatever they cost; 0: by cost">];
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
}

def PrefetchGathersPass : Pass<"ppc-prefetch-gathers", "ModuleOp"> {
  let summary = "begin gathers of sharded parameters before the ops in front of their use";
  let description = [{
    In the code that runs for each micro-batch, an all-gather of a value that the code is given (a block of a parameter, under ZeRO 3) moves
    to where one of the gathers before it is first used, so that it goes on beside what uses that one: across layers, and across the reduction
    of a gradient in between. `ppc-start-collectives` lets it begin there and waits for it where it is used.

    How far ahead, by one gather or by two, within the layer that uses it or across layers, is decided by cost for all functions of a kind
    (forwards, backwards) together, so that layers stay equal: the estimated work of their ops, and the times of their
    collectives over these ranks of `cluster`, of which each group does one at a time. Beginning earlier, and crossing layers, must save 1 % of what
    all of the gathers take. At most twice as many gathered bytes are there at a time in a layer as without this pass: a gather begins as much later.

    Requires: a scheduled `ppcrt.program` on tensors (`ppc-apply-schedule`). Guarantees: the same values; ops of a function are in the order in
    which `ppc-outline-layers` would have them, and a gather belongs to the layer that it runs beside; those which begin in front of
    everything, as a layer before would have them begin for the first one, to a layer of their own. Remarks of the category
    `ppc-overlap` say how many moved, and what they are estimated to save.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "", "machine, as for ppc-search-plan; default: this one, not measured">,
    Option<"ahead", "ahead", "int64_t", "-1", "number of gathers to prefetch, whatever that saves; -1: by cost">];
}

def CutProductsPass : Pass<"ppc-cut-products", "ModuleOp"> {
  let summary = "split matmuls and the collectives that take their results into chunks";
  let description = [{
    In the code that runs for each micro-batch, an all-reduce or reduce-scatter that sums one product, or the sum of several, over ranks becomes
    pieces: the rows of the result (tokens) are cut, and each piece of the products is followed by the sum of that piece, which goes on beside the
    next one (`ppc-start-collectives`). Along the dimension that is scattered a piece is one of each rank's block: `split` takes it as runs. Blocks that
    are padded stay whole, and so do gradients of weights. Pieces of operands are read and pieces of results written where they lie (`ppc-to-linalg`). Rows are
    those of the outermost dimension with several elements, and of the one behind it where that has fewer than there are to be pieces; tiles of
    128 rows stay whole where there are enough.

    The plan says how many pieces (`pieces`), 1: none, or leaves it to the cost of each product: its pieces as products of their size,
    the collective in as many of smaller size on `cluster`, work behind it that hides it in any case, and the share of the device that
    a collective takes from products beside it. One number of pieces must save 1 % of the collective more than a smaller one.

    Requires: a scheduled `ppcrt.program` on tensors (`ppc-apply-schedule`). Guarantees: the same values; each element is a sum of the same
    products. Remarks of the category `ppc-overlap` say how many are cut, what is left exposed, what would be of those that are whole by
    cost, and why a number that the plan says does nothing.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "", "machine, as for ppc-search-plan; default: this one, not measured">];
}

def SeparateDestinationsPass : Pass<"ppc-separate-destinations", "func::FuncOp"> {
  let summary = "give chunks that are scattered over ranks separate buffers";
  let description = [{
    Equal empty tensors become one (CSE), and with it one buffer, in which one result after the other is computed. What a
    `ppcrt.reduce_scatter` takes whose result is put into a larger tensor, as a piece is (`ppc-cut-products`), gets an empty tensor of its own, so
    that the next piece is computed while it is scattered (`ppc-start-collectives`). What is scattered whole shares its buffer as before.

    Requires: tensors with destinations, before one-shot bufferization and behind the last CSE before it. Guarantees: the same values.
  }];
}

def StartCollectivesPass : Pass<"ppc-start-collectives", "ModuleOp"> {
  let summary = "overlap collectives inside compiled functions with independent ops";
  let description = [{
    An all-reduce, all-gather or reduce-scatter in the block of a function becomes a `ppcrt.start` behind the last op before it that touches
    its buffers, and a `ppcrt.wait` in front of the first one after it that does, where products, attention, loops or row regions lie in between:
    the weight gradient beside the sum of the input gradient, say. Loops over elements that take the result follow the wait as far as such
    work comes behind them: the addition of a reduced gradient to its sum. Neither moves past other communication, so that the order of
    what a rank communicates stays the same, but for all-gathers of what the function is given: they begin where they stand
    (`ppc-prefetch-gathers`), are waited for where they are used, and go on beside what begins after them. Those between devices of the
    pipeline stay, as their code differs.

    Such a gather, and its wait, never stands between loops, but in front of them, with `begin = false` too: loops that lie together are
    compiled together, and would round otherwise where a call comes between them.

    Requires: buffers (one-shot bufferization), of which different arguments and allocations do not overlap. After `ppc-fuse-rows`, which
    puts nothing together across communication; before `ppc-assign-offsets`: what is in flight lives until it has been waited for.
    Remarks of the category `ppc-overlap` count what moved.
  }];
  let options = [Option<"begin", "begin", "bool", "true", "without it no collective begins early">];
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
}

def SimulateProgramPass : Pass<"ppc-simulate-program", "ModuleOp"> {
  let summary = "print how long a step of a program takes on emulated links, and how much of it is exposed communication";
  let description = [{
    Replays the step of a `ppcrt.program`, rank by rank: its actions on streams, behind their tokens and early tokens, messages and
    collectives on the links of `emulation`, and in the code of routines what is communicated, started and waited for between pieces of
    computation, which take the times of `durations`. Nothing is estimated. What a program says that is run with `--emulate` and the
    same two files is to be the same (docs/guide/Emulate.md).

    Prints to standard error, as CSV, a row for each rank: `rank`, `step_s`, `exposed_s` (of the step, while the rank computes nothing), in
    seconds, means of `steps` steps that follow each other. The program is not changed.

    Requires: a module as `ppc-phase-device` leaves it (`ppc-compile --emit=device`), with groups over axes and no communication in
    loops.
  }];
  let options = [
    Option<"emulation", "emulation", "std::string", "", "file with links, as for --emulate of programs">,
    Option<"durations", "durations", "std::string", "", "file that --save-durations of the program has written; default: those in `emulation`">,
    Option<"steps", "steps", "int64_t", "8", "steps that are replayed, from 1 to 10000">];
}

#endif // PPC_TRANSFORMS_OVERLAP_PASSES_TD
