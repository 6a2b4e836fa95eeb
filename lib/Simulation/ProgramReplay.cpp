// Builds a task for each segment of a routine and each transfer, with the tasks that must complete before it.
#include "ppc/Simulation/ProgramReplay.h"

#include "ppc/Simulation/EventSimulator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace mlir::ppc;

namespace {

/// Bytes and steps of one algorithm on the port of each member.
struct WireUse {
  double bytes;
  int64_t steps;
};

class ReplayBuilder {
public:
  ReplayBuilder(const StepProgram &program, const EmulatedMachine &machine) : program(program), machine(machine) {}

  llvm::Expected<std::vector<ReplayedRank>> run(int64_t steps);

private:
  enum Way { Out, In };

  /// The tasks that a transfer consists of, in this order: latency, then bytes.
  struct Transfer {
    int32_t begin = -1, end = -1;
    size_t ends = 0, expected = 0; // number of ranks that have started it
  };
  struct Ring {
    std::vector<int32_t> members;
    const EmulatedLink *link = nullptr;
    std::vector<size_t> calls; // made so far, by member
    std::vector<Transfer> transfers;
  };

  void addStep(int32_t rank);
  int32_t addRun(int32_t rank, const StepRoutine &routine, const std::vector<Seconds> &pieces, int32_t before,
                 std::vector<int32_t> &early);
  int32_t addAction(int32_t rank, const StepAction &action, int32_t before, std::vector<int32_t> &early);
  /// The rank makes the next call of its ring when `before` has completed; returns the task that ends with it.
  int32_t call(int32_t rank, const GroupCall &call, int32_t before);
  int32_t meet(int32_t rank, const StepAction &action, int32_t before);
  void begin(Transfer &transfer, int32_t device, const EmulatedLink *link, const WireUse &use,
             llvm::ArrayRef<int32_t> senders, llvm::ArrayRef<int32_t> receivers);
  Ring &ringOf(int32_t group, int32_t rank);
  int32_t portOf(const EmulatedLink &link, int64_t rank, Way way);
  int32_t task(TaskKind kind, int32_t rank, Seconds work, llvm::ArrayRef<int32_t> before) {
    int32_t result = graph.addTask(kind, rank, work);
    for (int32_t one : before)
      graph.addDependence(one, result);
    return result;
  }
  llvm::Error checkMeetings() const;

  const StepProgram &program;
  const EmulatedMachine &machine;
  TaskGraph graph;
  int64_t step = 0;
  std::vector<int32_t> stepEnds;                             // by rank: the task that the next step waits for
  std::vector<Seconds> computed;                             // by rank
  std::map<std::pair<int32_t, int32_t>, size_t> ringNumbers; // by group and rank
  std::vector<Ring> rings;
  /// By step, transfer, micro-batch and sender.
  std::map<std::tuple<int64_t, int32_t, int64_t, int64_t>, Transfer> messages;
  std::map<std::tuple<const EmulatedLink *, int64_t, Way>, int32_t> ports;
};

} // namespace

/// As rings do it; docs/guide/Emulate.md.
static WireUse wireUse(const GroupCall &call, size_t members) {
  double n = double(members), bytes = call.block.value;
  switch (call.kind) {
  case GroupCallKind::AllReduce:
    return {2 * bytes * (n - 1) / n, 2 * (int64_t(members) - 1)};
  case GroupCallKind::AllGather:
  case GroupCallKind::ReduceScatter:
  case GroupCallKind::AllToAll:
    return {bytes * (n - 1), int64_t(members) - 1};
  case GroupCallKind::Permute:
    break;
  }
  return {bytes, 1};
}

int32_t ReplayBuilder::portOf(const EmulatedLink &link, int64_t rank, Way way) {
  std::vector<int32_t> own;
  for (int32_t axis = 0; axis < int32_t(program.axes.size()); ++axis)
    if (!llvm::is_contained(link.sharedBy, axis))
      own.push_back(axis);
  auto [found, isNew] = ports.try_emplace({&link, program.indexOver(rank, own), way}, -1);
  if (isNew)
    found->second = graph.addResource(link.rate.value);
  return found->second;
}

