// Calls into numerical libraries: verification, effects.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppcrt/PpcRt.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::ppcrt;

#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Library.cpp.inc"

LogicalResult GemmOp::verify() {
  // gemm_c1
  if (getSizes().size() != 3 || getStrides().size() != 6 || getLoops().size() % 4 != 0)
    return emitOpError() << "has " << getSizes().size() << " sizes, " << getStrides().size() << " strides and "
                         << getLoops().size() << " loop numbers; it needs 3, 6, and 4 for each loop";
  for (ArrayRef<int64_t> numbers : {getSizes(), getStrides(), getLoops()})
    for (int64_t number : numbers)
      if (number < 0)
        return emitOpError() << "has the negative size or stride " << number;
  if (getLoops().size() > 8 * 4) // gemm_c2
    return emitOpError() << "has " << getLoops().size() / 4 << " loops, more than the 8 that the runtime takes";
  auto typeOf = [](Value value) { return cast<ShapedType>(value.getType()); };
  ShapedType c = typeOf(getOut());
  // gemm_c4
  Type element = typeOf(getA()).getElementType();
  bool known = element.isBF16() ? isa<Float32Type, BFloat16Type>(c.getElementType())
                                : isa<Float32Type, Float64Type>(element) && c.getElementType() == element;
  if (typeOf(getB()).getElementType() != element || !known)
    return emitOpError()
           << "needs one element type, f32 or f64, for all three matrices, or bf16 for A and B and f32 or bf16 for C";
  // gemm_c3: the last element that each matrix touches
  auto sizes = getSizes(), strides = getStrides(), loops = getLoops();
  struct {
    Value value;
    const char *name;
    int64_t rows, columns, rowStride, columnStride;
  } matrices[] = {{getA(), "A", sizes[0], sizes[2], strides[0], strides[1]},
                  {getB(), "B", sizes[2], sizes[1], strides[2], strides[3]},
                  {getOut(), "C", sizes[0], sizes[1], strides[4], strides[5]}};
  for (auto [i, matrix] : llvm::enumerate(matrices)) {
    bool empty = matrix.rows == 0 || matrix.columns == 0;
    int64_t last = (matrix.rows - 1) * matrix.rowStride + (matrix.columns - 1) * matrix.columnStride;
    for (size_t loop = 0; loop < loops.size(); loop += 4) {
      empty |= loops[loop] == 0;
      last += (loops[loop] - 1) * loops[loop + 1 + i];
    }
    int64_t elements = typeOf(matrix.value).getNumElements();
    if (!empty && last >= elements)
      return emitOpError() << "reaches element " << last << " of matrix " << matrix.name << ", which has " << elements;
  }
  if (getResult().size() > 1 || (getResult().size() == 1 && getResult()[0].getType() != c)) // gemm_c5
    return emitOpError() << "must return nothing or a tensor of the destination's type";
  return success();
}

SmallVector<int64_t> mlir::ppcrt::gemmDescriptor(GemmOp op) {
  auto code = [](Value buffer) { return int64_t(*elementTypeCode(getElementTypeOrSelf(buffer.getType()))); };
  SmallVector<int64_t> numbers{2, code(op.getA()), op.getAccumulate(), code(op.getOut())};
  llvm::append_range(numbers, op.getSizes());
  llvm::append_range(numbers, op.getStrides());
  numbers.push_back(int64_t(op.getLoops().size()) / 4);
  llvm::append_range(numbers, op.getLoops());
  return numbers;
}

