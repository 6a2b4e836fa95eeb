// Random orders of beginnings and ends.
#include "TimedExecutor.h"
#include "TimedCollectives.h"
#include "ppc/Interpreter/Collectives.h"
#include "ppc/Interpreter/ShardedTensors.h"

namespace mlir::ppc::test {

using namespace ppcrt;

/// Which event is taken of those that may be: the one with the highest number, or any.
struct TimedExecutor::Preference {
  bool any = false;
  std::vector<double> begins, reaches, ends;
};

TimedExecutor::TimedExecutor(ModuleOp module, const NamedTensors &values, RoutineNumbers &numbers, bool isEvaluation)
    : program(module, isEvaluation), numbers(numbers), isEvaluation(isEvaluation), error(program.read()),
      forHosts(program.isForHosts()) {
  for (const Activity &own : program.activities)
    longest = std::max(longest, own.inOrder);
  if (error.empty())
    initialize(values);
}

static RankValues cut(const ReferenceTensor &value, BufferOp buffer, GridAttr grid) {
  ShardingAttr sharding = buffer.getShardingAttr();
  return sharding ? cutTensor(value, sharding, grid) : RankValues(grid.deviceCount(), value);
}

void TimedExecutor::initialize(const NamedTensors &values) {
  for (size_t device = 0; device < program.layouts.size(); ++device) {
    const MemoryLayout &layout = program.layouts[device];
    initial.insert(initial.end(), program.ranksOfDevice(), RankMemory(layout));
    for (const BufferPlace &place : layout.all()) {
      BufferOp buffer = place.buffer;
      bool isGiven =
          llvm::is_contained({BufferRole::Parameter, BufferRole::State, BufferRole::Scalar}, buffer.getRole());
      if (!isGiven && !buffer.isSum())
        continue;
      RankValues tensors = isGiven ? cut(values.at(buffer.describe()), buffer, program.deviceGrid)
                                   : RankValues(program.ranksOfDevice(), ReferenceTensor::zeros(buffer.getType()));
      for (auto [local, tensor] : llvm::enumerate(tensors))
        initial[device * program.ranksOfDevice() + local].write(place, 0, tensor.data);
    }
  }
  for (size_t number = 0; number < program.activities.size(); ++number)
    if (isa<LoadOp>(activity(number).action))
      prepareLoad(number, values);
}

void TimedExecutor::prepareLoad(size_t number, const NamedTensors &values) {
  int64_t microBatch = cast<LoadOp>(activity(number).action).getMicroBatch();
  for (size_t write : activity(number).writes) {
    BufferOp buffer = activity(number).uses[write].place->buffer;
    const ReferenceTensor &whole = values.at(buffer.describe());
    ReferenceTensor own = blockOf(whole, 0, microBatch, whole.shape[0] / int64_t(program.program.getMicroBatches()));
    loaded[number].push_back(cut(own, buffer, program.deviceGrid)[activity(number).rank % program.ranksOfDevice()]);
  }
}

TimedExecutor::Preference TimedExecutor::draw(Random &random, unsigned interleaving) const {
  auto number = [&] { return double(random() >> 11) / double(uint64_t(1) << 53); }; // in [0, 1)
  Preference preference;
  preference.any = interleaving % 8 == 1;
  int64_t slow = random() % program.rankCount();
  // From a random position on, the actions of some streams take as long as they can: actions that are not ordered after
  // them run concurrently.
  struct Held {
    int64_t from;
    double by;
  };
  std::map<std::pair<size_t, StringRef>, Held> held;
  for (const Activity &own : program.activities)
    if (auto [found, isNew] = held.try_emplace({own.device, own.stream}, Held{0, 0}); isNew && random() % 2)
      found->second = {int64_t(random() % longest), 1 + number()};
  for (const Activity &own : program.activities) {
    double begin = number(), end = number();
    const Held &stream = held.at({own.device, own.stream});
    double late = own.inOrder >= stream.from ? stream.by : 0;
    switch (interleaving % 8) {
    case 0: // one rank is slow
      begin -= own.rank == slow;
      end -= own.rank == slow;
      break;
    case 2: // as many actions as possible are in flight
      end -= 1;
      break;
    case 3: // transfers take as long as they can, or now and then another action
      end -= own.isTransfer() || random() % 8 == 0 ? 1 : 0;
      break;
    case 7:
      begin -= late;
      break;
    case 1:
      break;
    default:
      end -= late;
    }
    preference.begins.push_back(begin);
    preference.reaches.push_back(own.reaches.empty() ? 0 : number());
    preference.ends.push_back(end);
  }
  return preference;
}

bool TimedExecutor::isPast(size_t number) const {
  if (!inOrderOfIssue || !forHosts || !isa<SendOp>(activity(number).action))
    return states[number] == Past;
  for (size_t earlier = number - activity(number).inOrder; earlier <= number; ++earlier)
    if (states[earlier] != Past && isa<SendOp>(activity(earlier).action) &&
        activity(earlier).stream == activity(number).stream)
      return false;
  return true;
}

bool TimedExecutor::mayBegin(size_t number) const {
  const Activity &own = activity(number);
  if (states[number] != Waiting || llvm::any_of(own.after, [&](size_t other) { return !isPast(other); }) ||
      llvm::any_of(own.since, [&](std::pair<size_t, size_t> token) {
        ArrayRef<size_t> known = ArrayRef(activity(token.first).reaches).take_front(reached[token.first]);
        return !llvm::is_contained(known, token.second);
      }))
    return false;
  for (size_t earlier = number - own.inOrder; inOrderOfIssue && earlier < number; ++earlier) {
    Operation *action = activity(earlier).action;
    bool blocks = forHosts ? !isa<SendOp>(action) : isa<CollectiveOp>(own.action) && isa<CollectiveOp>(action);
    if (states[earlier] != Past && blocks)
      return false;
  }
  return true;
}

bool TimedExecutor::allHaveBegun(const Activity &own) const {
  return llvm::all_of(own.meetings, [&](size_t meeting) {
    return llvm::all_of(program.meetings[meeting].members,
                        [&](std::optional<size_t> member) { return member && states[*member] != Waiting; });
  });
}

bool TimedExecutor::mayReach(size_t number) const {
  const Activity &own = activity(number);
  return states[number] == Running && reached[number] < own.reaches.size() && allHaveBegun(own);
}

bool TimedExecutor::mayEnd(size_t number) const {
  const Activity &own = activity(number);
  return states[number] == Running && reached[number] == own.reaches.size() && allHaveBegun(own);
}

TimedOutcome TimedExecutor::run(uint64_t seed, unsigned interleaving) {
  outcome = {};
  if (!error.empty()) {
    outcome = {TimedOutcome::Broken, error};
    return outcome;
  }
  Random random(seed * 7919 + interleaving);
  inOrderOfIssue = interleaving == 0;
  Preference preference = draw(random, interleaving);
  memory = initial;
  states.assign(program.activities.size(), Waiting);
  queues = inOrderOfIssue && forHosts ? &program.hostQueues : &program.queues;
  heads.assign(queues->size(), 0);
  running.assign(program.rankCount(), {});
  taken.assign(program.meetings.size(), {});
  kept.assign(program.activities.size(), {});
  reached.assign(program.activities.size(), 0);
  takenEarly.assign(program.meetings.size(), {});
  finished.assign(program.activities.size(), {});
  while (outcome.kind == TimedOutcome::Ended) {
    SmallVector<std::pair<double, size_t>>
        events; // an activity of which the next thing may happen, and how much it is preferred
    bool waits = false;
    for (auto [queue, head] : llvm::zip_equal(*queues, heads)) {
      if (head == queue.size())
        continue;
      waits = true;
      size_t number = queue[head];
      if (mayBegin(number))
        events.push_back({preference.begins[number], number});
      else if (mayReach(number))
        events.push_back({preference.reaches[number], number});
      else if (mayEnd(number))
        events.push_back({preference.ends[number], number});
    }
    if (!waits)
      return outcome;
    if (events.empty()) {
      reportHang();
      break;
    }
    size_t next = preference.any ? events[random() % events.size()].second : llvm::max_element(events)->second;
    if (states[next] == Waiting)
      begin(next);
    else
      reached[next] < activity(next).reaches.size() ? reach(next) : end(next);
  }
  return outcome;
}

void TimedExecutor::begin(size_t number) {
  const Activity &own = activity(number);
  verifyOverlap(own);
  states[number] = Running;
  running[own.rank].push_back(number);
  if (isa<CollectiveOp>(own.action))
    kept[number] = readAll(own); // one in place poisons what it reads
  for (const ByteUse &use : own.uses)
    if (use.writes && (!use.reads || isa<CollectiveOp>(own.action)))
      memory[own.rank].poison(use.begin(), use.end());
}

void TimedExecutor::verifyOverlap(const Activity &own) {
  for (size_t other : running[own.rank]) {
    if (llvm::any_of(own.groups, [&](size_t group) { return llvm::is_contained(activity(other).groups, group); }))
      return fail(TimedOutcome::Overlap, "communicates over the same ranks as another action at the same time", own,
                  &activity(other));
    for (const ByteUse &theirs : activity(other).uses)
      for (const ByteUse &ours : own.uses) {
        if (theirs.early && *theirs.early < reached[other])
          continue;
        bool share =
            std::max(ours.begin(), theirs.begin()) < std::min(ours.end(), theirs.end()); // not where one is empty
        if (!(ours.writes || theirs.writes) || !share)
          continue;
        auto text = [](const ByteUse &use) {
          return std::string(use.writes ? "writes" : "reads") + " bytes " + std::to_string(use.begin()) + " to " +
                 std::to_string(use.end()) + " (@" + BufferOp(use.place->buffer).getSymName().str() + ")";
        };
        return fail(TimedOutcome::Overlap, text(ours) + " while another action " + text(theirs), own, &activity(other));
      }
  }
}

/// Operands that a routine finishes with here are read by all members when the first of them arrives.
void TimedExecutor::reach(size_t number) {
  const Activity &own = activity(number);
  size_t meeting = own.meetings.back(), place = reached[number];
  const Rendezvous &met = program.meetings[meeting];
  if (takenEarly[meeting].size() == place) {
    std::vector<RankValues> results(met.members.size());
    takeRoutine(met, results);
    takenEarly[meeting].push_back(std::move(results));
    for (std::optional<size_t> member : met.members)
      for (auto [read, use] : llvm::enumerate(activity(*member).reads))
        if (activity(*member).uses[use].early == place)
          finished[*member][read] = argument(*member, read);
  }
  if (outcome.kind != TimedOutcome::Ended)
    return;
  const RankValues &values = takenEarly[meeting][place][llvm::find(met.members, number) - met.members.begin()];
  write(own, values, place);
  ++reached[number];
}

void TimedExecutor::end(size_t number) {
  const Activity &own = activity(number);
  for (size_t meeting : own.meetings)
    if (taken[meeting].empty())
      take(meeting);
  if (outcome.kind != TimedOutcome::Ended)
    return;
  auto part = [&](size_t meeting) -> ArrayRef<ReferenceTensor> {
    return taken[meeting]
                [llvm::find(program.meetings[meeting].members, number) - program.meetings[meeting].members.begin()];
  };
  if (isa<LoadOp>(own.action))
    write(own, loaded[number]);
  else if (isa<CopyOp>(own.action))
    write(own, readAll(own));
  else if (!own.meetings.empty())
    write(own, part(own.meetings.back())); // an exchange writes the received data; empty for a sender
  for (size_t destroyed : own.destroyed)
    memory[own.rank].poison(own.uses[destroyed].begin(), own.uses[destroyed].end());
  states[number] = Past;
  llvm::erase(running[own.rank], number);
  for (auto [queue, head] : llvm::zip_equal(*queues, heads))
    if (head < queue.size() && queue[head] == number)
      ++head;
}

ReferenceTensor TimedExecutor::argument(size_t number, size_t read) const {
  if (auto known = finished[number].find(read); known != finished[number].end())
    return known->second;
  const ByteUse &use = activity(number).uses[activity(number).reads[read]];
  return memory[activity(number).rank].read(*use.place, use.slot);
}

RankValues TimedExecutor::readAll(const Activity &own) const {
  return llvm::map_to_vector(
      own.reads, [&](size_t read) { return memory[own.rank].read(*own.uses[read].place, own.uses[read].slot); });
}

void TimedExecutor::write(const Activity &own, ArrayRef<ReferenceTensor> values, std::optional<size_t> early) {
  if (values.size() != own.writes.size())
    return fail(TimedOutcome::Broken, "gives another number of values than it has buffers", own);
  for (auto [write, value] : llvm::zip_equal(own.writes, values)) {
    const ByteUse &use = own.uses[write];
    if (use.early != early)
      continue;
    if (value.size() != use.place->elements)
      return fail(TimedOutcome::Broken, "gives a value of another size than its buffer", own);
    memory[own.rank].write(*use.place, use.slot, value.data);
  }
}

void TimedExecutor::take(size_t number) {
  const Rendezvous &meeting = program.meetings[number];
  std::vector<RankValues> results(meeting.members.size());
  if (meeting.kind == Rendezvous::Routine) {
    takeRoutine(meeting, results);
  } else if (meeting.kind == Rendezvous::Collective) {
    takeCollective(meeting, results);
  } else {
    const Activity &sender = activity(*meeting.members[0]);
    const ByteUse &sent = sender.uses[sender.reads.front()];
    results[1].push_back(memory[sender.rank].read(*sent.place, sent.slot));
  }
  taken[number] = std::move(results);
}

void TimedExecutor::takeRoutine(const Rendezvous &meeting, std::vector<RankValues> &results) {
  SmallVector<func::FuncOp> functions;
  RoutineNumbers::Digest digest{meeting.members.size(), 0};
  for (std::optional<size_t> member : meeting.members) {
    const Activity &own = activity(*member);
    functions.push_back(own.code);
    digest = test::digest(digest, func::FuncOp(own.code).getSymName());
    for (auto [i, read] : llvm::enumerate(own.reads)) {
      auto known = finished[*member].find(i);
      digest = known == finished[*member].end()
                   ? test::digest(digest, memory[own.rank].cells(*own.uses[read].place, own.uses[read].slot))
                   : test::digest(digest, known->second.data);
    }
  }
  const Activity &first = activity(*meeting.members.front());
  int64_t local = meeting.members.size() == 1 ? first.rank % program.ranksOfDevice() : 0;
  digest.second += local; // which blocks it works on
  const SmallVector<RankValues> *values = numbers.run(functions, local, digest, [&] {
    return llvm::map_to_vector(meeting.members, [&](std::optional<size_t> member) {
      RankValues values;
      for (size_t read = 0; read < activity(*member).reads.size(); ++read)
        values.push_back(argument(*member, read));
      return values;
    });
  });
  if (!values)
    return fail(TimedOutcome::Broken, "cannot be run on what it reads", first);
  llvm::copy(*values, results.begin());
}

void TimedExecutor::takeCollective(const Rendezvous &meeting, std::vector<RankValues> &results) {
  SmallVector<RankValues> operands;
  const Activity &first = activity(*meeting.members.front());
  auto op = cast<CollectiveOp>(first.action);
  for (std::optional<size_t> member : meeting.members) {
    auto other = cast<CollectiveOp>(activity(*member).action);
    if (op.getKind() != other.getKind() || op.getReduction() != other.getReduction() ||
        op.getReads().size() != other.getReads().size())
      return fail(TimedOutcome::Broken, "meets a collective of another kind", first, &activity(*member));
    // Operands that are written in place were read at the start; others are read now.
    operands.push_back(readAll(activity(*member)));
    for (auto [read, operand, before] : llvm::zip_equal(activity(*member).reads, operands.back(), kept[*member]))
      if (activity(*member).uses[read].writes)
        operand = before;
  }
  bool rounds = numbers.getArithmetic() == Arithmetic::Rounded;
  std::string problem = evaluateBuckets(op.getKind(), op.getReduction(), operands, rounds, results);
  if (!problem.empty())
    fail(TimedOutcome::Broken, problem, first);
}

void TimedExecutor::fail(TimedOutcome::Kind kind, const std::string &text, const Activity &at, const Activity *other) {
  if (outcome.kind == TimedOutcome::Ended) // the first counts
    outcome = {kind, describe(at) + ": " + text + (other ? ": " + describe(*other) : ""), at.action,
               other ? other->action : nullptr};
}

void TimedExecutor::reportHang() {
  for (auto [queue, head] : llvm::zip_equal(*queues, heads)) {
    if (head == queue.size())
      continue;
    const Activity &own = activity(queue[head]);
    bool isRunning = states[queue[head]] == Running;
    return fail(TimedOutcome::Hang, isRunning ? "has started and deadlocks" : "never begins", own);
  }
}

std::vector<double> TimedExecutor::outputs() const {
  std::vector<double> values;
  llvm::SmallPtrSet<const BufferPlace *, 32> written;
  for (const Activity &own : program.activities)
    for (size_t write : own.writes)
      written.insert(own.uses[write].place);
  for (auto [device, layout] : llvm::enumerate(program.layouts))
    for (const BufferPlace &place : layout.all()) {
      BufferRole role = BufferOp(place.buffer).getRole();
      bool isOutput = role == BufferRole::Parameter || role == BufferRole::State ||
                      (role == BufferRole::Metric && written.contains(&place)) ||
                      (role == BufferRole::Gradient && !isEvaluation);
      if (!isOutput)
        continue;
      for (int64_t local = 0; local < program.ranksOfDevice(); ++local)
        llvm::append_range(values, memory[device * program.ranksOfDevice() + local].read(place, 0).data);
    }
  return values;
}

} // namespace mlir::ppc::test
