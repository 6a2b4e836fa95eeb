// Declarations of a program to the runtime apart from its computation: initial values of parameters, the logical
// tensors of buffers, the storage of weights in files, the shape of a step. The manifest is written from it, so files,
// checkpoints and initial values are only as right as these are.
#include "StepInterface.h"
#include "dialects/ppcrt/PpcRt.h"
#include "ppc/Equivalence/EquivalenceChecker.h"

namespace mlir::ppc {

using namespace ppcrt;

namespace {

/// The path of keys to the first difference of two dictionaries, and the values there; both attributes if one is
/// not a dictionary.
struct Difference {
  std::string place;
  Attribute mine, theirs;

  static Difference between(Attribute mine, Attribute theirs) {
    auto first = dyn_cast_or_null<DictionaryAttr>(mine), second = dyn_cast_or_null<DictionaryAttr>(theirs);
    if (!first || !second)
      return {"", mine, theirs};
    auto inside = [](StringAttr key, Attribute mine, Attribute theirs) {
      Difference inner = between(mine, theirs);
      return Difference{", " + key.str() + inner.place, inner.mine, inner.theirs};
    };
    for (NamedAttribute entry : first)
      if (Attribute other = second.get(entry.getName()); other != entry.getValue())
        return inside(entry.getName(), entry.getValue(), other);
    for (NamedAttribute entry : second)
      if (!first.contains(entry.getName()))
        return inside(entry.getName(), {}, entry.getValue());
    return {"", mine, theirs};
  }
};

class DeclarationCheck {
public:
  DeclarationCheck(ModuleOp logical, ModuleOp partitioned)
      : logical(logical), partitioned(partitioned), program(findProgram(partitioned)) {}

  /// Reports all differences.
  LogicalResult run() {
    for (StringRef name : {"ppc.model", "ppc.weights"})
      compareAttribute(name);
    auto step = logical.lookupSymbol<func::FuncOp>("step");
    if (!program || !step)
      return success(valid);
    for (auto [number, type] : llvm::enumerate(step.getArgumentTypes()))
      arguments.insert({nameOfArgument(step, number),
                        {dyn_cast<RankedTensorType>(type), step.getArgAttrOfType<InitAttr>(number, attr::init)}});
    for (auto [number, type] : llvm::enumerate(step.getResultTypes()))
      results.insert({nameOfResult(step, number), {dyn_cast<RankedTensorType>(type), {}}});
    checkWeights(step);
    comparePlan();
    for (DeviceOp device : program.getDevices())
      for (auto buffer : device.getBody().front().getOps<BufferOp>())
        compareBuffer(buffer, step);
    return success(valid);
  }

private:
  struct Declared {
    RankedTensorType type;
    InitAttr init;
  };

  InFlightDiagnostic error(Operation *op) {
    valid = false;
    return op->emitOpError();
  }

  void compareAttribute(StringRef name) {
    Attribute mine = partitioned->getAttr(name), theirs = logical->getAttr(name);
    if (mine == theirs)
      return;
    auto text = [](Attribute value) {
      std::string result = "nothing";
      if (value) {
        result.clear();
        llvm::raw_string_ostream(result) << value;
      }
      return result;
    };
    Difference difference = Difference::between(mine, theirs);
    error(partitioned) << "declares in " << name << difference.place << " " << text(difference.mine)
                       << ", the logical program " << text(difference.theirs);
  }

  /// Each way to store a parameter has as many elements as the parameter.
  void checkWeights(func::FuncOp step) {
    auto weights = logical->getAttrOfType<DictionaryAttr>("ppc.weights");
    auto parameters = weights ? weights.getAs<DictionaryAttr>("parameters") : DictionaryAttr();
    for (NamedAttribute entry : parameters ? parameters.getValue() : ArrayRef<NamedAttribute>()) {
      auto found = arguments.find("parameter " + entry.getName().str());
      if (found == arguments.end()) {
        error(step) << "has no parameter " << entry.getName() << ", which ppc.weights stores";
        continue;
      }
      for (auto way : cast<ArrayAttr>(entry.getValue()).getAsRange<ArrayAttr>()) {
        int64_t elements = 0;
        for (auto part : way.getAsRange<DictionaryAttr>()) {
          auto count = part.getAs<IntegerAttr>("count");
          // Elements of this part, if the tensor holds several parameters.
          auto some = part.getAs<IntegerAttr>("elements");
          elements +=
              (some ? some.getInt() : ShapedType::getNumElements(part.getAs<DenseI64ArrayAttr>("shape").asArrayRef())) *
              (count ? count.getInt() : 1);
        }
        if (elements != found->second.type.getNumElements())
          error(step) << "has " << found->first << " of " << found->second.type.getNumElements()
                      << " elements, but ppc.weights stores " << elements << " of it";
      }
    }
  }

  void comparePlan() {
    auto plan = partitioned->getAttrOfType<PlanAttr>(attr::plan);
    if (plan.getGrid() != program.getDeviceGrid())
      error(program) << "runs on the mesh " << program.getDeviceGrid() << ", the plan on " << plan.getGrid();
    if (plan.getMicroBatches() != int64_t(program.getMicroBatches()))
      error(program) << "has " << program.getMicroBatches() << " micro-batches, the plan " << plan.getMicroBatches();
  }

  void compareBuffer(BufferOp buffer, func::FuncOp step) {
    BufferRole role = buffer.getRole();
    bool isInput = role == BufferRole::Input, isMade = role == BufferRole::Gradient || role == BufferRole::Metric;
    if (!isInput && !isMade &&
        !llvm::is_contained({BufferRole::Parameter, BufferRole::State, BufferRole::Scalar}, role))
      return; // stays inside of the step
    auto &declared = isMade ? results : arguments;
    auto found = declared.find(buffer.describe());
    if (found == declared.end()) {
      error(buffer) << "is declared to hold " << buffer.describe() << ", which the logical program does not have";
      return;
    }
    const Declared &wanted = found->second;
    if (!isInput && buffer.getLogicalType() != wanted.type)
      error(buffer)
              .append("is declared to hold a block of ", buffer.getLogicalType(), ", but ", found->first,
                      " of the logical program is ", wanted.type)
              .attachNote(step.getLoc())
          << "the logical program";
    if (role == BufferRole::Parameter && !beginAlike(buffer.getInitAttr(), wanted.init))
      error(buffer)
              .append("is initialised as ", describeInit(buffer.getInitAttr()), ", but ", found->first,
                      " of the logical program as ", describeInit(wanted.init))
              .attachNote(step.getLoc())
          << "the logical program";
  }

  ModuleOp logical, partitioned;
  ProgramOp program;
  std::map<std::string, Declared> arguments, results; ///< arguments and results of the logical step, by name
  bool valid = true;
};

} // namespace

LogicalResult checkDeclarations(ModuleOp logical, ModuleOp partitioned) {
  return DeclarationCheck(logical, partitioned).run();
}

} // namespace mlir::ppc
