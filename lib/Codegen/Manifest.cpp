// The program and module attributes to the manifest's JSON.
#include "ppc/Codegen/Manifest.h"
#include "ActionCode.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Codegen/HostObject.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

namespace mlir::ppc {
namespace {

namespace json = llvm::json;

class ManifestWriter {
public:
  ManifestWriter(ModuleOp module, PlanAttr plan, DictionaryAttr model, ppcrt::ProgramOp program,
                 ArrayRef<DeviceCode> actions, json::OStream &out)
      : module(module), plan(plan), model(model), program(program), actions(actions), out(out) {}

  void write(StringRef target, StringRef planText, StringRef configText, const json::Object &mathematics,
             std::optional<json::Object> code);

private:
  void writeAxes();
  void writeGroups();
  void writeParameters();
  void writeDevice(ppcrt::DeviceOp device, const DeviceCode &actions);
  void writeBuffer(ppcrt::BufferOp buffer, const DenseMap<Attribute, int64_t> &numbers);
  void writePlaces(ppcrt::DeviceOp device);
  void writeCollective(const DeviceCode::Collective &collective, const DenseMap<Attribute, int64_t> &buffers);
  void writeShape(StringRef key, ArrayRef<int64_t> shape);
  void writeStrings(StringRef key, ArrayAttr strings);
  void writeValue(Attribute value);

  static int64_t integer(DictionaryAttr fields, StringRef key) { return fields.getAs<IntegerAttr>(key).getInt(); }
  static StringRef text(DictionaryAttr fields, StringRef key) { return fields.getAs<StringAttr>(key).getValue(); }
  static std::string typeName(Type type) {
    std::string name;
    llvm::raw_string_ostream(name) << type;
    return name;
  }

