// The device phase, kernels, PTX, and its execution.
#include "KernelProgram.h"
#include "HostRuntime.h"
#include "dialects/ppcrt/Epilogue.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"
#include "ppc/Phases/TargetPhases.h"
#include "ppc/Target/Cuda/ChipKernels.h"
#include "ppc/Target/Cuda/Writer/Kernel.h"
#include "ppc/Target/Cuda/Writer/Ptx.h"
#include "ppc/Target/Target.h"
#include "test/CudaStandIn/Ptx/Fault.h"
#include "test/CudaStandIn/Ptx/Launch.h"
#include "test/CudaStandIn/Ptx/TensorMap.h"

#include <cmath>
#include <cstring>
#include <map>

namespace mlir::ppc::test {
namespace {

llvm::Error kernelError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

int64_t byteSize(ShapedType type) { return type.getNumElements() * (type.getElementTypeBitWidth() / 8); }

/// One element as the bits of its type.
template <typename F> void withElement(Type element, F f) {
  if (element.isF32())
    f(float());
  else if (element.isF64())
    f(double());
  else if (element.isBF16())
    f(Bf16());
  else if (element.isInteger(32))
    f(int32_t());
  else
    f(int64_t());
}

void write(const ReferenceTensor &tensor, Type element, std::byte *data) {
  withElement(element, [&](auto zero) {
    for (auto [i, value] : llvm::enumerate(tensor.data)) {
      auto bits = decltype(zero)(value);
      std::memcpy(data + i * sizeof bits, &bits, sizeof bits);
    }
  });
}

ReferenceTensor read(RankedTensorType type, const std::byte *data) {
  ReferenceTensor tensor = ReferenceTensor::zeros(type);
  withElement(type.getElementType(), [&](auto bits) {
    for (auto [i, value] : llvm::enumerate(tensor.data)) {
      std::memcpy(&bits, data + i * sizeof bits, sizeof bits);
      value = double(bits);
    }
  });
  return tensor;
}

/// What is neither a kernel nor of no consequence on a device.
bool isExecuted(Operation *op) {
  return isa<ppcrt::LaunchOp, ppcrt::GemmOp, ppcrt::EpilogueGemmOp, ppcrt::CoordinateOp, memref::ViewOp,
             memref::GetGlobalOp, memref::LoadOp, func::CallOp, ppcrt::CallOp, func::ReturnOp>(op) ||
         isa<ViewLikeOpInterface>(op) || isMemoryEffectFree(op);
}

/// Programs for GPUs do not.
bool usesDoubles(func::FuncOp function) {
  return llvm::any_of(function.getArgumentTypes(), [](Type type) { return getElementTypeOrSelf(type).isF64(); });
}

/// Where the first elements of buffers are: of a view `addresses` has its source, and its type the offset, which takes
/// long to ask for.
class FirstElements {
public:
  explicit FirstElements(const llvm::DenseMap<Value, uint64_t> &addresses) : addresses(addresses) {}

