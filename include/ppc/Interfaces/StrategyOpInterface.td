// The question "in which ways can ranks share this op?"
#ifndef PPC_INTERFACES_STRATEGYOPINTERFACE_TD
#define PPC_INTERFACES_STRATEGYOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def StrategyOpInterface : OpInterface<"StrategyOpInterface"> {
  let cppNamespace = "::mlir::ppc";
  let description = [{
    Ops that are more than their loops have alternatives in which ranks can share them: attention over a cut sequence may gather
    keys and values, for example. Each alternative has a name. The chosen one is an attribute of the op, and decides

    - the sharding rule (`ShardingRuleOpInterface::getShardingRule`): which loops may be cut;
    - with it the partitioned form: what the rule leaves whole is gathered, what it leaves partial is reduced, and the op is told
      its block (`setFactorBlock`).

    Lifespan: chosen by `ppc-apply-plan`, on the logical program; `ppc-partition-to-spmd` takes the choice away, since one rank's op
    computes what its types and blocks say. The meaning of the op on logical tensors is the same under all strategies.

    What an alternative needs besides: a row of the price (`lib/CostModel`), a rule of the proof for its partitioned form
    (`lib/Equivalence/OpLoops.cpp`), and a case of brute force in `test/Dialect/ppc/Sharding` (docs/internals/AddingAnOp.md).
  }];
  let methods = [
    InterfaceMethod<[{
      Names of the alternatives. The first is what stands where nobody chooses: nothing is cut that would need a choice.
    }], "::llvm::SmallVector<::llvm::StringRef>", "getStrategies">,
    InterfaceMethod<"The name of the chosen alternative.", "::llvm::StringRef", "getChosenStrategy">,
    InterfaceMethod<[{
      A loop whose cut is exchanged for one of another loop around the op, under the chosen alternative: first and second of the
      result, by factor of the sharding rule. Values before and behind the op are cut along the first. Nothing: none.
    }], "std::optional<std::pair<unsigned, unsigned>>", "getExchange", (ins), "", "return std::nullopt;">,
    InterfaceMethod<[{
      Chooses an alternative by name. Fails, without a message and with nothing changed, for a name that is none of
      `getStrategies()`.
    }], "::llvm::LogicalResult", "chooseStrategy", (ins "::llvm::StringRef":$name)>
  ];
}

#endif // PPC_INTERFACES_STRATEGYOPINTERFACE_TD
