// Issuing.
#include "runtime/cuda/Bodies.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <utility>

namespace ppcrt::cuda {

// Buffers begin at multiples of this in the arena, and so do their slots.
static constexpr int64_t bufferAlignment = 64;

Bodies::Bodies(CudaDevice &cuda, const ppcrt_program &program, const Manifest &manifest, const Device &device)
    : cuda(cuda), code(manifest.code), device(device), kernels(cuda, program, code.kernels), products(cuda) {
  for (const Routine &routine : device.routines)
    bodyOf.push_back(code.bodyNamed(routine.entry));
  for (const Body &body : code.bodies) {
    std::vector<int> &numbers = numberOf.emplace_back(body.operations.size(), -1);
    for (size_t i = 0; i < body.operations.size(); ++i)
      if (const auto *product = std::get_if<MatrixProduct>(&body.operations[i])) {
        try {
          numbers[i] = products.prepare(*product, bufferAlignment);
        } catch (const InputError &error) {
          throw InputError(format("operation %zu of \"%s\", a product: %s", i, body.name.c_str(), error.what()));
        }
      }
  }
  products.reserve();
  for (size_t i = 0; i < code.constants.size(); ++i) {
    constants.push_back(cuda.allocate(std::max<int64_t>(code.constants[i].bytes, 1), "a constant"));
    cuda.copyIn(constants.back(), program.constants[i].data, code.constants[i].bytes);
  }
}

Bodies::~Bodies() {
  for (Address constant : constants)
    cuda.free(constant);
}

void Bodies::run(RankContext &context, size_t number, void **buffers) {
  Arguments arguments;
  for (size_t i = 0; i < device.routines[number].buffers.size(); ++i)
    arguments.push_back(reinterpret_cast<Address>(buffers[i]));
  runBody({context, false}, bodyOf[number], arguments);
}

void Bodies::rehearse(RankContext &context, const DeviceMemory &memory) {
  for (size_t number = 0; number < device.routines.size(); ++number) {
    Arguments arguments;
    for (int buffer : device.routines[number].buffers)
      arguments.push_back(reinterpret_cast<Address>(memory.address(device.buffers[size_t(buffer)].offset)));
    runBody({context, true}, bodyOf[number], arguments);
  }
  cuda.finish();
}

void Bodies::runBody(const Run &run, int number, const Arguments &arguments) {
  const Body &body = code.bodies[size_t(number)];
  std::vector<int64_t> requests(size_t(body.tokens), -1);
  for (size_t i = 0; i < body.operations.size(); ++i) {
    const BodyOperation &operation = body.operations[i];
    cuda.issuing(&body.name);
    if (const auto *launch = std::get_if<KernelLaunch>(&operation))
      perform(run, *launch, arguments);
    else if (const auto *product = std::get_if<MatrixProduct>(&operation))
      products.run(numberOf[size_t(number)][i], at(product->a, arguments), at(product->b, arguments),
                   at(product->c, arguments));
    else if (const auto *call = std::get_if<BodyCall>(&operation))
      perform(run, *call, arguments);
    else if (run.rehearses)
      continue;
    else if (const auto *collective = std::get_if<BodyExchange>(&operation))
      exchange(run.context, *collective, arguments, requests);
    else if (const auto *wait = std::get_if<BodyWait>(&operation))
      ppcrt_wait(&run.context, std::exchange(requests[size_t(wait->token)], -1));
    else
      ppcrt_reach(&run.context, std::get<BodyReach>(operation).entry);
  }
}

void Bodies::perform(const Run &run, const KernelLaunch &launch, const Arguments &arguments) {
  if (run.rehearses)
    return;
  values.clear();
  for (const KernelOperand &operand : launch.operands)
    values.push_back(operand.group < 0 ? at(operand.place, arguments)
                                       : uint64_t(ppcrt_coordinate(&run.context, operand.group)));
  parameters.clear();
  for (uint64_t &value : values)
    parameters.push_back(&value);
  kernels.launch(launch.kernel, parameters.data());
}

void Bodies::perform(const Run &run, const BodyCall &call, const Arguments &arguments) {
  Arguments inner;
  for (const CodePlace &place : call.arguments)
    inner.push_back(at(place, arguments));
  runBody(run, call.body, inner);
}

// Transports take addresses of the device.
void Bodies::exchange(RankContext &context, const BodyExchange &call, const Arguments &arguments,
                      std::vector<int64_t> &requests) {
  auto *in = reinterpret_cast<void *>(at(call.in, arguments)), *out = reinterpret_cast<void *>(at(call.out, arguments));
  bool begins = call.token >= 0;
  int type = int(call.type), kind = int(call.reduction);
  int64_t request = -1;
  switch (call.kind) {
  case CollectiveKind::AllReduce:
    begins ? void(request = ppcrt_all_reduce_start(&context, call.group, out, call.count, type, kind))
           : ppcrt_all_reduce(&context, call.group, out, call.count, type, kind);
    break;
  case CollectiveKind::AllGather:
    begins ? void(request = ppcrt_all_gather_start(&context, call.group, in, out, call.count, type))
           : ppcrt_all_gather(&context, call.group, in, out, call.count, type);
    break;
  case CollectiveKind::ReduceScatter:
    begins ? void(request = ppcrt_reduce_scatter_start(&context, call.group, in, out, call.count, type, kind))
           : ppcrt_reduce_scatter(&context, call.group, in, out, call.count, type, kind);
    break;
  case CollectiveKind::AllToAll:
    begins ? void(request = ppcrt_all_to_all_start(&context, call.group, in, out, call.count, type))
           : ppcrt_all_to_all(&context, call.group, in, out, call.count, type);
    break;
  default:
    begins ? void(request = ppcrt_permute_start(&context, call.group, in, out, call.count, type, call.shift))
           : ppcrt_permute(&context, call.group, in, out, call.count, type, call.shift);
  }
  if (begins)
    requests[size_t(call.token)] = request;
}

} // namespace ppcrt::cuda
