// Mistakes in what stages do: actions, messages, buffers.
#include "ProgramMutation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::ppc::test {

namespace {

using Fields = DictionaryAttr;

int64_t number(Fields fields, StringRef key) { return fields.getAs<IntegerAttr>(key).getInt(); }
StringRef text(Fields fields, StringRef key) { return fields.getAs<StringAttr>(key).getValue(); }
std::string describe(Fields action) {
  std::string result;
  llvm::raw_string_ostream(result) << Attribute(action);
  return result;
}

class StageMutation {
public:
  StageMutation(ModuleOp module, Random &random) : module(module), random(random), builder(module.getContext()) {
    for (auto stage : module->getAttrOfType<ArrayAttr>("ppc.stages").getAsRange<Fields>()) {
      stages.push_back(stage);
      actions.push_back(llvm::to_vector(stage.getAs<ArrayAttr>("actions").getAsRange<Fields>()));
    }
    stage = random() % stages.size();
  }

  std::optional<std::string> run(StringRef kind) {
    std::optional<std::string> what = mutate(kind);
    if (!what)
      return std::nullopt;
    SmallVector<Attribute> all;
    for (auto [fields, list] : llvm::zip(stages, actions)) {
      NamedAttrList entries(fields);
      entries.set("actions", builder.getArrayAttr(SmallVector<Attribute>(list.begin(), list.end())));
      all.push_back(entries.getDictionary(module.getContext()));
    }
    module->setAttr("ppc.stages", builder.getArrayAttr(all));
    return "stage " + std::to_string(stage) + ": " + *what;
  }

private:
  std::optional<std::string> mutate(StringRef kind) {
    SmallVector<Fields> &list = actions[stage];
    size_t place = random() % list.size();
    Fields action = list[place];
    bool isMessage = action.contains("tag");
    if (kind == "micro-batch") {
      int64_t count = module->getAttrOfType<PlanAttr>(attr::plan).getMicroBatches();
      if (count < 2)
        return std::nullopt;
      set(list[place], "micro_batch", (number(action, "micro_batch") + 1 + random() % (count - 1)) % count);
      return "another micro-batch in " + describe(action);
    }
    if (kind == "swap-actions") {
      size_t other = random() % list.size();
      if (list[other] == action)
        return std::nullopt;
      std::swap(list[place], list[other]);
      return "swapped " + describe(action) + " and " + describe(list[place]);
    }
    if (kind == "drop-action" || kind == "repeat-action") {
      if (kind == "drop-action")
        list.erase(list.begin() + place);
      else
        list.insert(list.begin() + place, action);
      return (kind == "drop-action" ? "dropped " : "repeated ") + describe(action);
    }
    if (kind == "drop-message") {
      if (!isMessage)
        return std::nullopt;
      list.erase(list.begin() + place);
      SmallVector<Fields> &theirs = actions[number(action, "stage")];
      llvm::erase_if(theirs, [&](Fields other) {
        return other.contains("tag") && number(other, "tag") == number(action, "tag") && number(other, "micro_batch") == number(action, "micro_batch");
      });
      return "dropped both ends of " + describe(action);
    }
    if (kind == "swap-messages")
      return swapMessages(action, list, place);
    if (kind == "message-buffer") {
      if (!isMessage)
        return std::nullopt;
      std::optional<int64_t> other = otherBuffer(number(action, "buffer"));
      if (!other)
        return std::nullopt;
      set(list[place], "buffer", *other);
      return "another buffer in " + describe(action);
    }
    if (kind == "fewer-slots") {
      int64_t slots = number(stages[stage], "slots");
      if (slots < 2)
        return std::nullopt;
      set(stages[stage], "slots", slots - 1);
      return "one slot less than " + std::to_string(slots);
    }
    if (kind == "buffer-name" || kind == "buffer-sharding")
      return changeBuffer(kind == "buffer-name");
    if (kind == "swap-results" || kind == "swap-arguments")
      return swapBuffers(kind == "swap-results");
    return std::nullopt;
  }

  /// Two messages of one stage change their tags for one micro-batch.
  std::optional<std::string> swapMessages(Fields action, SmallVector<Fields> &list, size_t place) {
    for (size_t other = 0; other < list.size(); ++other)
      if (action.contains("tag") && list[other].contains("tag") && other != place && text(list[other], "do") == text(action, "do") &&
          number(list[other], "stage") == number(action, "stage") &&
          (number(list[other], "tag") != number(action, "tag") || random() % 2)) {
        Fields peer = list[other];
        for (StringRef key : {"tag", "micro_batch"}) {
          set(list[place], key, number(peer, key));
          set(list[other], key, number(action, key));
        }
        return "swapped tags of " + describe(action) + " and " + describe(peer);
      }
    return std::nullopt;
  }

  std::optional<int64_t> otherBuffer(int64_t buffer) {
    auto buffers = llvm::to_vector(stages[stage].getAs<ArrayAttr>("buffers").getAsRange<Fields>());
    SmallVector<int64_t> candidates;
    for (auto [index, fields] : llvm::enumerate(buffers))
      if (int64_t(index) != buffer && fields.get("type") == buffers[buffer].get("type") && fields.get("space") == buffers[buffer].get("space"))
        candidates.push_back(index);
    if (candidates.empty())
      return std::nullopt;
    return candidates[random() % candidates.size()];
  }

