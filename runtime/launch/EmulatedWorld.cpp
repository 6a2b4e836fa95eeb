// One port for each rank, or for those that share one; a ring for each group.
#include "runtime/launch/EmulatedWorld.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ppcrt {
namespace {

class LayoutBuilder {
public:
  LayoutBuilder(const Emulation &emulation, const Manifest &manifest) : emulation(emulation), manifest(manifest) {}

  LinkLayout build(const LocalWorldShape &shape) {
    for (size_t group = 0; group < shape.groups.size(); ++group) {
      result.groups.emplace_back();
      for (const std::vector<int> &members : shape.groups[group])
        result.groups.back().push_back(ring(manifest.groups[group].axes, members));
    }
    int ranks = int(manifest.grid.rankCount());
    const EmulatedLink *link = linkOver(emulation, {manifest.grid.stageAxisIndex()});
    for (int source = 0; source < ranks; ++source) {
      result.messages.emplace_back(size_t(ranks));
      for (int destination = 0; link && destination < ranks; ++destination)
        result.messages.back()[size_t(destination)] = {
            {{portOf(*link, source, Out), 1}, {portOf(*link, destination, In), 1}}, link->latency};
    }
    if (result.rates.size() > EmulatedLinks::mostPorts)
      throw InputError(
          format("--emulate: %zu ports, and at most %d are emulated", result.rates.size(), EmulatedLinks::mostPorts));
    return std::move(result);
  }

private:
  enum Way { Out, In };

  // Every member sends to the next one.
  LinkLayout::Route ring(const std::vector<int> &axes, const std::vector<int> &members) {
    LinkLayout::Route route;
    const EmulatedLink *link = linkOver(emulation, axes);
    if (members.size() < 2 || !link)
      return route;
    std::map<int, int> flows;
    for (int member : members)
      for (Way way : {Out, In})
        ++flows[portOf(*link, member, way)];
    route.ports.assign(flows.begin(), flows.end());
    route.latency = link->latency;
    return route;
  }

  int portOf(const EmulatedLink &link, int rank, Way way) {
    std::vector<int> own;
    for (int axis = 0; axis < int(manifest.grid.axes().size()); ++axis)
      if (std::find(link.sharedBy.begin(), link.sharedBy.end(), axis) == link.sharedBy.end())
        own.push_back(axis);
    auto [found, isNew] =
        numbers.try_emplace({&link, manifest.grid.indexOver(rank, own), way}, int(result.rates.size()));
    if (isNew)
      result.rates.push_back(link.bytesPerSecond);
    return found->second;
  }

  const Emulation &emulation;
  const Manifest &manifest;
  LinkLayout result;
  std::map<std::tuple<const EmulatedLink *, int64_t, Way>, int> numbers;
};

} // namespace

LinkLayout linkLayout(const Emulation &emulation, const Manifest &manifest, const LocalWorldShape &shape) {
  return LayoutBuilder(emulation, manifest).build(shape);
}

} // namespace ppcrt
