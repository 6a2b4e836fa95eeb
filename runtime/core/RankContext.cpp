// The functions of the C interface that belong to a rank.
#include "runtime/core/RankContext.h"
#include "runtime/core/Error.h"
#include "runtime/core/OperationProfile.h"

#include <chrono>

namespace ppcrt {

RankContext &RankContext::of(ppcrt_rank *rank, const char *function) {
  if (!rank)
    fatal("%s: called without a rank", function);
  return static_cast<RankContext &>(*rank);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

CommunicationTimer::CommunicationTimer(RankContext &context, const Communication &call)
    : context(context), call(call), start(now()) {}

CommunicationTimer::~CommunicationTimer() {
  double end = now();
  context.traffic.seconds += end - start;
  if (context.observer)
    context.observer->communicated(call, start, end);
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

// Of a collective whose input has so many elements.
Communication collective(CommunicationKind kind, int32_t group, int64_t elements, int32_t type) {
  return {kind, group, -1, elements * info(DataType(type)).bytes};
}

// Counts `perPeer` bytes for each other member.
void count(RankContext &context, int32_t group, double perPeer) {
  context.traffic.groupBytes[group] += perPeer * (context.transport.groupSize(group) - 1);
}

} // namespace
} // namespace ppcrt

using namespace ppcrt;

extern "C" {

int64_t ppcrt_coordinate(ppcrt_rank *rank, int32_t group) {
  return checked(rank, "ppcrt_coordinate", group, 0, 0, 0).transport.groupIndex(group);
}

void ppcrt_all_reduce(ppcrt_rank *rank, int32_t group, void *buffer, int64_t elements, int32_t type, int32_t kind) {
  RankContext &context = checked(rank, "ppcrt_all_reduce", group, elements, type, kind);
  CommunicationTimer timer(context, collective(CommunicationKind::AllReduce, group, elements, type));
  count(context, group, 2.0 * elements * info(DataType(type)).bytes / context.transport.groupSize(group));
  context.transport.allReduce(group, buffer, elements, DataType(type), Reduction(kind));
}

void ppcrt_all_gather(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements, int32_t type) {
  RankContext &context = checked(rank, "ppcrt_all_gather", group, elements, type, 0);
  CommunicationTimer timer(context, collective(CommunicationKind::AllGather, group, elements, type));
  count(context, group, double(elements) * info(DataType(type)).bytes);
  context.transport.allGather(group, in, out, elements, DataType(type));
}

void ppcrt_reduce_scatter(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements, int32_t type,
                          int32_t kind) {
  RankContext &context = checked(rank, "ppcrt_reduce_scatter", group, elements, type, kind);
  CommunicationTimer timer(context, collective(CommunicationKind::ReduceScatter, group,
                                               elements * context.transport.groupSize(group), type));
  count(context, group, double(elements) * info(DataType(type)).bytes);
  context.transport.reduceScatter(group, in, out, elements, DataType(type), Reduction(kind));
}

void ppcrt_all_to_all(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t elements, int32_t type) {
  RankContext &context = checked(rank, "ppcrt_all_to_all", group, elements, type, 0);
  CommunicationTimer timer(
      context, collective(CommunicationKind::AllToAll, group, elements * context.transport.groupSize(group), type));
  count(context, group, double(elements) * info(DataType(type)).bytes);
  context.transport.allToAll(group, in, out, elements, DataType(type));
}

void ppcrt_profile(ppcrt_rank *rank, int64_t number) {
  if (OperationProfile *profile = RankContext::of(rank, "ppcrt_profile").profile)
    profile->begin(number);
}

} // extern "C"
