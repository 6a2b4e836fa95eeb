// The functions of the C interface that belong to a rank.
#include "runtime/executor/RankContext.h"
#include "runtime/base/Error.h"
#include "runtime/executor/OperationProfile.h"
#include "runtime/watch/RankProgress.h"

#include <chrono>
#include <exception>

namespace ppcrt {

RankContext &RankContext::of(ppcrt_rank *rank, const char *function) {
  if (!rank)
    fatal("%s: called without a rank", function);
  return static_cast<RankContext &>(*rank);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

CommunicationTimer::CommunicationTimer(RankContext &context, const Communication &call)
    : context(context), call(call), start(now()) {
  if (context.marks)
    context.marks->waits(start);
}

CommunicationTimer::~CommunicationTimer() {
  double end = now();
  context.traffic.waitedSeconds += end - start;
  if (context.marks)
    context.marks->goesOn(end);
  if (context.observer)
    context.observer->communicated(call, start, end);
}

void RankContext::count(const Collective &call) {
  double members = transport.groupSize(call.group), bytes = double(call.bytes());
  double sent = call.kind == CollectiveKind::Permute     ? bytes
                : call.kind == CollectiveKind::AllReduce ? 2 * bytes / members * (members - 1)
                                                         : bytes * (members - 1);
  traffic.groupBytes[call.group] += sent;
}

Communication describe(const Collective &call, int members) {
  bool readsBlocks = call.kind == CollectiveKind::ReduceScatter || call.kind == CollectiveKind::AllToAll;
  static_assert(int(CommunicationKind::Permute) == int(CollectiveKind::Permute), "kinds of the program in one order");
  return {CommunicationKind(call.kind), call.group, -1, call.bytes() * (readsBlocks ? members : 1)};
}

namespace {

// The context, after checking the arguments that every collective has.
RankContext &checked(ppcrt_rank *rank, const char *function, int32_t group, int64_t count, int32_t type, int32_t kind) {
  RankContext &context = RankContext::of(rank, function);
  if (group < 0 || group >= context.transport.groupCount() || context.transport.groupSize(group) == 0)
    fatal("%s: this rank does not belong to group %d", function, group);
  if (count < 0 || type < 0 || type >= dataTypeCount || kind < 0 || kind > PPCRT_MAX)
    fatal("%s: count %lld, type %d or kind %d is not valid", function, (long long)count, type, kind);
  return context;
}

// Tells the listener of a call for the time of its life.
struct Announced {
  explicit Announced(RoutineListener *listener) : listener(listener) {
    if (listener)
      listener->communicates();
  }
  ~Announced() noexcept(false) { // a transport may fail in it
    if (listener && std::uncaught_exceptions() == 0)
      listener->communicated(moment);
  }
  RoutineListener *listener;
  double moment = 0; // when what was waited for ended
};

// Returns when the request has ended. Streams get on meanwhile. When that was.
double waitFor(RankContext &context, Transport::Request request) {
  if (!context.listener || !context.transport.waitBlocks()) {
    context.transport.wait(request);
    return 0;
  }
  while (!context.transport.test(request)) {
    context.transport.waitAny(Transport::never);
    context.listener->waits();
  }
  return context.transport.lastEnd();
}

void run(RankContext &context, const Collective &call) {
  Announced announced(context.listener);
  CommunicationTimer timer(context, describe(call, context.transport.groupSize(call.group)));
  context.count(call);
  announced.moment = waitFor(context, context.transport.start(call));
}

int64_t start(RankContext &context, const Collective &call) {
  Announced announced(context.listener);
  context.count(call);
  return context.transport.start(call);
}

} // namespace
} // namespace ppcrt

using namespace ppcrt;

extern "C" {

int64_t ppcrt_coordinate(ppcrt_rank *rank, int32_t group) {
  return checked(rank, "ppcrt_coordinate", group, 0, 0, 0).transport.groupIndex(group);
}

void ppcrt_all_reduce(ppcrt_rank *rank, int32_t group, void *buffer, int64_t elements, int32_t type, int32_t kind) {
  run(checked(rank, "ppcrt_all_reduce", group, elements, type, kind),
      {CollectiveKind::AllReduce, group, buffer, buffer, elements, DataType(type), Reduction(kind)});
}

void ppcrt_all_gather(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements, int32_t type) {
  run(checked(rank, "ppcrt_all_gather", group, elements, type, 0),
      {CollectiveKind::AllGather, group, in, out, elements, DataType(type)});
}

void ppcrt_reduce_scatter(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements, int32_t type,
                          int32_t kind) {
  run(checked(rank, "ppcrt_reduce_scatter", group, elements, type, kind),
      {CollectiveKind::ReduceScatter, group, in, out, elements, DataType(type), Reduction(kind)});
}

void ppcrt_all_to_all(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements, int32_t type) {
  run(checked(rank, "ppcrt_all_to_all", group, elements, type, 0),
      {CollectiveKind::AllToAll, group, in, out, elements, DataType(type)});
}

void ppcrt_permute(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements, int32_t type,
                   int32_t shift) {
  run(checked(rank, "ppcrt_permute", group, elements, type, 0),
      {CollectiveKind::Permute, group, in, out, elements, DataType(type), Reduction::Sum, shift});
}

int64_t ppcrt_all_reduce_start(ppcrt_rank *rank, int32_t group, void *buffer, int64_t elements, int32_t type,
                               int32_t kind) {
  return start(checked(rank, "ppcrt_all_reduce_start", group, elements, type, kind),
               {CollectiveKind::AllReduce, group, buffer, buffer, elements, DataType(type), Reduction(kind)});
}

int64_t ppcrt_all_gather_start(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements,
                               int32_t type) {
  return start(checked(rank, "ppcrt_all_gather_start", group, elements, type, 0),
               {CollectiveKind::AllGather, group, in, out, elements, DataType(type)});
}

int64_t ppcrt_reduce_scatter_start(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements,
                                   int32_t type, int32_t kind) {
  return start(checked(rank, "ppcrt_reduce_scatter_start", group, elements, type, kind),
               {CollectiveKind::ReduceScatter, group, in, out, elements, DataType(type), Reduction(kind)});
}

int64_t ppcrt_all_to_all_start(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements,
                               int32_t type) {
  return start(checked(rank, "ppcrt_all_to_all_start", group, elements, type, 0),
               {CollectiveKind::AllToAll, group, in, out, elements, DataType(type)});
}

int64_t ppcrt_permute_start(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements, int32_t type,
                            int32_t shift) {
  return start(checked(rank, "ppcrt_permute_start", group, elements, type, 0),
               {CollectiveKind::Permute, group, in, out, elements, DataType(type), Reduction::Sum, shift});
}

void ppcrt_wait(ppcrt_rank *rank, int64_t request) {
  RankContext &context = RankContext::of(rank, "ppcrt_wait");
  Announced announced(context.listener);
  CommunicationTimer timer(context, {CommunicationKind::Wait, -1, -1, 0});
  announced.moment = waitFor(context, request);
}

void ppcrt_reach(ppcrt_rank *rank, int64_t entry) {
  if (RoutineListener *listener = RankContext::of(rank, "ppcrt_reach").listener)
    listener->reached(entry);
}

void ppcrt_profile(ppcrt_rank *rank, int64_t number) {
  if (OperationProfile *profile = RankContext::of(rank, "ppcrt_profile").profile)
    profile->begin(number);
}

} // extern "C"
