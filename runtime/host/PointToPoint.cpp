// Messages between ranks that can read each other's memory: the sender posts an address, the receiver copies from it.
#include "runtime/core/Error.h"
#include "runtime/host/LocalTransport.h"

#include <cstring>

namespace ppcrt {

LocalWorld::Mail &LocalTransport::mail(int source, int destination, MessageKey key) {
  auto found = world.mail.find({source, destination, key.tag, key.microBatch});
  if (found == world.mail.end())
    fatal("no message with tag %lld and micro-batch %lld from rank %d to rank %d was announced", (long long)key.tag,
          (long long)key.microBatch, source, destination);
  return reinterpret_cast<LocalWorld::Mail *>(world.region->data() + world.mailbox)[found->second];
}

int64_t LocalTransport::send(int destination, MessageKey key, const void *bytes, int64_t size) {
  LocalWorld::Mail &entry = mail(me, destination, key);
  if (!world.region->contains(bytes, size))
    fatal("a message to rank %d does not lie in the arena", destination);
  if (entry.posted.load())
    fatal("a message with tag %lld and micro-batch %lld to rank %d is still under way", (long long)key.tag,
          (long long)key.microBatch, destination);
  entry.address = bytes;
  entry.size = size;
  entry.destination = destination;
  entry.key = key;
  entry.posted.store(1);
  return &entry - reinterpret_cast<LocalWorld::Mail *>(world.region->data() + world.mailbox);
}

void LocalTransport::waitSend(int64_t request) {
  LocalWorld::Mail &entry = reinterpret_cast<LocalWorld::Mail *>(world.region->data() + world.mailbox)[request];
  Waiting waiting(world.status(me), "send", entry.destination, entry.key);
  entry.posted.waitWhile(1, spinning);
}

void LocalTransport::receive(int source, MessageKey key, void *bytes, int64_t size) {
  Waiting waiting(world.status(me), "receive", source, key);
  LocalWorld::Mail &entry = mail(source, me, key);
  entry.posted.waitWhile(0, spinning);
  if (entry.size != size)
    fatal("a message with tag %lld and micro-batch %lld from rank %d has %lld bytes, expected %lld", (long long)key.tag,
          (long long)key.microBatch, source, (long long)entry.size, (long long)size);
  std::memcpy(bytes, entry.address, size);
  entry.posted.store(0);
}

} // namespace ppcrt
