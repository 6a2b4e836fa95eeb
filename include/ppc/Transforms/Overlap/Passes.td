// Passes that overlap communication with computation.
#ifndef PPC_TRANSFORMS_OVERLAP_PASSES_TD
#define PPC_TRANSFORMS_OVERLAP_PASSES_TD

include "mlir/Pass/PassBase.td"

def OverlapReductionsPass : Pass<"ppc-overlap-reductions", "ModuleOp"> {
  let summary = "reduce gradients between ranks while backward computes the next ones";
  let description = [{
    Moves all-reduces and reduce-scatters of sums of micro-batches out of the update: they become `ppcrt.collective`
    actions in buckets, on a stream for each group, after the last action that adds to these sums. If that is a run that
    continues afterwards, its routine signals when it has finished with a bucket (`early`, `ppcrt.reach` after the layer
    of the bucket's last gradient), and the run of the last micro-batch returns tokens for that. Reduce-scattered sums
    are stored in the buffer of the gradient, so that no memory is added.

    The buckets are chosen by cost: the estimated times at which layers of the remaining runs finish their gradients,
    and the time of a collective of the bucket's bytes over these ranks of `cluster`. One more bucket must save 1 % of
    the time of a single reduction. A group whose reductions would start after the last run in any case stays in the
    update.

    The update keeps: collectives of values that are not sums of micro-batches or are combined before (over stages,
    say), values that an evaluation reads (the loss), groups over which micro-batches communicate themselves, blocks
    that are not contiguous in memory.

    Requires: a scheduled `ppcrt.program` on tensors (`ppc-apply-schedule`). Guarantees: the same sums, in the same
    order of ranks; every bucket's stream order equals the list's. Remarks of the category `ppc-overlap` report the
    moved collectives, and how much of their time is estimated to be hidden.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "", "machine, as for ppc-search-plan; default: this one, not measured">,
    Option<"buckets", "buckets", "int64_t", "0", "as many buckets for each group, whatever they cost; 0: by cost">];
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
}

def PrefetchGathersPass : Pass<"ppc-prefetch-gathers", "ModuleOp"> {
  let summary = "prefetch sharded parameters: start all-gathers ahead of their use";
  let description = [{
    In the code that runs for each micro-batch, an all-gather of an argument of the code (a block of a parameter, under
    ZeRO 3) moves to the first use of an earlier gather, so that it overlaps with the ops that use that one: across
    layers, and across the reduction of a gradient in between. `ppc-start-collectives` starts it there and waits for it
    where it is used.

    The prefetch distance, one gather or two, within the layer that uses it or across layers, is decided by cost for all
    functions of a kind (forwards, backwards) together, so that layers stay equal: the estimated work of their ops, and
    the times of their collectives over these ranks of `cluster`, one at a time per group. An earlier start, or crossing
    layers, must save 1 % of the time of all the gathers. A layer has at most twice as many gathered bytes live at a
    time as without this pass: else a gather starts later.

    Requires: a scheduled `ppcrt.program` on tensors (`ppc-apply-schedule`). Guarantees: the same values; ops of a
    function are in the order of `ppc-outline-layers`, and a gather belongs to the layer that it overlaps with; gathers
    that start before the first layer belong to a layer of their own, as if a layer preceded it. Remarks of the category
    `ppc-overlap` report the number of moved gathers and the time that they are estimated to save.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "", "machine, as for ppc-search-plan; default: this one, not measured">,
    Option<"ahead", "ahead", "int64_t", "-1", "number of gathers to prefetch, whatever that saves; -1: by cost">];
}

def CutProductsPass : Pass<"ppc-cut-products", "ModuleOp"> {
  let summary = "split matmuls and the collectives that take their results into chunks";
  let description = [{
    In the code that runs for each micro-batch, an all-reduce or reduce-scatter that sums one matmul, or the sum of
    several, over ranks is chunked: the rows of the result (tokens) are split, and each chunk of the matmuls is followed
    by the collective on that chunk, which overlaps with the next one (`ppc-start-collectives`). Along the dimension
    that is scattered a chunk consists of a slice of each rank's block: `split` takes it as runs. Padded blocks are not
    chunked, nor are gradients of weights. Chunks of operands are read and chunks of results written in place
    (`ppc-to-linalg`). Rows are the outermost dimension with several elements, and the one after it if that has fewer
    elements than there are to be chunks; tiles of 128 rows stay whole if there are enough.

    The plan gives the number of chunks (`pieces`), 1: none, or leaves it to the cost of each matmul: its chunks as
    matmuls of their size, the collective in as many smaller ones on `cluster`, later work that hides it in any case,
    and the share of the device that a collective takes from concurrent matmuls. A larger number of chunks must save 1 %
    of the collective more than a smaller one.

    Requires: a scheduled `ppcrt.program` on tensors (`ppc-apply-schedule`). Guarantees: the same values; each element
    is a sum of the same terms. Remarks of the category `ppc-overlap` report the number of chunked collectives, the time
    left exposed, the exposed time of collectives left unchunked by cost, and why the number in the plan has no effect.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "", "machine, as for ppc-search-plan; default: this one, not measured">];
}

def SeparateDestinationsPass : Pass<"ppc-separate-destinations", "func::FuncOp"> {
  let summary = "give chunks that are scattered over ranks separate buffers";
  let description = [{
    Equal empty tensors become one (CSE), and with it one buffer, which one result after the other reuses. The operand
    of a `ppcrt.reduce_scatter` whose result is inserted into a larger tensor, as a chunk is (`ppc-cut-products`), gets
    an empty tensor of its own, so that the next chunk is computed while it is scattered (`ppc-start-collectives`).
    Operands that are scattered unchunked share their buffer as before.

    Requires: tensors with destinations, before one-shot bufferization and after the last CSE before it. Guarantees: the
    same values.
  }];
}

def StartCollectivesPass : Pass<"ppc-start-collectives", "ModuleOp"> {
  let summary = "overlap collectives inside compiled functions with independent ops";
  let description = [{
    An all-reduce, all-gather or reduce-scatter in the block of a function becomes a `ppcrt.start` after the last
    preceding op that accesses its buffers, and a `ppcrt.wait` before the first following one that does, if matmuls,
    attention, loops or row regions are in between: the weight gradient overlaps the sum of the input gradient, say.
    Elementwise loops that use the result move after the wait as far as such work follows them: the addition of a
    reduced gradient to its sum. Neither moves past other communication, so that a rank communicates in the same order,
    except for all-gathers of arguments: they start in place (`ppc-prefetch-gathers`), are waited for where they are
    used, and overlap with communication that starts after them. Collectives between pipeline ranks stay, as their code
    differs.

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
  let summary = "print the step time of a program on emulated links, and its exposed communication";
  let description = [{
    Replays the step of a `ppcrt.program`, rank by rank: its actions on streams, after their tokens and completion
    events inside routines, messages and collectives on the links of `emulation`, and in the code of routines the
    communication, starts and waits between segments of computation, which take the times of `durations`. Nothing is
    estimated. A program that is run with `--emulate` and the same two files must report the same times
    (docs/guide/Emulate.md).

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
