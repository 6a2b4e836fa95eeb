// The program of all devices: buffers in their memory, routines, and messages between devices.
#ifndef PPCRT_IR_PROGRAM_TD
#define PPCRT_IR_PROGRAM_TD

include "dialects/ppc/IR/PpcAttrs.td"
include "dialects/ppcrt/IR/PpcRtDialect.td"
include "dialects/ppcrt/IR/PpcRtEnums.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def PpcRt_GroupOp : PpcRt_Op<"group", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "ranks that communicate";
  let description = [{
    Divides ranks into sets: by `axes`, ranks that differ only in these axes of the mesh, ordered row-major in the
    listed order; if `stages` are given, only these coordinates of the pipeline axis; or by an explicit list of `ranks`,
    each of which is in one set at most. Every member makes the same calls on a group in the same order.

    C1: either axes or ranks. C2: axes are not empty, none is listed twice. C3: stages are ascending, not negative, at least one.
    C4: no set of ranks is empty, no rank is negative or in two sets, and all sets have one size.

    Lifespan: created with the first op that communicates over it.

    Example: `ppcrt.group @tp axes ["tp"]`, `ppcrt.group @tied axes ["pp"] stages [0, 3]`,
    `ppcrt.group @pairs ranks [[0, 3], [1, 2]]`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrArrayAttr>:$axes, OptionalAttr<DenseI64ArrayAttr>:$stages,
                       OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr, "sets of ranks">>:$ranks);
  let assemblyFormat = "$sym_name (`axes` $axes^)? (`stages` $stages^)? (`ranks` $ranks^)? attr-dict";
  let hasVerifier = 1;
}

