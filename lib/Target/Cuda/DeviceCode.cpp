#include "DeviceCode.h"
#include "ppc/Target/Cuda/ChipKernels.h"

#include "dialects/ppcrt/Epilogue.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "ppc/Transforms/Profile/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ppc::cuda {
namespace {

namespace json = llvm::json;

/// The type of a value's elements, as the runtime spells it.
std::string elementName(Value buffer) {
  std::string name;
  llvm::raw_string_ostream(name) << getElementTypeOrSelf(buffer.getType());
  return name;
}

int64_t elementsOf(Value buffer) { return cast<ShapedType>(buffer.getType()).getNumElements(); }

class CodeWriter {
public:
  explicit CodeWriter(ModuleOp module) : module(module) {}

  FailureOr<json::Object> run() {
    for (auto constant : module.getOps<memref::GlobalOp>()) {
      constantNumbers[constant.getSymNameAttr()] = int64_t(constants.size());
      auto type = constant.getType();
      constants.push_back(json::Object{{"name", constant.getSymName()},
                                       {"bytes", type.getNumElements() * type.getElementTypeBitWidth() / 8}});
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && failed(add(function)))
        return failure();
    return json::Object{
        {"kernels", std::move(kernels)}, {"constants", std::move(constants)}, {"bodies", std::move(bodies)}};
  }

private:
  LogicalResult add(func::FuncOp function);
  LogicalResult write(Operation &op, json::Array &operations);
  LogicalResult writeLaunch(ppcrt::LaunchOp launch, json::Array &operations);
  LogicalResult writeProduct(ppcrt::EpilogueGemmOp product, json::Array &operations);
  LogicalResult writeCall(Operation &call, FlatSymbolRefAttr callee, json::Array &operations);
  LogicalResult writeMark(func::CallOp call, json::Array &operations);
  LogicalResult writeStart(ppcrt::StartOp start, json::Array &operations);
  /// The address that a value is: of its first element, or (of a kernel's operand, in whose code the offset is) of
  /// where its buffer begins.
  FailureOr<json::Array> placeOf(Operation &op, Value value, bool withOffset = true);
  FailureOr<json::Value> collective(Operation &op, StringRef kind, FlatSymbolRefAttr group, json::Array facts,
                                    ValueRange buffers);

