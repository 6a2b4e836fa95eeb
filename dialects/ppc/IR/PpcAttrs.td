// Attributes: the device grid, shardings, blocks, initialisation, parts of a step, the plan.
#ifndef PPC_IR_PPCATTRS_TD
#define PPC_IR_PPCATTRS_TD

include "dialects/ppc/IR/PpcDialect.td"
include "dialects/ppc/IR/PpcEnums.td"
include "ppc/Sharding/Combiner.td"
include "mlir/IR/AttrTypeBase.td"

class Ppc_Attr<string name, string attrMnemonic> : AttrDef<Ppc_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Ppc_CombinerAttr : EnumAttr<Ppc_Dialect, Ppc_Combiner, "combiner"> {
  let assemblyFormat = "`<` $value `>`";
}

def Ppc_PartAttr : EnumAttr<Ppc_Dialect, Ppc_Part, "part"> {
  let assemblyFormat = "`<` $value `>`";
}

def Ppc_AttentionStrategyAttr : EnumAttr<Ppc_Dialect, Ppc_AttentionStrategy, "attention_strategy"> {
  let assemblyFormat = "`<` $value `>`";
}

def Ppc_GridAttr : Ppc_Attr<"Grid", "grid"> {
  let summary = "named axes of devices";
  let description = [{
    The axes of one pipeline stage's devices, outermost first, for example `#ppc.grid<dp = 2, tp = 4>`. Names are unique,
    sizes are at least one. The pipeline axis is not part of it: `#ppc.plan` says how many stages there are.

    Each axis has a role (`ppc/Sharding/AxisRole.h`): dp is `data`, cp `context`, ep `expert`, any other name `tensor`, unless it says
    one: `#ppc.grid<rows = 2 : data, spare = 2 : replica>`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names, ArrayRefParameter<"int64_t">:$sizes,
                        ArrayRefParameter<"::mlir::ppc::AxisRole">:$roles);
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<::mlir::StringAttr>":$names, "::llvm::ArrayRef<int64_t>":$sizes,
                                   CArg<"::llvm::ArrayRef<::mlir::ppc::AxisRole>", "{}">:$roles), [{
    // Without roles: those of the names.
    ::llvm::SmallVector<::mlir::ppc::AxisRole> said(roles);
    for (::mlir::StringAttr name : names.drop_front(said.size()))
      said.push_back(defaultAxisRole(name));
    return $_get($_ctxt, names, sizes, ::llvm::ArrayRef<::mlir::ppc::AxisRole>(said));
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Size of `axis`; 1 for an axis that the grid does not have.
    int64_t size(::llvm::StringRef axis) const;
    bool has(::llvm::StringRef axis) const;
    /// That of its name for an axis that the grid does not have.
    AxisRole role(::llvm::StringRef axis) const;
    /// Product of the sizes of the axes of that role.
    int64_t product(AxisRole role) const;
    /// Number of devices in the grid.
    int64_t deviceCount() const;
    /// Product of the sizes of `axes` (an array of strings).
    int64_t product(::mlir::ArrayAttr axes) const;
  }];
}

def Ppc_ShardingAttr : Ppc_Attr<"Sharding", "sharding"> {
  let summary = "how a logical tensor is cut over the grid";
  let description = [{
    Per dimension the ordered list of grid axes that cut it (major to minor), and the axes over which each device holds
    only a part of a reduction that is still to be done: `#ppc.sharding<[{dp}, {}, {tp} ]>`,
    `#ppc.sharding<[{dp}, {} ], partial = {tp: sum}>`. An axis appears at most once. A dimension of n elements cut k ways
    has ceil(n / k) elements on each device; the last blocks are padded, never truncated.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::ArrayAttr">:$dims,
                        ArrayRefParameter<"::mlir::StringAttr">:$partialAxes,
                        ArrayRefParameter<"::mlir::ppc::Combiner">:$partialCombiners);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// No axis anywhere.
    static ShardingAttr replicated(::mlir::MLIRContext *context, int64_t rank);
    bool isReplicated() const;
    bool isPartial() const { return !getPartialAxes().empty(); }
    /// The same dimensions with nothing pending.
    ShardingAttr withoutPartial() const;
    /// The type of one device's part of a tensor of type `logical`.
    ::mlir::RankedTensorType localType(::mlir::RankedTensorType logical, GridAttr grid) const;
  }];
}

