// Setters of attributes of all arguments or results of a function at once. `setArgAttr` rewrites the list of all
// arguments each time, and a step of a deep model has thousands.
#ifndef PPC_DIALECTS_PPC_IR_FUNCTIONATTRS_H
#define PPC_DIALECTS_PPC_IR_FUNCTIONATTRS_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// Sets `name` of each argument to `valueOf` its number; null leaves the argument as it is.
inline void setArgAttrs(func::FuncOp function, StringRef name, function_ref<Attribute(unsigned)> valueOf) {
  SmallVector<DictionaryAttr> all;
  for (unsigned number = 0; number < function.getNumArguments(); ++number) {
    NamedAttrList attributes(function.getArgAttrDict(number));
    if (Attribute value = valueOf(number))
      attributes.set(name, value);
    all.push_back(attributes.getDictionary(function.getContext()));
  }
  function.setAllArgAttrs(all);
}

/// Sets `name` of each result to `valueOf` its number; null leaves the result as it is.
inline void setResultAttrs(func::FuncOp function, StringRef name, function_ref<Attribute(unsigned)> valueOf) {
  SmallVector<DictionaryAttr> all;
  for (unsigned number = 0; number < function.getNumResults(); ++number) {
    NamedAttrList attributes(function.getResultAttrDict(number));
    if (Attribute value = valueOf(number))
      attributes.set(name, value);
    all.push_back(attributes.getDictionary(function.getContext()));
  }
  function.setAllResultAttrs(all);
}

/// Fails, with an error, if a result names as its destination an argument that the function does not have, or that has
/// another type (`ppc.destination`).
inline LogicalResult verifyDestinations(func::FuncOp function) {
  for (unsigned number = 0; number < function.getNumResults(); ++number) {
    auto stated = function.getResultAttrOfType<IntegerAttr>(number, attr::destination);
    if (!stated)
      continue;
    Type type = function.getResultTypes()[number];
    uint64_t argument = stated.getInt();
    if (argument >= function.getNumArguments() || function.getArgumentTypes()[argument] != type)
      return function.emitOpError() << "result " << number << " of type " << type << " cannot be written to argument "
                                    << stated.getInt();
  }
  return success();
}

} // namespace mlir::ppc

#endif // PPC_DIALECTS_PPC_IR_FUNCTIONATTRS_H