  ModuleOp module;
  PlanAttr plan;
  DictionaryAttr model;
  ppcrt::ProgramOp program;
  ArrayRef<DeviceCode> actions;        ///< of each device
  DenseMap<Attribute, int64_t> places; ///< numbers of lists of them, of the device that is being written
  json::OStream &out;
};

void ManifestWriter::writeShape(StringRef key, ArrayRef<int64_t> shape) {
  out.attributeArray(key, [&] {
    for (int64_t size : shape)
      out.value(size);
  });
}

void ManifestWriter::writeStrings(StringRef key, ArrayAttr strings) {
  out.attributeArray(key, [&] {
    for (StringRef string : axisNames(strings))
      out.value(string);
  });
}

/// Dictionaries, arrays, strings and integers as they are.
void ManifestWriter::writeValue(Attribute value) {
  if (auto fields = dyn_cast<DictionaryAttr>(value))
    out.object([&] {
      for (NamedAttribute field : fields) {
        out.attributeBegin(field.getName());
        writeValue(field.getValue());
        out.attributeEnd();
      }
    });
  else if (auto items = dyn_cast<ArrayAttr>(value))
    out.array([&] { llvm::for_each(items, [&](Attribute item) { writeValue(item); }); });
  else if (auto sizes = dyn_cast<DenseI64ArrayAttr>(value))
    out.array([&] { llvm::for_each(sizes.asArrayRef(), [&](int64_t size) { out.value(size); }); });
  else if (auto integer = dyn_cast<IntegerAttr>(value))
    out.value(integer.getInt());
  else
    out.value(cast<StringAttr>(value).getValue());
}

void ManifestWriter::writeAxes() {
  out.attributeArray("axes", [&] {
    for (auto [name, size] : llvm::zip(program.getGrid().getNames(), program.getGrid().getSizes()))
      out.object([&, name = name, size = size] {
        out.attribute("name", name.getValue());
        out.attribute("size", size);
      });
  });
}

void ManifestWriter::writeGroups() {
  out.attributeArray("groups", [&] {
    for (auto group : module.getOps<ppcrt::GroupOp>())
      out.object([&] {
        writeStrings("axes", group.getAxesAttr());
        if (auto members = group.getStages())
          writeShape("stages", *members);
      });
  });
}

void ManifestWriter::writeParameters() {
  out.attributeArray("parameters", [&] {
    llvm::StringSet<> seen;
    program.walk([&](ppcrt::BufferOp buffer) {
      if (buffer.getRole() != ppcrt::BufferRole::Parameter || !seen.insert(*buffer.getName()).second)
        return;
      RankedTensorType type = buffer.getLogicalType();
      out.object([&] {
        out.attribute("name", *buffer.getName());
        out.attribute("type", typeName(type.getElementType()));
        writeShape("shape", type.getShape());
        out.attributeObject("init", [&] {
          InitAttr init = buffer.getInitAttr();
          out.attribute("kind", init ? stringifyInitKind(init.getKind()) : StringRef("zeros"));
          if (init && init.getKind() == InitKind::Normal)
            out.attribute("std", init.getStddev().getValueAsDouble());
          if (init && init.getZeroRow())
            out.attribute("zero_row", *init.getZeroRow());
        });
      });
    });
  });
}

/// Each list of places once: many buffers have the same.
void ManifestWriter::writePlaces(ppcrt::DeviceOp device) {
  places.clear();
  SmallVector<ArrayRef<int64_t>> lists;
  for (auto buffer : device.getBody().front().getOps<ppcrt::BufferOp>())
    if (DenseI64ArrayAttr list = buffer.getPlacesAttr(); list && places.try_emplace(list, lists.size()).second)
      lists.push_back(list);
  if (!lists.empty())
    out.attributeArray("places", [&] {
      for (ArrayRef<int64_t> list : lists)
        out.array([&] { llvm::for_each(list, [&](int64_t place) { out.value(place); }); });
    });
}

void ManifestWriter::writeBuffer(ppcrt::BufferOp buffer, const DenseMap<Attribute, int64_t> &numbers) {
  out.object([&] {
    out.attribute("role", ppcrt::stringifyBufferRole(buffer.getRole()));
    if (buffer.getName())
      out.attribute("name", *buffer.getName());
    if (buffer.getState())
      out.attribute("state", *buffer.getState());
    if (buffer.getMemory() == ppcrt::Memory::Host)
      out.attribute("memory", ppcrt::stringifyMemory(ppcrt::Memory::Host));
    out.attribute("offset", int64_t(*buffer.getOffset()));
    if (buffer.getRole() == ppcrt::BufferRole::Scratch) {
      out.attribute("bytes", buffer.getBytes());
      return;
    }
    if (buffer.getOrder())
      out.attribute("order", int64_t(*buffer.getOrder()));
    if (buffer.hasSlots()) {
      out.attribute("slots", buffer.getSlotCount());
      out.attribute("stride", int64_t(*buffer.getStride()));
    }
    if (DenseI64ArrayAttr list = buffer.getPlacesAttr())
      out.attribute("places", places.lookup(list));
    if (FlatSymbolRefAttr shared = buffer.getSharesAttr())
      out.attribute("shares", numbers.lookup(shared.getAttr()));
    out.attribute("type", typeName(buffer.getBufferType().getElementType()));
    writeShape("shape", buffer.getBufferType().getShape());
    if (ShardingAttr sharding = buffer.getShardingAttr())
      out.attributeArray("blocks", [&] {
        for (auto [dim, axes] : llvm::enumerate(sharding.getDims()))
          if (!axes.empty())
            out.object([&, dim = dim, axes = axes] {
              out.attribute("dim", int64_t(dim));
              writeStrings("axes", axes);
            });
      });
  });
}

void ManifestWriter::writeCollective(const DeviceCode::Collective &collective,
                                     const DenseMap<Attribute, int64_t> &buffers) {
  auto writeBuffers = [&](StringRef key, ArrayAttr names) {
    writeShape(key, llvm::map_to_vector(names.getAsRange<FlatSymbolRefAttr>(),
                                        [&](FlatSymbolRefAttr name) { return buffers.lookup(name.getAttr()); }));
  };
  out.object([&] {
    out.attribute("kind", ppcrt::stringifyCollectiveKind(collective.kind.getValue()));
    if (collective.reduction)
      out.attribute("reduction", ppcrt::stringifyReductionKind(collective.reduction.getValue()));
    out.attribute("group", ppcrt::groupNumber(program, collective.group));
    writeBuffers("reads", collective.reads);
    writeBuffers("writes", collective.writes);
  });
}

void ManifestWriter::writeDevice(ppcrt::DeviceOp device, const DeviceCode &actions) {
  DenseMap<Attribute, int64_t> buffers; // numbers, by name
  out.object([&] {
    out.attribute("arena_bytes", int64_t(*device.getArena()));
    if (int64_t bytes = device.getHostBytes())
      out.attribute("host_bytes", bytes);
    for (auto buffer : device.getBody().front().getOps<ppcrt::BufferOp>())
      buffers[buffer.getSymNameAttr()] = buffers.size();
    writePlaces(device);
    out.attributeArray("buffers", [&] {
      for (auto buffer : device.getBody().front().getOps<ppcrt::BufferOp>())
        writeBuffer(buffer, buffers);
    });
    out.attributeArray("routines", [&] {
      for (auto routine : device.getBody().front().getOps<ppcrt::RoutineOp>())
        out.object([&] {
          out.attribute("kind", ppcrt::stringifyRoutineKind(routine.getKind()));
          out.attribute("entry", routine.getCode());
          if (ArrayAttr early = routine.getEarlyAttr())
            out.attribute("early_tokens", int64_t(early.size()));
          writeShape("buffers", llvm::map_to_vector(routine.getCallOrder(), [&](FlatSymbolRefAttr name) {
                       return buffers.lookup(name.getAttr());
                     }));
        });
    });
    out.attributeArray("streams", [&] {
      for (auto stream : device.getBody().front().getOps<ppcrt::StreamOp>())
        out.value(stream.getSymName());
    });
    out.attributeArray("messages", [&] {
      for (const DeviceCode::Message &message : actions.messages)
        out.object([&] {
          out.attribute("to", message.to);
          out.attribute("from", message.from);
          out.attribute("buffer", buffers.lookup(message.buffer));
          out.attribute("tag", message.tag);
        });
    });
    out.attributeArray("collectives", [&] {
      for (const DeviceCode::Collective &collective : actions.collectives)
        writeCollective(collective, buffers);
    });
    if (!actions.copies.empty())
      out.attributeArray("copies", [&] {
        for (const DeviceCode::Copy &copy : actions.copies)
          out.array([&] {
            out.value(buffers.lookup(copy.from));
            out.value(buffers.lookup(copy.to));
          });
      });
    auto writeActions = [&](StringRef key, const ActionCode &list) {
      out.attributeArray(key, [&] { writeActionCode(list, out); });
    };
    writeActions("step", actions.step);
    if (device.getEvaluate())
      writeActions("evaluate", actions.evaluate);
  });
}

void ManifestWriter::write(StringRef target, StringRef planText, StringRef configText, const json::Object &mathematics,
                           std::optional<json::Object> code) {
  out.object([&] {
    out.attribute("format", 4);
    out.attribute("abi", kAbiVersion);
    out.attribute("target", target);
    out.attribute("model", text(model, "name"));
    out.attribute("plan", planText);
    for (StringRef key : {"sequence_length", "global_batch", "vocabulary"})
      out.attribute(key, integer(model, key));
    out.attribute("model_parameters", integer(model, "parameters"));
    out.attribute("flops_per_token", model.getAs<FloatAttr>("flops_per_token").getValueAsDouble());
    out.attribute("micro_batches", int64_t(program.getMicroBatches()));
    out.attribute("schedule", plan.getSchedule().getValue());
    if (auto precision = module->getAttrOfType<StringAttr>(attr::precision))
      out.attribute("precision", precision.getValue());
    writeAxes();
    writeGroups();
    out.attributeObject("predicted", [&] {
      if (auto prediction = module->getAttrOfType<DictionaryAttr>("ppc.prediction")) {
        out.attribute("step_time_s", prediction.getAs<FloatAttr>("step_time_s").getValueAsDouble());
        out.attribute("machine", prediction.getAs<StringAttr>("machine").getValue());
        out.attribute("measured", !prediction.contains("unmeasured"));
        writeShape("planned_memory_bytes", prediction.getAs<DenseI64ArrayAttr>("memory_bytes"));
      }
      out.attributeArray("peak_memory_bytes", [&] {
        for (ppcrt::DeviceOp device : program.getDevices())
          out.value(int64_t(*device.getArena()));
      });
    });
    writeParameters();
    if (auto weights = module->getAttrOfType<DictionaryAttr>("ppc.weights")) {
      out.attributeBegin("weights");
      writeValue(weights);
      out.attributeEnd();
    }
    if (auto operations = module->getAttrOfType<ArrayAttr>("ppc.operations")) {
      out.attributeBegin("operations");
      writeValue(operations);
      out.attributeEnd();
    }
    if (!configText.empty())
      out.attribute("config", configText);
    out.attribute("mathematics", json::Value(json::Object(mathematics)));
    out.attributeArray("devices", [&] {
      for (auto [device, own] : llvm::zip_equal(program.getDevices(), actions))
        writeDevice(device, own);
    });
    if (code)
      out.attribute("code", json::Value(std::move(*code)));
  });
}

} // namespace

FailureOr<std::string> writeManifest(ModuleOp module, StringRef target, StringRef planText, StringRef configText,
                                     const json::Object &mathematics, std::optional<json::Object> code) {
  auto plan = module->getAttrOfType<PlanAttr>(attr::plan);
  auto model = module->getAttrOfType<DictionaryAttr>("ppc.model");
  ppcrt::ProgramOp program = ppcrt::findProgram(module);
  if (!plan || !model || !program)
    return module.emitError() << "a manifest needs "
                              << (!plan    ? "ppc.plan"
                                  : !model ? "ppc.model"
                                           : "a ppcrt.program")
                              << " in the module";
  SmallVector<DeviceCode> actionsOfDevices;
  for (ppcrt::DeviceOp device : program.getDevices()) {
    if (!device.getArena() || !device.getStep())
      return device.emitOpError("cannot be written to a manifest before it is scheduled and laid out");
    FailureOr<DeviceCode> actions = encodeActions(program, device);
    if (failed(actions))
      return failure();
    actionsOfDevices.push_back(std::move(*actions));
  }
  for (auto group : module.getOps<ppcrt::GroupOp>())
    if (!group.getAxes())
      return group.emitOpError("lists its ranks, which programs for hosts cannot do yet");
  std::string result;
  llvm::raw_string_ostream os(result);
  json::OStream out(os);
  ManifestWriter(module, plan, model, program, actionsOfDevices, out)
      .write(target, planText, configText, mathematics, std::move(code));
  return result;
}

} // namespace mlir::ppc
