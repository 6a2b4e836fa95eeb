// Groups of collectives, on tensors and on buffers, and the order in which code communicates.
#include "CodeCommunication.h"

#include "llvm/ADT/TypeSwitch.h"
#include <set>

namespace mlir::ppc {

using ppcrt::GroupOp;

ProgramGroups::ProgramGroups(ppcrt::ProgramOp program)
    : program(program), deviceCount(program.getDevices().size()),
      ranksPerDevice(program.getDeviceGrid().deviceCount()) {
  for (auto group : cast<ModuleOp>(program->getParentOp()).getOps<GroupOp>())
    declared[group.getSymNameAttr()] = group;
}

/// The symbol of the group of a collective on buffers.
static FlatSymbolRefAttr groupSymbol(Operation *op) {
  return llvm::TypeSwitch<Operation *, FlatSymbolRefAttr>(op)
      .Case<ppcrt::AllReduceOp, ppcrt::AllGatherOp, ppcrt::ReduceScatterOp, ppcrt::AllToAllOp, ppcrt::PermuteOp,
            ppcrt::RaggedAllToAllOp, ppcrt::StartOp, ppcrt::CollectiveOp>(
          [](auto collective) { return collective.getGroupAttr(); })
      .Default(FlatSymbolRefAttr());
}

Operation *ProgramGroups::declaration(Operation *op) const {
  FlatSymbolRefAttr symbol = groupSymbol(op);
  return symbol ? declared.lookup(symbol.getAttr()).getOperation() : nullptr;
}

std::optional<uint32_t> ProgramGroups::of(Operation *op) {
  GroupKey key;
  if (FlatSymbolRefAttr symbol = groupSymbol(op)) {
    GroupOp group = declared.lookup(symbol.getAttr());
    if (!group)
      return std::nullopt;
    key = {group.getAxesAttr(), group.getStagesAttr(), group.getRanksAttr()};
  } else if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    key = {reduce.getAxes(), reduce.getStagesAttr(), {}};
  } else {
    key.axes = llvm::TypeSwitch<Operation *, ArrayAttr>(op)
                   .Case<AllGatherOp, ReduceScatterOp, AllToAllOp>([](auto collective) { return collective.getAxes(); })
                   .Default(ArrayAttr());
    if (!key.axes)
      return std::nullopt;
  }
  auto [number, isNew] = numbers.try_emplace({key.axes, key.stages, key.ranks}, keys.size());
  if (isNew)
    keys.push_back(key);
  return number->second;
}

bool ProgramGroups::isBetweenDevices(uint32_t group) const {
  const GroupKey &key = keys[group];
  return key.ranks || llvm::is_contained(axisNames(key.axes), "pp");
}

bool ProgramGroups::keepsPlaces(uint32_t group, int64_t device, int64_t other) const {
  if (!keys[group].ranks)
    return true; // ranks with equal coordinates on all other axes are together
  int64_t together = 0;
  for (Attribute set : keys[group].ranks) {
    ArrayRef<int64_t> ranks = cast<DenseI64ArrayAttr>(set).asArrayRef();
    together += llvm::count_if(ranks, [&](int64_t rank) {
      return rank / ranksPerDevice == device && llvm::is_contained(ranks, rank + (other - device) * ranksPerDevice);
    });
  }
  return together == ranksPerDevice;
}

std::string ProgramGroups::describe(uint32_t group) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  const GroupKey &key = keys[group];
  if (key.ranks)
    os << "ranks " << key.ranks;
  else
    os << key.axes;
  if (key.stages)
    llvm::interleaveComma(key.stages.asArrayRef(), os << " of stages ");
  return text;
}

SmallVector<int64_t> ProgramGroups::findMembers(const GroupKey &key, int64_t device) const {
  if (key.ranks) {
    std::set<int64_t> members;
    int64_t own = 0;
    for (Attribute set : key.ranks) {
      ArrayRef<int64_t> ranks = cast<DenseI64ArrayAttr>(set).asArrayRef();
      int64_t here = llvm::count_if(ranks, [&](int64_t rank) { return rank / ranksPerDevice == device; });
      own += here;
      for (int64_t rank : ranks)
        if (here && rank / ranksPerDevice < deviceCount)
          members.insert(rank / ranksPerDevice);
    }
    return own == ranksPerDevice ? SmallVector<int64_t>(members.begin(), members.end()) : SmallVector<int64_t>();
  }
  if (key.stages && !llvm::is_contained(key.stages.asArrayRef(), device))
    return {};
  if (!llvm::is_contained(axisNames(key.axes), "pp"))
    return {device};
  SmallVector<int64_t> members;
  for (int64_t other = 0; other < deviceCount; ++other)
    if (!key.stages || llvm::is_contained(key.stages.asArrayRef(), other))
      members.push_back(other);
  return members;
}

ArrayRef<int64_t> ProgramGroups::members(uint32_t group, int64_t device) {
  auto [entry, isNew] = known.try_emplace({group, device});
  if (isNew)
    entry->second = findMembers(keys[group], device);
  return entry->second;
}

const CodeCommunication &CommunicationOfCode::of(StringAttr name, unsigned depth) {
  auto &entry = known[name];
  if (entry)
    return *entry;
  auto result = std::make_unique<CodeCommunication>();
  auto use = [&](uint32_t group, Operation *op) {
    auto at = llvm::lower_bound(result->groups, group);
    if (at != result->groups.end() && *at == group)
      return;
    result->used.insert(result->used.begin() + (at - result->groups.begin()), op);
    result->groups.insert(at, group);
  };
  auto function = functions.lookup<func::FuncOp>(name);
  if (function && depth < 64) // deeper is recursion, which ppc-assign-offsets refuses
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (std::optional<uint32_t> group = groups.of(op)) {
        use(*group, op);
        if (groups.isBetweenDevices(*group))
          result->ordered.push_back(op);
        return;
      }
      if (isa<ppcrt::ReachOp>(op))
        result->ordered.push_back(op);
      FlatSymbolRefAttr callee;
      if (auto call = dyn_cast<func::CallOp>(op))
        callee = call.getCalleeAttr();
      else if (auto call = dyn_cast<ppcrt::CallOp>(op))
        callee = call.getCalleeAttr();
      if (!callee)
        return;
      const CodeCommunication &inner = of(callee.getAttr(), depth + 1);
      llvm::append_range(result->ordered, inner.ordered);
      for (auto [group, where] : llvm::zip_equal(inner.groups, inner.used))
        use(group, where);
    });
  return *(known[name] = std::move(result)); // calls may have grown the map
}

} // namespace mlir::ppc
