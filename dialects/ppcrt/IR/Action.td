// Actions of a device in a step, in the order in which they are issued.
#ifndef PPCRT_IR_ACTION_TD
#define PPCRT_IR_ACTION_TD

include "dialects/ppcrt/IR/ActionInterface.td"
include "dialects/ppcrt/IR/PpcRtDialect.td"
include "dialects/ppcrt/IR/PpcRtEnums.td"
include "dialects/ppcrt/IR/PpcRtTypes.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class PpcRt_SequenceOp<string mnemonic> : PpcRt_Op<mnemonic, [
    NoTerminator, NoRegionArguments, SingleBlock, HasParent<"DeviceOp">]> {
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def PpcRt_StepOp : PpcRt_SequenceOp<"step"> {
  let summary = "the actions of a device in one step";
  let description = [{
    Lists actions in the order in which they are issued. Before the first, gradients and accumulators are zero and
    scalars are set; the step ends when all actions have completed, so that no actions of two steps overlap.

    C1: nothing but actions is inside.

    Example:
    ```mlir
    ppcrt.step {
      %0 = ppcrt.load micro_batch 0 on @compute
      %1 = ppcrt.run @forward micro_batch 0 on @compute
      ppcrt.run @update after (%1) on @compute
    }
    ```
  }];
}

def PpcRt_EvaluateOp : PpcRt_SequenceOp<"evaluate"> {
  let summary = "the actions of a device that evaluate the loss and change nothing";
  let description = [{
    As `ppcrt.step`. No parameter and no state is written.

    C1: nothing but actions is inside. C2: no routine is run that writes a parameter or a state.

    Example: `ppcrt.evaluate { %0 = ppcrt.run @evaluate on @compute }`
  }];
}

// An action: tokens before and after, and a stream. `fields` are its other fields, `syntax` their assembly format.
class PpcRt_Action<string mnemonic, dag fields, string syntax> : PpcRt_Op<mnemonic, [
    DeclareOpInterfaceMethods<PpcRt_ActionInterface>, ParentOneOf<["StepOp", "EvaluateOp"]>]> {
  let arguments = !con(fields, (ins Variadic<PpcRt_Token>:$after, FlatSymbolRefAttr:$stream));
  let results = (outs Variadic<PpcRt_Token>:$tokens);
  let assemblyFormat = syntax # [{
    (`after` `(` $after^ `)`)? `on` $stream attr-dict `` custom<Tokens>(ref($after), type($after), type($tokens))
  }];
}

def PpcRt_LoadOp : PpcRt_Action<"load", (ins I64Attr:$micro_batch), "`micro_batch` $micro_batch"> {
  let summary = "fills the inputs of a micro-batch";
  let description = [{
    All buffers of the device whose role is input, in the slot of the micro-batch, with its samples.

    C1: the micro-batch is not negative.

    Example: `%0 = ppcrt.load micro_batch 3 on @compute`
  }];
  let hasVerifier = 1;
}

def PpcRt_RunOp : PpcRt_Action<"run", (ins FlatSymbolRefAttr:$routine, OptionalAttr<I64Attr>:$micro_batch),
                               "$routine (`micro_batch` $micro_batch^)?"> {
  let summary = "runs a routine";
  let description = [{
    Runs the routine for one micro-batch, in the slots of that micro-batch; a routine of the whole step names none. The
    last token completes with all of its work. The op may return one more token for each entry of the routine's `early`,
    in that order, before the last: such a token completes when the code has reached that `ppcrt.reach`; the run does
    not use the entry's buffers afterwards.

    C1: the micro-batch is not negative. C2: routines of a micro-batch say which, those of the whole step say none
    (of a program, which is looked at as a whole). C3: it gives at most one token, or as many and one more as `early` of the routine
    has entries (there, too).

    Example: `%0 = ppcrt.run @forward micro_batch 0 after (%x) on @compute`, `%1:3 = ppcrt.run @backward micro_batch 3 on @compute`
  }];
  let hasVerifier = 1;
}

