// A fake GPU: memory, and streams that execute as late as is legal, when a thread waits for them; with
// PPC_STANDIN_SEED=N in the environment some operations execute earlier, in a random order of seed N. After the first
// kernel launch, calls that a program must not make while it trains are faults: allocate, load, change attributes, wait
// for a whole device. Unordered uses of the same memory by two streams are faults whenever they happen, and so are
// reads of bytes that were never written.
//
// PPC_STANDIN_DEVICES (1), PPC_STANDIN_CHIP (80), PPC_STANDIN_MEMORY (bytes; 16 GiB) and PPC_STANDIN_VERSION (13000, as
// cuDriverGetVersion returns it) describe the machine; PPC_STANDIN_CONTEXT and PPC_STANDIN_COMMUNICATOR (bytes; 0) are
// the memory that libraries allocate.
#pragma once

#include "test/CudaStandIn/Driver/Ordering.h"
#include "test/CudaStandIn/Driver/Plant.h"
#include "test/CudaStandIn/Ptx/Fault.h"
#include "test/CudaStandIn/Ptx/GlobalMemory.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace standin {

using Work = std::function<void()>; // throws ptx::Fault
struct NamedWork {
  std::string name;
  Work work;
};
using Attempt = std::function<bool()>; // throws ptx::Fault; false: try again, others have not arrived yet
using Lock = std::lock_guard<std::recursive_mutex>;

struct Stream;

struct Event {
  uint64_t recorded = 0;                // how often it was issued
  std::map<uint64_t, Stream *> pending; // recordings that have not happened, and the streams that will reach them
  bool isTimed = true;
  double happened = 0; // seconds, the last time
  Clock clock;         // time of the last recording
};

struct Stream {
  struct Item {
    OperationPointer operation; // null: an event
    Attempt attempt;
    Event *records = nullptr, *awaits = nullptr;
    uint64_t turn = 0;      // number of the recorded event
    uint64_t hostWaits = 0; // at the time at which it was issued
    bool needsOthers = false;
    double issued = 0; // seconds
  };
  size_t number;
  Clock clock; // time of the operation issued last
  std::deque<Item> items;
  bool isBusy = false;                        // with the first of them
  std::vector<NamedWork> *captured = nullptr; // receives issued operations instead, while a graph is captured
};

// Numbers of cuda.h.
enum Status {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchTimeout = 702,
  MisalignedAddress = 716,
  LaunchFailed = 719,
  NotPermitted = 800,
  CaptureUnsupported = 900,
};

class Machine {
public:
  // The one of this process.
  static Machine &get();

  int devices, chip, version;
  int64_t capacity, ofContext, ofCommunicator, used = 0;
  ptx::GlobalMemory memory;
  std::map<uint64_t, int64_t> sizes; // bytes of each allocation

  // 0, or the error that nothing gets past: of a fault, or of a process that is not the one which called cuInit.
  int status() const;
  bool isInitialized = false;
  int contexts = 0;
  void initialize();
  // From now on only operations that are legal in a training step are allowed.
  void beginStep() { inStep = true; }
  void endSteps() { inStep = false; }
  // A fault if `call` is made in a step.
  bool mayPrepare(const char *call);
  // Says what is wrong, which every later call returns.
  int fail(int status, const std::string &what);

  Stream *addStream();
  void removeStream(Stream *stream);
  // `name` says what uses memory: "kernel 'rows_8f03'".
  void enqueue(Stream *stream, std::string name, Work work);
  // An operation with other processes. It is also tried now and then when no thread waits for it, as another process
  // may.
  void enqueueWithOthers(Stream *stream, std::string name, Attempt attempt);
  void record(Stream *stream, Event *event);
  void await(Stream *stream, Event *event);
  bool hasHappened(const Event &event) const { return !event.pending.count(event.recorded); }
  // Executes one operation before the event, so that repeated queries reach it.
  void approach(Event *event);
  // Until all of it is done; the status. What is issued afterwards comes after it only where the host has waited.
  int finish(Stream *stream);
  int finish(Event *event);
  int finishAll();
  void hostHasSeen(const Clock &clock) { join(host, clock); }
  void hostHasSeenAll();
  void giveBack(uint64_t address);
  // Whether this call in a step is to be another one (Plant.h).
  bool isPlanted(const char *kind) { return inStep && plant.isDue(kind); }
  // A stream that waits for nothing, if what is issued now is to be planted there.
  Stream *astray(Stream *stream, const char *kind);
  uint64_t draw() { return random(); }

private:
  Machine();

public:
  // Held by each thread that uses any member.
  std::recursive_mutex mutex;

private:
  // The first item; false if there is none, it has to be tried again, or nothing may be done any more.
  bool perform(Stream *stream);
  bool reach(Event *event, uint64_t turn);
  // Lets others come: of this process those on other streams, of other processes all.
  void letOthersOn(Stream *but);
  void keepOn();
  void wander();
  void doWhatIsOld();

  std::map<Stream *, std::unique_ptr<Stream>> streams;
  std::mt19937_64 random;
  OperationPointer issue(Stream *stream, std::string name);
  size_t streamCount = 0;
  Clock host;             // operations that the host has waited for
  uint64_t hostWaits = 0; // for a stream, so far
  UseHistory history;
  Plant plant;
  bool isKeptOn = false; // by a thread of its own
  bool wanders = false, blocks = false, inStep = false;
  int failure = 0;
  int process = 0; // that called cuInit
};

// Memory of 0xcd bytes, marked as never written.
uint64_t allocate(Machine &machine, int64_t bytes);

} // namespace standin
