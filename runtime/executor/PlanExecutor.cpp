// The step loop of one rank.
#include "runtime/executor/PlanExecutor.h"
#include "runtime/base/Error.h"
#include "runtime/executor/EmulatedBodies.h"
#include "runtime/executor/FiniteCheck.h"
#include "runtime/executor/Initialization.h"
#include "runtime/program/IssueOrder.h"
#include "runtime/watch/RankProgress.h"
#include "runtime/weights/WeightFiles.h"

#include <algorithm>
#include <utility>

namespace ppcrt {
namespace {

// Brackets a piece of work for the observer.
struct Observed {
  ExecutionObserver *observer;
  Observed(ExecutionObserver *observer, const char *what, int64_t microBatch) : observer(observer) {
    if (observer)
      observer->begin(what, microBatch);
  }
  ~Observed() {
    if (observer)
      observer->end();
  }
};

} // namespace

PlanExecutor::PlanExecutor(const Manifest &manifest, RoutineCode &code, RankContext &context, DeviceMemory &memory,
                           const TokenSource &tokens, ExecutionObserver *observer)
    : manifest(manifest), device(manifest.deviceOf(context.transport.rank())), code(code), context(context),
      memory(memory), tokens(&tokens), observer(observer), rank(context.transport.rank()),
      step(device.step, device.streams.size()), communication(manifest, context, memory) {
  if (device.evaluate)
    evaluation = ActionOrder(*device.evaluate, device.streams.size());
  if (!context.transport.waitBlocks()) {
    auto mine = size_t(manifest.grid.stageOf(rank));
    stepIssue = issueOrder(manifest, [](const Device &of) { return &of.step; })[mine];
    evaluationIssue =
        issueOrder(manifest, [](const Device &of) { return of.evaluate ? &*of.evaluate : nullptr; })[mine];
  }
  for (const Buffer &buffer : device.buffers)
    if (buffer.role == Role::Input)
      inputs.emplace_back(
          &buffer, Block(manifest.grid, rank, {manifest.microBatchSize(), manifest.sequenceLength}, buffer.cuts));
}

void PlanExecutor::watch(FiniteCheck *finiteCheck) {
  check = finiteCheck;
  communication.watch(finiteCheck);
}

void PlanExecutor::initializeParameters(uint64_t seed, const WeightFiles *weights) {
  for (const Buffer &buffer : device.buffers) {
    if (buffer.role != Role::Parameter)
      continue;
    const Parameter &parameter = manifest.parameters[buffer.parameter];
    Block block(manifest.grid, rank, parameter.shape, buffer.cuts);
    std::vector<std::byte> content(size_t(buffer.bytes));
    if (weights)
      weights->load(buffer, block, content.data());
    else
      initialize(content.data(), buffer, parameter, block, seed);
    memory.copyIn(buffer.offset, content.data(), buffer.bytes);
  }
}

StepResult PlanExecutor::run(int64_t number, double learningRate) {
  clear(Role::Gradient);
  clear(Role::Accumulator);
  setScalars(number, learningRate);
  perform(step);
  StepResult result{metric("loss"), metric("grad_norm")};
  if (check)
    check->afterUpdate(number, result.loss, result.gradNorm);
  return result;
}

float PlanExecutor::metric(const char *name) const {
  for (const Buffer &buffer : device.buffers)
    if (buffer.role == Role::Metric && buffer.name == name)
      return memory.read<float>(buffer.offset);
  return 0;
}

bool PlanExecutor::canEvaluate() const {
  return std::any_of(manifest.devices.begin(), manifest.devices.end(),
                     [](const Device &other) { return other.evaluate.has_value(); });
}

double PlanExecutor::evaluate(int64_t batch, const TokenSource &samples) {
  const TokenSource *ownTokens = std::exchange(tokens, &samples);
  ExecutionObserver *ownObserver = std::exchange(observer, nullptr);
  CommunicationObserver *communicationObserver = std::exchange(context.observer, nullptr);
  OperationProfile *ownProfile = std::exchange(context.profile, nullptr);
  FiniteCheck *ownCheck = check;
  EmulatedBodies *ownBodies = std::exchange(bodies, nullptr);
  watch(nullptr);
  Traffic traffic = context.traffic;
  clear(Role::Accumulator);
  setScalars(batch + 1, 0);
  perform(evaluation);
  tokens = ownTokens, observer = ownObserver;
  watch(ownCheck);
  bodies = ownBodies;
  context.observer = communicationObserver, context.profile = ownProfile, context.traffic = traffic;
  return metric("loss");
}

void PlanExecutor::clear(Role role) {
  for (const Buffer &buffer : device.buffers)
    if (buffer.role == role)
      memory.clear(buffer.offset, buffer.bytes);
}

void PlanExecutor::setScalars(int64_t number, double learningRate) {
  runningStep = number;
  for (const Buffer &buffer : device.buffers)
    if (buffer.role == Role::Scalar)
      memory.write(buffer.offset, float(buffer.name == "step" ? double(number) : learningRate));
}

void PlanExecutor::perform(ActionOrder &order) {
  order.reset();
  performed = &order;
  communication.follow(order, runningStep,
                       context.transport.waitBlocks() ? nullptr
                       : &order == &step              ? &stepIssue
                                                      : &evaluationIssue);
  RoutineListener *ownListener = context.listener;
  context.listener = this;
  for (place = 0; place < order.size(); ++place) {
    const auto &[action, microBatch] = order.at(place);
    if (!isOfRank(action->kind))
      continue;
    bool loads = action->kind == ActionKind::Load;
    if (context.marks)
      context.marks->begin(loads ? device.routines.size() : size_t(action->number), microBatch,
                           context.traffic.waitedSeconds);
    communication.carryOn();
    communication.waitUntilMayBegin(place);
    if (bodies)
      bodies->arrive(order.readyAt(place));
    order.begin(place);
    if (loads)
      load(microBatch);
    else
      run(size_t(action->number), microBatch);
    order.end(place, moment());
  }
  communication.waitForAll();
  if (context.marks)
    context.marks->end(context.traffic.waitedSeconds);
  if (bodies)
    bodies->arrive(order.latest());
  context.listener = ownListener;
}

void PlanExecutor::reached(int64_t entry) {
  if (entry < 0 || entry >= device.routines[size_t(performed->at(place).action->number)].earlyTokens)
    fatal("ppcrt_reach: the routine has no early token %lld", (long long)entry);
  if (bodies)
    bodies->endPiece();
  performed->reach(place, entry, moment());
  communicated(0);
}

double PlanExecutor::moment() const { return bodies ? bodies->moment() : 0; }

void PlanExecutor::communicates() {
  if (bodies)
    bodies->endPiece();
  context.transport.setMoment(moment());
}

void PlanExecutor::communicated(double ended) {
  if (bodies)
    bodies->arrive(ended);
  communication.carryOn();
  if (bodies)
    bodies->beginPiece();
}

void PlanExecutor::load(int64_t microBatch) {
  for (const auto &[buffer, block] : inputs)
    fillInput(*buffer, block, microBatch);
}

void PlanExecutor::fillInput(const Buffer &buffer, const Block &block, int64_t microBatch) {
  ids.assign(size_t(elementCount(buffer.shape)), 0);
  int32_t *out = ids.data();
  int64_t length = manifest.sequenceLength;
  int64_t firstSample = (runningStep - 1) * manifest.globalBatch + microBatch * manifest.microBatchSize();
  int64_t shift = buffer.name == "targets"; // a target is the token after
  block.forEachRun([&](int64_t local, int64_t logical, int64_t run) {
    while (run > 0) {
      int64_t row = logical / length, column = logical % length, count = std::min(run, length - column);
      tokens->read(firstSample + row, column + shift, count, out + local);
      checkTokens(firstSample + row, column + shift, count, out + local);
      local += count, logical += count, run -= count;
    }
  });
  memory.copyIn(buffer.start(microBatch), ids.data(), buffer.bytes);
}

// The program looks up what it is given; an id beyond the vocabulary would read other memory.
void PlanExecutor::checkTokens(int64_t sample, int64_t first, int64_t count, const int32_t *ids) const {
  for (int64_t i = 0; i < count; ++i)
    if (ids[i] < 0 || ids[i] >= manifest.vocabulary)
      throw InputError(format("token %lld of sample %lld is %d, outside the vocabulary of %lld", (long long)(first + i),
                              (long long)sample, ids[i], (long long)manifest.vocabulary));
}

void PlanExecutor::run(size_t number, int64_t microBatch) {
  const Routine &routine = device.routines[number];
  {
    Observed observed(observer, routineKindNames[int(routine.kind)], microBatch);
    // A function may not keep the array, but it may change it.
    arguments.clear();
    for (int buffer : routine.buffers)
      arguments.push_back(memory.address(device.buffers[buffer].start(microBatch)));
    if (bodies)
      bodies->beginRoutine(number);
    code.run(context, number, arguments.data());
    if (bodies)
      bodies->endRoutine();
  }
  if (check && routine.kind == RoutineKind::Forward)
    check->afterForward(runningStep, microBatch);
}

} // namespace ppcrt
