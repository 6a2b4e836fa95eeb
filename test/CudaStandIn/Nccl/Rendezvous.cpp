#include "test/CudaStandIn/Nccl/Rendezvous.h"

#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace standin {

Rendezvous::Rendezvous(const std::string &name, int members, int index) : members(members), index(index) {
  if (members < 1 || members > mostMembers || index < 0 || index >= members)
    throw std::runtime_error("member " + std::to_string(index) + " of " + std::to_string(members));
  constexpr size_t headerBytes = (sizeof(Header) + 4095) / 4096 * 4096;
  size_t bytes = headerBytes + size_t(members) * slotBytes;
  int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, off_t(bytes)) != 0)
    throw std::runtime_error("no shared memory named " + name);
  void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (mapped == MAP_FAILED)
    throw std::runtime_error("cannot map " + name);
  header = static_cast<Header *>(mapped);
  slots = static_cast<std::byte *>(mapped) + headerBytes;
  header->members[index].process = getpid();
  ++header->joined;
  while (header->joined < members)
    usleep(200);
  if (index == 0)
    shm_unlink(name.c_str()); // all have it
}

bool Rendezvous::isFree(uint64_t turn) const {
  return std::all_of(header->members, header->members + members,
                     [&](const Member &member) { return member.taken + 1 >= turn; });
}

void Rendezvous::post(uint64_t turn, const CallFacts &facts, const std::vector<uint64_t> &bytesTo) {
  Member &me = header->members[index];
  me.facts = facts;
  std::copy(bytesTo.begin(), bytesTo.end(), me.bytesTo);
  me.posted = turn;
}

bool Rendezvous::haveAllPosted(uint64_t turn) const {
  return std::all_of(header->members, header->members + members,
                     [&](const Member &member) { return member.posted >= turn; });
}

void Rendezvous::leave(uint64_t turn) { header->members[index].taken = turn; }

void Rendezvous::number(uint64_t turn, uint64_t call) {
  Member::Issued &at = header->members[index].issued[turn % rememberedTurns];
  at.turn = 0;
  at.call = call;
  at.turn = turn;
}

uint64_t Rendezvous::numberOf(int member, uint64_t turn) const {
  const Member::Issued &at = header->members[member].issued[turn % rememberedTurns];
  uint64_t call = at.call;
  return at.turn == turn ? call : 0;
}

// Includes members whose exit status was not collected yet.
int Rendezvous::deadMember() const {
  for (int member = 0; member < members; ++member) {
    std::ifstream file("/proc/" + std::to_string(header->members[member].process) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    size_t end = text.rfind(") ");
    if (end == std::string::npos || text[end + 2] == 'Z' || text[end + 2] == 'X')
      return member;
  }
  return -1;
}

uint64_t Rendezvous::offsetTo(int from, int to) const {
  uint64_t offset = 0;
  for (int member = 0; member < to; ++member)
    offset += bytesTo(from, member);
  return offset;
}

} // namespace standin