  uint64_t of(Value buffer) {
    auto [place, isNew] = found.try_emplace(buffer);
    if (isNew) {
      auto type = cast<MemRefType>(buffer.getType());
      place->second =
          addresses.lookup(buffer) + uint64_t(type.getStridesAndOffset().second) * (type.getElementTypeBitWidth() / 8);
    }
    return place->second;
  }

private:
  const llvm::DenseMap<Value, uint64_t> &addresses;
  llvm::DenseMap<Value, uint64_t> found;
};

/// What a library does: sums in f64, rounded once.
void multiply(ppcrt::GemmOp op, const llvm::DenseMap<Value, uint64_t> &addresses, ptx::GlobalMemory &memory) {
  FirstElements firstElements(addresses);
  auto bytesOf = [&](Value buffer) {
    return memory.find(firstElements.of(buffer), byteSize(cast<ShapedType>(buffer.getType())));
  };
  auto element = [&](Value buffer, int64_t place) {
    double value = 0;
    withElement(getElementTypeOrSelf(buffer.getType()), [&](auto bits) {
      std::memcpy(&bits, bytesOf(buffer) + place * int64_t(sizeof bits), sizeof bits);
      value = double(bits);
    });
    return value;
  };
  ArrayRef<int64_t> sizes = op.getSizes(), strides = op.getStrides(), loops = op.getLoops();
  std::map<int64_t, double> sums; // by place in C
  SmallVector<int64_t> counts;
  for (size_t i = 0; i < loops.size(); i += 4)
    counts.push_back(loops[i]);
  int64_t iterations = ShapedType::getNumElements(counts);
  for (int64_t number = 0; number < iterations; ++number) {
    int64_t a = 0, b = 0, c = 0, rest = number;
    for (size_t i = counts.size(); i-- > 0; rest /= counts[i]) {
      int64_t at = rest % counts[i];
      a += at * loops[4 * i + 1], b += at * loops[4 * i + 2], c += at * loops[4 * i + 3];
    }
    for (int64_t i = 0; i < sizes[0]; ++i)
      for (int64_t j = 0; j < sizes[1]; ++j) {
        int64_t place = c + i * strides[4] + j * strides[5];
        double &sum = sums.try_emplace(place, op.getAccumulate() ? element(op.getOut(), place) : 0.0).first->second;
        for (int64_t k = 0; k < sizes[2]; ++k)
          sum += element(op.getA(), a + i * strides[0] + k * strides[1]) *
                 element(op.getB(), b + k * strides[2] + j * strides[3]);
      }
  }
  withElement(getElementTypeOrSelf(op.getOut().getType()), [&](auto bits) {
    for (auto [place, sum] : sums) {
      bits = decltype(bits)(sum);
      std::memcpy(bytesOf(op.getOut()) + place * int64_t(sizeof bits), &bits, sizeof bits);
    }
  });
}

/// The same of a product with an epilogue.
void multiply(ppcrt::EpilogueGemmOp op, const llvm::DenseMap<Value, uint64_t> &addresses, ptx::GlobalMemory &memory) {
  FirstElements firstElements(addresses);
  auto at = [&](Value buffer, int64_t place, std::optional<double> stored = std::nullopt) {
    double value = 0;
    withElement(getElementTypeOrSelf(buffer.getType()), [&](auto bits) {
      auto bytes = int64_t(sizeof bits);
      std::byte *data = memory.find(firstElements.of(buffer) + uint64_t(place * bytes), bytes);
      if (stored)
        std::memcpy(data, &(bits = decltype(bits)(*stored)), sizeof bits);
      std::memcpy(&bits, data, sizeof bits);
      value = double(bits);
    });
    return value;
  };
  /// P(x) and the derivative of x P(x).
  auto gelu = [](double x) {
    double c = std::sqrt(2 / 3.14159265358979323846), t = std::tanh(c * (x + 0.044715 * x * x * x));
    double p = (1 + t) / 2;
    return std::pair(p, p + x * (1 - t * t) / 2 * c * (1 + 3 * 0.044715 * x * x));
  };
  int64_t n = op.getSizes()[1], first = int64_t(op.getColumn());
  ArrayRef<int64_t> strides = op.getStrides();
  for (int64_t i = 0; i < op.getSizes()[0]; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int64_t place = i * n + j;
      double sum = op.getAddend() ? at(op.getAddend(), place) : 0;
      if (op.getBias())
        sum += at(op.getBias(), first + j);
      for (int64_t k = 0; k < op.getSizes()[2]; ++k)
        sum +=
            at(op.getA(), i * strides[0] + k * strides[1]) * at(op.getB(), k * strides[2] + (first + j) * strides[3]);
      if (op.getOuts().size() == 2)
        at(op.getOuts()[1], place, sum);
      if (op.getActivation() == ppcrt::Activation::Gelu)
        sum *= gelu(sum).first;
      else if (op.getActivation() == ppcrt::Activation::GeluGradient)
        sum *= gelu(at(op.getAt(), place)).second;
      at(op.getOuts()[0], place, sum);
    }
}

/// The function that is called, if any is.
StringRef calleeOf(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCallee();
  if (auto call = dyn_cast<ppcrt::CallOp>(op))
    return call.getCallee();
  return {};
}

} // namespace

struct KernelProgram::State {
  OwningOpRef<ModuleOp> module;
  llvm::StringMap<std::string> missing; // by function
  std::unique_ptr<ptx::Module> code;
  std::string chip;

