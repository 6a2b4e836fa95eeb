// Regions by cost: exactly where runs are short, else greedily.
#include "ppc/Transforms/Fusion/RegionChoice.h"

#include "ppc/Transforms/Fusion/BufferAccess.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <limits>

namespace mlir::ppc {

RegionChoice::RegionChoice(ArrayRef<linalg::LinalgOp> run, function_ref<bool(Value)> isLiveAfter)
    : ops(run), uses(run.size()), before(run.size(), 0), neighbours(run.size(), 0), partners(run.size(), 0) {
  struct Root {
    unsigned number;
    Value buffer;
    bool hasViews = false;
    Mask users = 0, writers = 0;
    Use *last = nullptr; // last writer
    int writer = -1;
  };
  llvm::MapVector<Value, Root> roots;
  for (auto [op, list] : llvm::zip(ops, uses))
    for (const BufferAccess &access : accessesOf(op)) {
      auto at = roots.try_emplace(access.root, Root{unsigned(roots.size()), access.buffer}).first;
      at->second.hasViews |= at->second.buffer != access.buffer;
      list.push_back({at->second.number, access.buffer, bufferBytes(access.buffer), access.reads, access.writes});
    }
  for (auto [number, list] : llvm::enumerate(uses)) {
    Mask self = Mask(1) << number;
    for (Use &use : list) {
      Root &root = (roots.begin() + use.root)->second;
      before[number] |= (use.writes ? root.users : root.writers) & ~self;
      use.leaves = use.writes && root.hasViews;
      if (use.reads && !root.hasViews && root.writer >= 0) {
        use.source = root.writer;
        root.last->readers |= self;
      }
    }
    for (Use &use : list) {
      Root &root = (roots.begin() + use.root)->second;
      root.users |= self;
      if (!use.writes)
        continue;
      root.writers |= self;
      root.last = &use;
      root.writer = int(number);
    }
  }
  for (auto &[buffer, root] : roots) {
    for (unsigned number : membersOf(root.users))
      neighbours[number] |= root.users;
    if (root.last)
      root.last->leaves |= isLiveAfter(buffer);
  }
  findPartners();
}

/// The op that initializes the sum of columns `op`, which must be in its group. -1 for other ops.
static int startOf(linalg::LinalgOp op, Value root, int writer) {
  auto types = op.getIteratorTypesArray();
  bool isColumnSum = llvm::is_contained(types, utils::IteratorType::reduction) &&
                     types.back() == utils::IteratorType::parallel && rootBuffer(op.getDpsInits()[0]) == root;
  return isColumnSum ? writer : -1;
}

void RegionChoice::findPartners() {
  SmallVector<Mask> with; // ops without which it is in no region, and itself
  for (unsigned number = 0; number < ops.size(); ++number)
    with.push_back(Mask(1) << number);
  for (auto [number, list] : llvm::enumerate(uses))
    for (const Use &use : list)
      if (int start = use.writes ? startOf(ops[number], rootBuffer(use.buffer), use.source) : -1; start >= 0) {
        with[number] |= Mask(1) << start;
        with[start] |= Mask(1) << number;
      }
  units = with;
  llvm::sort(units);
  units.erase(llvm::unique(units), units.end());
  for (unsigned i = 0; i < ops.size(); ++i)
    for (unsigned j = i + 1; j < ops.size(); ++j)
      if (RowRegion::mayShare(opsOf(with[i] | with[j]))) {
        partners[i] |= Mask(1) << j;
        partners[j] |= Mask(1) << i;
      }
}

RegionChoice::Mask RegionChoice::maskOf(ArrayRef<unsigned> group) {
  Mask mask = 0;
  for (unsigned number : group)
    mask |= Mask(1) << number;
  return mask;
}

SmallVector<unsigned> RegionChoice::membersOf(Mask mask) {
  SmallVector<unsigned> members;
  for (; mask; mask &= mask - 1)
    members.push_back(unsigned(llvm::countr_zero(mask)));
  return members;
}

RunGroups RegionChoice::groupsOf(ArrayRef<Mask> masks) { return llvm::map_to_vector(masks, membersOf); }

int64_t RegionChoice::trafficOf(Mask group) const {
  llvm::SmallDenseMap<Value, std::pair<int64_t, int64_t>> buffers; // read, written
  for (unsigned number : membersOf(group))
    for (const Use &use : uses[number]) {
      auto &[read, written] = buffers[use.buffer];
      if (use.reads && (use.source < 0 || !(group >> use.source & 1)))
        read = std::max(read, use.bytes);
      if (use.writes && (use.leaves || (use.readers & ~group)))
        written = std::max(written, use.bytes);
    }
  int64_t bytes = 0;
  for (auto &[buffer, moved] : buffers)
    bytes += moved.first + moved.second;
  return bytes;
}

bool RegionChoice::isConnected(Mask group) const {
  Mask reached = group & -group, grown = reached;
  do {
    reached = grown;
    for (unsigned number : membersOf(reached))
      grown |= neighbours[number] & group;
  } while (grown != reached);
  return reached == group;
}

SmallVector<linalg::LinalgOp> RegionChoice::opsOf(Mask group) const {
  return llvm::map_to_vector(membersOf(group), [&](unsigned number) { return ops[number]; });
}

std::optional<int64_t> RegionChoice::costOf(Mask group) {
  auto [at, isNew] = costs.try_emplace(group);
  if (!isNew)
    return at->second;
  bool isSingle = !(group & (group - 1));
  bool fits = isSingle || (llvm::all_of(membersOf(group),
                                        [&](unsigned number) {
                                          Mask self = Mask(1) << number;
                                          return ((partners[number] | self) & group) == group;
                                        }) &&
                           isConnected(group) && RowRegion::of(opsOf(group)));
  if (fits)
    at->second = trafficOf(group) + kLaunchBytes;
  return at->second;
}

RegionChoice::Mask RegionChoice::neededBefore(Mask group) const {
  Mask needed = 0;
  for (unsigned number : membersOf(group))
    needed |= before[number];
  return needed & ~group;
}

SmallVector<std::pair<RegionChoice::Mask, int64_t>> RegionChoice::legalGroups() {
  SmallVector<std::pair<Mask, int64_t>> legal;
  for (Mask group = 1; group >> ops.size() == 0; ++group)
    if (auto bytes = costOf(group))
      legal.emplace_back(group, *bytes);
  return legal;
}

RunGroups RegionChoice::exact() {
  assert(ops.size() <= kExact && "all groups are tried");
  constexpr int64_t unreached = std::numeric_limits<int64_t>::max();
  auto legal = legalGroups();
  Mask all = (Mask(1) << ops.size()) - 1;
  SmallVector<int64_t> best(all + 1, unreached); // by set of ops that have run
  SmallVector<Mask> last(all + 1, 0);
  best[0] = 0;
  for (Mask done = 0; done < all; ++done) {
    if (best[done] == unreached)
      continue;
    for (auto [group, bytes] : legal)
      if (!(group & done) && !(neededBefore(group) & ~done) && best[done] + bytes < best[done | group]) {
        best[done | group] = best[done] + bytes;
        last[done | group] = group;
      }
  }
  SmallVector<Mask> groups;
  for (Mask done = all; done; done &= ~last[done])
    groups.push_back(last[done]);
  return groupsOf(*inOrder(groups));
}

std::optional<SmallVector<RegionChoice::Mask>> RegionChoice::inOrder(ArrayRef<Mask> groups) const {
  SmallVector<Mask> pending(groups), order;
  llvm::sort(pending, [](Mask a, Mask b) { return llvm::countr_zero(a) < llvm::countr_zero(b); });
  Mask done = 0;
  while (!pending.empty()) {
    auto next = llvm::find_if(pending, [&](Mask group) { return !(neededBefore(group) & ~done); });
    if (next == pending.end())
      return std::nullopt;
    done |= *next;
    order.push_back(*next);
    pending.erase(next);
  }
  return order;
}

std::optional<int64_t> RegionChoice::costOfAll(ArrayRef<Mask> groups) {
  int64_t bytes = 0;
  for (Mask group : groups) {
    auto own = costOf(group);
    if (!own)
      return std::nullopt;
    bytes += *own;
  }
  return inOrder(groups) ? std::optional(bytes) : std::nullopt;
}

/// Two groups become one, if that saves something: the two that save most.
bool RegionChoice::mergeTwo(SmallVector<Mask> &groups) {
  int64_t least = *costOfAll(groups);
  SmallVector<Mask> best;
  for (size_t i = 0; i < groups.size(); ++i)
    for (size_t j = i + 1; j < groups.size(); ++j) {
      if (!costOf(groups[i] | groups[j]))
        continue;
      SmallVector<Mask> merged(groups);
      merged[i] |= merged[j];
      merged.erase(merged.begin() + j);
      if (auto bytes = costOfAll(merged); bytes && *bytes < least) {
        least = *bytes;
        best = std::move(merged);
      }
    }
  if (best.empty())
    return false;
  groups = std::move(best);
  return true;
}

/// Moves an op, together with the op that initializes it, to another group or to one of its own, if that saves
/// something.
bool RegionChoice::moveOne(SmallVector<Mask> &groups) {
  int64_t least = *costOfAll(groups);
  SmallVector<Mask> best;
  for (Mask moved : units)
    for (size_t to = 0; to <= groups.size(); ++to) {
      SmallVector<Mask> changed;
      for (auto [number, group] : llvm::enumerate(groups))
        changed.push_back(number == to ? group | moved : group & ~moved);
      if (to == groups.size())
        changed.push_back(moved);
      llvm::erase(changed, Mask(0));
      if (auto bytes = costOfAll(changed); bytes && *bytes < least) {
        least = *bytes;
        best = std::move(changed);
      }
    }
  if (best.empty())
    return false;
  groups = std::move(best);
  return true;
}

RunGroups RegionChoice::greedy() {
  SmallVector<Mask> groups;
  for (unsigned number = 0; number < ops.size(); ++number)
    groups.push_back(Mask(1) << number);
  while (mergeTwo(groups) || moveOne(groups))
    ;
  return groupsOf(*inOrder(groups));
}

int64_t RegionChoice::cost(const RunGroups &groups) {
  int64_t bytes = 0;
  for (ArrayRef<unsigned> group : groups)
    bytes += costOf(maskOf(group)).value_or(0);
  return bytes;
}

std::string RegionChoice::whyNot(ArrayRef<unsigned> first, ArrayRef<unsigned> second) {
  Mask group = maskOf(first) | maskOf(second);
  std::string why;
  if (!isConnected(group))
    return "they share no buffer";
  if (!RowRegion::of(opsOf(group), &why))
    return why;
  if (!costOf(group))
    return "they fit two by two, but not together";
  if (*costOf(group) >= *costOf(maskOf(first)) + *costOf(maskOf(second)))
    return "nothing is saved";
  return "another op must run between them, or other groups save more";
}

} // namespace mlir::ppc
