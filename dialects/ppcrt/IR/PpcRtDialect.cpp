// The dialect: registration, and the tables it shares with the runtime's C ABI.
#include "dialects/ppcrt/Epilogue.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ppcrt;

#include "dialects/ppcrt/IR/PpcRtDialect.cpp.inc"
#include "dialects/ppcrt/IR/PpcRtEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/ppcrt/IR/PpcRtTypes.cpp.inc"

void PpcRtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Library.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Epilogue.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Launch.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Collective.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Call.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Asynchronous.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Program.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Action.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/ppcrt/IR/PpcRtTypes.cpp.inc"
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
