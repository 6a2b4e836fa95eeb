#include "test/CudaStandIn/Driver/Machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace standin {
namespace {

int64_t setting(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtoll(text, nullptr, 10) : otherwise;
}

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
      random(uint64_t(setting("PPC_STANDIN_SEED", 1))), wanders(std::getenv("PPC_STANDIN_SEED") != nullptr),
      blocks(setting("CUDA_LAUNCH_BLOCKING", 0) != 0) {}

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
  streams[address] = std::move(stream);
  return address;
}

void Machine::removeStream(Stream *stream) {
  finish(stream);
  streams.erase(stream);
}

void Machine::enqueue(Stream *stream, Work work) {
  stream->items.push_back({std::move(work), nullptr, nullptr, 0});
  if (blocks)
    finish(stream);
  wander();
}

void Machine::record(Stream *stream, Event *event) {
  event->streams.push_back(stream);
  stream->items.push_back({nullptr, event, nullptr, ++event->recorded});
  wander();
}

void Machine::await(Stream *stream, Event *event) {
  stream->items.push_back({nullptr, nullptr, event, event->recorded});
  wander();
}

void Machine::reach(Event *event, uint64_t turn) {
  while (event->reached < turn && perform(event->streams.front()))
    ;
}

bool Machine::perform(Stream *stream) {
  if (stream->items.empty() || failure)
    return false;
  Stream::Item item = std::move(stream->items.front());
  stream->items.pop_front();
  if (item.awaits)
    reach(item.awaits, item.turn);
  if (item.records) {
    item.records->reached = item.turn;
    item.records->streams.pop_front();
  }
  try {
    if (item.work && !failure)
      item.work();
  } catch (const ptx::Fault &fault) {
    fail(statusOf(fault.kind), fault.what());
  }
  return true;
}

void Machine::wander() {
  if (!wanders)
    return;
  for (auto &[address, stream] : streams)
    for (uint64_t turns = draw() % 4; turns > 0 && perform(address); --turns)
      ;
}

int Machine::finish(Stream *stream) {
  while (perform(stream))
    ;
  return status();
}

int Machine::finish(Event *event) {
  reach(event, event->recorded);
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
