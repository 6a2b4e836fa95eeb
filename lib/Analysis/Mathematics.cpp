// A hash over the tree of operations, and their attributes as text.
#include "ppc/Analysis/Mathematics.h"

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <charconv>
#include <map>

namespace mlir::ppc {
namespace {

using Digest = std::array<uint8_t, 32>;

struct LessByAddress {
  template <typename T> bool operator()(T a, T b) const { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); }
};

std::string text(double value) {
  std::array<char, 32> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr; // the shortest that is exact
  return {buffer.data(), end};
}

std::string print(Attribute value) {
  std::string result;
  llvm::raw_string_ostream os(result);
  if (auto elements = dyn_cast<DenseElementsAttr>(value)) // whole, however large
    os << elements.getType() << (elements.isSplat() ? " splat " : " ")
       << llvm::toHex(
              ArrayRef(reinterpret_cast<const uint8_t *>(elements.getRawData().data()), elements.getRawData().size()));
  else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    os << resource.getType() << " "
       << llvm::toHex(
              ArrayRef(reinterpret_cast<const uint8_t *>(resource.getData().data()), resource.getData().size()));
  else
    value.print(os);
  return result;
}

/// Attributes as text, each printed once: the layers of a model have the same ones.
class PrintedAttributes {
public:
  const std::string &operator()(Attribute value) {
    auto [it, isNew] = texts.try_emplace(value);
    if (isNew)
      it->second = print(value);
    return it->second;
  }

private:
  std::map<Attribute, std::string, LessByAddress> texts;
};

/// For people; a long value by a hash of it.
std::string readable(Attribute value, PrintedAttributes &printed) {
  if (isa<UnitAttr>(value))
    return "yes";
  if (auto number = dyn_cast<FloatAttr>(value))
    return text(number.getValueAsDouble());
  if (auto number = dyn_cast<IntegerAttr>(value); number && number.getType().isIntOrIndex())
    return llvm::toString(number.getValue(), 10, /*Signed=*/true);
  if (auto string = dyn_cast<StringAttr>(value))
    return string.str();
  const std::string &whole = printed(value);
  constexpr size_t longest = 60;
  return whole.size() <= longest
             ? whole
             : "#" + llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(whole)), true).substr(0, 8);
}

/// What an operation is, apart from its operands: attributes of its own, not those that passes add to any operation.
bool isOwn(NamedAttribute attribute) { return !attribute.getName().strref().contains('.'); }

class Fingerprint {
public:
  explicit Fingerprint(PrintedAttributes &printed) : printed(printed) {}

  std::string of(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      digests[argument] = ofArgument(function, argument);
    addOps(function.front());
    llvm::SHA256 hash;
    addOperands(hash, function.front().getTerminator());
    return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 32);
  }

private:
  static void add(llvm::SHA256 &hash, StringRef part) {
    hash.update(std::to_string(part.size()) + ":");
    hash.update(part);
  }
  static void add(llvm::SHA256 &hash, Type type) {
    std::string name;
    llvm::raw_string_ostream(name) << type;
    add(hash, name);
  }
  static Digest finish(llvm::SHA256 &hash) { return hash.final(); }

  /// A parameter is its name, an input too; which of them decay is the optimizer's, and has no other place to be told.
  Digest ofArgument(func::FuncOp function, BlockArgument argument) {
    llvm::SHA256 hash;
    unsigned number = argument.getArgNumber();
    add(hash, "argument");
    add(hash, argument.getType());
    bool named = false;
    for (StringRef key : {attr::parameter, attr::input, attr::state, attr::scalar, attr::of, attr::noWeightDecay})
      if (Attribute value = function.getArgAttr(number, key)) {
        add(hash, key);
        add(hash, printed(value));
        named = true;
      }
    if (!named)
      add(hash, std::to_string(number));
    return finish(hash);
  }

  void addOps(Block &block) {
    for (Operation &op : block)
      addOp(op);
  }

  void addOp(Operation &op) {
    llvm::SHA256 hash;
    add(hash, op.getName().getStringRef());
    for (NamedAttribute attribute : op.getAttrs()) // sorted by name
      if (isOwn(attribute)) {
        add(hash, attribute.getName().strref());
        add(hash, printed(attribute.getValue()));
      }
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        for (BlockArgument argument : block.getArguments()) {
          llvm::SHA256 inner;
          add(inner, "block argument " + std::to_string(argument.getArgNumber()));
          add(inner, argument.getType());
          digests[argument] = finish(inner);
        }
        addOps(block);
        addOperands(hash, block.getTerminator());
      }
    addOperands(hash, &op);
    for (Type type : op.getResultTypes())
      add(hash, type);
    Digest whole = finish(hash);
    for (OpResult result : op.getResults()) {
      llvm::SHA256 one;
      one.update(whole);
      add(one, std::to_string(result.getResultNumber()));
      digests[result] = finish(one);
    }
  }

  void addOperands(llvm::SHA256 &hash, Operation *op) {
    for (Value operand : op->getOperands())
      hash.update(digests.at(operand));
  }

  PrintedAttributes &printed;
  std::map<Value, Digest, LessByAddress> digests;
};

