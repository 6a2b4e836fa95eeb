// The GPU that there is not: memory, and streams whose work is done as late as is legal, which is when somebody waits
// for it; or, with PPC_STANDIN_SEED=N in the environment, some of it earlier, in an order that N draws. After the first
// kernel was launched what a program must not do while it trains is a fault: allocate, load, change attributes, wait
// for a whole device. So are uses of memory by two streams that nothing orders, whenever they happen, and reads of what
// nobody has written.
//
// PPC_STANDIN_DEVICES (1), PPC_STANDIN_CHIP (80), PPC_STANDIN_MEMORY (bytes; 16 GiB) and PPC_STANDIN_VERSION (13000, as
// cuDriverGetVersion says it) are what the machine has; PPC_STANDIN_CONTEXT and PPC_STANDIN_COMMUNICATOR (bytes; 0) are
// what libraries take of its memory.
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
using Attempt = std::function<bool()>; // the same; false: it has to be tried again, as others have not come yet
using Lock = std::lock_guard<std::recursive_mutex>;

struct Stream;

struct Event {
  uint64_t recorded = 0;                // how often it was issued
  std::map<uint64_t, Stream *> pending; // of these, those that have not happened, and where they will
  bool isTimed = true;
  double happened = 0; // seconds, the last time
  Clock clock;         // of the last of these
};

struct Stream {
  struct Item {
    OperationPointer operation; // null: an event
    Attempt attempt;
    Event *records = nullptr, *awaits = nullptr;
    uint64_t turn = 0;      // of the event
    uint64_t hostWaits = 0; // at the time at which it was issued
    bool needsOthers = false;
    double issued = 0; // seconds
  };
  size_t number;
  Clock clock; // of what was issued last
  std::deque<Item> items;
  bool isBusy = false;                        // with the first of them
  std::vector<NamedWork> *captured = nullptr; // where what is issued goes instead, while a graph is made
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
  std::map<uint64_t, int64_t> sizes; // of allocations

  // 0, or the error that nothing gets past: of a fault, or of a process that is not the one which called cuInit.
  int status() const;
  bool isInitialized = false;
  int contexts = 0;
  void initialize();
  // What is done from now on has to be legal in a step.
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
  // What other processes take part in. It is tried, too, when nobody waits for it for a while, as they may.
  void enqueueWithOthers(Stream *stream, std::string name, Attempt attempt);
  void record(Stream *stream, Event *event);
  void await(Stream *stream, Event *event);
  bool hasHappened(const Event &event) const { return !event.pending.count(event.recorded); }
  // A piece of what comes before it: who asks again and again sees it happen.
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
  // Held by whoever uses anything here.
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
  Clock host;             // what it has waited for
  uint64_t hostWaits = 0; // for a stream, so far
  UseHistory history;
  Plant plant;
  bool isKeptOn = false; // by a thread of its own
  bool wanders = false, blocks = false, inStep = false;
  int failure = 0;
  int process = 0; // that called cuInit
};

// Of 0xcd bytes, which nobody has written.
uint64_t allocate(Machine &machine, int64_t bytes);

} // namespace standin
