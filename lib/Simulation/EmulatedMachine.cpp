// JSON to links and durations.
#include "ppc/Simulation/EmulatedMachine.h"

#include "ppc/Support/InputFile.h"
#include "ppc/Support/JsonText.h"
#include "ppc/Support/Limits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <optional>

using namespace mlir::ppc;
namespace json = llvm::json;

namespace {

/// An object each of whose keys is read or refused.
class Fields {
public:
  Fields(const json::Value &value, json::Path path, llvm::ArrayRef<llvm::StringRef> known)
      : object(value.getAsObject()), path(path) {
    if (!object) {
      path.report("expected an object");
      return;
    }
    for (const auto &[key, member] : *object)
      if (!llvm::is_contained(known, llvm::StringRef(key))) {
        path.field(key).report("unknown key");
        object = nullptr;
        return;
      }
  }
  explicit operator bool() const { return object != nullptr; }
  bool has(llvm::StringLiteral key) const { return object->get(key) != nullptr; }

  /// Null where it is missing, which is an error.
  const json::Value *get(llvm::StringLiteral key) const {
    const json::Value *value = object->get(key);
    if (!value)
      path.field(key).report("missing");
    return value;
  }
  std::optional<double> number(llvm::StringLiteral key, double least, double most) const {
    const json::Value *value = get(key);
    std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
    if (value && (!number || !(*number >= least) || *number > most)) {
      path.field(key).report("expected a number that programs take here");
      return std::nullopt;
    }
    return number;
  }
  const json::Array *list(llvm::StringLiteral key) const {
    const json::Value *value = get(key);
    if (value && !value->getAsArray())
      path.field(key).report("expected a list");
    return value ? value->getAsArray() : nullptr;
  }

private:
  const json::Object *object;
  json::Path path;
};

class MachineReader {
public:
  MachineReader(const StepProgram &program) : program(program) {}

  bool readEmulation(const json::Value &top, json::Path path);
  bool readDurations(const json::Value &top, json::Path path);
  EmulatedMachine machine;

private:
  bool readLink(const json::Value &value, json::Path path);
  bool readAxes(const json::Array &names, json::Path path, std::vector<int32_t> &axes);
  bool readRoutine(const json::Value &value, json::Path path, const StepRoutine &known, std::vector<Seconds> &pieces);

  const StepProgram &program;
};

} // namespace

static bool refuse(json::Path path, llvm::StringLiteral message) {
  path.report(message);
  return false;
}

bool MachineReader::readAxes(const json::Array &names, json::Path path, std::vector<int32_t> &axes) {
  for (auto [i, value] : llvm::enumerate(names)) {
    std::optional<llvm::StringRef> name = value.getAsString();
    auto found = llvm::find_if(program.axes, [&](const auto &axis) { return name && axis.first == *name; });
    if (found == program.axes.end())
      return refuse(path.index(i), "the program has no such axis");
    axes.push_back(int32_t(found - program.axes.begin()));
  }
  return true;
}

bool MachineReader::readLink(const json::Value &value, json::Path path) {
  Fields fields(value, path, {"name", "axes", "shared_by", "bytes_per_s", "latency_s"});
  if (!fields || !fields.get("name"))
    return false;
  EmulatedLink &link = machine.links.emplace_back();
  const json::Array *axes = fields.list("axes");
  if (!axes || !readAxes(*axes, path.field("axes"), link.axes))
    return false;
  if (fields.has("shared_by")) {
    const json::Array *shared = fields.list("shared_by");
    if (!shared || !readAxes(*shared, path.field("shared_by"), link.sharedBy))
      return false;
  }
  std::optional<double> rate = fields.number("bytes_per_s", 1, 1e15);
  std::optional<double> latency = fields.has("latency_s") ? fields.number("latency_s", 0, 10) : 0.0;
  if (!rate || !latency)
    return false;
  link.rate = BytesPerSecond(*rate);
  link.latency = Seconds(*latency);
  return true;
}

bool MachineReader::readEmulation(const json::Value &top, json::Path path) {
  Fields fields(top, path, {"links", "slowdown", "durations"});
  const json::Array *links = fields ? fields.list("links") : nullptr;
  if (!links)
    return false;
  for (auto [i, link] : llvm::enumerate(*links))
    if (!readLink(link, path.field("links").index(i)))
      return false;
  auto isCarried = [&](const std::vector<int32_t> &axes) {
    int64_t size = 1;
    for (int32_t axis : axes)
      size *= program.axes[axis].second;
    return size == 1 || machine.linkOver(axes);
  };
  if (!llvm::all_of(program.groups, [&](const StepGroup &group) { return isCarried(group.axes); }) || !isCarried({0}))
    return refuse(path.field("links"), "no link has all axes of a group, or \"pp\" for messages");
  return !fields.has("durations") || readDurations(*fields.get("durations"), path.field("durations"));
}

