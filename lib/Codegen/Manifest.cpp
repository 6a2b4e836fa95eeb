// Module attributes to the manifest's JSON.
#include "ppc/Codegen/Manifest.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

namespace mlir::ppc {
namespace {

namespace json = llvm::json;

class ManifestWriter {
public:
  ManifestWriter(ModuleOp module, PlanAttr plan, DictionaryAttr model, ArrayAttr stages, json::OStream &out)
      : module(module), plan(plan), model(model), stages(stages), out(out) {}

  void write(StringRef planText, StringRef configText);

private:
  void writeAxes();
  void writeGroups();
  void writeParameters();
  void writeStage(DictionaryAttr stage);
  void writeBuffer(DictionaryAttr buffer);
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
  ArrayAttr stages;
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
    auto axis = [&](StringRef name, int64_t size) {
      out.object([&] {
        out.attribute("name", name);
        out.attribute("size", size);
      });
    };
    axis("pp", plan.getStages().size());
    for (auto [name, size] : llvm::zip(plan.getGrid().getNames(), plan.getGrid().getSizes()))
      axis(name.getValue(), size);
  });
}

void ManifestWriter::writeGroups() {
  out.attributeArray("groups", [&] {
    auto groups = module->getAttrOfType<ArrayAttr>("ppc.groups");
    if (!groups)
      return;
    for (auto group : groups.getAsRange<DictionaryAttr>())
      out.object([&] {
        writeStrings("axes", group.getAs<ArrayAttr>("axes"));
        if (auto members = group.getAs<DenseI64ArrayAttr>("stages"))
          writeShape("stages", members);
      });
  });
}

void ManifestWriter::writeParameters() {
  out.attributeArray("parameters", [&] {
    llvm::StringSet<> seen;
    for (auto stage : stages.getAsRange<DictionaryAttr>())
      for (auto buffer : stage.getAs<ArrayAttr>("buffers").getAsRange<DictionaryAttr>()) {
        if (text(buffer, "role") != "parameter" || !seen.insert(text(buffer, "name")).second)
          continue;
        auto logical = buffer.getAs<TypeAttr>("logical");
        auto type = cast<RankedTensorType>((logical ? logical : buffer.getAs<TypeAttr>("type")).getValue());
        out.object([&] {
          out.attribute("name", text(buffer, "name"));
          out.attribute("type", typeName(type.getElementType()));
          writeShape("shape", type.getShape());
          out.attributeObject("init", [&] {
            auto init = buffer.getAs<InitAttr>("init");
            out.attribute("kind", init ? stringifyInitKind(init.getKind()) : StringRef("zeros"));
            if (init && init.getKind() == InitKind::Normal)
              out.attribute("std", init.getStddev().getValueAsDouble());
          });
        });
      }
  });
}