/// Values of the attributes of operations, each with how often it occurs.
class Summary {
public:
  explicit Summary(PrintedAttributes &printed) : printed(printed) {}

  void add(Operation &op) {
    std::string name = op.getName().stripDialect().str();
    ++counts[name];
    for (NamedAttribute attribute : op.getAttrs())
      if (isOwn(attribute) && attribute.getName() != "operandSegmentSizes")
        ++values[{name, attribute.getName().str()}][readable(attribute.getValue(), printed)];
  }

  void write(llvm::json::Object &out, bool withCounts) const {
    if (withCounts)
      for (const auto &[name, count] : counts)
        out[name] = std::to_string(count);
    for (const auto &[key, found] : values)
      out[key.first + "." + key.second] = show(found, counts.at(key.first));
  }

private:
  static std::string show(std::map<std::string, int64_t> found, int64_t total) {
    for (const auto &[value, count] : found)
      total -= count;
    if (total > 0)
      found["none"] += total;
    if (found.size() == 1)
      return found.begin()->first;
    std::string result;
    for (const auto &[value, count] : found)
      result += (result.empty() ? "" : ", ") + value + " (" + std::to_string(count) + ")";
    constexpr size_t longest = 100;
    if (result.size() > longest)
      return std::to_string(found.size()) + " values, #" +
             llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(result)), true).substr(0, 8);
    return result;
  }

  PrintedAttributes &printed;
  std::map<std::string, int64_t> counts;
  std::map<std::pair<std::string, std::string>, std::map<std::string, int64_t>> values;
};

/// The only function of the module when it has a body of one block; else null.
func::FuncOp onlyFunction(ModuleOp module) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  return functions.size() == 1 && llvm::hasSingleElement(functions.front().getBody()) ? functions.front() : nullptr;
}

} // namespace

llvm::json::Object modelMathematics(ModuleOp module) {
  func::FuncOp function = onlyFunction(module);
  if (!function)
    return {};
  PrintedAttributes printed;
  Summary summary(printed);
  for (Operation &op : function.front().without_terminator())
    summary.add(op);
  llvm::json::Object operations;
  summary.write(operations, /*withCounts=*/true);
  return llvm::json::Object{{"fingerprint", Fingerprint(printed).of(function)}, {"operations", std::move(operations)}};
}

llvm::json::Object optimizerMathematics(ModuleOp module) {
  llvm::json::Object result;
  if (func::FuncOp function = onlyFunction(module)) {
    PrintedAttributes printed;
    Summary summary(printed);
    function.walk([&](Operation *op) {
      auto part = op->getAttrOfType<PartAttr>(attr::part);
      if (part && part.getValue() == Part::Update && !isa<ConstantOp>(op))
        summary.add(*op);
    });
    summary.write(result, /*withCounts=*/false);
  }
  return result;
}

} // namespace mlir::ppc
