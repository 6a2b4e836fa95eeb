// The communicators of a rank, made before anything else: one for each group, and one for each other rank and direction
// in which messages go, each with a stream of its own. All have been used once when they are made.
#pragma once

#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/Nccl.h"
#include "runtime/program/Manifest.h"

#include <map>
#include <utility>
#include <vector>

namespace ppcrt::cuda {

class Communicators {
public:
  struct One {
    CommunicatorHandle *handle = nullptr; // null: there is nobody else
    StreamHandle *stream = nullptr;
    int members = 1, index = 0;
    std::string name; // for messages: "group 1 (ranks 0, 2)", "messages from rank 0 to rank 2"
  };

  // `host` connects the ranks, and can send from `mirror`, of at least a page. Every rank makes its own at the same
  // time. Everything is borrowed; throws InputError.
  Communicators(CudaDevice &device, const Manifest &manifest, Transport &host, std::byte *mirror);
  ~Communicators();
  Communicators(const Communicators &) = delete;
  Communicators &operator=(const Communicators &) = delete;

  const Nccl nccl;
  const One &ofGroup(int group) const { return groups[size_t(group)]; }
  // Null where messages do not come in one order at both ends: NCCL knows them by nothing else.
  const One *ofMessages(int from, int to) const;
  // What NCCL says of one of them that has failed; empty: none has.
  std::string fault() const;
  // Gives up what is under way on all of them; their handles are gone then. At most once, and nothing else is done with
  // them afterwards.
  void abort();

private:
  void connect(One &one, const CommunicatorId &id);
  void connectGroups(const Manifest &manifest, Transport &host);
  void connectMessages(const Manifest &manifest, Transport &host, std::byte *mirror);

  CudaDevice &device;
  std::vector<One> groups;                   // [group]
  std::map<std::pair<int, int>, One> routes; // by sender and receiver
};

} // namespace ppcrt::cuda
