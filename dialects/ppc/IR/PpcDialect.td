// The model dialect and the base classes of its ops.
#ifndef PPC_IR_PPCDIALECT_TD
#define PPC_IR_PPCDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "ppc/Interfaces/ShardingRuleOpInterface.td"
include "ppc/Interfaces/CostOpInterface.td"
include "ppc/Interfaces/DifferentiableOpInterface.td"
include "ppc/Interfaces/ReferenceOpInterface.td"
include "ppc/Interfaces/StrategyOpInterface.td"

def Ppc_Dialect : Dialect {
  let name = "ppc";
  let cppNamespace = "::mlir::ppc";
  let summary = "models and their training as logical tensor programs";
  let description = [{
    Value-semantics ops on statically shaped tensors that describe a model, its training step, and, after partitioning,
    what each rank computes. Ops know their loops (sharding rule), their work (cost), their derivative and their
    executable meaning (reference).

    Discardable attributes that passes use to talk to each other:

    | attribute | on | meaning |
    |---|---|---|
    | `ppc.input`, `ppc.parameter`, `ppc.state` | function arguments | what the argument is, by name |
    | `ppc.dims` | function arguments | logical name of each dimension, for example `["vocab", "hidden"]` |
    | `ppc.init` | parameters | `#ppc.init`, how it is initialised |
    | `ppc.no_weight_decay` | parameters | excluded from decoupled weight decay |
    | `ppc.sharding` | function arguments | `#ppc.sharding` |
    | `ppc.shardings` | ops | one `#ppc.sharding` per result |
    | `ppc.factors` | ops | mesh axes that shard each factor, by name, `{b = ["dp"]}` |
    | `ppc.operand_shardings` | `ppc.accumulate` | one `#ppc.sharding` per block argument |
    | `ppc.logical_type` | arguments and results of partitioned functions | type before partitioning |
    | `ppc.part` | ops | `#ppc.part`, forward, backward, weight_gradient or update |
    | `ppc.layer` | ops | position in the chain of layers: 0 is the embedding, L + 1 the LM head |
    | `ppc.slice` | ops | slice of the sequence, if micro-batches run in several; 0 by default |
    | `ppc.stage` | ops | pipeline stage; i n is added for slice i with n stages |
    | `ppc.recompute` | forward ops | backward recomputes the results |
    | `ppc.plan` | module | `#ppc.plan` |
    | `ppc.precision` | module | element type that matmuls read, if it is not the type of the parameters |
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

// Tensors of the dialect: static shapes only, no dimension of size zero (nothing to compute, and nothing to shard),
// and no more elements and dimensions than can be counted with (docs/reference/Limits.md).
def Ppc_HasLegalShape : CPred<"::mlir::ppc::isLegalShape(::llvm::cast<::mlir::ShapedType>($_self).getShape())">;
class Ppc_TensorOf<list<Type> elements> : ConfinedType<
    StaticShapeTensorOf<elements>, [Ppc_HasLegalShape],
    StaticShapeTensorOf<elements>.summary # " with no dimension of size zero, at most 2^46 elements and 64 dimensions",
    "::mlir::RankedTensorType">;
def Ppc_FloatTensor : Ppc_TensorOf<[F16, BF16, F32, F64]>;
def Ppc_IndexTensor : Ppc_TensorOf<[I32, I64]>;
def Ppc_Tensor : Ppc_TensorOf<[F16, BF16, F32, F64, I32, I64]>;
def Ppc_FloatScalar : 0DTensorOf<[F16, BF16, F32, F64]>;

class Ppc_Op<string mnemonic, list<Trait> traits = []> : Op<Ppc_Dialect, mnemonic, traits>;

// An op of a model: it has no side effects, and implements every interface. `Ppc_DifferentiableOp` has a derivative,
// `Ppc_FinalOp` gives the reason why it has none. There is no third kind, so every op declares one of the two.
class Ppc_DifferentiableOp<string mnemonic, list<Trait> traits = []> : Ppc_Op<mnemonic, traits # [
    Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface, ["buildGradient", "keptForGradient"]>,
    DeclareOpInterfaceMethods<ReferenceOpInterface, ["evaluate"]>]>;

class Ppc_FinalOp<string mnemonic, string noGradient, list<Trait> traits = []> : Ppc_Op<mnemonic, traits # [
    Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface>,
    DifferentiableOpInterface,
    DeclareOpInterfaceMethods<ReferenceOpInterface, ["evaluate"]>]> {
  let extraClassDeclaration = "::llvm::StringRef noGradientReason() { return \"" # noGradient # "\"; }";
}

#endif // PPC_IR_PPCDIALECT_TD
