#include "test/CudaStandIn/Driver/Machine.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace standin {
namespace {

int64_t setting(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtoll(text, nullptr, 10) : otherwise;
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int statusOf(ptx::FaultKind kind) {
  switch (kind) {
  case ptx::FaultKind::OutOfBounds:
    return IllegalAddress;
  case ptx::FaultKind::Misaligned:
    return MisalignedAddress;
  case ptx::FaultKind::Hang:
    return LaunchTimeout;
  default:
    return LaunchFailed;
  }
}

} // namespace

Machine &Machine::get() {
  static auto *machine = new Machine; // never destroyed: libraries end in any order
  return *machine;
}

Machine::Machine()
    : devices(int(setting("PPC_STANDIN_DEVICES", 1))), chip(int(setting("PPC_STANDIN_CHIP", 80))),
      version(int(setting("PPC_STANDIN_VERSION", 13000))), capacity(setting("PPC_STANDIN_MEMORY", int64_t(16) << 30)),
      ofContext(setting("PPC_STANDIN_CONTEXT", 0)), ofCommunicator(setting("PPC_STANDIN_COMMUNICATOR", 0)),
      memory(/*watched=*/true), random(uint64_t(setting("PPC_STANDIN_SEED", 1))),
      wanders(std::getenv("PPC_STANDIN_SEED") != nullptr), blocks(setting("CUDA_LAUNCH_BLOCKING", 0) != 0) {}

void Machine::initialize() {
  isInitialized = true;
  process = getpid();
}

int Machine::status() const {
  if (!isInitialized || process != getpid())
    return NotInitialized;
  return failure;
}

int Machine::fail(int status, const std::string &what) {
  std::fprintf(stderr, "stand-in of a GPU: %s\n", what.c_str());
  std::fflush(stderr);
  return failure = status;
}

bool Machine::mayPrepare(const char *call) {
  if (inStep)
    fail(NotPermitted, std::string(call) + " after the first kernel was launched: a step neither allocates, loads, "
                                           "changes attributes nor waits for the device");
  return !inStep;
}

Stream *Machine::addStream() {
  auto stream = std::make_unique<Stream>();
  Stream *address = stream.get();
  stream->number = streamCount++;
  streams[address] = std::move(stream);
  return address;
}

void Machine::removeStream(Stream *stream) {
  finish(stream);
  streams.erase(stream);
}

OperationPointer Machine::issue(Stream *stream, std::string name) {
  join(stream->clock, host);
  stream->clock.resize(std::max(stream->clock.size(), stream->number + 1));
  uint64_t number = ++stream->clock[stream->number];
  return std::make_shared<const Operation>(Operation{std::move(name), stream->number, number, stream->clock});
}

Stream *Machine::astray(Stream *stream, const char *kind) {
  return !stream->captured && isPlanted(kind) ? addStream() : stream;
}

void Machine::enqueue(Stream *stream, std::string name, Work work) {
  if (stream->captured) {
    stream->captured->push_back({std::move(name), std::move(work)});
    return;
  }
  stream = astray(stream, "stream");
  stream->items.push_back({issue(stream, std::move(name)),
                           [work = std::move(work)] {
                             work();
                             return true;
                           },
                           nullptr, nullptr, 0, hostWaits, false, 0});
  if (blocks)
    finish(stream);
  wander();
}

void Machine::enqueueWithOthers(Stream *stream, std::string name, Attempt attempt) {
  if (stream->captured) {
    fail(CaptureUnsupported, "graphs here hold only kernels, copies and GEMMs");
    return;
  }
  stream = astray(stream, "stream");
  stream->items.push_back(
      {issue(stream, std::move(name)), std::move(attempt), nullptr, nullptr, 0, hostWaits, true, seconds()});
  if (!isKeptOn)
    std::thread([this] { keepOn(); }).detach();
  isKeptOn = true;
  wander();
}

void Machine::record(Stream *stream, Event *event) {
  if (stream->captured) {
    fail(CaptureUnsupported, "graphs here hold only kernels, copies and GEMMs");
    return;
  }
  if (isPlanted("event"))
    return;
  event->pending[++event->recorded] = stream;
  event->clock = stream->clock;
  stream->items.push_back({nullptr, nullptr, event, nullptr, event->recorded, 0, false, 0});
  wander();
}

void Machine::await(Stream *stream, Event *event) {
  if (stream->captured) {
    fail(CaptureUnsupported, "graphs here hold only kernels, copies and GEMMs");
    return;
  }
  if (isPlanted("wait"))
    return;
  join(stream->clock, event->clock);
  stream->items.push_back({nullptr, nullptr, nullptr, event, event->recorded, 0, false, 0});
  wander();
}

void Machine::hostHasSeenAll() {
  for (auto &[address, stream] : streams)
    join(host, stream->clock);
}

void Machine::giveBack(uint64_t address) {
  used -= sizes[address];
  history.forget(address, uint64_t(sizes[address]));
}

bool Machine::reach(Event *event, uint64_t turn) {
  while (event->pending.count(turn))
    if (!perform(event->pending[turn]))
      return false;
  return true;
}

bool Machine::perform(Stream *stream) {
  if (stream->items.empty() || failure || stream->isBusy)
    return false;
  Stream::Item &item = stream->items.front();
  stream->isBusy = true; // while it waits for others, which may wait for it
  bool done = true;
  try {
    done = (!item.awaits || reach(item.awaits, item.turn)) && (!item.attempt || item.attempt());
    if (item.operation)
      history.add(item.operation, memory.takeUses(), memory);
  } catch (const ptx::Fault &fault) {
    bool isNamed = fault.kind == ptx::FaultKind::Race || !item.operation;
    fail(statusOf(fault.kind), fault.what() + (isNamed ? "" : " in " + describe(*item.operation)));
  }
  stream->isBusy = false;
  if (!done)
    return false;
  if (item.records) {
    item.records->pending.erase(item.turn);
    item.records->happened = seconds();
  }
  stream->items.pop_front();
  return true;
}

void Machine::approach(Event *event) {
  if (!hasHappened(*event) && !perform(event->pending[event->recorded]))
    letOthersOn(event->pending[event->recorded]);
}

void Machine::letOthersOn(Stream *but) {
  for (auto &[address, stream] : streams)
    if (address != but && !stream->items.empty() && stream->items.front().needsOthers)
      perform(address);
  mutex.unlock();
  usleep(100);
  mutex.lock();
}

void Machine::keepOn() {
  constexpr double late = 1e-3;
  for (;; usleep(500)) {
    Lock lock(mutex);
    for (auto &[address, stream] : streams) {
      auto wanted = std::find_if(stream->items.begin(), stream->items.end(),
                                 [](const Stream::Item &item) { return item.needsOthers; });
      if (wanted == stream->items.end() || seconds() - wanted->issued < late)
        continue;
      for (auto count = wanted - stream->items.begin(); count >= 0 && perform(address); --count)
        ;
    }
  }
}

void Machine::wander() {
  if (!wanders)
    return;
  for (auto &[address, stream] : streams)
    for (uint64_t turns = draw() % 4; turns > 0 && perform(address); --turns)
      ;
}

int Machine::finish(Stream *stream) {
  if (stream->captured)
    return fail(CaptureUnsupported, "a stream cannot be waited for while it is captured into a graph");
  while (!stream->items.empty() && !status())
    if (!perform(stream))
      letOthersOn(stream);
  ++hostWaits;
  doWhatIsOld();
  return status();
}

// Executes old operations that no thread waits for.
void Machine::doWhatIsOld() {
  constexpr uint64_t old = 2;
  for (auto &[address, stream] : streams)
    while (!stream->items.empty() && !stream->isBusy && stream->items.front().hostWaits + old <= hostWaits &&
           perform(address))
      ;
}

int Machine::finish(Event *event) {
  uint64_t turn = event->recorded;
  while (event->pending.count(turn) && !status())
    if (!reach(event, turn))
      letOthersOn(event->pending[turn]);
  return status();
}

int Machine::finishAll() {
  for (auto &[address, stream] : streams)
    finish(address);
  return status();
}

uint64_t allocate(Machine &machine, int64_t bytes) {
  uint64_t address = machine.memory.allocate(bytes);
  std::memset(machine.memory.find(address, bytes), 0xcd, size_t(bytes));
  machine.sizes[address] = bytes;
  machine.used += bytes;
  return address;
}

} // namespace standin