  llvm::Error build(StringRef chip, StringRef ptx);
  llvm::Error launch(ppcrt::LaunchOp op, const llvm::DenseMap<Value, uint64_t> &addresses, ptx::GlobalMemory &memory);
  llvm::Error call(func::FuncOp function, ArrayRef<uint64_t> arguments, ptx::GlobalMemory &memory);
};

KernelProgram::KernelProgram(std::unique_ptr<State> state) : state(std::move(state)) {}
KernelProgram::~KernelProgram() = default;

llvm::Expected<std::unique_ptr<KernelProgram>> KernelProgram::compile(ModuleOp module, StringRef chip, StringRef ptx) {
  auto state = std::make_unique<State>();
  state->module = OwningOpRef<ModuleOp>(module.clone());
  for (auto function : llvm::make_early_inc_range(state->module->getOps<func::FuncOp>())) {
    if (!function.isExternal() && usesDoubles(function)) { // which no kernel is made for
      state->missing[function.getSymName()] = "f64";
      function.erase();
    } else if (function.isPublic() && !function->hasAttr(ppcrt::kRoutineAttr)) {
      function->setAttr(ppcrt::kRoutineAttr, StringAttr::get(module.getContext(), "forward"));
    }
  }
  PassManager device(module.getContext());
  buildDevicePhase(device, cudaTarget());
  if (failed(device.run(*state->module)))
    return kernelError("the device phase failed");
  if (auto failure = state->build(chip, ptx))
    return std::move(failure);
  return std::unique_ptr<KernelProgram>(new KernelProgram(std::move(state)));
}

llvm::Error KernelProgram::State::build(StringRef chipName, StringRef ptx) {
  MLIRContext *context = module->getContext();
  context->loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  for (auto function : module->getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    for (Operation &op : function.getBody().front())
      if (!isExecuted(&op) && missing[function.getSymName()].empty())
        missing[function.getSymName()] = op.getName().getStringRef().str();
  }
  auto named = cuda::chipNamed(chipName);
  if (!named)
    return named.takeError();
  chip = named->name;
  OwningOpRef<ModuleOp> texts = cuda::kernelsOn(*module, *named);
  if (!texts)
    return llvm::Error::success();
  PassManager lower(context, ModuleOp::getOperationName());
  cuda::buildLowerKernels(lower);
  if (failed(lower.run(*texts)))
    return kernelError("the kernels cannot be lowered");
  auto text = cuda::emitPtx(*texts, *named);
  if (!text)
    return text.takeError();
  if (!ptx.empty()) {
    std::error_code failure;
    llvm::raw_fd_ostream(ptx, failure) << *text;
    if (failure)
      return kernelError("cannot write '" + ptx + "': " + failure.message());
  }
  try {
    code = ptx::parse(*text);
  } catch (const ptx::ParseError &failure) {
    return kernelError(llvm::Twine("PTX: ") + failure.what() + "\n" + *text);
  }
  code->load([](int64_t, int64_t) { return 0; }, [](uint64_t, const std::vector<uint8_t> &) {});
  return llvm::Error::success();
}

std::string KernelProgram::notExecuted(func::FuncOp function) const {
  std::string found;
  SmallVector<StringRef> pending{function.getSymName()};
  llvm::SmallDenseSet<StringRef> seen;
  while (!pending.empty() && found.empty()) {
    StringRef name = pending.pop_back_val();
    if (!seen.insert(name).second)
      continue;
    found = state->missing.lookup(name);
    if (auto device = state->module->lookupSymbol<func::FuncOp>(name))
      device.walk([&](Operation *op) {
        if (StringRef callee = calleeOf(op); !callee.empty())
          pending.push_back(callee);
      });
  }
  return found;
}

/// As the driver does for kernels on the stand-in.
static ptx::TensorMap encode(const cuda::LaunchTensorMap &map, uint64_t address) {
  ptx::TensorMap encoded;
  encoded.rank = uint8_t(map.sizes.size());
  encoded.elementBytes = 2;
  encoded.swizzle = 3;
  encoded.address = address;
  for (size_t i = 0; i < map.sizes.size(); ++i) {
    encoded.sizes[i] = uint32_t(map.sizes[i]);
    encoded.strides[i] = i ? uint64_t(map.strides[i - 1]) : 2;
    encoded.box[i] = uint16_t(map.box[i]);
  }
  return encoded;
}

llvm::Error KernelProgram::State::launch(ppcrt::LaunchOp op, const llvm::DenseMap<Value, uint64_t> &addresses,
                                         ptx::GlobalMemory &memory) {
  std::string name = op.getKernel().getLeafReference().str();
  cuda::ChipLaunch how = cuda::launchOn(*module, name, int64_t(op.getBlocks()), int64_t(op.getThreads()), chip);
  const ptx::Function &kernel = *code->kernels.at(name);
  std::vector<std::byte> parameters(size_t(kernel.parameterBytes));
  auto set = [&](size_t i, const auto &value) {
    std::memcpy(parameters.data() + kernel.parameters[i].address, &value, sizeof value);
  };
  if (kernel.parameters.size() != op.getOperands().size() + how.maps.size())
    return kernelError("kernel '" + name + "' has another number of parameters than its launch gives");
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) // the coordinate of the only rank is 0
    set(i, addresses.lookup(operand));
  for (auto [i, map] : llvm::enumerate(how.maps))
    set(op.getOperands().size() + i, encode(map, addresses.lookup(op.getOperands()[size_t(map.operand)])));
  ptx::LaunchShape shape;
  shape.grid[0] = uint32_t(how.blocks);
  shape.block[0] = uint32_t(how.threads);
  shape.sharedBytes = uint32_t(how.sharedBytes);
  try {
    ptx::launch(kernel, shape, parameters.data(), memory);
  } catch (const ptx::Fault &fault) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    op->print(stream);
    return kernelError(llvm::Twine(fault.what()) + " in " + text);
  }
  return llvm::Error::success();
}

