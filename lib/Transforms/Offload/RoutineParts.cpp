// A function for each part, and the buffers between them.
#include "RoutineParts.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ppc {

using namespace ppcrt;

namespace {

class RoutineSplitter {
public:
  RoutineSplitter(RoutineOp routine, func::FuncOp code, SymbolTable &functions, const PartOfOp &partOf, unsigned count)
      : routine(routine), code(code), functions(functions), partOf(partOf), parts(count) {}

  FailureOr<SmallVector<RoutineOp>> run();

private:
  struct Part {
    func::FuncOp function;
    OpBuilder builder{static_cast<MLIRContext *>(nullptr)};
    IRMapping mapping;
    SmallVector<Attribute> reads, writes; ///< buffers
    SmallVector<Value> results;           ///< of the function
  };

  static bool isConstant(Operation *op) { return isa_and_nonnull<ConstantOp>(op); }
  unsigned partOfValue(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && !isConstant(op) ? partOf.lookup(op) : 0;
  }
  void findReturned();
  void begin(unsigned number);
  LogicalResult materialize(Value value, unsigned number);
  /// The buffer of a value that an earlier part computes.
  Attribute bufferOf(Value value);
  void finish(unsigned number, RoutineOp &made);

  RoutineOp routine;
  func::FuncOp code;
  SymbolTable &functions;
  const PartOfOp &partOf;
  std::vector<Part> parts;
  DenseMap<Value, Attribute> places;             ///< buffer of each value that crosses parts, or is returned
  DenseMap<Attribute, unsigned> writtenBy;       ///< by buffer: the part that writes it
  SmallVector<std::pair<unsigned, Value>> added; ///< results of parts in addition to those of the code
  unsigned created = 0;
};

} // namespace

void RoutineSplitter::findReturned() {
  for (auto [value, name] : llvm::zip_equal(code.front().getTerminator()->getOperands(), routine.getWrites())) {
    if (!isa<BlockArgument>(value) && !isConstant(value.getDefiningOp()))
      places.try_emplace(value, name);
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || routine.getReads()[argument.getArgNumber()] != name) // else it keeps its contents
      writtenBy[name] = partOfValue(value);
  }
}

void RoutineSplitter::begin(unsigned number) {
  Part &part = parts[number];
  OpBuilder module(code);
  std::string name = (code.getSymName() + "." + Twine(number)).str();
  part.function = func::FuncOp::create(module, code.getLoc(), name, module.getFunctionType({}, {}));
  part.function->setDiscardableAttrs(code->getDiscardableAttrDictionary());
  part.function.setVisibility(code.getVisibility());
  part.builder = OpBuilder::atBlockEnd(part.function.addEntryBlock());
}

Attribute RoutineSplitter::bufferOf(Value value) {
  auto [place, isNew] = places.try_emplace(value);
  if (isNew) {
    auto tensor = cast<RankedTensorType>(value.getType());
    OpBuilder builder(routine);
    std::string name = (routine.getSymName() + ".value" + Twine(created++)).str();
    BufferOp::create(builder, value.getLoc(), name, BufferRole::Prepared,
                     MemRefType::get(tensor.getShape(), tensor.getElementType()));
    place->second = FlatSymbolRefAttr::get(builder.getContext(), name);
    writtenBy[place->second] = partOfValue(value);
    added.push_back({partOfValue(value), value});
  }
  return place->second;
}

LogicalResult RoutineSplitter::materialize(Value value, unsigned number) {
  Part &part = parts[number];
  if (part.mapping.contains(value))
    return success();
  if (Operation *op = value.getDefiningOp(); isConstant(op)) {
    part.mapping.map(value, part.builder.clone(*op)->getResult(0));
    return success();
  }
  auto argument = dyn_cast<BlockArgument>(value);
  Attribute name = argument ? routine.getReads()[argument.getArgNumber()] : bufferOf(value);
  auto writer = writtenBy.find(name);
  if (argument && writer != writtenBy.end() && writer->second < number)
    return routine.emitOpError() << "cannot be split: part " << number << " reads " << name << ", which part "
                                 << writer->second << " has written then";
  part.mapping.map(value, part.function.front().addArgument(value.getType(), value.getLoc()));
  part.reads.push_back(name);
  return success();
}

void RoutineSplitter::finish(unsigned number, RoutineOp &made) {
  Part &part = parts[number];
  func::ReturnOp::create(part.builder, code.getLoc(), part.results);
  part.function.setFunctionType(
      part.builder.getFunctionType(part.function.front().getArgumentTypes(), ValueRange(part.results).getTypes()));
  for (auto [index, name] : llvm::enumerate(part.writes))
    if (auto updated = llvm::find(part.reads, name); updated != part.reads.end())
      part.function.setResultAttr(index, attr::destination,
                                  part.builder.getI64IntegerAttr(updated - part.reads.begin()));
  OpBuilder builder(routine);
  std::string name = number ? (routine.getSymName() + "." + Twine(number)).str() : routine.getSymName().str();
  made = RoutineOp::create(builder, routine.getLoc(), name, routine.getKind(), routine.getChunk(),
                           number ? part.function.getSymName() : code.getSymName(), builder.getArrayAttr(part.reads),
                           builder.getArrayAttr(part.writes), FlatSymbolRefAttr(), ArrayAttr());
}

FailureOr<SmallVector<RoutineOp>> RoutineSplitter::run() {
  findReturned();
  for (unsigned number = 0; number < parts.size(); ++number)
    begin(number);
  for (Operation &op : code.front().without_terminator()) {
    if (isConstant(&op))
      continue;
    unsigned number = partOf.lookup(&op);
    for (Value operand : op.getOperands())
      if (failed(materialize(operand, number)))
        return failure();
    parts[number].builder.clone(op, parts[number].mapping);
  }
  auto addResult = [&](unsigned number, Value value, Attribute name) -> LogicalResult {
    if (failed(materialize(value, number)))
      return failure();
    parts[number].writes.push_back(name);
    parts[number].results.push_back(parts[number].mapping.lookup(value));
    return success();
  };
  for (auto [value, name] : llvm::zip_equal(code.front().getTerminator()->getOperands(), routine.getWrites()))
    if (failed(addResult(partOfValue(value), value, name)))
      return failure();
  for (auto [number, value] : added)
    if (failed(addResult(number, value, places.lookup(value))))
      return failure();
  SmallVector<RoutineOp> made(parts.size());
  for (auto [number, one] : llvm::enumerate(made))
    finish(number, one);
  std::string name = code.getSymName().str();
  functions.erase(code);
  for (Part &part : llvm::drop_begin(parts))
    functions.insert(part.function);
  parts.front().function.setSymName(name);
  functions.insert(parts.front().function);
  routine.erase();
  return made;
}

FailureOr<SmallVector<RoutineOp>> splitRoutine(RoutineOp routine, SymbolTable &functions, const PartOfOp &partOf,
                                               unsigned count) {
  auto code = functions.lookup<func::FuncOp>(routine.getCodeAttr().getAttr());
  if (!code)
    return routine.emitOpError() << "names code " << routine.getCodeAttr() << ", which is not a function";
  return RoutineSplitter(routine, code, functions, partOf, count).run();
}

} // namespace mlir::ppc