void ManifestWriter::writeBuffer(DictionaryAttr buffer) {
  out.object([&] {
    for (StringRef key : {"role", "space", "name", "state"})
      if (auto value = buffer.getAs<StringAttr>(key))
        out.attribute(key, value.getValue());
    for (StringRef key : {"offset", "bytes", "order"})
      if (auto value = buffer.getAs<IntegerAttr>(key))
        out.attribute(key, value.getInt());
    if (auto typeAttr = buffer.getAs<TypeAttr>("type")) {
      auto type = cast<RankedTensorType>(typeAttr.getValue());
      out.attribute("type", typeName(type.getElementType()));
      writeShape("shape", type.getShape());
    }
    if (auto sharding = buffer.getAs<ShardingAttr>("sharding"))
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

void ManifestWriter::writeStage(DictionaryAttr stage) {
  out.object([&] {
    for (StringRef key : {"arena_bytes", "slots", "slot_offset", "slot_bytes"})
      out.attribute(key, integer(stage, key));
    out.attributeArray("buffers", [&] {
      for (auto buffer : stage.getAs<ArrayAttr>("buffers").getAsRange<DictionaryAttr>())
        writeBuffer(buffer);
    });
    out.attributeObject("functions", [&] {
      for (NamedAttribute entry : stage.getAs<DictionaryAttr>("functions"))
        out.attributeObject(entry.getName(), [&] {
          auto function = cast<DictionaryAttr>(entry.getValue());
          out.attribute("entry", text(function, "entry"));
          writeShape("buffers", function.getAs<DenseI64ArrayAttr>("buffers"));
        });
    });
    out.attributeArray("actions", [&] {
      for (auto action : stage.getAs<ArrayAttr>("actions").getAsRange<DictionaryAttr>())
        out.object([&] {
          out.attribute("do", text(action, "do"));
          for (StringRef key : {"micro_batch", "buffer", "stage", "tag"})
            if (action.contains(key))
              out.attribute(key, integer(action, key));
        });
    });
  });
}

void ManifestWriter::write(StringRef planText, StringRef configText) {
  out.object([&] {
    out.attribute("format", 1);
    out.attribute("abi", 1);
    out.attribute("model", text(model, "name"));
    out.attribute("plan", planText);
    for (StringRef key : {"sequence_length", "global_batch", "vocabulary"})
      out.attribute(key, integer(model, key));
    out.attribute("model_parameters", integer(model, "parameters"));
    out.attribute("flops_per_token", model.getAs<FloatAttr>("flops_per_token").getValueAsDouble());
    out.attribute("micro_batches", plan.getMicroBatches());
    out.attribute("schedule", plan.getSchedule().getValue());
    if (auto precision = module->getAttrOfType<StringAttr>(attr::precision))
      out.attribute("precision", precision.getValue());
    writeAxes();
    writeGroups();
    out.attributeObject("predicted", [&] {
      if (auto prediction = module->getAttrOfType<DictionaryAttr>("ppc.prediction")) {
        out.attribute("step_time_s", prediction.getAs<FloatAttr>("step_time_s").getValueAsDouble());
        writeShape("planned_memory_bytes", prediction.getAs<DenseI64ArrayAttr>("memory_bytes"));
      }
      out.attributeArray("peak_memory_bytes", [&] {
        for (auto stage : stages.getAsRange<DictionaryAttr>())
          out.value(integer(stage, "arena_bytes"));
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
    out.attributeArray("stages", [&] {
      for (auto stage : stages.getAsRange<DictionaryAttr>())
        writeStage(stage);
    });
  });
}

} // namespace

FailureOr<std::string> writeManifest(ModuleOp module, StringRef planText, StringRef configText) {
  auto plan = module->getAttrOfType<PlanAttr>(attr::plan);
  auto model = module->getAttrOfType<DictionaryAttr>("ppc.model");
  auto stages = module->getAttrOfType<ArrayAttr>("ppc.stages");
  if (!plan || !model || !stages)
    return module.emitError() << "a manifest needs " << (!plan ? "ppc.plan" : !model ? "ppc.model" : "ppc.stages")
                              << " on the module";
  for (auto stage : stages.getAsRange<DictionaryAttr>())
    if (!stage.contains("arena_bytes") || !stage.contains("actions"))
      return module.emitError("a manifest needs stages that are scheduled and laid out");
  std::string result;
  llvm::raw_string_ostream os(result);
  json::OStream out(os);
  ManifestWriter(module, plan, model, stages, out).write(planText, configText);
  return result;
}

LogicalResult recordModel(ModuleOp module, StringRef name, double flopsPerToken) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() != 1)
    return module.emitError() << "a model is one function, found " << functions.size();
  func::FuncOp function = functions.front();
  int64_t parameters = 0, vocabulary = 0, batch = 0, sequence = 0;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      return function.emitOpError() << "argument " << argument.getArgNumber() << " is no tensor: " << argument.getType();
    unsigned number = argument.getArgNumber();
    auto dims = function.getArgAttrOfType<ArrayAttr>(number, attr::dims);
    if (auto input = function.getArgAttrOfType<StringAttr>(number, attr::input)) {
      if (type.getRank() != 2)
        return function.emitOpError() << "input " << input << " must be [batch, sequence], found " << type;
      batch = type.getDimSize(0);
      sequence = type.getDimSize(1);
    }
    if (!function.getArgAttr(number, attr::parameter))
      continue;
    parameters += type.getNumElements();
    if (dims && int64_t(dims.size()) == type.getRank())
      for (auto [dim, size] : llvm::zip(axisNames(dims), type.getShape()))
        if (dim == "vocab")
          vocabulary = std::max(vocabulary, size);
  }
  if (!batch)
    return function.emitOpError("has no argument with ppc.input: the program needs data to train on");
  if (!vocabulary)
    return function.emitOpError("has no parameter with a dimension called \"vocab\" in ppc.dims: token ids need a range");
  Builder builder(module.getContext());
  module->setAttr("ppc.model",
                  builder.getDictionaryAttr(
                      {builder.getNamedAttr("name", builder.getStringAttr(name)),
                       builder.getNamedAttr("sequence_length", builder.getI64IntegerAttr(sequence)),
                       builder.getNamedAttr("global_batch", builder.getI64IntegerAttr(batch)),
                       builder.getNamedAttr("vocabulary", builder.getI64IntegerAttr(vocabulary)),
                       builder.getNamedAttr("parameters", builder.getI64IntegerAttr(parameters)),
                       builder.getNamedAttr("flops_per_token", builder.getF64FloatAttr(flopsPerToken))}));
  return success();
}

} // namespace mlir::ppc
