// Attributes of many arguments or results of a function at once. `setArgAttr` rewrites the list of all arguments each
// time, and a step of a deep model has thousands.
#ifndef PPC_DIALECTS_PPC_IR_FUNCTIONATTRS_H
#define PPC_DIALECTS_PPC_IR_FUNCTIONATTRS_H

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

/// The same for results.
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

} // namespace mlir::ppc

#endif // PPC_DIALECTS_PPC_IR_FUNCTIONATTRS_H
