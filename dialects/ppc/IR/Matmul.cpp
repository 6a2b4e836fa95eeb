// Matmuls as einsums: the notation, its verification, type inference.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Matmul.cpp.inc"

StringRef MatmulOp::lhsLetters() { return getSpec().split("->").first.split(',').first; }
StringRef MatmulOp::rhsLetters() { return getSpec().split("->").first.split(',').second; }
StringRef MatmulOp::resultLetters() { return getSpec().split("->").second; }

void MatmulOp::build(OpBuilder &builder, OperationState &state, StringRef spec, Value lhs, Value rhs) {
  build(builder, state, spec, lhs, rhs, tensorType(lhs).getElementType());
}

void MatmulOp::build(OpBuilder &builder, OperationState &state, StringRef spec, Value lhs, Value rhs, Type element) {
  auto [operands, result] = spec.split("->");
  auto [lhsLetters, rhsLetters] = operands.split(',');
  SmallVector<int64_t> shape;
  for (char letter : result) {
    size_t dim = lhsLetters.find(letter);
    shape.push_back(dim != StringRef::npos ? tensorType(lhs).getDimSize(dim)
                                           : tensorType(rhs).getDimSize(rhsLetters.find(letter)));
  }
  build(builder, state, RankedTensorType::get(shape, element), spec, lhs, rhs);
}

LogicalResult MatmulOp::verify() {
  StringRef spec = getSpec();
  auto [operands, result] = spec.split("->");
  auto [lhs, rhs] = operands.split(',');
  auto isNotation = [](StringRef letters) {
    for (auto [i, letter] : llvm::enumerate(letters))
      if (letter < 'a' || letter > 'z' || letters.find(letter, i + 1) != StringRef::npos)
        return false;
    return true;
  };
  // matmul_c1
  if (spec.count("->") != 1 || operands.count(',') != 1 || !isNotation(lhs) || !isNotation(rhs) || !isNotation(result))
    return emitOpError() << "spec \"" << spec
                         << "\" must read lhs,rhs->result in lower-case letters, none twice within one tensor, such as "
                            "\"mk,kn->mn\"";
  llvm::SmallDenseMap<char, int64_t> sizes;
  auto check = [&](StringRef letters, RankedTensorType type, StringRef name) -> LogicalResult {
    if (int64_t(letters.size()) != type.getRank()) // matmul_c2
      return emitOpError() << "'" << name << "' has " << type.getRank() << " dimensions but spec \"" << spec
                           << "\" gives it " << letters.size() << " letters";
    for (auto [letter, size] : llvm::zip(letters, type.getShape())) {
      auto [it, inserted] = sizes.try_emplace(letter, size);
      if (!inserted && it->second != size) // matmul_c3
        return emitOpError() << "index '" << std::string(1, letter) << "' of spec \"" << spec << "\" is " << it->second
                             << " in one tensor and " << size << " in '" << name << "'";
    }
    return success();
  };
  if (failed(check(lhs, tensorType(getLhs()), "lhs")) || failed(check(rhs, tensorType(getRhs()), "rhs")) ||
      failed(check(result, tensorType(getResult()), "result")))
    return failure();
  for (char letter : result) // matmul_c4
    if (!lhs.contains(letter) && !rhs.contains(letter))
      return emitOpError() << "index '" << std::string(1, letter) << "' of the result is in no operand of spec \""
                           << spec << "\"";
  for (char letter : (lhs + rhs).str())
    if (!result.contains(letter) && !(lhs.contains(letter) && rhs.contains(letter)))
      return emitOpError() << "index '" << std::string(1, letter) << "' of spec \"" << spec
                           << "\" is in one operand only and not in the result: reduce that operand first";
  Type element = tensorType(getLhs()).getElementType();
  Type resultElement = tensorType(getResult()).getElementType();
  if (tensorType(getRhs()).getElementType() != element ||
      (resultElement != element && resultElement != sumType(element))) // matmul_c5
    return emitOpError() << "element types differ: " << tensorType(getLhs()) << ", " << tensorType(getRhs()) << " and "
                         << tensorType(getResult());
  return success();
}