  ModuleOp module;
  json::Array kernels, constants, bodies;
  llvm::DenseMap<Attribute, int64_t> kernelNumbers, constantNumbers, bodyNumbers;
  llvm::DenseMap<Value, int64_t> tokens; // tokens of the current function
};

FailureOr<json::Array> CodeWriter::placeOf(Operation &op, Value value, bool withOffset) {
  int64_t offset = 0;
  auto layout = cast<MemRefType>(value.getType());
  if (withOffset)
    offset = layout.getStridesAndOffset().second * layout.getElementTypeBitWidth() / 8;
  while (Operation *producer = value.getDefiningOp()) {
    if (auto view = dyn_cast<memref::ViewOp>(producer)) {
      std::optional<int64_t> shift = getConstantIntValue(view.getByteShift());
      if (!shift)
        break;
      offset += *shift;
      value = view.getSource();
    } else if (auto constant = dyn_cast<memref::GetGlobalOp>(producer)) {
      return json::Array{"constant", constantNumbers.lookup(constant.getNameAttr().getAttr()), offset};
    } else if (auto view = dyn_cast<ViewLikeOpInterface>(producer)) {
      value = view.getViewSource(); // offsets are from the buffer's beginning
    } else {
      break;
    }
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return json::Array{int64_t(argument.getArgNumber()), offset};
  op.emitOpError("works on a buffer without a fixed offset in an argument: run ppc-assign-offsets first");
  return failure();
}

LogicalResult CodeWriter::writeLaunch(ppcrt::LaunchOp launch, json::Array &operations) {
  StringAttr name = launch.getKernel().getLeafReference();
  auto [known, isNew] = kernelNumbers.try_emplace(name, int64_t(kernels.size()));
  if (isNew) {
    json::Object kernel{{"name", name.getValue()},
                        {"blocks", int64_t(launch.getBlocks())},
                        {"threads", int64_t(launch.getThreads())},
                        {"parameters", int64_t(launch.getOperands().size())},
                        {"shared", launchOn(module, name, 1, 1, {}).sharedBytes}};
    json::Array chips;
    for (const ChipLaunch &own : chipLaunches(module, name)) {
      json::Array maps;
      for (const LaunchTensorMap &map : own.maps)
        maps.push_back(json::Object{{"operand", map.operand},
                                    {"sizes", json::Array(map.sizes)},
                                    {"strides", json::Array(map.strides)},
                                    {"box", json::Array(map.box)}});
      chips.push_back(json::Object{{"chip", own.chip},
                                   {"blocks", own.blocks},
                                   {"threads", own.threads},
                                   {"shared", own.sharedBytes},
                                   {"maps", std::move(maps)}});
    }
    if (!chips.empty())
      kernel["chips"] = std::move(chips);
    kernels.push_back(std::move(kernel));
  }
  json::Array operation{"launch", known->second};
  for (Value operand : launch.getOperands()) {
    if (auto coordinate = operand.getDefiningOp<ppcrt::CoordinateOp>()) {
      operation.push_back(json::Array{"coordinate", ppcrt::groupNumber(launch, coordinate.getGroupAttr())});
      continue;
    }
    if (!isa<MemRefType>(operand.getType()))
      return launch.emitOpError("passes a number that is not a coordinate of the rank");
    FailureOr<json::Array> place = placeOf(*launch, operand, /*withOffset=*/false);
    if (failed(place))
      return failure();
    operation.push_back(std::move(*place));
  }
  operations.push_back(std::move(operation));
  return success();
}

LogicalResult CodeWriter::writeCall(Operation &call, FlatSymbolRefAttr callee, json::Array &operations) {
  json::Array operation{"call", bodyNumbers.lookup(callee.getAttr())};
  for (Value operand : call.getOperands()) {
    FailureOr<json::Array> place = placeOf(call, operand);
    if (failed(place))
      return failure();
    operation.push_back(std::move(*place));
  }
  operations.push_back(std::move(operation));
  return success();
}

LogicalResult CodeWriter::writeProduct(ppcrt::EpilogueGemmOp product, json::Array &operations) {
  bool failed = false;
  /// From element `first` on.
  auto place = [&](Value buffer, int64_t first = 0) -> json::Value {
    FailureOr<json::Array> found = placeOf(*product, buffer);
    failed |= mlir::failed(found);
    if (failed)
      return nullptr;
    found->back() = *found->back().getAsInteger() +
                    first * int64_t(cast<MemRefType>(buffer.getType()).getElementTypeBitWidth()) / 8;
    return std::move(*found);
  };
  json::Object epilogue{{"activation", ppcrt::stringifyActivation(product.getActivation())}};
  if (Value addend = product.getAddend())
    epilogue["addend"] = place(addend);
  if (Value bias = product.getBias())
    epilogue["bias"] = place(bias, int64_t(product.getColumn()));
  if (Value at = product.getAt())
    epilogue["at"] = place(at);
  if (product.getOuts().size() == 2)
    epilogue["sum"] = place(product.getOuts()[1]);
  operations.push_back(json::Array{"product", json::Array(product.descriptor()), place(product.getA()),
                                   place(product.getB(), int64_t(product.getColumn()) * product.getStrides()[3]),
                                   place(product.getOuts()[0]), std::move(epilogue)});
  return failure(failed);
}

LogicalResult CodeWriter::writeMark(func::CallOp call, json::Array &operations) {
  std::optional<int64_t> number = getConstantIntValue(call.getOperand(0));
  if (!number)
    return call.emitOpError("marks an operation whose number is not known");
  operations.push_back(json::Array{"mark", *number});
  return success();
}

FailureOr<json::Value> CodeWriter::collective(Operation &op, StringRef kind, FlatSymbolRefAttr group, json::Array facts,
                                              ValueRange buffers) {
  json::Array operation{kind, ppcrt::groupNumber(&op, group)};
  for (json::Value &fact : facts)
    operation.push_back(std::move(fact));
  for (Value buffer : buffers) {
    FailureOr<json::Array> place = placeOf(op, buffer);
    if (failed(place))
      return failure();
    operation.push_back(std::move(*place));
  }
  return json::Value(std::move(operation));
}

LogicalResult CodeWriter::writeStart(ppcrt::StartOp start, json::Array &operations) {
  using Kind = ppcrt::CollectiveKind;
  if (start.getKind() == Kind::RaggedAllToAll)
    return start.emitOpError("is a ragged all-to-all, which programs for cuda cannot do yet");
  json::Array facts;
  if (start.getReduction())
    facts.push_back(ppcrt::stringifyReductionKind(*start.getReduction()));
  Value out = start.getOuts()[0];
  // Counts are elements of each member's contribution or result, as in ppcrt.h.
  Value counted = start.getKind() == Kind::AllGather || start.getKind() == Kind::Permute ? start.getIns()[0] : out;
  int64_t count = elementsOf(counted);
  if (start.getKind() == Kind::AllToAll)
    return start.emitOpError("is an all-to-all that is started, which programs for cuda cannot do yet");
  facts.push_back(elementName(out));
  facts.push_back(count);
  if (start.getShift())
    facts.push_back(int64_t(*start.getShift()));
  SmallVector<Value> buffers(start.getIns());
  llvm::append_range(buffers, start.getOuts());
  auto operation = collective(*start, ppcrt::stringifyCollectiveKind(start.getKind()), start.getGroupAttr(),
                              std::move(facts), buffers);
  if (failed(operation))
    return failure();
  int64_t token = tokens[start.getToken()] = int64_t(tokens.size());
  operations.push_back(json::Array{"start", token, std::move(*operation)});
  return success();
}

LogicalResult CodeWriter::write(Operation &op, json::Array &operations) {
  auto add = [&](FailureOr<json::Value> operation) -> LogicalResult {
    if (failed(operation))
      return failure();
    operations.push_back(std::move(*operation));
    return success();
  };
  auto reduction = [](ppcrt::ReductionKind kind) { return ppcrt::stringifyReductionKind(kind).str(); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](ppcrt::LaunchOp launch) { return writeLaunch(launch, operations); })
      .Case([&](ppcrt::CallOp call) { return writeCall(op, call.getCalleeAttr(), operations); })
      .Case([&](func::CallOp call) {
        return call.getCallee() == kProfileFunction ? writeMark(call, operations)
                                                    : writeCall(op, call.getCalleeAttr(), operations);
      })
      .Case([&](ppcrt::StartOp start) { return writeStart(start, operations); })
      .Case([&](ppcrt::GemmOp gemm) -> LogicalResult {
        json::Array operation{"product", json::Array(ppcrt::gemmDescriptor(gemm))};
        for (Value matrix : {gemm.getA(), gemm.getB(), gemm.getOut()}) {
          FailureOr<json::Array> place = placeOf(op, matrix);
          if (failed(place))
            return failure();
          operation.push_back(std::move(*place));
        }
        operations.push_back(std::move(operation));
        return success();
      })
      .Case([&](ppcrt::EpilogueGemmOp product) { return writeProduct(product, operations); })
      .Case([&](ppcrt::AllReduceOp c) {
        return add(collective(op, "all_reduce", c.getGroupAttr(),
                              json::Array{reduction(c.getKind()), elementName(c.getOut()), elementsOf(c.getOut())},
                              c.getOut()));
      })
      .Case([&](ppcrt::AllGatherOp c) {
        return add(collective(op, "all_gather", c.getGroupAttr(),
                              json::Array{elementName(c.getX()), elementsOf(c.getX())}, {c.getX(), c.getOut()}));
      })
      .Case([&](ppcrt::ReduceScatterOp c) {
        return add(collective(op, "reduce_scatter", c.getGroupAttr(),
                              json::Array{reduction(c.getKind()), elementName(c.getX()), elementsOf(c.getOut())},
                              {c.getX(), c.getOut()}));
      })
      .Case([&](ppcrt::AllToAllOp c) {
        return add(collective(op, "all_to_all", c.getGroupAttr(),
                              json::Array{elementName(c.getX()), elementsOf(c.getX()) / int64_t(c.getRanks())},
                              {c.getX(), c.getOut()}));
      })
      .Case([&](ppcrt::PermuteOp c) {
        return add(collective(op, "permute", c.getGroupAttr(),
                              json::Array{elementName(c.getX()), elementsOf(c.getX()), int64_t(c.getShift())},
                              {c.getX(), c.getOut()}));
      })
      .Case([&](ppcrt::WaitOp wait) {
        operations.push_back(json::Array{"wait", tokens.lookup(wait.getToken())});
        return success();
      })
      .Case([&](ppcrt::ReachOp reach) {
        operations.push_back(json::Array{"reach", int64_t(reach.getEntry())});
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        if (isMemoryEffectFree(other) || isa<ViewLikeOpInterface, func::ReturnOp>(other))
          return success();
        if (isa<memref::LoadOp>(other) && other->use_empty())
          return success();
        return other->emitOpError("has no operation in programs for cuda");
      });
}

LogicalResult CodeWriter::add(func::FuncOp function) {
  if (bodyNumbers.contains(function.getSymNameAttr()))
    return success();
  for (Operation &op : function.front()) { // there is no recursion: ppc-assign-offsets has seen to that
    auto callee = llvm::TypeSwitch<Operation *, FlatSymbolRefAttr>(&op)
                      .Case<ppcrt::CallOp, func::CallOp>([](auto call) { return call.getCalleeAttr(); })
                      .Default([](Operation *) { return FlatSymbolRefAttr(); });
    if (!callee || callee.getValue() == kProfileFunction)
      continue;
    auto called = module.lookupSymbol<func::FuncOp>(callee.getAttr());
    if (called.isExternal())
      return op.emitOpError("calls a function of the host, which programs for cuda cannot do");
    if (failed(add(called)))
      return failure();
  }
  tokens.clear();
  json::Array operations;
  for (Operation &op : function.front())
    if (failed(write(op, operations)))
      return failure();
  bodyNumbers[function.getSymNameAttr()] = int64_t(bodies.size());
  bodies.push_back(json::Object{{"name", function.getSymName()},
                                {"arguments", int64_t(function.getNumArguments())},
                                {"operations", std::move(operations)}});
  return success();
}

} // namespace

FailureOr<json::Object> describeCode(ModuleOp module) { return CodeWriter(module).run(); }

SmallVector<DeviceConstant> constantsOf(ModuleOp module, std::vector<std::vector<char>> &expanded) {
  SmallVector<DeviceConstant> constants;
  for (auto constant : module.getOps<memref::GlobalOp>()) {
    auto values = cast<DenseElementsAttr>(constant.getConstantInitValue());
    ArrayRef<char> content = values.getRawData();
    if (values.isSplat()) { // is held once
      std::vector<char> &all = expanded.emplace_back();
      for (int64_t i = 0; i < values.getNumElements(); ++i)
        all.insert(all.end(), content.begin(), content.end());
      content = all;
    }
    constants.push_back({constant.getSymName(), content});
  }
  return constants;
}

} // namespace mlir::ppc::cuda
