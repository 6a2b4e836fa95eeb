// Issuing.
#include "runtime/cuda/Bodies.h"
#include "runtime/base/Error.h"
#include "runtime/executor/OperationProfile.h"

#include <algorithm>
#include <utility>

namespace ppcrt::cuda {

// Buffers begin at multiples of this in the arena, and so do their slots.
static constexpr int64_t bufferAlignment = 64;
// Of one routine: what it runs on other buffers is issued operation by operation.
static constexpr size_t mostGraphs = 128;

Bodies::Bodies(CudaDevice &cuda, const ppcrt_program &program, const Manifest &manifest, const Device &device)
    : cuda(cuda), code(static_cast<const DeviceCode &>(*manifest.code)), device(device),
      kernels(cuda, program, code.kernels), products(cuda) {
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
  for (const auto &[key, recorded] : graphs)
    for (const Recorded::Step &step : recorded.steps)
      if (step.graph)
        cuda.driver.graphInstanceDestroy(step.graph);
  for (EventHandle *event : markEvents)
    cuda.driver.eventDestroy(event);
  for (Address constant : constants)
    cuda.free(constant);
}

void Bodies::run(RankContext &context, size_t number, void **buffers) {
  std::pair<size_t, Arguments> key(number, {});
  for (size_t i = 0; i < device.routines[number].buffers.size(); ++i)
    key.second.push_back(reinterpret_cast<Address>(buffers[i]));
  cuda.issuing(&code.bodies[size_t(bodyOf[number])].name);
  if (auto recorded = graphs.find(key); recorded != graphs.end())
    return runRecorded(context, recorded->second);
  Run run{context, Mode::Run, {}};
  runBody(run, bodyOf[number], key.second);
}

Bodies::Arguments Bodies::argumentsOf(size_t routine, const DeviceMemory &memory, int64_t microBatch) const {
  Arguments arguments;
  for (int buffer : device.routines[routine].buffers)
    arguments.push_back(reinterpret_cast<Address>(memory.address(device.buffers[size_t(buffer)].start(microBatch))));
  return arguments;
}

void Bodies::rehearse(RankContext &context, const DeviceMemory &memory) {
  Run run{context, Mode::Rehearse, {}};
  for (size_t number = 0; number < device.routines.size(); ++number)
    runBody(run, bodyOf[number], argumentsOf(number, memory, 0));
  cuda.finish();
}

void Bodies::makeGraphs(RankContext &context, const DeviceMemory &memory, int64_t microBatches) {
  for (size_t number = 0; number < device.routines.size(); ++number) {
    size_t before = graphs.size();
    for (int64_t microBatch = 0; microBatch < microBatches && graphs.size() - before < mostGraphs; ++microBatch) {
      Arguments arguments = argumentsOf(number, memory, microBatch);
      auto [found, isNew] = graphs.try_emplace({number, arguments});
      if (!isNew)
        continue;
      Run run{context, Mode::Record, {}, &found->second};
      runBody(run, bodyOf[number], arguments);
      closeGraph(found->second);
    }
  }
}

void Bodies::closeGraph(Recorded &recorded) {
  if (isGraphOpen)
    recorded.steps.push_back({cuda.endGraph(), nullptr, {}, 0});
  isGraphOpen = false;
}

void Bodies::runRecorded(RankContext &context, const Recorded &recorded) {
  Run run{context, Mode::Run, std::vector<int64_t>(recorded.tokens, -1)};
  for (const Recorded::Step &step : recorded.steps)
    if (step.graph)
      cuda.launch(step.graph);
    else
      communicate(run, *step.operation, step.arguments, step.firstToken);
}

void Bodies::runBody(Run &run, int number, const Arguments &arguments) {
  const Body &body = code.bodies[size_t(number)];
  size_t firstToken = run.recorded ? std::exchange(run.recorded->tokens, run.recorded->tokens + size_t(body.tokens))
                                   : run.requests.size();
  run.requests.resize(firstToken + size_t(body.tokens), -1);
  for (size_t i = 0; i < body.operations.size(); ++i) {
    const BodyOperation &operation = body.operations[i];
    const auto *kernel = std::get_if<KernelLaunch>(&operation);
    const auto *product = std::get_if<MatrixProduct>(&operation);
    cuda.issuing(&body.name);
    if ((kernel || product) && run.recorded && !std::exchange(isGraphOpen, true))
      cuda.beginGraph();
    if (kernel)
      launch(run, *kernel, arguments);
    else if (product)
      products.run(numberOf[size_t(number)][i], at(product->a, arguments), at(product->b, arguments),
                   at(product->c, arguments),
                   product->epilogue ? at(*product->epilogue, arguments) : EpilogueAddresses());
    else if (const auto *begins = std::get_if<BodyMark>(&operation))
      mark(run, begins->operation);
    else if (const auto *inner = std::get_if<BodyCall>(&operation))
      call(run, *inner, arguments);
    else
      communicate(run, operation, arguments, firstToken);
  }
  if (!run.recorded)
    run.requests.resize(firstToken);
}

void Bodies::launch(const Run &run, const KernelLaunch &launch, const Arguments &arguments) {
  if (run.mode == Mode::Rehearse)
    return;
  values.clear();
  for (const KernelOperand &operand : launch.operands)
    values.push_back(operand.group < 0 ? at(operand.place, arguments)
                                       : uint64_t(ppcrt_coordinate(&run.context, operand.group)));
  kernels.launch(launch.kernel, values);
}

void Bodies::mark(const Run &run, int64_t operation) {
  if (run.mode != Mode::Run || !run.context.profile)
    return;
  if (marked.size() == markEvents.size())
    markEvents.push_back(cuda.addTimedEvent());
  cuda.record(markEvents[marked.size()], cuda.stream);
  marked.push_back(operation);
}

void Bodies::addTimes(OperationProfile &profile) {
  cuda.finish();
  for (size_t i = 0; i + 1 < marked.size(); ++i)
    if (marked[i] >= 0) // the last of a routine ends what was before it
      profile.add(marked[i], cuda.secondsBetween(markEvents[i], markEvents[i + 1]));
  marked.clear();
}

void Bodies::call(Run &run, const BodyCall &call, const Arguments &arguments) {
  Arguments inner;
  for (const CodePlace &place : call.arguments)
    inner.push_back(at(place, arguments));
  runBody(run, call.body, inner);
}

void Bodies::communicate(Run &run, const BodyOperation &operation, const Arguments &arguments, size_t firstToken) {
  if (run.mode == Mode::Rehearse)
    return;
  if (run.mode == Mode::Record) {
    closeGraph(*run.recorded);
    run.recorded->steps.push_back({nullptr, &operation, arguments, firstToken});
    return;
  }
  int64_t none = -1;
  if (const auto *call = std::get_if<BodyExchange>(&operation))
    exchange(run.context, *call, arguments, call->token < 0 ? none : run.requests[firstToken + size_t(call->token)]);
  else if (const auto *wait = std::get_if<BodyWait>(&operation))
    ppcrt_wait(&run.context, std::exchange(run.requests[firstToken + size_t(wait->token)], -1));
  else
    ppcrt_reach(&run.context, std::get<BodyReach>(operation).entry);
}

// Transports take addresses of the device.
void Bodies::exchange(RankContext &context, const BodyExchange &call, const Arguments &arguments, int64_t &request) {
  auto *in = reinterpret_cast<void *>(at(call.in, arguments)), *out = reinterpret_cast<void *>(at(call.out, arguments));
  bool begins = call.token >= 0;
  int type = int(call.type), kind = int(call.reduction);
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
}

} // namespace ppcrt::cuda