  /// Two results (or arguments) of one type of a function change their buffers.
  std::optional<std::string> swapBuffers(bool ofResults) {
    auto functions = stages[stage].getAs<Fields>("functions");
    NamedAttribute chosen = functions.getValue()[random() % functions.size()];
    auto entry = cast<Fields>(chosen.getValue());
    auto function = module.lookupSymbol<func::FuncOp>(text(entry, "entry"));
    unsigned count = ofResults ? function.getNumResults() : function.getNumArguments();
    if (count < 2)
      return std::nullopt;
    auto bufferOf = [&](unsigned i) {
      return ofResults ? function.getResultAttr(i, "ppc.buffer") : function.getArgAttr(i, "ppc.buffer");
    };
    auto setBuffer = [&](unsigned i, Attribute buffer) {
      if (ofResults)
        function.setResultAttr(i, "ppc.buffer", buffer);
      else
        function.setArgAttr(i, "ppc.buffer", buffer);
    };
    auto typeOf = [&](unsigned i) { return ofResults ? function.getResultTypes()[i] : function.getArgumentTypes()[i]; };
    unsigned first = random() % count;
    SmallVector<unsigned> others;
    for (unsigned i = 0; i < count; ++i)
      if (i != first && typeOf(i) == typeOf(first))
        others.push_back(i);
    if (others.empty())
      return std::nullopt;
    unsigned second = others[random() % others.size()];
    Attribute buffer = bufferOf(first);
    setBuffer(first, bufferOf(second));
    setBuffer(second, buffer);
    SmallVector<int64_t> called;
    auto add = [&](Attribute attribute) {
      int64_t index = cast<IntegerAttr>(attribute).getInt();
      if (!llvm::is_contained(called, index))
        called.push_back(index);
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      add(function.getArgAttr(i, "ppc.buffer"));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      add(function.getResultAttr(i, "ppc.buffer"));
    NamedAttrList newEntry(entry), newFunctions(functions), newStage(stages[stage]);
    newEntry.set("buffers", builder.getDenseI64ArrayAttr(called));
    newFunctions.set(chosen.getName(), newEntry.getDictionary(module.getContext()));
    newStage.set("functions", newFunctions.getDictionary(module.getContext()));
    stages[stage] = newStage.getDictionary(module.getContext());
    return "swapped the buffers of " + std::string(ofResults ? "results " : "arguments ") + std::to_string(first) + " and " +
           std::to_string(second) + " of " + function.getSymName().str();
  }

  /// A parameter or state is loaded as another one, or as other blocks.
  std::optional<std::string> changeBuffer(bool name) {
    auto buffers = llvm::to_vector(stages[stage].getAs<ArrayAttr>("buffers").getAsRange<Fields>());
    size_t index = random() % buffers.size();
    StringRef role = text(buffers[index], "role");
    if (role != "parameter" && role != "state" && role != "input")
      return std::nullopt;
    std::string what = "of " + describe(buffers[index]);
    NamedAttrList entries(buffers[index]);
    if (name) {
      SmallVector<size_t> others;
      for (auto [other, fields] : llvm::enumerate(buffers))
        if (other != index && fields.get("type") == buffers[index].get("type") && text(fields, "role") == role)
          others.push_back(other);
      if (others.empty())
        return std::nullopt;
      size_t other = others[random() % others.size()];
      NamedAttrList otherEntries(buffers[other]);
      for (StringRef key : {"name", "state", "logical", "sharding", "init"}) {
        Attribute mine = buffers[index].get(key), theirs = buffers[other].get(key);
        if (mine && theirs) {
          entries.set(key, theirs);
          otherEntries.set(key, mine);
        }
      }
      buffers[other] = otherEntries.getDictionary(module.getContext());
    } else {
      auto sharding = buffers[index].getAs<ShardingAttr>("sharding");
      GridAttr grid = module->getAttrOfType<PlanAttr>(attr::plan).getGrid();
      if (!sharding || grid.getNames().size() < 2)
        return std::nullopt;
      auto exchanged = llvm::map_to_vector(sharding.getDims(), [&](ArrayAttr axes) -> ArrayAttr {
        return builder.getArrayAttr(llvm::map_to_vector(axes, [&](Attribute axis) -> Attribute {
          return axis == grid.getNames()[0] ? grid.getNames()[1] : axis == grid.getNames()[1] ? grid.getNames()[0] : cast<StringAttr>(axis);
        }));
      });
      auto changed = ShardingAttr::get(module.getContext(), exchanged, {}, {});
      if (changed == sharding || grid.getSizes()[0] != grid.getSizes()[1])
        return std::nullopt;
      entries.set("sharding", changed);
    }
    buffers[index] = entries.getDictionary(module.getContext());
    NamedAttrList newStage(stages[stage]);
    newStage.set("buffers", builder.getArrayAttr(SmallVector<Attribute>(buffers.begin(), buffers.end())));
    stages[stage] = newStage.getDictionary(module.getContext());
    return (name ? "exchanged the name " : "exchanged the axes ") + what;
  }

  void set(Fields &fields, StringRef key, int64_t value) {
    NamedAttrList entries(fields);
    entries.set(key, builder.getI64IntegerAttr(value));
    fields = entries.getDictionary(module.getContext());
  }

  ModuleOp module;
  Random &random;
  Builder builder;
  SmallVector<Fields> stages;
  std::vector<SmallVector<Fields>> actions;
  size_t stage;
};

} // namespace

std::optional<std::string> mutateStages(ModuleOp module, StringRef kind, Random &random) {
  return StageMutation(module, random).run(kind);
}

} // namespace mlir::ppc::test
