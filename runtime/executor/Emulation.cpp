// JSON to Emulation and back.
#include "runtime/executor/Emulation.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/NearestName.h"
#include "runtime/base/Error.h"
#include "runtime/files/File.h"
#include "runtime/files/JsonValue.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ppcrt {
namespace {

using Value = JsonValue;

constexpr int64_t mostBytes = mlir::ppc::limits::jsonBytes;

// A key that nobody reads is a mistake.
void checkKeys(const Value &value, const std::vector<std::string> &known) {
  std::string names;
  for (const std::string &name : known)
    names += (names.empty() ? "" : ", ") + name;
  for (const auto &[key, member] : value.members())
    if (std::find(known.begin(), known.end(), key) == known.end())
      value.fail("unknown key \"" + key + "\"" + mlir::ppc::didYouMean(key, known) + "; known: " + names);
}

std::vector<int> readAxes(const Value &value, const Grid &grid) {
  std::vector<int> axes;
  for (const Value &axis : value.list()) {
    int index = grid.axisIndex(axis.string());
    if (index < 0) {
      std::string names;
      for (const Axis &known : grid.axes())
        names += (names.empty() ? "" : ", ") + known.name;
      axis.fail("the program has no axis \"" + axis.string() + "\"; it has: " + names);
    }
    axes.push_back(index);
  }
  return axes;
}

EmulatedLink readLink(const Value &value, const Grid &grid) {
  checkKeys(value, {"name", "axes", "shared_by", "bytes_per_s", "latency_s"});
  EmulatedLink link{value.at("name").string(),
                    readAxes(value.at("axes"), grid),
                    {},
                    value.at("bytes_per_s").number(),
                    value.has("latency_s") ? value.at("latency_s").number() : 0};
  if (value.has("shared_by"))
    link.sharedBy = readAxes(value.at("shared_by"), grid);
  constexpr double least = 1, most = 1e15, longest = 10;
  if (link.bytesPerSecond < least || link.bytesPerSecond > most)
    value.at("bytes_per_s").fail(format("expected from %g to %g, found %g", least, most, link.bytesPerSecond));
  if (link.latency > longest)
    value.at("latency_s").fail(format("expected at most %g, found %g", longest, link.latency));
  return link;
}

std::vector<DeviceDurations> readDurations(const Value &value, const Manifest &manifest) {
  checkKeys(value, {"slowdown", "devices"});
  std::vector<DeviceDurations> result;
  std::vector<Value> devices = value.at("devices").list();
  if (devices.size() != manifest.devices.size())
    value.at("devices").fail(format("has %zu devices, the program %zu", devices.size(), manifest.devices.size()));
  for (size_t d = 0; d < devices.size(); ++d) {
    checkKeys(devices[d], {"bodies"});
    std::vector<Value> routines = devices[d].at("bodies").list();
    const std::vector<Routine> &known = manifest.devices[d].routines;
    if (routines.size() != known.size())
      devices[d].at("bodies").fail(format("has %zu bodies, the program %zu routines", routines.size(), known.size()));
    result.emplace_back();
    for (size_t r = 0; r < routines.size(); ++r) {
      checkKeys(routines[r], {"entry", "pieces_s"});
      if (routines[r].at("entry").string() != known[r].entry)
        routines[r].at("entry").fail("the program has \"" + known[r].entry + "\" here");
      result.back().emplace_back();
      for (const Value &piece : routines[r].at("pieces_s").list())
        result.back().back().push_back(piece.number());
    }
  }
  return result;
}

std::string axisText(const Grid &grid, const std::vector<int> &axes) {
  std::string text;
  for (int axis : axes)
    text += (text.empty() ? "" : "*") + grid.axes()[size_t(axis)].name;
  return text;
}

void checkLinks(const Value &links, const Emulation &emulation, const Manifest &manifest) {
  auto check = [&](const std::vector<int> &axes) {
    if (manifest.grid.sizeOver(axes) > 1 && !linkOver(emulation, axes))
      links.fail("no link carries what the program moves over " + axisText(manifest.grid, axes) +
                 ": name the axes in \"axes\" of one");
  };
  for (const GroupSpec &group : manifest.groups)
    check(group.axes);
  check({manifest.grid.stageAxisIndex()});
}

} // namespace

const EmulatedLink *linkOver(const Emulation &emulation, const std::vector<int> &axes) {
  for (const EmulatedLink &link : emulation.links)
    if (std::all_of(axes.begin(), axes.end(),
                    [&](int axis) { return std::find(link.axes.begin(), link.axes.end(), axis) != link.axes.end(); }))
      return &link;
  return nullptr;
}

Emulation readEmulation(const std::string &path, const Manifest &manifest) {
  nlohmann::json document = parseJson(forOption("--emulate", [&] { return readText(path, mostBytes); }), path);
  Value top(document, path);
  checkKeys(top, {"links", "slowdown", "durations"});
  Emulation emulation;
  for (const Value &link : top.at("links").list())
    emulation.links.push_back(readLink(link, manifest.grid));
  checkLinks(top.at("links"), emulation, manifest);
  constexpr double mostSlowdown = 1e6;
  if (top.has("slowdown"))
    emulation.slowdown = top.at("slowdown").number();
  if (top.has("slowdown") && (emulation.slowdown < 1 || emulation.slowdown > mostSlowdown))
    top.at("slowdown").fail(format("expected from 1 to %g, found %g", mostSlowdown, emulation.slowdown));
  if (top.has("durations"))
    emulation.durations = readDurations(top.at("durations"), manifest);
  if (top.has("durations") && top.has("slowdown"))
    top.at("slowdown").fail("\"durations\" say how long bodies take: leave one of the two out");
  return emulation;
}

std::string durationsText(const Manifest &manifest, double slowdown, const std::vector<DeviceDurations> &durations) {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (size_t d = 0; d < durations.size(); ++d) {
    nlohmann::ordered_json routines = nlohmann::ordered_json::array();
    for (size_t r = 0; r < durations[d].size(); ++r)
      routines.push_back({{"entry", manifest.devices[d].routines[r].entry}, {"pieces_s", durations[d][r]}});
    devices.push_back({{"bodies", routines}});
  }
  return nlohmann::ordered_json{{"slowdown", slowdown}, {"devices", devices}}.dump(1) + "\n";
}

} // namespace ppcrt
