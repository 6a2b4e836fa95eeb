// Numbers for the inputs of steps.
#include "StepValues.h"
#include <cmath>

namespace mlir::ppc::test {

using namespace ppcrt;

static std::string nameOf(func::FuncOp step, unsigned i) {
  auto label = [&](StringRef key) { return step.getArgAttrOfType<StringAttr>(i, key); };
  if (StringAttr state = label(attr::state))
    return state.str() + " of " + label(attr::of).str();
  for (auto [key, role] :
       {std::pair(attr::parameter, "parameter "), std::pair(attr::scalar, "scalar "), std::pair(attr::input, "input ")})
    if (StringAttr name = label(key))
      return role + name.str();
  return "";
}

NamedTensors randomValues(func::FuncOp step, Random &random) {
  NamedTensors values;
  for (BlockArgument argument : step.getArguments()) {
    unsigned number = argument.getArgNumber();
    ReferenceTensor tensor = randomTensor(argument.getType(), random);
    bool isIndex = isa<IntegerType>(tensorType(argument).getElementType());
    int64_t bound = isIndex ? indexBound(argument) : 0;
    bool positive = step.getArgAttr(number, attr::state) || step.getArgAttr(number, attr::scalar);
    for (double &element : tensor.data)
      element = float(bound ? double(random() % bound) : positive ? 1.25 + element : element);
    values[nameOf(step, number)] = std::move(tensor);
  }
  return values;
}

/// The logical tensor of all micro-batches of which `input` holds a rank's part of one.
static RankedTensorType inputType(BufferOp input, ProgramOp program) {
  SmallVector<int64_t> shape(input.getTensorType().getShape());
  if (ShardingAttr sharding = input.getShardingAttr())
    for (auto [extent, axes] : llvm::zip_equal(shape, sharding.getDims()))
      extent *= program.getDeviceGrid().product(axes);
  shape.front() *= int64_t(program.getMicroBatches());
  return RankedTensorType::get(shape, input.getTensorType().getElementType());
}

NamedTensors randomValues(ProgramOp program, Random &random) {
  NamedTensors values;
  program.walk([&](BufferOp buffer) {
    bool isInput = buffer.getRole() == BufferRole::Input;
    bool isGiven = llvm::is_contained({BufferRole::Parameter, BufferRole::State, BufferRole::Scalar}, buffer.getRole());
    if (!isInput && !isGiven)
      return;
    auto [value, isNew] = values.try_emplace(buffer.describe());
    if (!isNew)
      return;
    RankedTensorType type = isInput ? inputType(buffer, program) : buffer.getLogicalType();
    value->second = randomTensor(type, random);
    bool isIndex = isa<IntegerType>(type.getElementType());
    for (double &element : value->second.data)
      element = isIndex ? 0 : float(buffer.getRole() == BufferRole::Parameter ? element : 1.25 + element);
  });
  return values;
}

bool sameNumbers(ArrayRef<double> a, ArrayRef<double> b, double tolerance, double floor) {
  if (a.size() != b.size())
    return false;
  for (auto [x, y] : llvm::zip_equal(a, b))
    if (!(std::abs(x - y) <= tolerance * std::max({floor, std::abs(x), std::abs(y)})))
      return false;
  return true;
}

} // namespace mlir::ppc::test