/// The shapes that q, k and v imply, in the order of the operands: of the inputs, then of the outputs.
static LogicalResult verifyAttention(Operation *op, OperandRange ins, OperandRange outs, bool backward, bool causal,
                                     bool window) {
  auto typeOf = [](Value value) { return cast<ShapedType>(value.getType()); };
  size_t plain = backward ? 6 : 3;
  size_t results = backward ? 3 : 2;
  auto scratch = outs.drop_front(std::min(results, outs.size()));
  if ((ins.size() != plain && ins.size() != plain + 1) || outs.size() < results || // attention_c1
      (!scratch.empty() && (!backward || scratch.size() != 2)))
    return op->emitOpError() << "has " << ins.size() << " inputs and " << outs.size() << " outputs";
  for (Value buffer : scratch)
    if (auto type = dyn_cast<MemRefType>(buffer.getType());
        !type || type.getRank() != 1 || !type.getElementType().isF32())
      return op->emitOpError() << "has scratch of type " << buffer.getType() << ", expected a buffer of f32 of rank 1";
  auto q = typeOf(ins[0]), k = typeOf(ins[1]), v = typeOf(ins[2]);
  if (q.getRank() != 5 || k.getRank() != 4 || v.getRank() != 4)
    return op->emitOpError() << "needs q of rank 5, k and v of rank 4";
  SmallVector<int64_t> rows(q.getShape().drop_back()), out = rows, heads{q.getDimSize(2), q.getDimSize(3)};
  out.push_back(v.getDimSize(3));
  SmallVector<SmallVector<int64_t>> expected{llvm::to_vector(q.getShape()),
                                             {q.getDimSize(0), k.getDimSize(1), q.getDimSize(2), q.getDimSize(4)},
                                             {q.getDimSize(0), k.getDimSize(1), q.getDimSize(2), v.getDimSize(3)}};
  if (backward)
    llvm::append_range(expected, SmallVector<SmallVector<int64_t>>{out, rows, out});
  if (ins.size() > plain)
    expected.push_back(heads);
  llvm::append_range(expected, backward ? SmallVector<SmallVector<int64_t>>{expected[0], expected[1], expected[2]}
                                        : SmallVector<SmallVector<int64_t>>{out, rows});
  SmallVector<Value> buffers(ins);
  llvm::append_range(buffers, outs.take_front(results));
  for (auto [value, shape] : llvm::zip_equal(buffers, expected))
    if (typeOf(value).getShape() != ArrayRef(shape))
      return op->emitOpError() << "has an operand of type " << value.getType() << " that does not fit q, k and v";
  for (auto [i, value] : llvm::enumerate(buffers)) { // attention_c2
    bool isRow = (backward ? i == 4 : i + 1 == buffers.size()) || (ins.size() > plain && i == plain);
    Type element = q.getElementType(), row = element.isBF16() ? Float32Type::get(op->getContext()) : element;
    if (!isa<Float32Type, Float64Type, BFloat16Type>(element) ||
        typeOf(value).getElementType() != (isRow ? row : element))
      return op->emitOpError() << "has operands of element types that the runtime does not take together";
  }
  if (window && !causal) // attention_c3
    return op->emitOpError() << "has a window without causal";
  if (op->getNumResults() != 0 && op->getResultTypes() != outs.getTypes()) // attention_c4
    return op->emitOpError() << "must return nothing or tensors of the destinations' types";
  return success();
}

static void addAttentionEffects(MutableOperandRange ins, MutableOperandRange outs,
                                SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand &operand : ins)
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand, SideEffects::DefaultResource::get());
  for (OpOperand &operand : outs)
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Write::get(), &operand, SideEffects::DefaultResource::get());
}

LogicalResult AttentionOp::verify() {
  return verifyAttention(*this, getIns(), getOuts(), /*backward=*/false, getCausal(), getWindow().has_value());
}

LogicalResult AttentionBackwardOp::verify() {
  return verifyAttention(*this, getIns(), getOuts(), /*backward=*/true, getCausal(), getWindow().has_value());
}

void AttentionOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addAttentionEffects(getInsMutable(), getOutsMutable(), effects);
}

void AttentionBackwardOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addAttentionEffects(getInsMutable(), getOutsMutable(), effects);
}

void GemmOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  auto on = [&](OpOperand &operand, MemoryEffects::Effect *effect) {
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(effect, &operand, SideEffects::DefaultResource::get());
  };
  on(getAMutable(), MemoryEffects::Read::get());
  on(getBMutable(), MemoryEffects::Read::get());
  if (getAccumulate())
    on(getOutMutable(), MemoryEffects::Read::get());
  on(getOutMutable(), MemoryEffects::Write::get());
}
