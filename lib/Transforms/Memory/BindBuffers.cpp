// ppc-bind-buffers: bufferizes the functions of a stage, which contain only calls. The order of the calls determines
// the result that one-shot bufferization would find in time that grows with the square of their length.
#include "ppc/Transforms/Memory/Passes.h"

#include "dialects/ppc/IR/FunctionAttrs.h"
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_BINDBUFFERSPASS
#include "ppc/Transforms/Memory/Passes.h.inc"

namespace {
bool isBindable(func::FuncOp function) {
  return ppcrt::routineKindOf(function) && !function.isExternal() && llvm::hasSingleElement(function.getBody()) &&
         llvm::all_of(function.getArgumentTypes(), [](Type type) { return isa<RankedTensorType>(type); }) &&
         llvm::all_of(function.front().without_terminator(),
                      [](Operation &op) { return isa<func::CallOp, ppcrt::ReachOp>(op); });
}

MemRefType bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

/// Writes one function anew.
class Binder {
public:
  Binder(func::FuncOp function, SymbolTable &symbols, DenseMap<Type, func::FuncOp> &copies)
      : function(function), symbols(symbols), copies(copies), builder(function.getContext()) {}

  LogicalResult run();

private:
  void makeArguments();
  void findLastUses();
  LogicalResult bind(func::CallOp call, unsigned index);
  /// Stores the operands of a ppcrt.reach where they are returned.
  LogicalResult bind(ppcrt::ReachOp reach, unsigned index);
  void writeResults();

  /// Whether the contents of `buffer` are dead after call `index`.
  bool isFree(Value buffer, unsigned index) {
    Value occupant = occupants.lookup(buffer);
    return !occupant || lastUse.lookup(occupant) <= index;
  }
  Value newBuffer(Type type) { return memref::AllocOp::create(builder, function.getLoc(), bufferType(type)); }
  void copy(Value from, Value to);

  func::FuncOp function, bound;
  SymbolTable &symbols;
  DenseMap<Type, func::FuncOp> &copies; ///< functions that copy, by type
  OpBuilder builder;
  SmallVector<Value> destinations; ///< buffers of the results
  DenseSet<Value> writable;      ///< buffers that a callee may overwrite: destinations and allocations of this function
  DenseMap<Value, Value> places; ///< tensor -> buffer
  DenseMap<Value, Value> occupants;  ///< buffer -> tensor that is stored there
  DenseMap<Value, unsigned> lastUse; ///< tensor -> number of the call, from 1; the return comes last
};

// The arguments, then those results that update none: the order in which the runtime passes buffers.
void Binder::makeArguments() {
  SmallVector<Type> types =
      llvm::map_to_vector(function.getArgumentTypes(), [](Type type) -> Type { return bufferType(type); });
  SmallVector<unsigned> arguments; // argument of each result
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto updated = function.getResultAttrOfType<IntegerAttr>(i, attr::destination);
    arguments.push_back(updated ? updated.getInt() : types.size());
    if (!updated)
      types.push_back(bufferType(function.getResultTypes()[i]));
  }
  builder.setInsertionPoint(function);
  bound = func::FuncOp::create(builder, function.getLoc(), function.getSymName(), builder.getFunctionType(types, {}));
  bound->setDiscardableAttrs(function->getDiscardableAttrDictionary());
  builder.setInsertionPointToEnd(bound.addEntryBlock());
  for (auto [tensor, buffer] : llvm::zip(function.getArguments(), bound.getArguments())) {
    places[tensor] = buffer;
    occupants[buffer] = tensor;
  }
  for (unsigned argument : arguments) {
    destinations.push_back(bound.getArgument(argument));
    writable.insert(destinations.back());
  }
  if (ppcrt::routineKindOf(function) == ppcrt::RoutineKind::Update) // gradients are reduced in place
    writable.insert(bound.args_begin(), bound.args_end());
}

void Binder::findLastUses() {
  unsigned index = 0;
  for (Operation &op : function.front()) {
    ++index;
    for (Value operand : op.getOperands())
      lastUse[operand] = index;
  }
}

