// Messages between ranks that can read each other's memory: both ends say where their bytes are, and who comes first
// afterwards copies them.
#include "runtime/base/Error.h"
#include "runtime/local/LocalTransport.h"

#include <algorithm>
#include <cstring>

namespace ppcrt {
namespace {

constexpr int64_t smallMessageBytes = 32 << 10; // copied at once by the end that starts last

} // namespace

LocalWorld::Mail &LocalTransport::mail(int source, int destination, MessageKey key) const {
  auto found = world.mail.find({source, destination, key.tag, key.microBatch});
  if (found == world.mail.end())
    fatal("no message with tag %lld and micro-batch %lld from rank %d to rank %d was announced", (long long)key.tag,
          (long long)key.microBatch, source, destination);
  return reinterpret_cast<LocalWorld::Mail *>(world.region->data() + world.mailbox)[found->second];
}

LocalTransport::Request LocalTransport::startSend(int destination, MessageKey key, const void *bytes, int64_t size) {
  LocalWorld::Mail &mail = this->mail(me, destination, key);
  if (isOutside(bytes, size))
    fatal("a message to rank %d does not lie in the arena", destination);
  Pending pending;
  pending.name = "send";
  pending.first = destination;
  pending.key = key;
  pending.mail = &mail;
  pending.isSent = true;
  pending.turn = mail.sent.load(std::memory_order_relaxed) + 1;
  if (mail.arrived.load(std::memory_order_acquire) + 1 != pending.turn)
    fatal("a message with tag %lld and micro-batch %lld to rank %d is still under way", (long long)key.tag,
          (long long)key.microBatch, destination);
  mail.from = bytes;
  mail.sentBytes = size;
  mail.sentAt = startMoment();
  mail.sent.store(pending.turn, std::memory_order_seq_cst);
  match(pending);
  if (size > smallMessageBytes || !deliver(pending))
    bell(destination).ring();
  return keep(pending);
}

LocalTransport::Request LocalTransport::startReceive(int source, MessageKey key, void *bytes, int64_t size) {
  LocalWorld::Mail &mail = this->mail(source, me, key);
  Pending pending;
  pending.name = "receive";
  pending.first = source;
  pending.key = key;
  pending.mail = &mail;
  pending.turn = mail.wanted.load(std::memory_order_relaxed) + 1;
  pending.receiveTo = bytes;
  if (mail.arrived.load(std::memory_order_acquire) + 1 != pending.turn)
    fatal("a message with tag %lld and micro-batch %lld from rank %d is already being received", (long long)key.tag,
          (long long)key.microBatch, source);
  mail.to = isOutside(bytes, size) ? nullptr : bytes;
  mail.wantedBytes = size;
  mail.wantedAt = startMoment();
  mail.wanted.store(pending.turn, std::memory_order_seq_cst);
  match(pending);
  if (size > smallMessageBytes || !deliver(pending))
    bell(source).ring();
  return keep(pending);
}

// By the end that starts last; where both think so, by one of them.
void LocalTransport::match(const Pending &pending) const {
  LocalWorld::Mail &mail = *pending.mail;
  uint32_t before = pending.turn - 1;
  if (!world.links || mail.sent.load(std::memory_order_seq_cst) != pending.turn ||
      mail.wanted.load(std::memory_order_seq_cst) != pending.turn ||
      !mail.matched.compare_exchange_strong(before, pending.turn, std::memory_order_acq_rel))
    return;
  int peer = int(pending.first);
  const LinkLayout::Route &route =
      world.layout.messages[size_t(pending.isSent ? me : peer)][size_t(pending.isSent ? peer : me)];
  mail.transfer.store(beginTransfer(&route, {double(mail.sentBytes), 1}, std::max(mail.sentAt, mail.wantedAt)),
                      std::memory_order_relaxed);
  mail.routed.store(pending.turn, std::memory_order_release);
  bell(peer).ring();
}

bool LocalTransport::deliver(const Pending &pending) const {
  LocalWorld::Mail &mail = *pending.mail;
  uint32_t before = pending.turn - 1;
  if (mail.taken.load(std::memory_order_relaxed) != before ||
      mail.sent.load(std::memory_order_acquire) != pending.turn ||
      mail.wanted.load(std::memory_order_acquire) != pending.turn || (pending.isSent && !mail.to))
    return false;
  if (!mail.taken.compare_exchange_strong(before, pending.turn, std::memory_order_acq_rel))
    return false;
  int source = pending.isSent ? me : int(pending.first), destination = pending.isSent ? int(pending.first) : me;
  if (mail.sentBytes != mail.wantedBytes)
    fatal("a message with tag %lld and micro-batch %lld from rank %d has %lld bytes, rank %d expects %lld",
          (long long)pending.key.tag, (long long)pending.key.microBatch, source, (long long)mail.sentBytes, destination,
          (long long)mail.wantedBytes);
  if (mail.sentBytes)
    std::memcpy(pending.isSent ? mail.to : pending.receiveTo, mail.from, size_t(mail.sentBytes));
  mail.arrived.store(pending.turn, std::memory_order_release);
  bell(int(pending.first)).ring();
  return true;
}

} // namespace ppcrt
