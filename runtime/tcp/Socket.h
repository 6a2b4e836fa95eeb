// A connection of TCP, and the frames in which ranks and the store talk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ppcrt::tcp {

// "node1" and 29500, or a numeric address.
struct Address {
  std::string host;
  int port = 0;
};
std::string show(const Address &address);

// Owns a file descriptor.
class Socket {
public:
  explicit Socket(int descriptor = -1) : descriptor(descriptor) {}
  ~Socket();
  Socket(Socket &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }

  int number() const { return descriptor; }
  bool isOpen() const { return descriptor >= 0; }

private:
  int descriptor;
};

// A socket that listens there: on all addresses of the machine, or, where the host is a numeric address of this one, on
// that. Throws InputError that names the address and the way out.
Socket listenAt(const Address &address);
// Tries again until now() is `deadline` while nobody listens there. Throws InputError.
Socket connectTo(const Address &address, double deadline);

enum class FrameKind : uint32_t { Hello, Put, Get, Value, Time, Beat, Failure, Bye };

// What precedes a key and a value.
struct FrameHead {
  static constexpr uint32_t rightMark = 0x73637070;
  uint32_t mark = rightMark;
  FrameKind kind;
  int64_t number = 0;  // of a get and its value; a rank, of a hello and a failure; a time
  int64_t readers = 0; // of a put: so many gets take it
  uint64_t keyBytes = 0, valueBytes = 0;
};

struct Frame {
  FrameHead head;
  std::string key;
  std::vector<std::byte> value;

  std::string text() const { return {reinterpret_cast<const char *>(value.data()), value.size()}; }
};

// The bytes of a frame.
std::vector<std::byte> encode(FrameHead head, const std::string &key, const void *value, size_t bytes);

// Makes frames of what arrives in pieces.
class FrameReader {
public:
  enum class State { Open, Closed, Broken };
  // Takes what there is, without waiting.
  State readFrom(int descriptor);
  // The next whole frame, if there is one.
  bool take(Frame &frame);
  bool isBroken() const { return broken; }

private:
  std::vector<std::byte> bytes;
  size_t begin = 0;
  bool broken = false;
};

// Sends all of it, waiting as long as it takes; false: the connection is gone.
bool sendAll(int descriptor, const std::vector<std::byte> &bytes);

} // namespace ppcrt::tcp