bool MachineReader::readRoutine(const json::Value &value, json::Path path, const StepRoutine &known,
                                std::vector<Seconds> &pieces) {
  Fields fields(value, path, {"entry", "pieces_s"});
  const json::Value *entry = fields ? fields.get("entry") : nullptr;
  const json::Array *list = entry ? fields.list("pieces_s") : nullptr;
  if (!list)
    return false;
  if (entry->getAsString() != llvm::StringRef(known.entry))
    return refuse(path.field("entry"), "the program has another routine here");
  // Routines that no step runs have no durations.
  if (!list->empty() && list->size() != known.ends.size() + 1)
    return refuse(path.field("pieces_s"), "the program's routine has another number of segments");
  for (auto [i, piece] : llvm::enumerate(*list)) {
    std::optional<double> seconds = piece.getAsNumber();
    if (!seconds || !(*seconds >= 0) || !std::isfinite(*seconds))
      return refuse(path.field("pieces_s").index(i), "expected seconds");
    pieces.emplace_back(*seconds);
  }
  return true;
}

bool MachineReader::readDurations(const json::Value &top, json::Path path) {
  Fields fields(top, path, {"slowdown", "devices"});
  const json::Array *devices = fields ? fields.list("devices") : nullptr;
  if (!devices)
    return false;
  json::Path ofDevices = path.field("devices");
  if (devices->size() != program.devices.size())
    return refuse(ofDevices, "the program has another number of devices");
  machine.pieces.assign(devices->size(), {});
  for (auto [d, device] : llvm::enumerate(*devices)) {
    json::Path own = ofDevices.index(d), ofBodies = own.field("bodies"); // a path refers to the one it is made of
    Fields ofDevice(device, own, {"bodies"});
    const json::Array *bodies = ofDevice ? ofDevice.list("bodies") : nullptr;
    if (!bodies)
      return false;
    const std::vector<StepRoutine> &known = program.devices[d].routines;
    if (bodies->size() != known.size())
      return refuse(ofBodies, "the program has another number of routines");
    for (auto [r, body] : llvm::enumerate(*bodies))
      if (!readRoutine(body, ofBodies.index(r), known[r], machine.pieces[d].emplace_back()))
        return false;
  }
  return true;
}

const EmulatedLink *EmulatedMachine::linkOver(const std::vector<int32_t> &axes) const {
  for (const EmulatedLink &link : links)
    if (llvm::all_of(axes, [&](int32_t axis) { return llvm::is_contained(link.axes, axis); }))
      return &link;
  return nullptr;
}

static llvm::Expected<json::Value> parseFile(llvm::StringRef path) {
  auto buffer = readInputFile(path, limits::jsonBytes);
  if (!buffer)
    return llvm::createStringError(path + ": " + llvm::toString(buffer.takeError()));
  if (llvm::Error error = checkJsonText(path, (*buffer)->getBuffer()))
    return std::move(error);
  llvm::Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return llvm::createStringError(path + ": not JSON: " + llvm::toString(value.takeError()));
  return value;
}

llvm::Expected<EmulatedMachine> mlir::ppc::readEmulatedMachine(const StepProgram &program, llvm::StringRef emulation,
                                                               llvm::StringRef durations) {
  MachineReader reader(program);
  auto read = [&](llvm::StringRef path, bool (MachineReader::*part)(const json::Value &, json::Path)) -> llvm::Error {
    llvm::Expected<json::Value> value = parseFile(path);
    if (!value)
      return value.takeError();
    json::Path::Root root(path);
    return (reader.*part)(*value, root) ? llvm::Error::success() : root.getError();
  };
  if (llvm::Error error = read(emulation, &MachineReader::readEmulation))
    return std::move(error);
  if (durations.empty() && reader.machine.pieces.empty())
    return llvm::createStringError(emulation + ": has no \"durations\": give the file that --save-durations wrote");
  if (!durations.empty() && !reader.machine.pieces.empty())
    return llvm::createStringError(emulation + ": has \"durations\", and " + durations +
                                   " has others: give one of them");
  if (!durations.empty())
    if (llvm::Error error = read(durations, &MachineReader::readDurations))
      return std::move(error);
  return std::move(reader.machine);
}
