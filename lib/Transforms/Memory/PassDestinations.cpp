// ppc-pass-destinations: every function result gets the argument in which it is to be written. Decided on tensors, so
// that bufferization finds the destinations already there and has nothing to allocate for results.
#include "ppc/Transforms/Memory/Passes.h"

#include "dialects/ppc/IR/FunctionAttrs.h"
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_PASSDESTINATIONSPASS
#include "ppc/Transforms/Memory/Passes.h.inc"

namespace {
/// Index of the argument that each result of a function is written to.
using Destinations = SmallVector<unsigned>;

/// The argument of `function` that its result `index` updates in place, if any.
std::optional<unsigned> updatedArgument(func::FuncOp function, unsigned index) {
  auto destination = function.getResultAttrOfType<IntegerAttr>(index, attr::destination);
  return destination ? std::optional<unsigned>(destination.getInt()) : std::nullopt;
}

/// Chooses the destination of each result, and appends the arguments for the new ones.
FailureOr<Destinations> addArguments(func::FuncOp function) {
  Destinations destinations;
  if (failed(verifyDestinations(function)))
    return failure();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    Type type = function.getResultTypes()[i];
    if (std::optional<unsigned> updated = updatedArgument(function, i)) {
      if (llvm::is_contained(destinations, *updated))
        return function.emitOpError() << "has two results for argument " << *updated;
      destinations.push_back(*updated);
      continue;
    }
    unsigned argument = function.getNumArguments();
    if (failed(function.insertArgument(argument, type, function.getResultAttrDict(i), function.getLoc())))
      return failure();
    destinations.push_back(argument);
  }
  return destinations;
}

/// Whether the buffer of `argument` may be overwritten although it is not a destination: a gradient that an update
/// reduces between ranks is not needed afterwards.
bool isFree(func::FuncOp function, BlockArgument argument) {
  return ppcrt::routineKindOf(function) == ppcrt::RoutineKind::Update && argument.hasOneUse() &&
         isa<AllReduceOp>(*argument.getUsers().begin());
}

struct PassDestinationsPass : impl::PassDestinationsPassBase<PassDestinationsPass> {
  void runOnOperation() override {
    DenseMap<StringAttr, Destinations> table;
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if (!llvm::hasSingleElement(function.getBody())) {
        function.emitOpError("has several blocks; passing destinations needs one");
        return signalPassFailure();
      }
      functions.push_back(function);
      FailureOr<Destinations> destinations = addArguments(function);
      if (failed(destinations))
        return signalPassFailure();
      table[function.getSymNameAttr()] = *destinations;
    }
    for (func::FuncOp function : functions) {
      const Destinations &destinations = table[function.getSymNameAttr()];
      for (BlockArgument argument : function.getArguments())
        if (isa<RankedTensorType>(argument.getType()) && !llvm::is_contained(destinations, argument.getArgNumber()) &&
            !isFree(function, argument))
          function.setArgAttr(argument.getArgNumber(), "bufferization.writable", BoolAttr::get(&getContext(), false));
      llvm::SmallDenseSet<Value> written = passToCalls(function, table);
      writeResults(function, destinations, written);
    }
  }

  /// Passes destinations to the callees. Returns the values that their calls have already written where they belong.
  llvm::SmallDenseSet<Value> passToCalls(func::FuncOp function, const DenseMap<StringAttr, Destinations> &table) {
    llvm::SmallDenseSet<Value> written;
    const Destinations &destinations = table.at(function.getSymNameAttr());
    ValueRange returned = function.front().getTerminator()->getOperands();
    for (auto call : llvm::make_early_inc_range(function.getOps<func::CallOp>())) {
      auto it = table.find(call.getCalleeAttr().getAttr());
      if (it == table.end())
        continue;
      OpBuilder builder(call);
      unsigned inputs = call.getNumOperands();
      for (auto [result, destination] : llvm::zip(call.getResults(), it->second)) {
        if (destination < inputs) // the callee updates an operand
          continue;
        auto type = cast<RankedTensorType>(result.getType());
        auto place = llvm::find(returned, result);
        Value buffer;
        if (place != returned.end()) {
          BlockArgument candidate = function.getArgument(destinations[place - returned.begin()]);
          // Only a destination that is nothing else before may be filled early.
          if (candidate.use_empty()) {
            buffer = candidate;
            written.insert(result);
          }
        }
        if (!buffer)
          buffer = tensor::EmptyOp::create(builder, call.getLoc(), type.getShape(), type.getElementType());
        call.getOperandsMutable().append(buffer);
      }
    }
    return written;
  }

  void writeResults(func::FuncOp function, const Destinations &destinations, llvm::SmallDenseSet<Value> &written) {
    Operation *terminator = function.front().getTerminator();
    OpBuilder builder(terminator);
    for (auto [i, destination] : llvm::enumerate(destinations)) {
      Value value = terminator->getOperand(i);
      if (written.erase(value))
        continue;
      auto write = bufferization::MaterializeInDestinationOp::create(builder, function.getLoc(), value.getType(), value,
                                                                     function.getArgument(destination));
      terminator->setOperand(i, write.getResult());
    }
  }
};
} // namespace
} // namespace mlir::ppc
