// The dialect: registration, and the tables it shares with the runtime's C ABI.
#include "dialects/ppcrt/PpcRt.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ppcrt;

#include "dialects/ppcrt/IR/PpcRtDialect.cpp.inc"
#include "dialects/ppcrt/IR/PpcRtEnums.cpp.inc"

void PpcRtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Library.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Collective.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Call.cpp.inc"
      >();
}

std::optional<int32_t> ppcrt::elementTypeCode(Type type) {
  if (type.isF32())
    return 0;
  if (type.isF64())
    return 1;
  if (type.isInteger(32))
    return 2;
  if (type.isInteger(64))
    return 3;
  if (type.isBF16())
    return 4;
  return std::nullopt;
}

int32_t ppcrt::findOrAddGroup(Operation *module, ArrayAttr axes, DenseI64ArrayAttr stages) {
  Builder builder(module->getContext());
  SmallVector<NamedAttribute> fields{builder.getNamedAttr("axes", axes)};
  if (stages)
    fields.push_back(builder.getNamedAttr("stages", stages));
  Attribute group = builder.getDictionaryAttr(fields);
  SmallVector<Attribute> groups;
  if (auto present = module->getAttrOfType<ArrayAttr>(kGroupsAttr))
    groups.append(present.begin(), present.end());
  auto it = llvm::find(groups, group);
  int32_t index = it - groups.begin();
  if (it == groups.end()) {
    groups.push_back(group);
    module->setAttr(kGroupsAttr, builder.getArrayAttr(groups));
  }
  return index;
}