def PpcRt_SendOp : PpcRt_Action<"send", (ins FlatSymbolRefAttr:$message, I64Attr:$micro_batch),
                                "$message `micro_batch` $micro_batch"> {
  let summary = "sends a message of a micro-batch";
  let description = [{
    Completes when the buffer may be overwritten. For the verifier a send and its receive synchronize: the send
    completes no earlier than the receive starts, whatever a transport buffers.

    C1: the micro-batch is not negative.

    Example: `%0 = ppcrt.send @m0 micro_batch 3 after (%f) on @to1`
  }];
  let hasVerifier = 1;
}

def PpcRt_ReceiveOp : PpcRt_Action<"receive", (ins FlatSymbolRefAttr:$message, I64Attr:$micro_batch),
                                   "$message `micro_batch` $micro_batch"> {
  let summary = "receives a message of a micro-batch";
  let description = [{
    Completes when the buffer holds the full message.

    C1: the micro-batch is not negative.

    Example: `%0 = ppcrt.receive @m0 micro_batch 3 on @from0`
  }];
  let hasVerifier = 1;
}

def PpcRt_ExchangeOp : PpcRt_Action<"exchange",
    (ins FlatSymbolRefAttr:$sent, I64Attr:$sent_micro_batch, FlatSymbolRefAttr:$received, I64Attr:$received_micro_batch),
    "`send` $sent `micro_batch` $sent_micro_batch `receive` $received `micro_batch` $received_micro_batch"> {
  let summary = "sends one message and receives another at the same time";
  let description = [{
    As a send and a receive that neither waits for the other: what neighbours do that have something for each other.

    C1: the micro-batches are not negative. C2: the two messages differ.

    Example: `%0 = ppcrt.exchange send @m0 micro_batch 1 receive @m1 micro_batch 0 on @messages`
  }];
  let hasVerifier = 1;
}

def PpcRt_CollectiveOp : PpcRt_Action<"collective",
    (ins PpcRt_CollectiveKindAttr:$kind, OptionalAttr<PpcRt_ReductionKindAttr>:$reduction, FlatSymbolRefAttr:$group,
         FlatSymbolRefArrayAttr:$reads, FlatSymbolRefArrayAttr:$writes, OptionalAttr<I64Attr>:$micro_batch),
    "$kind ($reduction^)? `group` $group `reads` $reads `writes` $writes (`micro_batch` $micro_batch^)?"> {
  let summary = "collective of a group on buffers";
  let description = [{
    What the op of that name does on the buffers `reads[i]` and `writes[i]`, one call for each i: several buffers make a bucket.

    C1: reductions, and no others, say which. C2: as many reads as writes, at least one; a ragged all-to-all has two of each, values
    and counts. C3: an all-reduce and a permute are in place or between buffers of one type. C4: the micro-batch is not negative.

    Example: `%0 = ppcrt.collective all_reduce sum group @dp reads [@g0, @g1] writes [@g0, @g1] after (%b) on @dp_comm`
  }];
  let hasVerifier = 1;
}

def PpcRt_CopyOp : PpcRt_Action<"copy",
    (ins FlatSymbolRefAttr:$from, FlatSymbolRefAttr:$to, OptionalAttr<I64Attr>:$micro_batch),
    "$from `to` $to (`micro_batch` $micro_batch^)?"> {
  let summary = "copies a buffer to another, within one memory or between device and host";
  let description = [{
    C1: the buffers differ. C2: the micro-batch is not negative.

    Example: `%0 = ppcrt.copy @h to @h_on_host micro_batch 3 after (%f) on @copies`
  }];
  let hasVerifier = 1;
}

def PpcRt_CheckFiniteOp : PpcRt_Action<"check_finite", (ins FlatSymbolRefArrayAttr:$buffers, OptionalAttr<I64Attr>:$micro_batch),
                                       "$buffers (`micro_batch` $micro_batch^)?"> {
  let summary = "stops the run if a buffer contains a value that is not finite";
  let description = [{
    C1: at least one buffer. C2: the micro-batch is not negative.

    Example: `ppcrt.check_finite [@loss] after (%u) on @compute`
  }];
  let hasVerifier = 1;
}

#endif // PPCRT_IR_ACTION_TD
