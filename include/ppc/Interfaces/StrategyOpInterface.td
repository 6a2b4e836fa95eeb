// The question "in which ways can ranks share this op?"
#ifndef PPC_INTERFACES_STRATEGYOPINTERFACE_TD
#define PPC_INTERFACES_STRATEGYOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def StrategyOpInterface : OpInterface<"StrategyOpInterface"> {
  let cppNamespace = "::mlir::ppc";
  let description = [{
    Ops whose loops do not tell all have alternatives in which ranks can share them: attention over a sharded sequence
    may gather keys and values, for example. Each alternative has a name. The chosen one is an attribute of the op, and
    decides

    - the sharding rule (`ShardingRuleOpInterface::getShardingRule`): which loops may be sharded;
    - with it the partitioned form: dimensions that the rule leaves unsharded are gathered, results that it leaves partial are reduced, and
      the op is told its block (`setFactorBlock`).

    Lifespan: chosen by `ppc-apply-plan`, on the logical program; `ppc-partition-to-spmd` takes the choice away, since one rank's op
    computes what its types and blocks say. The meaning of the op on logical tensors is the same under all strategies.

    An alternative also needs a term of the cost model (`lib/CostModel`), a rule of the proof for its partitioned form
    (`lib/Equivalence/OpLoops.cpp`), and a brute-force case in `test/Dialect/ppc/Sharding`
    (docs/internals/AddingAnOp.md).
  }];
  let methods = [
    InterfaceMethod<[{
      Names of the alternatives. The first is the default: under it no loop is sharded that would need a choice.
    }], "::llvm::SmallVector<::llvm::StringRef>", "getStrategies">,
    InterfaceMethod<"The name of the chosen alternative.", "::llvm::StringRef", "getChosenStrategy">,
    InterfaceMethod<[{
      The pair of factors whose sharding an all-to-all exchanges around the op under the chosen alternative: values
      before and after the op are sharded along the first, inside along the second. `std::nullopt` if there is no
      exchange.
    }], "std::optional<std::pair<unsigned, unsigned>>", "getExchange", (ins), "", "return std::nullopt;">,
    InterfaceMethod<[{
      Chooses an alternative by name. Fails, without a message and with nothing changed, if `getStrategies()` does not
      contain the name.
    }], "::llvm::LogicalResult", "chooseStrategy", (ins "::llvm::StringRef":$name)>
  ];
}

#endif // PPC_INTERFACES_STRATEGYOPINTERFACE_TD
