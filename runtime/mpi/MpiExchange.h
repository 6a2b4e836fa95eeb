// A collective over MPI as rounds of messages between the members, with what a rank computes in between. MPI's own
// reductions add in an order that depends on the message; here every member's values are added in the order of the
// members' index, so that the bits are those of LocalTransport.
#pragma once

#include "runtime/mpi/OpenMpi.h"
#include "runtime/transport/Transport.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace ppcrt {

// Memory that was used once and may be used again.
class SparePool {
public:
  std::vector<std::byte> take(int64_t bytes);
  void giveBack(std::vector<std::byte> &&memory);

private:
  std::vector<std::vector<std::byte>> spares;
};

// One rank's end of a group.
struct MpiGroup {
  int size = 0;
  int index = 0;
  OpenMpi::Handle comm = nullptr;
  SparePool *pool = nullptr; // of the rank
  int calls = 0;
};

// Messages that are under way together.
class MpiMessages {
public:
  MpiMessages(const OpenMpi &mpi, OpenMpi::Handle comm, int tag) : mpi(&mpi), comm(comm), tag(tag) {}

  // In parts where a count of MPI cannot say the size. Messages between two ranks with one tag arrive in the order in
  // which they were sent.
  void send(int to, const void *bytes, int64_t size);
  void receive(int from, void *bytes, int64_t size);
  // Whether all have ended; lets MPI get on.
  bool haveEnded();

private:
  const OpenMpi *mpi;
  OpenMpi::Handle comm;
  int tag;
  std::vector<OpenMpi::Handle> parts;
};

class MpiExchange {
public:
  virtual ~MpiExchange() = default;
  // Uses what has arrived and starts the messages of the next round; false when there is nothing more to do.
  virtual bool next(MpiMessages &messages) = 0;
};

// What `call` takes among more than one member.
std::unique_ptr<MpiExchange> makeExchange(const Collective &call, const MpiGroup &group);

} // namespace ppcrt