void Binder::copy(Value from, Value to) {
  func::FuncOp &body = copies[from.getType()];
  if (!body) {
    OpBuilder inBody(builder.getContext());
    body = func::FuncOp::create(function.getLoc(), "copy_body",
                                builder.getFunctionType({from.getType(), from.getType()}, {}));
    body.setPrivate();
    symbols.insert(body);
    Block *block = body.addEntryBlock();
    inBody.setInsertionPointToEnd(block);
    memref::CopyOp::create(inBody, body.getLoc(), block->getArgument(0), block->getArgument(1));
    func::ReturnOp::create(inBody, body.getLoc());
  }
  ppcrt::CallOp::create(builder, function.getLoc(), body.getSymName(), ValueRange{from, to});
}

LogicalResult Binder::bind(func::CallOp call, unsigned index) {
  auto body = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!body || body.isExternal())
    return call.emitOpError("calls a function without a body");
  SmallVector<Value> operands =
      llvm::map_to_vector(call.getOperands(), [&](Value operand) { return places.lookup(operand); });
  auto timesPassed = [&](Value buffer) { return llvm::count(operands, buffer); };
  for (auto [i, result] : llvm::enumerate(call.getResults())) {
    Value place;
    if (auto updated = body.getResultAttrOfType<IntegerAttr>(i, attr::destination)) {
      unsigned number = updated.getInt();
      if (number >= call.getNumOperands() || call.getOperandTypes()[number] != result.getType())
        return call.emitOpError() << "result " << i << " cannot be written to operand " << number;
      place = operands[number];
      if (!writable.contains(place) || !isFree(place, index) || timesPassed(place) > 1) {
        place = newBuffer(result.getType());
        writable.insert(place);
        copy(operands[number], place);
        operands[number] = place;
      }
    } else {
      auto returned =
          llvm::find_if(result.getUses(), [](OpOperand &use) { return isa<func::ReturnOp>(use.getOwner()); });
      if (returned != result.use_end())
        place = destinations[returned->getOperandNumber()];
      if (!place || !isFree(place, index) || timesPassed(place) > 0) {
        place = newBuffer(result.getType());
        writable.insert(place);
      }
      operands.push_back(place);
    }
    places[result] = place;
    occupants[place] = result;
  }
  ppcrt::CallOp::create(builder, call.getLoc(), call.getCallee(), operands);
  return success();
}

LogicalResult Binder::bind(ppcrt::ReachOp reach, unsigned index) {
  SmallVector<Value> buffers;
  for (Value value : reach.getValues()) {
    Value &place = places[value];
    auto returned = llvm::find_if(value.getUses(), [](OpOperand &use) { return isa<func::ReturnOp>(use.getOwner()); });
    Value destination = returned == value.use_end() ? place : destinations[returned->getOperandNumber()];
    if (place != destination) {
      if (!isFree(destination, index))
        return reach.emitOpError("finishes with a buffer that holds another value, which is needed later");
      copy(place, destination);
      place = destination;
      occupants[destination] = value;
    }
    buffers.push_back(place);
  }
  ppcrt::ReachOp::create(builder, reach.getLoc(), reach.getEntry(), buffers);
  return success();
}

// Values that are not yet where they are returned are copied there, through another buffer if a copy overwrites the
// source of a later one.
void Binder::writeResults() {
  SmallVector<std::pair<Value, Value>> moves;
  DenseSet<Value> overwritten;
  for (auto [value, destination] : llvm::zip(function.front().getTerminator()->getOperands(), destinations))
    if (Value place = places.lookup(value); place != destination) {
      moves.push_back({place, destination});
      overwritten.insert(destination);
    }
  for (auto &[from, to] : moves)
    if (overwritten.contains(from)) {
      Value aside = memref::AllocOp::create(builder, function.getLoc(), cast<MemRefType>(from.getType()));
      copy(from, aside);
      from = aside;
    }
  for (auto [from, to] : moves)
    copy(from, to);
}

LogicalResult Binder::run() {
  makeArguments();
  findLastUses();
  unsigned index = 0;
  for (Operation &op : function.front().without_terminator()) {
    auto call = dyn_cast<func::CallOp>(op);
    if (failed(call ? bind(call, ++index) : bind(cast<ppcrt::ReachOp>(op), ++index)))
      return failure();
  }
  writeResults();
  func::ReturnOp::create(builder, function.getLoc());
  symbols.erase(function);
  symbols.insert(bound);
  return success();
}

struct BindBuffersPass : impl::BindBuffersPassBase<BindBuffersPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    DenseMap<Type, func::FuncOp> copies;
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (isBindable(function) &&
          (failed(verifyDestinations(function)) || failed(Binder(function, symbols, copies).run())))
        return signalPassFailure();
  }
};
} // namespace
} // namespace mlir::ppc
