// Executes a program in time: actions of all ranks begin and end in a random order that streams, tokens, messages and
// collectives allow, on memory of which every byte is there once.
#ifndef PPC_TEST_LIB_TIMEDEXECUTOR_H
#define PPC_TEST_LIB_TIMEDEXECUTOR_H

#include "RoutineNumbers.h"
#include "StepValues.h"
#include "TimedProgram.h"

namespace mlir::ppc::test {

/// What became of an interleaving.
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

/// An action begins when what is in front of it on its stream has ended, and what gave its tokens; an activity and all
/// it meets must have begun before one of them ends. As late as that allows: a message or a collective takes what it
/// sends when the first of its members ends, and each member gets its part when it ends itself; a routine reads when it
/// ends. What an action writes is poison from its beginning to its end, scratch and sums that an update consumes stay
/// so. Where code reaches what an early token stands for, what it has finished with is read and written at the latest.
class TimedExecutor {
public:
  /// `module` has a ppcrt.program with steps, whose code works on tensors. `numbers` computes routines.
  TimedExecutor(ModuleOp module, const NamedTensors &values, RoutineNumbers &numbers, bool isEvaluation = false);

  /// Draws an order and follows it, from the memory that a step finds. Number 0 is the order of issue. What hosts run
  /// goes as they do: each device's actions one after the other as listed, but that nothing, also no other send, waits
  /// for a send without a token. In programs of other actions a device's collectives come one after the other.
  TimedOutcome run(uint64_t seed, unsigned interleaving);
  /// What lies afterwards in the buffers of parameters, states, metrics that are written, of a step in gradients too:
  /// by device, buffer and rank, one after the other.
  std::vector<double> outputs() const;
  /// How many activities a step has.
  size_t size() const { return program.activities.size(); }

private:
  struct Preference;
  enum State { Waiting, Running, Past };

  void initialize(const NamedTensors &values);
  void prepareLoad(size_t number, const NamedTensors &values);
  Preference draw(Random &random, unsigned interleaving) const;
  /// Whether what takes its token need not wait for it. Hosts wait for earlier sends of a stream with one of them.
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
  /// What each member gets.
  void take(size_t meeting);
  void takeRoutine(const Rendezvous &meeting, std::vector<RankValues> &results);
  /// What a routine reads: of what its code has finished with, what was there then.
  ReferenceTensor argument(size_t number, size_t read) const;
  void takeCollective(const Rendezvous &meeting, std::vector<RankValues> &results);
  RankValues readAll(const Activity &activity) const;
  /// Of `values`, one for each of its writes, those that are there with the reach of that place; by default with its
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
  std::map<size_t, RankValues> loaded; ///< what each load brings, by activity

  // Of the interleaving that is followed.
  bool inOrderOfIssue = false;
  std::vector<State> states;
  const std::vector<SmallVector<size_t>> *queues = nullptr;
  std::vector<size_t> heads;                  ///< by queue
  std::vector<SmallVector<size_t>> running;   ///< by rank
  std::vector<std::vector<RankValues>> taken; ///< by meeting; empty before
  std::vector<RankValues> kept;               ///< of collectives, by activity: what was there when it began
  std::vector<size_t> reached;                ///< by activity: how many of `reaches`
  std::vector<std::vector<std::vector<RankValues>>> takenEarly; ///< by meeting of a routine and place in `reaches`
  std::vector<std::map<size_t, ReferenceTensor>> finished;      ///< by activity and place in its reads: arguments
  TimedOutcome outcome;
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_TIMEDEXECUTOR_H
