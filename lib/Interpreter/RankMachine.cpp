// One rank of an interpreted program, with an explicit stack, so that it can stop at any collective.
#include "RankMachine.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/TypeUtilities.h"
#include "ppc/Interpreter/Collectives.h"

namespace mlir::ppc {

static LogicalResult verifyShape(Operation *op, const ReferenceTensor &tensor, Type type, StringRef what,
                                 unsigned number) {
  auto tensorType = dyn_cast<RankedTensorType>(type);
  if (tensorType && ArrayRef<int64_t>(tensor.shape) == tensorType.getShape())
    return success();
  return op->emitError() << what << " #" << number << " has shape [" << tensor.shape << "], expected " << type;
}

LogicalResult RankMachine::start(ArrayRef<ReferenceTensor> arguments) { return call(nullptr, function, arguments); }

LogicalResult RankMachine::call(Operation *caller, func::FuncOp callee, ArrayRef<ReferenceTensor> arguments) {
  if (callee.isExternal() || !callee.getBody().hasOneBlock())
    return callee.emitError("only functions with a body of one block can be interpreted");
  if (arguments.size() != callee.getNumArguments())
    return callee.emitError() << "takes " << callee.getNumArguments() << " arguments, found " << arguments.size();
  Scope scope;
  for (auto [argument, tensor] : llvm::zip(callee.getArguments(), arguments)) {
    if (failed(verifyShape(callee, tensor, argument.getType(), "argument", argument.getArgNumber())))
      return failure();
    scope[argument] = tensor;
  }
  scopes.push_back(std::move(scope));
  frames.push_back({caller, callee.getBody().front().begin()});
  return success();
}

LogicalResult RankMachine::run() {
  while (!isDone()) {
    Operation *op = &*frames.back().next;
    if (collectiveAxes(op))
      return success();
    if (failed(step(op)))
      return failure();
  }
  return success();
}

void RankMachine::round(ReferenceTensor &tensor, Type type) const {
  if (arithmetic == Arithmetic::Rounded && getElementTypeOrSelf(type).isF32())
    for (double &element : tensor.data)
      element = float(element);
}

void RankMachine::resume(ReferenceTensor result) {
  round(result, waitsAt()->getResult(0).getType());
  value(waitsAt()->getResult(0)) = std::move(result);
  ++frames.back().next;
}

// Executes `op` and moves on; `next` of the frame below a call stays at the call until it returns.
LogicalResult RankMachine::step(Operation *op) {
  if (auto callOp = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, callOp.getCalleeAttr());
    if (!callee)
      return op->emitOpError() << "calls " << callOp.getCalleeAttr() << ", which is not a function of the program";
    return call(op, callee, llvm::map_to_vector(op->getOperands(), [&](Value operand) { return value(operand); }));
  }
  if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
    Frame frame{op, accumulate.getBody().front().begin()};
    for (Value sum : accumulate.getSums())
      frame.sums.push_back(ReferenceTensor::zeros(sum.getType()));
    enterMicroBatch(frame, accumulate);
    frames.push_back(std::move(frame));
    return success();
  }
  if (isa<func::ReturnOp>(op))
    return finishCall(op), success();
  if (isa<YieldOp>(op))
    return finishMicroBatch(op), success();
  if (!isa<ppcrt::ReachOp>(op) && failed(evaluate(op))) // a ppcrt.reach marks progress, and computes nothing
    return failure();
  ++frames.back().next;
  return success();
}

LogicalResult RankMachine::evaluate(Operation *op) {
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!reference)
    return op->emitOpError("cannot be interpreted: it has no reference semantics");
  if (!reference.noReferenceReason().empty())
    return op->emitOpError() << "cannot be interpreted: " << reference.noReferenceReason();
  RankValues computed;
  auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) { return value(operand); });
  if (failed(reference.evaluate(operands, context, computed)))
    return failure();
  if (computed.size() != op->getNumResults())
    return op->emitOpError() << "was evaluated to " << computed.size() << " results, expected " << op->getNumResults();
  for (auto [result, tensor] : llvm::zip(op->getResults(), computed)) {
    if (failed(verifyShape(op, tensor, result.getType(), "result", result.getResultNumber())))
      return failure();
    round(tensor, result.getType());
    value(result) = std::move(tensor);
  }
  return success();
}

void RankMachine::finishCall(Operation *terminator) {
  RankValues returned;
  for (Value operand : terminator->getOperands())
    returned.push_back(value(operand));
  Operation *caller = frames.pop_back_val().caller;
  scopes.pop_back();
  if (!caller) {
    results = std::move(returned);
    return;
  }
  for (auto [result, tensor] : llvm::zip_equal(caller->getResults(), returned))
    value(result) = std::move(tensor);
  ++frames.back().next;
}

void RankMachine::enterMicroBatch(Frame &frame, AccumulateOp accumulate) {
  for (auto [input, argument] : llvm::zip_equal(accumulate.getInputs(), accumulate.getBody().getArguments()))
    value(argument) = blockOf(value(input), 0, frame.microBatch, tensorType(argument).getDimSize(0));
  frame.next = accumulate.getBody().front().begin();
}

void RankMachine::finishMicroBatch(Operation *terminator) {
  Frame &frame = frames.back();
  auto accumulate = cast<AccumulateOp>(frame.caller);
  for (auto [sum, yielded] : llvm::zip_equal(frame.sums, terminator->getOperands())) {
    sum = combine(Combiner::Sum, {&sum, &value(yielded)});
    round(sum, yielded.getType());
  }
  if (++frame.microBatch < int64_t(accumulate.getMicroBatches()))
    return enterMicroBatch(frame, accumulate);
  for (auto [result, sum] : llvm::zip_equal(accumulate.getSums(), frame.sums))
    value(result) = std::move(sum);
  frames.pop_back();
  ++frames.back().next;
}

} // namespace mlir::ppc
