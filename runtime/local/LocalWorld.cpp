// The shared region's layout.
#include "runtime/local/LocalWorld.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <numeric>

namespace ppcrt {

LocalWorld::LocalWorld(const LocalWorldShape &shape) : layout(shape.links) {
  RegionLayout parts;
  size_t ranks = shape.arenaBytes.size();
  statuses = parts.add(ranks * sizeof(RankStatus));
  bells = parts.add(ranks * sizeof(Bell));
  mailbox = parts.add(shape.messages.size() * sizeof(Mail));
  for (size_t i = 0; i < shape.messages.size(); ++i) {
    const auto &[source, destination, key] = shape.messages[i];
    mail.emplace(MailKey(source, destination, key.tag, key.microBatch), i);
  }
  std::vector<std::vector<std::vector<int>>> allGroups = shape.groups;
  std::vector<int> everybody(ranks);
  std::iota(everybody.begin(), everybody.end(), 0);
  allGroups.push_back({everybody});
  for (size_t group = 0; group < allGroups.size(); ++group) {
    groups.emplace_back();
    for (size_t i = 0; i < allGroups[group].size(); ++i) {
      const std::vector<int> &members = allGroups[group][i];
      size_t bytes = members.size() > 1 ? ringLength * SharedOperation::bytesFor(int(members.size())) : 0;
      groups.back().push_back(
          {members, parts.add(bytes), group < layout.groups.size() ? &layout.groups[group][i] : nullptr});
    }
  }
  size_t table = parts.add(layout.empty() ? 0 : EmulatedLinks::sharedBytes());
  bounceBytes = (int64_t(64) << 20) + *std::max_element(shape.arenaBytes.begin(), shape.arenaBytes.end());
  for (int64_t bytes : shape.arenaBytes) {
    arenas.push_back(parts.add(bytes));
    bounces.push_back(parts.add(bounceBytes));
  }
  region = std::make_unique<SharedRegion>(parts.total());
  if (!layout.empty())
    links = std::make_unique<EmulatedLinks>(layout, region->data() + table);
  for (size_t rank = 0; rank < ranks; ++rank)
    region->useLargePages(arenas[rank], shape.arenaBytes[rank]);
}

} // namespace ppcrt