ReplayBuilder::Ring &ReplayBuilder::ringOf(int32_t group, int32_t rank) {
  auto [found, isNew] = ringNumbers.try_emplace({group, rank}, rings.size());
  if (isNew) {
    Ring &ring = rings.emplace_back();
    ring.members = program.members(program.groups[group], rank);
    ring.link = machine.linkOver(program.groups[group].axes);
    ring.calls.resize(ring.members.size());
    for (int32_t member : ring.members)
      ringNumbers[{group, member}] = rings.size() - 1;
  }
  return rings[found->second];
}

/// The work of a transfer is its time alone; at rate 1 it uses the bandwidth of each port that its flows need then.
void ReplayBuilder::begin(Transfer &transfer, int32_t device, const EmulatedLink *link, const WireUse &use,
                          llvm::ArrayRef<int32_t> senders, llvm::ArrayRef<int32_t> receivers) {
  bool takesTime = link && use.bytes > 0;
  transfer.begin = transfer.end =
      graph.addTask(TaskKind::Copy, device, takesTime ? link->latency * double(use.steps) : Seconds());
  if (!takesTime)
    return;
  std::map<int32_t, int32_t> flows;
  for (int32_t rank : senders)
    ++flows[portOf(*link, rank, Out)];
  for (int32_t rank : receivers)
    ++flows[portOf(*link, rank, In)];
  int32_t most = 1;
  for (auto [port, count] : flows)
    most = std::max(most, count);
  double rate = link->rate.value / most; // rate of each flow
  llvm::SmallVector<ResourceUse, 8> uses;
  for (auto [port, count] : flows)
    uses.push_back({port, rate * count});
  transfer.end = graph.addTask(TaskKind::Copy, device, Seconds(use.bytes / rate), uses);
  graph.addDependence(transfer.begin, transfer.end);
}

int32_t ReplayBuilder::call(int32_t rank, const GroupCall &call, int32_t before) {
  Ring &ring = ringOf(call.group, rank);
  if (ring.members.size() < 2)
    return before;
  size_t place = llvm::find(ring.members, rank) - ring.members.begin(), number = ring.calls[place]++;
  if (number == ring.transfers.size()) {
    Transfer &transfer = ring.transfers.emplace_back();
    transfer.expected = ring.members.size();
    begin(transfer, rank, ring.link, wireUse(call, ring.members.size()), ring.members, ring.members);
  }
  Transfer &transfer = ring.transfers[number];
  ++transfer.ends;
  graph.addDependence(before, transfer.begin);
  return transfer.end;
}

int32_t ReplayBuilder::meet(int32_t rank, const StepAction &action, int32_t before) {
  const StepMessage &message = program.messages[action.number];
  int64_t perDevice = program.rankCount() / int64_t(program.devices.size()), place = rank % perDevice;
  int32_t sender = int32_t(message.from * perDevice + place), receiver = int32_t(message.to * perDevice + place);
  Transfer &transfer = messages[{step, action.number, action.microBatch, sender}];
  if (!transfer.expected) {
    transfer.expected = 2;
    begin(transfer, rank, machine.linkOver({0}), {message.bytes.value, 1}, sender, receiver);
  }
  ++transfer.ends;
  graph.addDependence(before, transfer.begin);
  return transfer.end;
}

