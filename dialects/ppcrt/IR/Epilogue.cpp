// Matmuls with epilogues: verification, effects.
#include "dialects/ppcrt/Epilogue.h"

#include "dialects/ppc/LegalShape.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::ppcrt;

#include "dialects/ppcrt/IR/EpilogueEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Epilogue.cpp.inc"

static ShapedType shapedType(Value value) { return cast<ShapedType>(value.getType()); }

LogicalResult EpilogueGemmOp::verify() {
  // epilogue_gemm_c1
  if (getSizes().size() != 3 || getStrides().size() != 4)
    return emitOpError() << "has " << getSizes().size() << " sizes and " << getStrides().size()
                         << " strides; it needs 3 and 4";
  for (int64_t size : getSizes())
    if (size < 1)
      return emitOpError() << "has the size " << size;
  for (int64_t stride : getStrides())
    if (stride < 0)
      return emitOpError() << "has the negative stride " << stride;
  if (getOuts().empty() || getOuts().size() > (getActivation() == Activation::Gelu ? 2u : 1u) ||
      bool(getAt()) != (getActivation() == Activation::GeluGradient)) // epilogue_gemm_c3
    return emitOpError() << "has " << getOuts().size() << " destinations and " << (getAt() ? "an" : "no")
                         << " operand `at` of the derivative, which " << stringifyActivation(getActivation())
                         << " does not allow";
  if (getAt() && getBias()) // epilogue_gemm_c3
    return emitOpError("has both a bias and an operand `at` of a derivative");
  // epilogue_gemm_c2
  Type in = shapedType(getA()).getElementType(), out = shapedType(getOuts()[0]).getElementType();
  if (!isa<Float32Type, BFloat16Type>(in) || shapedType(getB()).getElementType() != in || (out != in && !out.isF32()))
    return emitOpError() << "multiplies " << getA().getType() << " and " << getB().getType() << " into "
                         << getOuts()[0].getType();
  int64_t m = getSizes()[0], n = getSizes()[1], k = getSizes()[2];
  SmallVector<Value> matrices(getOuts());
  for (Value matrix : {getAddend(), getAt()})
    if (matrix)
      matrices.push_back(matrix);
  for (Value matrix : matrices) {
    if (shapedType(matrix).getElementType() != out)
      return emitOpError() << "has " << matrix.getType() << " with results of " << out;
    if (shapedType(matrix).getNumElements() != m * n) // epilogue_gemm_c4
      return emitOpError() << "has " << matrix.getType() << ", which has not " << m << " x " << n << " elements";
  }
  if (getBias() && shapedType(getBias()).getElementType() != out) // epilogue_gemm_c2
    return emitOpError() << "has a bias of " << getBias().getType() << " with results of " << out;
  // epilogue_gemm_c4
  ArrayRef<int64_t> strides = getStrides();
  int64_t first = int64_t(getColumn());
  struct {
    Value value;
    const char *name;
    int64_t last;
  } reached[] = {{getA(), "A", (m - 1) * strides[0] + (k - 1) * strides[1]},
                 {getB(), "B", (k - 1) * strides[2] + (first + n - 1) * strides[3]},
                 {getBias(), "the bias", first + n - 1}};
  for (auto [value, name, last] : reached)
    if (first < 0 || (value && last >= shapedType(value).getNumElements()))
      return emitOpError() << "reaches element " << last << " of " << name << ", from column " << first << " on";
  if (getNumResults() != 0 && getResultTypes() != getOuts().getTypes()) // epilogue_gemm_c5
    return emitOpError() << "must return nothing or tensors of the destinations' types";
  return success();
}

SmallVector<int64_t> EpilogueGemmOp::descriptor() {
  auto code = [](Value buffer) { return int64_t(*elementTypeCode(shapedType(buffer).getElementType())); };
  SmallVector<int64_t> numbers{2, code(getA()), 0, code(getOuts()[0])};
  llvm::append_range(numbers, getSizes());
  llvm::append_range(numbers, getStrides());
  numbers.append({getSizes()[1], 1, 0}); // results in rows, no loops
  return numbers;
}

void EpilogueGemmOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(isDpsInit(&operand) ? static_cast<MemoryEffects::Effect *>(MemoryEffects::Write::get())
                                               : MemoryEffects::Read::get(),
                           &operand, SideEffects::DefaultResource::get());
}
