// Communication on the streams of a device: begins what may begin and notices what has ended, while the rank itself
// runs routines.
#pragma once

#include "runtime/executor/RankContext.h"
#include "runtime/program/ActionOrder.h"
#include "runtime/transport/DeviceMemory.h"

#include <cstddef>
#include <deque>
#include <vector>

namespace ppcrt {

class FiniteCheck;

class StreamCommunication {
public:
  // Everything is borrowed. `memory` is that of the rank of `context`.
  StreamCommunication(const Manifest &manifest, RankContext &context, DeviceMemory &memory);

  // Looks at what is sent from now on. Borrowed; null: not any more.
  void watch(FiniteCheck *finiteCheck) { check = finiteCheck; }

  // From now on the actions are those of `order`, of which none has begun. `step` is for messages. `issueOrder` is that
  // of the device's communication where waiting takes place on the device (Transport::waitBlocks() is false): then what
  // the host begins, and when, follows from the program alone. Borrowed; otherwise null.
  void follow(ActionOrder &order, int64_t step, const std::vector<int64_t> *issueOrder);
  // Ends what has ended and begins what may begin, as far as that goes without waiting.
  void carryOn();
  // Returns when the action may begin, and counts the time that it waits.
  void waitUntilMayBegin(int64_t place);
  // Returns when all actions of the order have ended.
  void waitForAll();

private:
  // An action that has begun.
  struct Flight {
    int64_t place;
    std::vector<Transport::Request> requests;     // that have not ended
    DeviceMemory::Copy copy = DeviceMemory::done; // likewise
    Communication what;
    double begin;
    double moment = 0; // when it began, then when it ended, where time is emulated
  };

  template <typename Condition> void waitUntil(Condition done);
  bool carryOnOnce();
  // Ends those of a stream that have ended; whether there were some.
  bool land(int stream);
  void begin(int64_t place, Flight &flight);
  bool isTurnOf(int64_t place) const {
    return !issueOrder || (issued < issueOrder->size() && (*issueOrder)[issued] == place);
  }
  // Makes the device wait for communication that the action comes after, which has begun.
  void awaitBefore(int64_t place);
  void await(Flight &flight);
  void beginCopy(const CopyCall &call, int64_t microBatch, Flight &flight);
  void beginCollective(const CollectiveCall &call, int64_t microBatch, Flight &flight);
  std::byte *address(const Buffer &buffer, int64_t microBatch) const {
    return memory.address(buffer.start(microBatch));
  }

  const Manifest &manifest;
  const Device &device;
  RankContext &context;
  DeviceMemory &memory;
  FiniteCheck *check = nullptr;
  ActionOrder *order = nullptr;
  const std::vector<int64_t> *issueOrder = nullptr;
  size_t issued = 0; // of these
  int64_t step = 0;
  std::vector<std::deque<Flight>> flights; // [stream], in order
  std::vector<double> landed;              // [stream]: when the last one ended
};

} // namespace ppcrt
