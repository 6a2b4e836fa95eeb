// Chains of elementwise ops: each thread takes neighbouring elements, in accesses of up to 16 bytes.
#include "lib/Target/Cuda/Writer/KernelWriter.h"

#include "ppc/Transforms/Fusion/AccessPattern.h"

namespace mlir::ppc::cuda {

constexpr int64_t kBlockBlockThreads = 256;

int64_t elementsPerThread(linalg::GenericOp generic) {
  if (generic.getNumReductionLoops() || !generic.getNumLoops())
    return 1;
  unsigned innermost = generic.getNumLoops() - 1;
  for (OpOperand &output : generic.getDpsInitsMutable()) // an element of its own for each iteration
    if (auto pattern = patternOf(generic, output); !pattern || pattern->steps[innermost] != 1)
      return 1;
  return vectorWidth(generic, innermost);
}

namespace {

/// What a thread has of an operand: all of its elements, or one for all.
struct Elements {
  Value value;
  bool isVector = false;

  Value lane(ImplicitLocOpBuilder &b, int64_t number) const {
    if (!isVector)
      return value;
    Value place = arith::ConstantOp::create(b, b.getI32IntegerAttr(number));
    return LLVM::ExtractElementOp::create(b, value, place);
  }
};

Elements loadElements(KernelWriter &w, linalg::GenericOp generic, OpOperand &operand, ValueRange dims, int64_t width) {
  if (!isa<MemRefType>(operand.get().getType()))
    return {w.map.lookup(operand.get()), false};
  bool moves = patternOf(generic, operand)->steps.back() != 0;
  return {w.load(operand.get(), w.place(generic, operand, dims), moves ? width : 1), moves};
}

/// The loops in the order in which neighbouring threads take them, the last one fastest: where an operand is read again
/// only after more of it than caches of a multiprocessor hold, the loop along which it stays comes just before the
/// innermost.
SmallVector<unsigned> orderOfLoops(linalg::GenericOp generic) {
  constexpr int64_t held = 256 << 10; // bytes
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges(), readAgain(sizes.size(), 0);
  for (OpOperand *input : generic.getDpsInputOperands()) {
    auto type = dyn_cast<MemRefType>(input->get().getType());
    if (!type)
      continue;
    SmallVector<int64_t> steps = patternOf(generic, *input)->steps;
    int64_t between = int64_t(type.getElementTypeBitWidth()) / 8; // of the operand, in the loops inside
    for (size_t loop = sizes.size(); loop-- > 0;) {
      if (steps[loop])
        between *= sizes[loop];
      else if (sizes[loop] > 1 && between > held)
        readAgain[loop] += between;
    }
  }
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, generic.getNumLoops()));
  llvm::stable_sort(MutableArrayRef(order).drop_back(),
                    [&](unsigned a, unsigned b) { return readAgain[a] < readAgain[b]; });
  return order;
}

} // namespace

void writeElementwise(KernelWriter &w, linalg::GenericOp generic, int64_t width) {
  ImplicitLocOpBuilder &b = w.b;
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
  sizes.back() /= width;
  int64_t iterations = ShapedType::getNumElements(sizes);
  w.kernel.threads = std::min<int64_t>(kBlockBlockThreads, llvm::alignTo(iterations, kWarp));
  w.kernel.blocks = llvm::divideCeil(iterations, w.kernel.threads);
  SmallVector<unsigned> order = orderOfLoops(generic);
  SmallVector<Value> dims(sizes.size());
  for (auto [loop, place] :
       llvm::zip(order, w.delinearize(w.threadsBelow(iterations),
                                      llvm::map_to_vector(order, [&](unsigned l) { return sizes[l]; }))))
    dims[loop] = place;
  Value first = arith::MulIOp::create(b, dims.back(), w.index(width));
  dims.back() = first;

  Block &body = *generic.getBody();
  SmallVector<Elements> operands;
  for (OpOperand &operand : generic->getOpOperands()) {
    bool used = !body.getArgument(operand.getOperandNumber()).use_empty();
    operands.push_back(used ? loadElements(w, generic, operand, dims, width) : Elements());
  }
  SmallVector<Value> results;
  for (OpOperand &output : generic.getDpsInitsMutable()) {
    Type element = cast<MemRefType>(output.get().getType()).getElementType();
    results.push_back(LLVM::PoisonOp::create(b, VectorType::get({width}, element)));
  }
  for (int64_t lane = 0; lane < width; ++lane) {
    dims.back() = arith::AddIOp::create(b, first, w.index(lane));
    for (auto [argument, elements] : llvm::zip(body.getArguments(), operands))
      if (elements.value)
        w.map.map(argument, elements.lane(b, lane));
    w.clone(body, dims);
    for (auto [result, value] : llvm::zip(results, body.getTerminator()->getOperands()))
      result = LLVM::InsertElementOp::create(b, result, w.map.lookup(value), w.i32(lane));
  }
  dims.back() = first;
  for (auto [output, result] : llvm::zip(generic.getDpsInitsMutable(), results))
    w.store(result, output.get(), w.place(generic, output, dims), width);
}

} // namespace mlir::ppc::cuda
