// The host path of the compiler up to optimised LLVM IR, then LLVM's JIT.
#include "HostProgram.h"
#include "HostRuntime.h"
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"

#include "mlir/Pass/PassManager.h"
#include "ppc/Codegen/HostModule.h"
#include "ppc/Phases/TargetPhases.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <cmath>
#include <cstring>

namespace mlir::ppc::test {
namespace {

constexpr size_t kGuard = 64;
constexpr char kGuardByte = 0x5a;

/// 64-byte aligned memory followed by a guard; NaN at first.
struct Buffer {
  explicit Buffer(size_t bytes) : bytes(bytes), memory(bytes + kGuard + 64, char(0xff)) {
    data = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    std::memset(data + bytes, kGuardByte, kGuard);
  }
  bool intact() const {
    return std::all_of(data + bytes, data + bytes + kGuard, [](char c) { return c == kGuardByte; });
  }
  size_t bytes;
  std::vector<char> memory;
  char *data;
};

bool sameValues(ArrayRef<double> some, ArrayRef<double> others) {
  return llvm::equal(some, others, [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

size_t byteSize(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * (tensor.getElementTypeBitWidth() / 8);
}

void write(const ReferenceTensor &tensor, Type type, char *data) {
  Type element = cast<RankedTensorType>(type).getElementType();
  for (auto [i, value] : llvm::enumerate(tensor.data)) {
    if (element.isF32())
      reinterpret_cast<float *>(data)[i] = value;
    else if (element.isF64())
      reinterpret_cast<double *>(data)[i] = value;
    else if (element.isBF16())
      reinterpret_cast<Bf16 *>(data)[i] = Bf16(value);
    else if (element.isInteger(32))
      reinterpret_cast<int32_t *>(data)[i] = value;
    else
      reinterpret_cast<int64_t *>(data)[i] = value;
  }
}

ReferenceTensor read(Type type, const char *data) {
  ReferenceTensor tensor = ReferenceTensor::zeros(type);
  Type element = cast<RankedTensorType>(type).getElementType();
  for (auto [i, value] : llvm::enumerate(tensor.data)) {
    if (element.isF32())
      value = reinterpret_cast<const float *>(data)[i];
    else if (element.isF64())
      value = reinterpret_cast<const double *>(data)[i];
    else if (element.isBF16())
      value = reinterpret_cast<const Bf16 *>(data)[i];
    else if (element.isInteger(32))
      value = reinterpret_cast<const int32_t *>(data)[i];
    else
      value = double(reinterpret_cast<const int64_t *>(data)[i]);
  }
  return tensor;
}

/// Buffers of one call on one rank, in the order of the entry's array; `result[i]` is where result i lies.
struct Frame {
  std::vector<Buffer> buffers;
  SmallVector<unsigned> result;
  std::vector<void *> addresses;

  Frame(func::FuncOp function, ArrayRef<ReferenceTensor> arguments, int64_t scratch) {
    for (auto [type, value] : llvm::zip(function.getArgumentTypes(), arguments)) {
      buffers.emplace_back(byteSize(type));
      write(value, type, buffers.back().data);
    }
    for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
      unsigned place = buffers.size();
      if (auto updated = function.getResultAttrOfType<IntegerAttr>(i, attr::destination))
        place = updated.getInt();
      if (place == buffers.size())
        buffers.emplace_back(byteSize(type));
      result.push_back(place);
    }
    buffers.emplace_back(scratch);
    for (Buffer &buffer : buffers)
      addresses.push_back(buffer.data);
  }
  Frame(Frame &&) = default;
};

llvm::Error error(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

} // namespace

struct HostProgram::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  llvm::StringMap<int64_t> scratch;
};

HostProgram::HostProgram(std::unique_ptr<State> state) : state(std::move(state)) {}
HostProgram::~HostProgram() = default;

llvm::Expected<std::unique_ptr<HostProgram>> HostProgram::compile(ModuleOp module) {
  auto state = std::make_unique<State>();
  OwningOpRef<ModuleOp> copy(module.clone());
  for (auto function : copy->getOps<func::FuncOp>())
    if (function.isPublic() && !function->hasAttr(ppcrt::kRoutineAttr))
      function->setAttr(ppcrt::kRoutineAttr, StringAttr::get(module.getContext(), "forward"));
  PassManager device(module.getContext());
  buildDevicePhase(device, hostTarget());
  if (failed(device.run(*copy)))
    return error("the device phase failed");
  for (auto function : copy->getOps<func::FuncOp>())
    if (function->hasAttr(ppcrt::kRoutineAttr))
      state->scratch[function.getSymName()] = cast<MemRefType>(function.getArgumentTypes().back()).getNumElements();
  PassManager host(module.getContext());
  hostTarget().addCodePasses(host);
  if (failed(host.run(*copy)))
    return error("the host phase failed");

  auto machine = hostTargetMachine({});
  if (!machine)
    return machine.takeError();
  auto context = std::make_unique<llvm::LLVMContext>();
  auto code = translateForHost(*copy, *context, **machine);
  if (!code)
    return code.takeError();
  optimizeForHost(**code, **machine, 3);
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  state->jit = std::move(*jit);
  llvm::orc::SymbolMap symbols;
  for (auto &[name, address] : hostRuntimeFunctions())
    symbols[state->jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                                  llvm::JITSymbolFlags::Exported};
  llvm::orc::JITDylib &library = state->jit->getMainJITDylib();
  if (auto failure = library.define(llvm::orc::absoluteSymbols(symbols)))
    return std::move(failure);
  if (auto process =
          llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(state->jit->getDataLayout().getGlobalPrefix()))
    library.addGenerator(std::move(*process)); // the C library's mathematics
  else
    return process.takeError();
  if (auto failure = state->jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(*code), std::move(context))))
    return std::move(failure);
  return std::unique_ptr<HostProgram>(new HostProgram(std::move(state)));
}

llvm::Expected<SmallVector<SmallVector<ReferenceTensor>>>
HostProgram::run(func::FuncOp function, ArrayRef<SmallVector<ReferenceTensor>> arguments) {
  auto symbol = state->jit->lookup(function.getSymName());
  if (!symbol)
    return symbol.takeError();
  auto *entry = symbol->toPtr<void (*)(HostRank *, void **)>();
  std::vector<Frame> frames;
  frames.reserve(arguments.size());
  for (ArrayRef<ReferenceTensor> values : arguments)
    frames.emplace_back(function, values, state->scratch.lookup(function.getSymName()));
  runRanks(arguments.size(), [&](int number, HostRank *rank) { entry(rank, frames[number].addresses.data()); });
  SmallVector<SmallVector<ReferenceTensor>> results;
  for (Frame &frame : frames) {
    for (auto [i, buffer] : llvm::enumerate(frame.buffers))
      if (!buffer.intact())
        return error("the code wrote past the end of buffer " + llvm::Twine(i) + " of " + function.getSymName());
    for (auto [i, value] : llvm::enumerate(function.getArgumentTypes()))
      if (!llvm::is_contained(frame.result, i)) // only what is updated in place may change
        if (!sameValues(read(value, frame.buffers[i].data).data, arguments[&frame - frames.data()][i].data))
          return error("the code changed argument " + llvm::Twine(i) + " of " + function.getSymName());
    SmallVector<ReferenceTensor> values;
    for (auto [type, place] : llvm::zip(function.getResultTypes(), frame.result))
      values.push_back(read(type, frame.buffers[place].data));
    results.push_back(std::move(values));
  }
  return results;
}

} // namespace mlir::ppc::test