def Ppc_BlockAttr : Ppc_Attr<"Block", "block"> {
  let summary = "which block of a logical dimension a local op sees";
  let description = [{
    `#ppc.block<[tp], 131>`: of a dimension of 131 elements, cut over the axes `[tp]` of k devices in blocks of
    ceil(131 / k), the op holds the block of its own coordinate; elements at or past 131 are padding. Set by the
    partitioner on ops whose meaning depends on the global index.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$axes, "int64_t":$extent);
  let hasCustomAssemblyFormat = 1;
}

def Ppc_InitAttr : Ppc_Attr<"Init", "init"> {
  let summary = "how a parameter is initialised";
  let description = [{
    `#ppc.init<zeros>`, `#ppc.init<ones>`, `#ppc.init<normal, 0.02>` (mean 0, the given standard deviation). The random
    numbers depend on the seed, the parameter's name and the logical element index only: no layout changes them.
    `#ppc.init<normal, 0.02, zero_row 3>`: row 3 begins with zeros, as that of a padding token.
  }];
  let parameters = (ins EnumParameter<Ppc_InitKind>:$kind, "::mlir::FloatAttr":$stddev,
                        "std::optional<int64_t>":$zeroRow);
  let builders = [AttrBuilder<(ins "InitKind":$kind, "::mlir::FloatAttr":$stddev),
                              [{ return $_get($_ctxt, kind, stddev, std::nullopt); }]>];
  let hasCustomAssemblyFormat = 1;
}

def Ppc_PlanAttr : Ppc_Attr<"Plan", "plan"> {
  let summary = "the whole layout decision as data";
  let description = [{
    - `grid`: the devices of one stage.
    - `stages`: the first layer of each pipeline stage, starting with 0; as many entries as stages.
    - `vp`: virtual stages per pipeline device, 1 where it is not said. There are `stages` / `vp` pipeline devices; which holds which
      stages is the schedule's choice.
    - `schedule`: name of the pipeline schedule.
    - `micro_batches`: micro-batches per step.
    - `dimensions`: logical dimension name to axes, `{batch = ["dp"], ffn = ["tp"]}`; applies to every function argument
      through its `ppc.dims`.
    - `parameters`: parameter name to `#ppc.sharding`, overriding `dimensions` (ZeRO, hand-made layouts).
    - `recompute`, where backward computes anything again: layers (`"3"` or `"1-8"`) to what of them: `"full"`, `"selective"`
      (attention), or a list of op names, `["silu", "matmul.3"]`: all of a kind, or one by its place among those of its kind in the
      forward of the layer, from 0. Read by `ppc-select-recompute`.
    - `activations`, where there are any: dimension name to axes, of what is computed from the inputs, wherever nothing else cuts it
      over these axes (sequence parallelism: `{sequence = ["tp"]}`). Read by `ppc-propagate-shardings`. `{kv_heads = ["cp"]}` or
      `{head_group = ["cp"]}`, over the axes that cut the dimension "sequence": attention exchanges that cut for one of heads
      (Ulysses). Read by `ppc-apply-plan`.
    - `update`, where there are any: axes that cut the optimizer's state and the update, each along the dimension where the smallest
      block is left, besides what cuts their parameter (ZeRO-1: `["dp"]`).
    - `gradients`, where there are any: axes that cut the accumulated gradients in the same way, summed in each micro-batch (ZeRO-2). They
      are the first of `update`; over the others gradients are summed once, before the update.
    - `storage`, where there are any: axes that cut parameters in the same way until they are used, when they are gathered (ZeRO-3, FSDP).
      They are the first of `update`, as `gradients` are: each lies over a group of ranks of its own (AMSP, arXiv 2311.00257). Without
      `gradients` sums are whole until the end of the step, and reduced once.
    - `overlap = true` where communication goes beside computation (`ppc-overlap-reductions`, `ppc-start-collectives`); without it none does.
    - `offload = "optimizer"` where the optimizer's state, and parameters that nothing but it and what rounds them reads, lie in the memory of
      the host between updates (`ppc-offload-optimizer`); `"activations"` where what forward keeps for backward does in between
      (`ppc-offload-activations`); `"parameters"` where those of a virtual stage do while others are computed (`ppc-offload-parameters`);
      several with + between them.

    - `rotate = true` where blocks of parameters that `storage` cuts go round the ranks, for products that can take them one after the other,
      in place of being gathered (`ppc-rotate-shards`; RTP, arXiv 2311.01635).
    - `pieces = 4`: into so many a product and the collective beside it are cut where they can be (`ppc-cut-products`), 1: into none; without
      it by cost, with `overlap`.

    Written by `ppc-make-plan` or a person; read by `ppc-apply-plan`. As a file it is YAML.
  }];
  let parameters = (ins "::mlir::ppc::GridAttr":$grid,
                        ArrayRefParameter<"int64_t">:$stages,
                        DefaultValuedParameter<"int64_t", "1">:$vp,
                        "::mlir::StringAttr":$schedule,
                        "int64_t":$micro_batches,
                        "::mlir::DictionaryAttr":$dimensions,
                        "::mlir::DictionaryAttr":$parameters,
                        OptionalParameter<"::mlir::DictionaryAttr">:$recompute,
                        OptionalParameter<"::mlir::DictionaryAttr">:$activations,
                        OptionalParameter<"::mlir::ArrayAttr">:$update,
                        OptionalParameter<"::mlir::BoolAttr">:$overlap,
                        OptionalParameter<"::mlir::ArrayAttr">:$gradients,
                        OptionalParameter<"::mlir::ArrayAttr">:$storage,
                        OptionalParameter<"::mlir::StringAttr">:$offload,
                        OptionalParameter<"::mlir::BoolAttr">:$rotate,
                        OptionalParameter<"::mlir::IntegerAttr">:$pieces);
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "::mlir::ppc::GridAttr":$grid, "::llvm::ArrayRef<int64_t>":$stages, "int64_t":$vp,
                                   "::mlir::StringAttr":$schedule, "int64_t":$micro_batches,
                                   "::mlir::DictionaryAttr":$dimensions, "::mlir::DictionaryAttr":$parameters,
                                   CArg<"::mlir::DictionaryAttr", "{}">:$recompute,
                                   CArg<"::mlir::DictionaryAttr", "{}">:$activations,
                                   CArg<"::mlir::ArrayAttr", "{}">:$update,
                                   CArg<"bool", "false">:$overlap,
                                   CArg<"::mlir::ArrayAttr", "{}">:$gradients,
                                   CArg<"::mlir::ArrayAttr", "{}">:$storage,
                                   CArg<"::mlir::StringAttr", "{}">:$offload,
                                   CArg<"bool", "false">:$rotate,
                                   CArg<"int64_t", "0">:$pieces), [{
    // Nothing is said in one way.
    auto orNull = [](auto attribute) { return attribute && attribute.empty() ? decltype(attribute)() : attribute; };
    return $_get($_ctxt, grid, stages, vp, schedule, micro_batches, dimensions, parameters, orNull(recompute),
                 orNull(activations), orNull(update), overlap ? ::mlir::BoolAttr::get($_ctxt, true) : ::mlir::BoolAttr(),
                 orNull(gradients), orNull(storage), orNull(offload),
                 rotate ? ::mlir::BoolAttr::get($_ctxt, true) : ::mlir::BoolAttr(),
                 pieces ? ::mlir::IntegerAttr::get(::mlir::IntegerType::get($_ctxt, 64), pieces) : ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{
    `<` `grid` `=` $grid `,` `stages` `=` `[` $stages `]` `,` (`vp` `=` $vp^ `,`)? `schedule` `=` $schedule `,` `micro_batches` `=` $micro_batches
    `,` `dimensions` `=` $dimensions `,` `parameters` `=` $parameters
    `` custom<OptionalFields>($recompute, $activations, $update, $overlap, $gradients, $storage, $offload, $rotate, $pieces) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Coordinates of the pipeline axis: each holds `vp` of the stages.
    int64_t getPipelineDevices() const { return int64_t(getStages().size()) / getVp(); }
    /// The same plan with other layers or ops to compute again; null: none.
    PlanAttr withRecompute(::mlir::DictionaryAttr recompute) const;
    /// Whether communication goes beside computation; and the same plan where it does, or not.
    bool overlaps() const { return getOverlap() && getOverlap().getValue(); }
    PlanAttr withOverlap(bool overlap) const;
    /// Whether blocks of parameters go round the ranks; and the same plan where they do, or not.
    bool rotates() const { return getRotate() && getRotate().getValue(); }
    PlanAttr withRotation(bool rotate) const;
    /// Into how many pieces products and the collectives beside them are cut, 1: none; 0: by cost. And the same plan with
    /// another number.
    int64_t pieces() const { return getPieces() ? getPieces().getInt() : 0; }
    PlanAttr withPieces(int64_t pieces) const;
    /// Whether the optimizer's state lies in the memory of the host.
    bool offloadsOptimizer() const { return offloads("optimizer"); }
    /// Whether what forward keeps for backward does, in between.
    bool offloadsActivations() const { return offloads("activations"); }
    /// Whether parameters do, while other virtual stages are computed.
    bool offloadsParameters() const { return offloads("parameters"); }
    bool offloads(::llvm::StringRef kind) const;
  }];
}

#endif // PPC_IR_PPCATTRS_TD
