// Executes a program in time: actions of all ranks start and complete in a random order that streams, tokens, messages
// and collectives allow, on one copy of each byte of memory.
#ifndef PPC_TEST_LIB_TIMEDEXECUTOR_H
#define PPC_TEST_LIB_TIMEDEXECUTOR_H

#include "RoutineNumbers.h"
#include "StepValues.h"
#include "TimedProgram.h"

namespace mlir::ppc::test {

/// Outcome of an interleaving.
struct TimedOutcome {
  enum Kind {
    Ended,
    Hang,    ///< actions wait that nothing lets begin or end
    Overlap, ///< two actions are running that touch the same bytes, one of them writing, or communicate in one group
    Broken   ///< a routine cannot be run on what it reads, collectives that meet differ, or the program has no meaning
  } kind = Ended;
  std::string text;
  /// Where; the other end where there is one.
  Operation *at = nullptr, *other = nullptr;
};

/// An action starts when the action before it on its stream has completed, and the producers of its tokens have; all
/// members of a rendezvous must have started before one of them completes. Reads are as late as that allows: a message
/// or a collective reads its operands when the first of its members completes, and each member gets its part when it
/// completes itself; a routine reads when it completes. Buffers that an action writes are poison from its start to its
/// completion, scratch and sums that an update consumes stay so. At a completion event inside a routine, the values
/// that it covers are read and written at the latest.
class TimedExecutor {
public:
  /// `module` has a ppcrt.program with steps, whose code works on tensors. `numbers` computes routines.
  TimedExecutor(ModuleOp module, const NamedTensors &values, RoutineNumbers &numbers, bool isEvaluation = false);

  /// Executes a random order of `seed`, from the memory that a step finds. Number 0 is the order of issue. The CPU
  /// backend is modelled as it runs: each device's actions one after the other as listed, except that no action, nor a
  /// later send, waits for a send without a token. In programs of other actions a device's collectives run one after
  /// the other.
  TimedOutcome run(uint64_t seed, unsigned interleaving);
  /// Final contents of the written buffers of parameters, states and metrics, and for a step of gradients: by device,
  /// buffer and rank, concatenated.
  std::vector<double> outputs() const;
  /// How many activities a step has.
  size_t size() const { return program.activities.size(); }

private:
  struct Preference;
  enum State { Waiting, Running, Past };

  void initialize(const NamedTensors &values);
  void prepareLoad(size_t number, const NamedTensors &values);
  Preference draw(Random &random, unsigned interleaving) const;
  /// Whether consumers of its token need not wait for it. On the CPU backend they wait for earlier sends of a stream
  /// with one of them.
  bool isPast(size_t number) const;
  bool mayBegin(size_t number) const;
  /// Whether its code may go on to where it finishes with some of its buffers.
  bool mayReach(size_t number) const;
  bool mayEnd(size_t number) const;
  bool allHaveBegun(const Activity &activity) const;
  /// Sets `outcome` where something is wrong.
  void begin(size_t number);
  void reach(size_t number);
  void end(size_t number);
  void verifyOverlap(const Activity &activity);
  /// Computes the result of each member.
  void take(size_t meeting);
  void takeRoutine(const Rendezvous &meeting, std::vector<RankValues> &results);
  /// Operand of a routine; its earlier contents, if the code has finished with it by then.
  ReferenceTensor argument(size_t number, size_t read) const;
  void takeCollective(const Rendezvous &meeting, std::vector<RankValues> &results);
  RankValues readAll(const Activity &activity) const;
  /// Writes those of `values`, one for each of its writes, that complete at reach number `early`; by default at its
  /// end.
  void write(const Activity &activity, ArrayRef<ReferenceTensor> values, std::optional<size_t> early = std::nullopt);
  void reportHang();
  void fail(TimedOutcome::Kind kind, const std::string &text, const Activity &at, const Activity *other = nullptr);
  Activity &activity(size_t number) { return program.activities[number]; }
  const Activity &activity(size_t number) const { return program.activities[number]; }

  TimedProgram program;
  RoutineNumbers &numbers;
  bool isEvaluation;
  std::string error; ///< why it cannot be run at all
  bool forHosts;
  int64_t longest = 1; ///< list of actions of a device
  std::vector<RankMemory> initial, memory;
  std::map<size_t, RankValues> loaded; ///< values of each load, by activity

  // State of the current interleaving.
  bool inOrderOfIssue = false;
  std::vector<State> states;
  const std::vector<SmallVector<size_t>> *queues = nullptr;
  std::vector<size_t> heads;                                    ///< by queue
  std::vector<SmallVector<size_t>> running;                     ///< by rank
  std::vector<std::vector<RankValues>> taken;                   ///< by rendezvous; empty before
  std::vector<RankValues> kept;                                 ///< operands of collectives at their start, by activity
  std::vector<size_t> reached;                                  ///< by activity: how many of `reaches`
  std::vector<std::vector<std::vector<RankValues>>> takenEarly; ///< by rendezvous of a routine and index in `reaches`
  std::vector<std::map<size_t, ReferenceTensor>> finished;      ///< arguments, by activity and index in its reads
  TimedOutcome outcome;
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_TIMEDEXECUTOR_H
