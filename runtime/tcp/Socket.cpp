// Addresses, connections, frames.
#include "runtime/tcp/Socket.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ppcrt::tcp {
namespace {

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;

Found resolve(const char *host, int port, int flags, int &status) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  status = getaddrinfo(host, std::to_string(port).c_str(), &wanted, &found);
  return {status ? nullptr : found, [](addrinfo *list) {
            if (list)
              freeaddrinfo(list);
          }};
}

Socket open(const addrinfo &at) { return Socket(socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC, at.ai_protocol)); }

void sendAtOnce(const Socket &socket) {
  int yes = 1;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

} // namespace

std::string show(const Address &address) { return address.host + ":" + std::to_string(address.port); }

Socket::~Socket() {
  if (descriptor >= 0)
    close(descriptor);
}

Socket listenAt(const Address &address) {
  int status = 0;
  Found numeric = resolve(address.host.c_str(), address.port, AI_NUMERICHOST, status);
  Found everywhere = resolve(nullptr, address.port, AI_PASSIVE, status);
  for (const addrinfo *at :
       {static_cast<const addrinfo *>(numeric.get()), static_cast<const addrinfo *>(everywhere.get())}) {
    if (!at)
      continue;
    Socket socket = open(*at);
    int yes = 1;
    setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (socket.isOpen() && bind(socket.number(), at->ai_addr, at->ai_addrlen) == 0 &&
        listen(socket.number(), SOMAXCONN) == 0)
      return socket;
    if (errno == EADDRNOTAVAIL && at == numeric.get()) // of a machine that is known by another address from outside
      continue;
    throw InputError(withErrno("rank 0 cannot listen at " + show(address)) +
                     ": another run may use the port; give another one with --store HOST:PORT, to all ranks");
  }
  throw InputError("rank 0 cannot listen at " + show(address) + ": " + gai_strerror(status));
}

Socket connectTo(const Address &address, double deadline) {
  std::string why;
  do {
    int status = 0;
    Found found = resolve(address.host.c_str(), address.port, 0, status);
    why = status ? gai_strerror(status) : "";
    for (const addrinfo *at = found.get(); at; at = at->ai_next) {
      Socket socket = open(*at);
      if (socket.isOpen() && connect(socket.number(), at->ai_addr, at->ai_addrlen) == 0) {
        sendAtOnce(socket);
        return socket;
      }
      why = std::strerror(errno);
    }
    usleep(50'000);
  } while (now() < deadline);
  throw InputError(
      "rank 0 cannot be reached at " + show(address) + ": " + why +
      ": it has to be started, and its port open to this machine; --store HOST:PORT gives another address");
}

std::vector<std::byte> encode(FrameHead head, const std::string &key, const void *value, size_t bytes) {
  head.keyBytes = key.size(), head.valueBytes = bytes;
  std::vector<std::byte> result(sizeof head + key.size() + bytes);
  std::memcpy(result.data(), &head, sizeof head);
  std::memcpy(result.data() + sizeof head, key.data(), key.size());
  if (bytes)
    std::memcpy(result.data() + sizeof head + key.size(), value, bytes);
  return result;
}

FrameReader::State FrameReader::readFrom(int descriptor) {
  constexpr size_t piece = 256 << 10;
  for (;;) {
    size_t before = bytes.size();
    bytes.resize(before + piece);
    ssize_t count = recv(descriptor, bytes.data() + before, piece, MSG_DONTWAIT);
    bytes.resize(before + size_t(count > 0 ? count : 0));
    if (count > 0 && size_t(count) == piece)
      continue;
    if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)))
      return State::Open;
    return count == 0 ? State::Closed : State::Broken;
  }
}

bool FrameReader::take(Frame &frame) {
  constexpr uint64_t mostKey = 4096, mostValue = uint64_t(1) << 40;
  if (broken || bytes.size() - begin < sizeof(FrameHead))
    return false;
  std::memcpy(&frame.head, bytes.data() + begin, sizeof(FrameHead));
  const FrameHead &head = frame.head;
  broken = head.mark != FrameHead::rightMark || head.keyBytes > mostKey || head.valueBytes > mostValue;
  size_t all = broken ? 0 : sizeof head + head.keyBytes + head.valueBytes;
  if (broken || bytes.size() - begin < all)
    return false;
  const std::byte *key = bytes.data() + begin + sizeof head;
  frame.key.assign(reinterpret_cast<const char *>(key), head.keyBytes);
  frame.value.assign(key + head.keyBytes, key + head.keyBytes + head.valueBytes);
  begin += all;
  if (begin == bytes.size() || begin > (size_t(1) << 20)) {
    bytes.erase(bytes.begin(), bytes.begin() + ptrdiff_t(begin));
    begin = 0;
  }
  return true;
}

bool sendAll(int descriptor, const std::vector<std::byte> &bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    ssize_t count = send(descriptor, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR)
      return false;
    sent += size_t(count > 0 ? count : 0);
  }
  return true;
}

} // namespace ppcrt::tcp
