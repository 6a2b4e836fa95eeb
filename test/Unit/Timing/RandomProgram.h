// Random small programs, with what must happen before what in them worked out from the definitions.
#ifndef PPC_TEST_UNIT_TIMING_RANDOMPROGRAM_H
#define PPC_TEST_UNIT_TIMING_RANDOMPROGRAM_H

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace mlir::ppc::test {

/// Devices whose actions are copies between buffers, messages, exchanges, collectives and runs that finish early with
/// some of their buffers, on random streams and with random tokens. Many of them deadlock.
class RandomProgram {
public:
  explicit RandomProgram(uint32_t seed);

  /// The program as IR.
  std::string text() const;

  struct Action {
    size_t device, stream;
    std::vector<size_t> after;                     ///< numbers of actions whose tokens it takes
    std::vector<size_t> buffers;                   ///< buffers of the device that it uses
    std::string operation;                         ///< text printed before tokens and stream
    std::vector<std::pair<size_t, bool>> messages; ///< messages of the program; sent
    std::vector<size_t> groups;                    ///< at most one
    std::vector<std::vector<size_t>> early = {};   ///< for a run: buffers of each entry
    std::vector<size_t> reaches = {};              ///< its entries, in the order of its code
    std::vector<size_t> lasts = {};   ///< for each of `buffers`, the number of the action that ends the use
    size_t run = SIZE_MAX, entry = 0; ///< for a completion event: the number of its run, and the entry
  };
  /// Actions by device, in the order of issue; completion events of a run follow it.
  const std::vector<Action> &getActions() const { return actions; }

  /// Whether the end (or the begin) of one action comes before the begin of another one, by all paths through all
  /// events.
  bool endsBefore(size_t first, size_t second) const { return reach[2 * first + 1][2 * second]; }
  bool waitsForEver() const;

private:
  struct Message {
    size_t from, to;
  };
  void addMessage(size_t from, size_t to);
  void addExchange(size_t first, size_t second);
  void addCollective();
  void addCopy(size_t device);
  void addRun(size_t device);
  void number();
  void insert(size_t device, Action action);
  void addTokens();
  void connect();
  uint32_t below(size_t count) { return std::uniform_int_distribution<uint32_t>(0, uint32_t(count) - 1)(random); }

  std::mt19937 random;
  std::vector<std::vector<Action>> lists; ///< by device, until they are all known
  std::vector<size_t> streamCounts;
  std::vector<Message> messages;
  std::vector<std::vector<size_t>> groups; ///< devices of each
  std::vector<Action> actions;
  std::vector<std::vector<bool>> reach; ///< between begins (2 i) and ends (2 i + 1)
};

inline constexpr size_t kBuffersPerDevice = 3;

} // namespace mlir::ppc::test

#endif // PPC_TEST_UNIT_TIMING_RANDOMPROGRAM_H