def PpcRt_ProgramOp : PpcRt_Op<"program", [
    Symbol, SymbolTable, IsolatedFromAbove, NoTerminator, NoRegionArguments, SingleBlock, HasParent<"::mlir::ModuleOp">]> {
  let summary = "program of all devices for a step";
  let description = [{
    Holds one `ppcrt.device` for each coordinate of the first axis of the mesh, and the `ppcrt.message`s between them. A
    device stands for all ranks with that coordinate: they run the same program on other blocks of the tensors. Routines
    name functions of the module; everything else is inside. `copies` of the model share the micro-batches: each works
    on an equal share of them, in chunks and with parameters of its own, as in bidirectional schedules.

    C1: there is at least one micro-batch, and at most as many as a step may have sequences (docs/reference/Limits.md).
    C2: the first axis of the mesh is "pp". C3: there is one device for each of its coordinates, in order. C4: only
    devices and messages are inside. C5: there is at least one copy, and their number divides the number of
    micro-batches. C6: actions name existing routines, streams, buffers, messages and groups, and a message at its own
    end; micro-batches exist, and are given if a buffer has slots; blocks of a collective fit its ranks; tokens are of
    the same step, and match the `ppcrt.reach` ops of the code. Passes rely on it.

    What time means is checked by `ppc-verify-program` (docs/internals/Program.md).

    Lifespan: created by `ppc-split-stages`, completed by `ppc-apply-schedule` (streams, actions) and `ppc-assign-arena`
    (offsets); the manifest is written from it.

    Example:
    ```mlir
    ppcrt.program @train grid #ppc.grid<pp = 1, dp = 2> micro_batches 4 {
      ppcrt.device @device0 at 0 {
        ppcrt.stream @compute
        ppcrt.step {
        }
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Ppc_GridAttr:$grid, I64Attr:$micro_batches,
                       DefaultValuedOptionalAttr<I64Attr, "1">:$copies);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `grid` $grid `micro_batches` $micro_batches (`copies` $copies^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The devices, in order.
    ::llvm::SmallVector<DeviceOp> getDevices();
    /// The axes of one device's ranks: all but the first.
    ::mlir::ppc::GridAttr getDeviceGrid();

  private:
    ::llvm::LogicalResult verifyRoutine(const ProgramSymbols &symbols, ::mlir::SymbolTable &functions, RoutineOp routine);
    ::llvm::LogicalResult verifyMessage(const ProgramSymbols &symbols, MessageOp message);

  public:
  }];
  let hasRegionVerifier = 1;
}

def PpcRt_DeviceOp : PpcRt_Op<"device", [
    Symbol, SymbolTable, NoTerminator, NoRegionArguments, SingleBlock, HasParent<"ProgramOp">]> {
  let summary = "memory, routines and actions of the ranks of one pipeline coordinate";
  let description = [{
    Holds streams, buffers, routines, and at most one `ppcrt.step` and one `ppcrt.evaluate`. `arena` is how many bytes of memory a
    rank needs for all buffers of the device's own memory.

    C1: nothing else is inside. C2: at most one step and one evaluation. C3: the arena is not negative and within docs/reference/Limits.md.

    Example: `ppcrt.device @device0 at 0 arena 4096 { ppcrt.stream @compute }`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$at, OptionalAttr<I64Attr>:$arena);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `at` $at (`arena` $arena^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ProgramOp getProgram();
    /// By name; null when there is none. They look through the whole device: keep a SymbolTable to look up many.
    BufferOp buffer(::mlir::StringAttr name);
    RoutineOp routine(::mlir::StringAttr name);
    /// The first routine of this kind, null when there is none.
    RoutineOp routine(RoutineKind kind, int64_t chunk = 0);
    StepOp getStep();
    EvaluateOp getEvaluate();
    /// Bytes of the host's memory that the buffers take which lie there; after `ppc-assign-arena`.
    int64_t getHostBytes();
  }];
}

def PpcRt_StreamOp : PpcRt_Op<"stream", [Symbol, HasParent<"DeviceOp">]> {
  let summary = "a stream of a device: its actions run one after the other";
  let description = [{
    Actions on different streams run at the same time unless tokens order them.

    Example: `ppcrt.stream @compute`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let assemblyFormat = "$sym_name attr-dict";
}

def PpcRt_BufferOp : PpcRt_Op<"buffer", [Symbol, HasParent<"DeviceOp">]> {
  let summary = "memory of a device, of a fixed type";
  let description = [{
    A buffer with `slots` exists once for each slot: micro-batch m uses slot m modulo their number, or the m-th of
    `places` if given. A buffer that `shares` another one uses the slots of that one: both use each slot in turn. A
    buffer without slots is the same for all micro-batches. `role` determines which op fills it and how long its
    contents are needed; `name` is the name of the parameter, the state's parameter, the input, scalar or metric, or the
    origin of a saved value; `state` the kind of optimizer state. A buffer that holds a block of a logical tensor gives
    its type (`of`) and the axes that shard it (`sharding`); a parameter gives its initialisation (`init`); a saved
    value its index in the order in which a micro-batch computes values (`order`). `memory` is the device's own unless
    it is `host`. After `ppc-assign-arena`: `offset`, in bytes from the beginning of the memory, and for slots the
    `stride` from one to the next.

    C1: parameters, states, gradients, inputs, scalars and metrics have a name, and only states have a state. C2:
    inputs, saved values and messages have slots, at least one; parameters, states, gradients, accumulators, scalars,
    metrics and prepared values have none. C3: only parameters have an `init`. C4: offsets are not negative, a stride
    comes with slots and is at least the size. C5: a sharding is not partial, and has one entry per dimension; the type
    is the local one of `of` under it. C6: scratch is bytes. C7: `places` requires slots, has one entry per micro-batch
    of the program, and each is the index of a slot. C8: a buffer that shares another one has `places`, as has the
    other, which is of the same device and memory, shares no buffer itself, and has as many slots of as many bytes
    (checked by the program). C9: elements are integers or floats; bytes, slots and slot indices are within
    docs/reference/Limits.md.

    Example: `ppcrt.buffer @w parameter "lm_head.weight" : memref<32x64xf32> of tensor<64x64xf32> sharding <[{tp}, {} ]>
    init <normal, 0.02> offset 0`, `ppcrt.buffer @h saved : memref<2x32x64xf32> slots 2`,
    `ppcrt.buffer @k saved : memref<2x32x64xf32> slots 2 places [1, 0, 0, 1] shares @h`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, PpcRt_BufferRoleAttr:$role, OptionalAttr<StrAttr>:$name,
                       OptionalAttr<StrAttr>:$state, TypeAttrOf<AnyStaticShapeMemRef>:$type,
                       OptionalAttr<TypeAttrOf<AnyRankedTensor>>:$logical, OptionalAttr<Ppc_ShardingAttr>:$sharding,
                       OptionalAttr<Ppc_InitAttr>:$init, OptionalAttr<I64Attr>:$order, OptionalAttr<I64Attr>:$slots,
                       OptionalAttr<DenseI64ArrayAttr>:$places, OptionalAttr<FlatSymbolRefAttr>:$shares,
                       OptionalAttr<PpcRt_MemoryAttr>:$memory, OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$stride);
  let assemblyFormat = [{
    $sym_name $role ($name^)? (`state` $state^)? `:` $type (`of` $logical^)? (`sharding` $sharding^)? (`init` $init^)?
    (`order` $order^)? (`slots` $slots^)? (`places` $places^)? (`shares` $shares^)?
    (`memory` $memory^)? (`offset` $offset^)? (`stride` $stride^)? attr-dict
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "BufferRole":$role, "::mlir::MemRefType":$type), [{
    Properties &properties = $_state.getOrAddProperties<Properties>();
    properties.sym_name = $_builder.getStringAttr(name);
    properties.role = BufferRoleAttr::get($_builder.getContext(), role);
    properties.type = ::mlir::TypeAttr::get(type);
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MemRefType getBufferType() { return ::llvm::cast<::mlir::MemRefType>(getType()); }
    /// The tensor that lies in it.
    ::mlir::RankedTensorType getTensorType();
    /// The logical tensor of which it holds a block; its own type where nothing is said.
    ::mlir::RankedTensorType getLogicalType();
    /// Of one slot.
    int64_t getBytes();
    int64_t getSlotCount() { return getSlots().value_or(1); }
    bool hasSlots() { return getSlots().has_value(); }
    /// The one of a micro-batch; 0 where there is none.
    int64_t slotOf(int64_t microBatch);
    /// Whether it adds up values of micro-batches, from zero.
    bool isSum() { return getRole() == BufferRole::Gradient || getRole() == BufferRole::Accumulator; }
    /// "parameter w", "m of w", "gradient of w", "scalar step", "loss", "saved x"; for messages to people, and the names
    /// by which inputs and outputs of a step are known.
    std::string describe();
  }];
}

def PpcRt_BufferLists : TypedArrayAttrBase<FlatSymbolRefArrayAttr, "lists of buffers">;

def PpcRt_RoutineOp : PpcRt_Op<"routine", [Symbol, HasParent<"DeviceOp">]> {
  let summary = "a function of the module, bound to buffers of the device";
  let description = [{
    `code` names a function whose arguments are read from `reads` and whose results are written to `writes`, in order.
    On buffers (after `ppc-bind-buffers`) the function takes one buffer for each of `reads`, then one for each of
    `writes` that is not read too, then `scratch`. The run of the routine chooses the slot of a buffer with slots.
    Several routines may have one kind, and one `code`. `chunk` tells the virtual stages of a device apart.

    C1: the chunk is not negative. C2: reads, writes and scratch are buffers of the device; a buffer is written at most
    once; scratch, and no other bound buffer, has the role scratch. C3: a routine of the whole step (prepare, update,
    evaluate) is bound to no buffer with slots. C4: the code is in the module. C5: the code is a function with a body
    whose `ppcrt.routine` is this kind, and takes and returns the types of the buffers (at the end of the partition and
    of the device phase).

    `early` lists buffers that the code no longer uses after a program point before its end: a run may return a token
    for each entry, which completes when the code reaches the `ppcrt.reach` of that number. From there on the run does
    not use these buffers.

    C6: entries of `early` name bound buffers other than scratch, at least one each; none is named twice. C7: the code
    has one `ppcrt.reach` for each entry and no other, whose operands are the contents of these buffers, in order: the
    value returned to a buffer that is written, the argument of one that is only read. C8: after it the code uses
    neither these arguments nor these returned values. (C7 and C8 are checked together with C5.)

    Example: `ppcrt.routine @forward forward chunk 0 code @stage0.forward reads [@tokens, @w] writes [@h] scratch @scratch0`,
    `ppcrt.routine @backward backward code @stage0.backward reads [@h, @g0, @g1] writes [@g0, @g1] early [[@g1], [@g0]]`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, PpcRt_RoutineKindAttr:$kind, DefaultValuedAttr<I64Attr, "0">:$chunk,
                       FlatSymbolRefAttr:$code, FlatSymbolRefArrayAttr:$reads, FlatSymbolRefArrayAttr:$writes,
                       OptionalAttr<FlatSymbolRefAttr>:$scratch, OptionalAttr<PpcRt_BufferLists>:$early);
  let assemblyFormat = [{
    $sym_name $kind (`chunk` $chunk^)? `code` $code `reads` $reads `writes` $writes (`scratch` $scratch^)? (`early` $early^)?
    attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Once per step, not for one micro-batch.
    bool isOfStep();
    /// The buffers that the function takes, in order: reads, writes that are not read, scratch.
    ::llvm::SmallVector<::mlir::FlatSymbolRefAttr> getCallOrder();
    /// The entry of `early` that names `buffer`; none where no entry does.
    ::std::optional<uint32_t> getEarlyEntry(::mlir::FlatSymbolRefAttr buffer);
    size_t getEarlyCount() { return getEarly() ? getEarly()->size() : 0; }
    DeviceOp getDevice();
  }];
}

def PpcRt_MessageOp : PpcRt_Op<"message", [
    Symbol, HasParent<"ProgramOp">]> {
  let summary = "send of a value of each micro-batch from one device to another";
  let description = [{
    After the routine `made` of its own device the buffer `from` is sent, each micro-batch's once, and received in `to` before the
    routine `used`. Ranks send to the rank of the other device that has the same other coordinates.

    C1: both ends are buffers, of different devices of the program, with slots and of one type; `to` has the role message. C2: `made`
    is a routine of the sender that writes `from`, `used` one of the receiver that reads `to`, both of one micro-batch. C3: no other
    message arrives in `to`.

    Example: `ppcrt.message @m0 from @device0::@h after @forward to @device1::@x before @forward`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, SymbolRefAttr:$from, FlatSymbolRefAttr:$made, SymbolRefAttr:$to,
                       FlatSymbolRefAttr:$used);
  let assemblyFormat = "$sym_name `from` $from `after` $made `to` $to `before` $used attr-dict";
  let extraClassDeclaration = [{
    ::mlir::StringAttr getSender() { return getFrom().getRootReference(); }
    ::mlir::StringAttr getReceiver() { return getTo().getRootReference(); }
  }];
}

#endif // PPCRT_IR_PROGRAM_TD
