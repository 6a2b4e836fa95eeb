// Lays out a rank's memory: persistent buffers, slots, scratch.
#include "dialects/ppc/Ppc.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "ppc/Transforms/Arena/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_ASSIGNARENAPASS
#include "ppc/Transforms/Arena/Passes.h.inc"

namespace {

constexpr int64_t kAlignment = 64;

int64_t bytesOf(DictionaryAttr buffer) {
  auto type = cast<RankedTensorType>(buffer.getAs<TypeAttr>("type").getValue());
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

struct AssignArenaPass : impl::AssignArenaPassBase<AssignArenaPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto stages = module->getAttrOfType<ArrayAttr>("ppc.stages");
    if (!stages)
      return; // plain functions, no program of a plan
    SmallVector<Attribute> placed;
    for (auto [number, entry] : llvm::enumerate(stages)) {
      auto stage = dyn_cast<DictionaryAttr>(entry);
      if (!stage || !stage.getAs<ArrayAttr>("buffers") || !stage.getAs<DictionaryAttr>("functions")) {
        module.emitError() << "stage " << number << " in ppc.stages lacks buffers or functions: run ppc-split-stages first";
        return signalPassFailure();
      }
      FailureOr<DictionaryAttr> result = place(stage);
      if (failed(result))
        return signalPassFailure();
      placed.push_back(*result);
    }
    module->setAttr("ppc.stages", ArrayAttr::get(&getContext(), placed));
  }

private:
  FailureOr<int64_t> scratchBytes(DictionaryAttr functions) {
    int64_t bytes = 0;
    SymbolTable symbols(getOperation());
    for (NamedAttribute entry : functions) {
      auto name = cast<DictionaryAttr>(entry.getValue()).getAs<StringAttr>("entry");
      Operation *function = symbols.lookup(name.getValue());
      auto scratch = function ? function->getAttrOfType<IntegerAttr>("ppc.scratch_bytes") : IntegerAttr();
      if (!scratch)
        return getOperation().emitError() << "function " << name << " has no ppc.scratch_bytes: assign its buffers first";
      bytes = std::max(bytes, scratch.getInt());
    }
    return bytes;
  }

  FailureOr<DictionaryAttr> place(DictionaryAttr stage) {
    Builder builder(&getContext());
    auto functions = stage.getAs<DictionaryAttr>("functions");
    auto slots = stage.getAs<IntegerAttr>("slots");
    FailureOr<int64_t> scratch = scratchBytes(functions);
    if (failed(scratch))
      return failure();
    if (!slots)
      return getOperation().emitError("stages have no slots: run ppc-apply-schedule first");

    int64_t arenaEnd = 0, slotEnd = 0;
    SmallVector<Attribute> buffers;
    for (auto buffer : stage.getAs<ArrayAttr>("buffers").getAsRange<DictionaryAttr>()) {
      int64_t &end = buffer.getAs<StringAttr>("space") == "slot" ? slotEnd : arenaEnd;
      NamedAttrList fields(buffer);
      fields.set("offset", builder.getI64IntegerAttr(end));
      end = llvm::alignTo(end + bytesOf(buffer), kAlignment);
      buffers.push_back(fields.getDictionary(&getContext()));
    }
    int64_t slotOffset = arenaEnd, scratchOffset = slotOffset + slotEnd * slots.getInt();
    int64_t scratchBuffer = buffers.size();
    buffers.push_back(builder.getDictionaryAttr({builder.getNamedAttr("role", builder.getStringAttr("scratch")),
                                                 builder.getNamedAttr("space", builder.getStringAttr("arena")),
                                                 builder.getNamedAttr("offset", builder.getI64IntegerAttr(scratchOffset)),
                                                 builder.getNamedAttr("bytes", builder.getI64IntegerAttr(*scratch))}));

    SmallVector<NamedAttribute> newFunctions;
    for (NamedAttribute entry : functions) {
      auto function = cast<DictionaryAttr>(entry.getValue());
      SmallVector<int64_t> order(function.getAs<DenseI64ArrayAttr>("buffers").asArrayRef());
      order.push_back(scratchBuffer);
      NamedAttrList fields(function);
      fields.set("buffers", builder.getDenseI64ArrayAttr(order));
      newFunctions.push_back(builder.getNamedAttr(entry.getName(), fields.getDictionary(&getContext())));
    }
    NamedAttrList fields(stage);
    fields.set("buffers", builder.getArrayAttr(buffers));
    fields.set("functions", builder.getDictionaryAttr(newFunctions));
    fields.set("slot_offset", builder.getI64IntegerAttr(slotOffset));
    fields.set("slot_bytes", builder.getI64IntegerAttr(slotEnd));
    fields.set("arena_bytes", builder.getI64IntegerAttr(llvm::alignTo(scratchOffset + *scratch, kAlignment)));
    return fields.getDictionary(&getContext());
  }
};

} // namespace
} // namespace mlir::ppc
