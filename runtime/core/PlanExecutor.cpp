// The step loop of one rank.
#include "runtime/core/PlanExecutor.h"
#include "runtime/core/Error.h"
#include "runtime/core/FiniteCheck.h"
#include "runtime/core/Initialization.h"
#include "runtime/core/WeightFiles.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

namespace ppcrt {
namespace {

ppcrt_function findEntry(const ppcrt_program &program, const std::string &name) {
  for (uint64_t i = 0; i < program.entry_count; ++i)
    if (name == program.entries[i].name)
      return program.entries[i].function;
  return nullptr;
}

float readFloat(const std::byte *data) {
  float value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

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

void checkEntries(const Manifest &manifest, const ppcrt_program &program) {
  for (size_t s = 0; s < manifest.stages.size(); ++s)
    for (int kind = 0; kind < functionKindCount; ++kind)
      if (const auto &function = manifest.stages[s].functions[kind]; function && !findEntry(program, function->entry))
        throw InputError(format("manifest: stages[%zu].functions.%s.entry: the program has no function \"%s\"", s,
                                functionKindNames[kind], function->entry.c_str()));
}

PlanExecutor::PlanExecutor(const Manifest &manifest, const ppcrt_program &program, RankContext &context,
                           std::byte *arena, const TokenSource &tokens, ExecutionObserver *observer)
    : manifest(manifest), stage(manifest.stageOf(context.transport.rank())), context(context), arena(arena),
      tokens(&tokens), observer(observer), rank(context.transport.rank()), pending(stage.slots) {
  for (int kind = 0; kind < functionKindCount; ++kind) {
    if (!stage.functions[kind])
      continue;
    functions[kind] = findEntry(program, stage.functions[kind]->entry);
    for (int64_t slot = 0; slot < stage.slots; ++slot) {
      Arguments list;
      for (int buffer : stage.functions[kind]->buffers)
        list.push_back(address(stage.buffers[buffer], slot));
      arguments[kind].push_back(std::move(list));
    }
  }
  for (const Buffer &buffer : stage.buffers)
    if (buffer.role == Role::Input)
      inputs.emplace_back(
          &buffer, Block(manifest.grid, rank, {manifest.microBatchSize(), manifest.sequenceLength}, buffer.cuts));
}

std::byte *PlanExecutor::address(const Buffer &buffer, int64_t microBatch) const {
  return arena + buffer.offset + (buffer.inSlot ? stage.slotStart(microBatch) : 0);
}

void PlanExecutor::initializeParameters(uint64_t seed, const WeightFiles *weights) {
  for (const Buffer &buffer : stage.buffers) {
    if (buffer.role != Role::Parameter)
      continue;
    const Parameter &parameter = manifest.parameters[buffer.parameter];
    Block block(manifest.grid, rank, parameter.shape, buffer.cuts);
    if (weights)
      weights->load(buffer, block, address(buffer, 0));
    else
      initialize(address(buffer, 0), buffer, parameter, block, seed);
  }
}

StepResult PlanExecutor::run(int64_t step, double learningRate) {
  runningStep = step;
  beginStep(step, learningRate);
  call(FunctionKind::Prepare, 0);
  for (const Action &action : stage.actions) {
    if (!begun[action.microBatch]) {
      begun[action.microBatch] = true;
      beginMicroBatch(step, action.microBatch);
    }
    perform(action);
  }
  for (int64_t slot = 0; slot < stage.slots; ++slot)
    waitSends(slot);
  call(FunctionKind::Update, 0);
  StepResult result{metric("loss"), metric("grad_norm")};
  if (check)
    check->afterUpdate(step, result.loss, result.gradNorm);
  return result;
}

float PlanExecutor::metric(const char *name) const {
  for (const Buffer &buffer : stage.buffers)
    if (buffer.role == Role::Metric && buffer.name == name)
      return readFloat(address(buffer, 0));
  return 0;
}

// A message that a forward waits for comes from a forward: the actions of a micro-batch are done in the order of the model.
void PlanExecutor::findEvaluation() {
  std::set<std::tuple<int64_t, int64_t, int64_t>> wanted; // from stage, to stage, tag
  for (size_t to = 0; to < manifest.stages.size(); ++to) {
    const std::vector<Action> &actions = manifest.stages[to].actions;
    for (size_t i = 0; i < actions.size(); ++i) {
      if (actions[i].kind != ActionKind::Receive)
        continue;
      auto next = std::find_if(actions.begin() + i, actions.end(), [&](const Action &action) {
        return action.buffer < 0 && action.microBatch == actions[i].microBatch;
      });
      if (next != actions.end() && next->kind == ActionKind::Forward)
        wanted.emplace(actions[i].stage, to, actions[i].tag);
    }
  }
  auto self = manifest.grid.stageOf(rank);
  for (const Action &action : stage.actions)
    if (action.kind == ActionKind::Forward ||
        (action.kind == ActionKind::Send && wanted.count({self, action.stage, action.tag})) ||
        (action.kind == ActionKind::Receive && wanted.count({action.stage, self, action.tag})))
      evaluation.push_back(&action);
}

double PlanExecutor::evaluate(int64_t batch, const TokenSource &samples) {
  if (evaluation.empty())
    findEvaluation();
  const TokenSource *ownTokens = std::exchange(tokens, &samples);
  ExecutionObserver *ownObserver = std::exchange(observer, nullptr);
  CommunicationObserver *communicationObserver = std::exchange(context.observer, nullptr);
  FiniteCheck *ownCheck = std::exchange(check, nullptr);
  Traffic traffic = context.traffic;
  beginStep(batch + 1, 0);
  call(FunctionKind::Prepare, 0);
  for (const Action *action : evaluation) {
    if (!begun[action->microBatch]) {
      begun[action->microBatch] = true;
      beginMicroBatch(batch + 1, action->microBatch);
    }
    perform(*action);
  }
  for (int64_t slot = 0; slot < stage.slots; ++slot)
    waitSends(slot);
  call(FunctionKind::Evaluate, 0);
  tokens = ownTokens, observer = ownObserver, context.observer = communicationObserver, check = ownCheck;
  context.traffic = traffic;
  return metric("loss");
}

void PlanExecutor::beginStep(int64_t step, double learningRate) {
  begun.assign(manifest.microBatches, false);
  for (const Buffer &buffer : stage.buffers) {
    if (buffer.role == Role::Gradient || buffer.role == Role::Accumulator)
      std::memset(address(buffer, 0), 0, buffer.bytes);
    if (buffer.role == Role::Scalar) {
      float value = float(buffer.name == "step" ? double(step) : learningRate);
      std::memcpy(address(buffer, 0), &value, sizeof value);
    }
  }
}

void PlanExecutor::beginMicroBatch(int64_t step, int64_t microBatch) {
  waitSends(microBatch % stage.slots);
  for (const auto &[buffer, block] : inputs)
    fillInput(*buffer, block, step, microBatch);
}

void PlanExecutor::fillInput(const Buffer &buffer, const Block &block, int64_t step, int64_t microBatch) {
  auto *out = reinterpret_cast<int32_t *>(address(buffer, microBatch));
  int64_t length = manifest.sequenceLength;
  int64_t firstSample = (step - 1) * manifest.globalBatch + microBatch * manifest.microBatchSize();
  int64_t shift = buffer.name == "targets"; // a target is the token after
  block.forEachRun([&](int64_t local, int64_t logical, int64_t run) {
    while (run > 0) {
      int64_t row = logical / length, column = logical % length, count = std::min(run, length - column);
      tokens->read(firstSample + row, column + shift, count, out + local);
      checkTokens(firstSample + row, column + shift, count, out + local);
      local += count, logical += count, run -= count;
    }
  });
}

// The program looks up what it is given; an id beyond the vocabulary would read other memory.
void PlanExecutor::checkTokens(int64_t sample, int64_t first, int64_t count, const int32_t *ids) const {
  for (int64_t i = 0; i < count; ++i)
    if (ids[i] < 0 || ids[i] >= manifest.vocabulary)
      throw InputError(format("token %lld of sample %lld is %d, outside the vocabulary of %lld", (long long)(first + i),
                              (long long)sample, ids[i], (long long)manifest.vocabulary));
}

void PlanExecutor::perform(const Action &action) {
  MessageKey key{action.tag, action.microBatch};
  switch (action.kind) {
  case ActionKind::Forward:
    call(FunctionKind::Forward, action.microBatch);
    if (check)
      check->afterForward(runningStep, action.microBatch);
    return;
  case ActionKind::Backward:
    return call(FunctionKind::Backward, action.microBatch);
  case ActionKind::WeightGradient:
    return call(FunctionKind::WeightGradient, action.microBatch);
  case ActionKind::Send:
  case ActionKind::Receive:
    break;
  }
  const Buffer &buffer = stage.buffers[action.buffer];
  CommunicationKind kind = action.kind == ActionKind::Send ? CommunicationKind::Send : CommunicationKind::Receive;
  CommunicationTimer timer(context, {kind, -1, action.microBatch, buffer.bytes});
  int peer = int(manifest.grid.rankAtStage(rank, action.stage));
  if (action.kind == ActionKind::Receive) {
    context.transport.receive(peer, key, address(buffer, action.microBatch), buffer.bytes);
  } else {
    if (check)
      check->beforeSend(runningStep, action.microBatch, buffer);
    context.traffic.messageBytes += double(buffer.bytes);
    pending[action.microBatch % stage.slots].push_back(
        context.transport.send(peer, key, address(buffer, action.microBatch), buffer.bytes));
  }
}

void PlanExecutor::call(FunctionKind kind, int64_t microBatch) {
  if (!functions[int(kind)])
    return;
  Observed observed(observer, functionKindNames[int(kind)], microBatch);
  // A function may not keep the array, but it may change it.
  Arguments list = arguments[int(kind)][microBatch % stage.slots];
  functions[int(kind)](list.data());
}

void PlanExecutor::waitSends(int64_t slot) {
  if (pending[slot].empty())
    return;
  CommunicationTimer timer(context, {CommunicationKind::WaitForSends, -1, -1, 0});
  for (int64_t request : pending[slot])
    context.transport.waitSend(request);
  pending[slot].clear();
}

} // namespace ppcrt
