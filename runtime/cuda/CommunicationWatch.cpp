#include "runtime/cuda/CommunicationWatch.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <set>

namespace ppcrt::cuda {
namespace {

constexpr double lookEvery = 0.25;    // seconds
constexpr size_t mostRecords = 1024;  // more calls than that are not under way
constexpr double quietShare = 0.25;   // of the limit, for which nobody asks for a call
constexpr double patienceOfAbort = 2; // seconds
constexpr double patienceOfFault = 1; // a rank that ended with an error, which others see as a fault, speaks first

} // namespace

CommunicationWatch::CommunicationWatch(CudaDevice &device, Communicators *communicators, double limit)
    : device(device), communicators(communicators), limit(limit), thread([this] { watch(); }) {}

CommunicationWatch::~CommunicationWatch() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  ending.notify_all();
  thread.join();
  for (const Record &record : records)
    events.insert(events.end(), {record.mayBegin, record.ended});
  for (EventHandle *event : events)
    device.driver.eventDestroy(event);
}

void CommunicationWatch::beginning(const Call &call) {
  std::lock_guard<std::mutex> lock(mutex);
  isOpen = false;
  if (records.size() >= mostRecords)
    retire();
  if (records.size() >= mostRecords)
    return; // the oldest of them tell enough
  while (events.size() < 2)
    events.push_back(device.addEvent());
  Record record{call, events.back(), events[events.size() - 2], now()};
  events.resize(events.size() - 2);
  device.record(record.mayBegin, device.stream);
  records.push_back(record);
  isOpen = true;
}

void CommunicationWatch::begun() {
  std::lock_guard<std::mutex> lock(mutex);
  if (isOpen)
    device.record(records.back().ended, records.back().call.over->stream);
  isOpen = false;
}

bool CommunicationWatch::hasHappened(EventHandle *event) const { return device.driver.eventQuery(event) == success; }

// Forgets what has ended, from the oldest on.
void CommunicationWatch::retire() {
  while (!records.empty() && !(isOpen && records.size() == 1) && hasHappened(records.front().ended)) {
    events.insert(events.end(), {records.front().mayBegin, records.front().ended});
    records.pop_front();
  }
}

void CommunicationWatch::watch() {
  device.useHere();
  std::unique_lock<std::mutex> lock(mutex);
  while (
      !ending.wait_for(lock, std::chrono::duration<double>(std::min(lookEvery, limit / 8)), [&] { return isEnding; }))
    look(now());
}

void CommunicationWatch::look(double time) {
  if (communicators)
    if (std::string fault = communicators->fault(); !fault.empty()) {
      if (faultSince == 0)
        faultSince = time;
      if (time - faultSince < patienceOfFault)
        return;
      std::string under;
      for (const Record &record : records)
        if (under.empty() && !(isOpen && &record == &records.back()) && !hasHappened(record.ended))
          under = ": under way is " + describe(record);
      end(fault + under);
    }
  if (!records.empty() && time - records.front().issued > quietShare * limit)
    retire();
  std::set<const Communicators::One *> seen; // what is behind a call on its stream waits for it
  for (Record &record : records) {
    if (time - record.issued < quietShare * limit || (isOpen && &record == &records.back()))
      break;
    if (seen.count(record.call.over) || hasHappened(record.ended))
      continue;
    seen.insert(record.call.over);
    if (record.ready == 0 && hasHappened(record.mayBegin))
      record.ready = time;
    if (record.ready > 0 && time - record.ready > (1 - quietShare) * limit)
      end(describe(record) + format(" has not ended for %.0f s: a member has died, hangs, or has not come to it "
                                    "(--hang-timeout SECONDS waits longer)",
                                    time - record.issued));
  }
  double waits = device.waitsSince();
  bool isForOthers = std::any_of(records.begin(), records.end(), [](const Record &record) { return record.ready > 0; });
  if (waits > 0 && time - waits > limit && !isForOthers)
    end(format("GPU %d has not done what was issued%s for %.0f s (--hang-timeout SECONDS waits longer)", device.number,
               device.issuedBody() ? (" in \"" + *device.issuedBody() + "\"").c_str() : "", time - waits));
}

std::string CommunicationWatch::describe(const Record &record) const {
  const Call &call = record.call;
  std::string text = std::string("NCCL's ") + call.what + " of " + formatBytes(double(call.bytes)) + ", ";
  if (call.microBatch >= 0)
    text += format("micro-batch %lld, ", (long long)call.microBatch);
  text += call.over->name;
  return call.body ? text + ", issued in \"" + *call.body + "\"" : text;
}

void CommunicationWatch::end(const std::string &why) {
  device.giveUp();
  if (communicators) { // a library that hangs may do so in this, too
    auto aborted = std::make_shared<std::promise<void>>();
    std::future<void> done = aborted->get_future();
    std::thread([this, aborted] {
      communicators->abort();
      aborted->set_value();
    }).detach();
    done.wait_for(std::chrono::duration<double>(patienceOfAbort));
  }
  fatal("%s", why.c_str());
}

} // namespace ppcrt::cuda