int32_t ReplayBuilder::addRun(int32_t rank, const StepRoutine &routine, const std::vector<Seconds> &pieces,
                              int32_t before, std::vector<int32_t> &early) {
  llvm::SmallVector<int32_t, 2> after = {before};
  std::vector<int32_t> started(routine.ends.size(), -1);
  for (size_t piece = 0;; ++piece) {
    Seconds takes = pieces.empty() ? Seconds() : pieces[piece];
    int32_t computes = task(TaskKind::Compute, rank, takes, after);
    computed[rank] += takes;
    if (piece == routine.ends.size())
      return computes;
    const PieceEnd &end = routine.ends[piece];
    after = {computes};
    switch (end.kind) {
    case PieceEnd::Kind::Call:
      after.push_back(call(rank, end.call, computes));
      break;
    case PieceEnd::Kind::Start:
      started[piece] = call(rank, end.call, computes);
      break;
    case PieceEnd::Kind::Wait:
      after.push_back(started[end.number]);
      break;
    case PieceEnd::Kind::Reach:
      early.resize(std::max(early.size(), size_t(end.number) + 1), -1);
      early[end.number] = computes;
      break;
    }
  }
}

int32_t ReplayBuilder::addAction(int32_t rank, const StepAction &action, int32_t before, std::vector<int32_t> &early) {
  int64_t device = program.indexOver(rank, {0});
  switch (action.kind) {
  case StepAction::Kind::Load:
    return before;
  case StepAction::Kind::Run:
    return addRun(rank, program.devices[device].routines[action.number], machine.pieces[device][action.number], before,
                  early);
  case StepAction::Kind::Send:
  case StepAction::Kind::Receive:
    return meet(rank, action, before);
  case StepAction::Kind::Collective:
    break;
  }
  llvm::SmallVector<int32_t, 8> ends = {before};
  for (const GroupCall &one : action.calls)
    ends.push_back(call(rank, one, before));
  return task(TaskKind::Copy, rank, Seconds(), ends);
}

void ReplayBuilder::addStep(int32_t rank) {
  const StepDevice &device = program.devices[program.indexOver(rank, {0})];
  std::vector<int32_t> streams(device.streams, stepEnds[rank]), ends;
  std::vector<std::vector<int32_t>> early(device.actions.size());
  for (auto [number, action] : llvm::enumerate(device.actions)) {
    llvm::SmallVector<int32_t, 4> before = {streams[action.stream]};
    for (const StepToken &token : action.after)
      before.push_back(token.early < 0 ? ends[token.action] : early[token.action][token.early]);
    int32_t begins = task(TaskKind::Copy, rank, Seconds(), before);
    ends.push_back(streams[action.stream] = addAction(rank, action, begins, early[number]));
  }
  stepEnds[rank] = task(TaskKind::Copy, rank, Seconds(), ends);
}

llvm::Error ReplayBuilder::checkMeetings() const {
  auto isMet = [](const Transfer &transfer) { return transfer.ends == transfer.expected; };
  for (const Ring &ring : rings)
    if (!llvm::all_of(ring.transfers, isMet))
      return llvm::createStringError("ranks with rank " + llvm::Twine(ring.members[0]) +
                                     " do not make the same number of calls of a group");
  for (const auto &[key, transfer] : messages)
    if (!isMet(transfer))
      return llvm::createStringError("rank " + llvm::Twine(std::get<3>(key)) +
                                     " has a send without a receive, or a receive from it has no send");
  return llvm::Error::success();
}

llvm::Expected<std::vector<ReplayedRank>> ReplayBuilder::run(int64_t steps) {
  int32_t ranks = int32_t(program.rankCount());
  stepEnds.assign(ranks, -1);
  computed.assign(ranks, Seconds());
  for (step = 0; step < steps; ++step)
    for (int32_t rank = 0; rank < ranks; ++rank)
      addStep(rank);
  if (llvm::Error error = checkMeetings())
    return std::move(error);
  llvm::Expected<SimulatedTimes> times = simulateTasks(graph);
  if (!times)
    return times.takeError();
  std::vector<ReplayedRank> result;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    Seconds mean = times->end[stepEnds[rank]] / double(steps);
    result.push_back({mean, mean - computed[rank] / double(steps)});
  }
  return result;
}

llvm::Expected<std::vector<ReplayedRank>> mlir::ppc::replayProgram(const StepProgram &program,
                                                                   const EmulatedMachine &machine, int64_t steps) {
  return ReplayBuilder(program, machine).run(steps);
}