llvm::Error KernelProgram::State::call(func::FuncOp function, ArrayRef<uint64_t> arguments, ptx::GlobalMemory &memory) {
  llvm::DenseMap<Value, uint64_t> addresses;
  for (auto [argument, address] : llvm::zip(function.getArguments(), arguments))
    addresses[argument] = address;
  for (Operation &op : function.getBody().front()) {
    if (auto view = dyn_cast<memref::ViewOp>(op)) {
      addresses[view] = addresses.lookup(view.getSource()) + uint64_t(*getConstantIntValue(view.getByteShift()));
    } else if (auto global = dyn_cast<memref::GetGlobalOp>(op)) {
      auto values = module->lookupSymbol<memref::GlobalOp>(global.getName()).getConstantInitValue();
      ArrayRef<char> raw = cast<DenseElementsAttr>(values).getRawData();
      int64_t bytes = byteSize(global.getType());
      addresses[global] = memory.allocate(bytes);
      std::byte *data = memory.find(addresses[global], bytes);
      for (int64_t i = 0; i < bytes; ++i) // a splat is there once
        data[i] = std::byte(raw[i % raw.size()]);
    } else if (StringRef callee = calleeOf(&op); !callee.empty()) {
      auto operands = llvm::map_to_vector(op.getOperands(), [&](Value value) { return addresses.lookup(value); });
      if (auto failure = call(module->lookupSymbol<func::FuncOp>(callee), operands, memory))
        return failure;
    } else if (auto product = dyn_cast<ppcrt::GemmOp>(op)) {
      multiply(product, addresses, memory);
    } else if (auto product = dyn_cast<ppcrt::EpilogueGemmOp>(op)) {
      multiply(product, addresses, memory);
    } else if (auto kernel = dyn_cast<ppcrt::LaunchOp>(op)) {
      if (auto failure = launch(kernel, addresses, memory))
        return failure;
    } else if (auto view = dyn_cast<ViewLikeOpInterface>(op)) {
      addresses[op.getResult(0)] = addresses.lookup(view.getViewSource()); // its offset is in its type
    }
  }
  return llvm::Error::success();
}

llvm::Expected<SmallVector<SmallVector<ReferenceTensor>>>
KernelProgram::run(func::FuncOp function, ArrayRef<SmallVector<ReferenceTensor>> arguments) {
  if (arguments.size() != 1)
    return kernelError("kernels are executed on one rank");
  ptx::GlobalMemory memory;
  auto device = state->module->lookupSymbol<func::FuncOp>(function.getSymName());
  SmallVector<uint64_t> buffers;
  for (Type type : device.getArgumentTypes()) {
    int64_t bytes = byteSize(cast<ShapedType>(type));
    buffers.push_back(memory.allocate(bytes));
    std::memset(memory.find(buffers.back(), bytes), 0xff, size_t(bytes));
  }
  auto data = [&](unsigned i) {
    return memory.find(buffers[i], byteSize(cast<ShapedType>(device.getArgumentTypes()[i])));
  };
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    write(arguments[0][i], cast<RankedTensorType>(type).getElementType(), data(i));
  if (auto failure = state->call(device, buffers, memory))
    return std::move(failure);
  SmallVector<ReferenceTensor> results;
  unsigned next = function.getNumArguments();
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    auto updated = function.getResultAttrOfType<IntegerAttr>(i, attr::destination);
    results.push_back(read(cast<RankedTensorType>(type), data(updated ? updated.getInt() : next++)));
  }
  return SmallVector<SmallVector<ReferenceTensor>>{results};
}

} // namespace mlir::ppc::test
