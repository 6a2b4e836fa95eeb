// What all kernels have in common: parameters, values from outside, accesses of memory.
#include "KernelWriter.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::ppc::cuda {

static bool isOutside(Value value, Operation *op) { return !op->isAncestor(value.getParentBlock()->getParentOp()); }

KernelWriter::KernelWriter(Operation *op, ModuleOp kernels, StringRef name)
    : op(op), kernels(kernels), b(op->getLoc(), op->getContext()) {
  kernel.name = name.str();
}

/// The memrefs that the op uses and that come from outside.
LogicalResult KernelWriter::collectBuffers() {
  llvm::SetVector<Value> buffers;
  WalkResult result = op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      auto type = dyn_cast<MemRefType>(operand.getType());
      if (!type || !isOutside(operand, op))
        continue;
      if (!type.hasStaticShape() || !type.isStrided()) {
        op->emitError() << "a kernel needs buffers of static shapes, and has " << type;
        return WalkResult::interrupt();
      }
      buffers.insert(operand);
    }
    return WalkResult::advance();
  });
  kernel.operands.assign(buffers.begin(), buffers.end());
  return failure(result.wasInterrupted());
}

LogicalResult KernelWriter::begin() {
  if (failed(collectBuffers()))
    return failure();
  MLIRContext *context = op->getContext();
  auto pointer = LLVM::LLVMPointerType::get(context, kGlobalSpace);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), SmallVector<Type>(kernel.operands.size(), pointer));
  b.setInsertionPointToEnd(kernels.getBody());
  function = LLVM::LLVMFuncOp::create(b, kernel.name, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  for (auto [buffer, argument] : llvm::zip(kernel.operands, entry->getArguments()))
    map.map(buffer, argument);
  WalkResult result = op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (isOutside(operand, op) && failed(capture(operand)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult KernelWriter::capture(Value value) {
  if (map.contains(value))
    return success();
  Operation *producer = value.getDefiningOp();
  if (isa_and_nonnull<ppcrt::CoordinateOp>(producer)) { // what differs from rank to rank
    kernel.operands.push_back(value);
    Value number = function.getBody().addArgument(b.getI64Type(), op->getLoc());
    map.map(value, arith::IndexCastOp::create(b, b.getIndexType(), number).getResult());
    return success();
  }
  bool isScalarLoad = isa_and_nonnull<memref::LoadOp>(producer);
  if (!producer || producer->getNumRegions() || (!isScalarLoad && !isMemoryEffectFree(producer)))
    return op->emitError() << "a kernel cannot compute again what it takes from outside: " << value;
  for (Value operand : producer->getOperands()) {
    if (isa<MemRefType>(operand.getType()) && !map.contains(operand)) {
      // A buffer that only this value reads.
      kernel.operands.push_back(operand);
      map.map(operand,
              function.getBody().addArgument(LLVM::LLVMPointerType::get(op->getContext(), kGlobalSpace), op->getLoc()));
      continue;
    }
    if (failed(capture(operand)))
      return failure();
  }
  cloneOp(*producer, {});
  return success();
}

Kernel KernelWriter::finish() {
  b.setInsertionPointToEnd(&function.getBody().back());
  LLVM::ReturnOp::create(b, ValueRange());
  // Buffers of captured values came after the function's type.
  SmallVector<Type> inputs(function.getBody().getArgumentTypes());
  function.setFunctionType(LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(op->getContext()), inputs));
  auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
  for (auto i = unsigned(kernel.operands.size()); i < inputs.size(); ++i) { // tensor maps
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
  }
  StringRef threads = function->hasAttr(NVVM::NVVMDialect::getMinctasmAttrName())
                          ? NVVM::NVVMDialect::getReqntidAttrName()
                          : NVVM::NVVMDialect::getMaxntidAttrName();
  function->setAttr(threads, b.getDenseI32ArrayAttr({int32_t(kernel.threads), 1, 1}));
  if (kernel.sharedBytes)
    function->setAttr(kSharedBytesAttr, b.getI64IntegerAttr(kernel.sharedBytes));
  return std::move(kernel);
}

void KernelWriter::takeAllRegisters() {
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
}

Value KernelWriter::thread() {
  auto range = LLVM::ConstantRangeAttr::get(op->getContext(), llvm::APInt(32, 0), llvm::APInt(32, kernel.threads));
  return NVVM::ThreadIdXOp::create(b, b.getI32Type(), range);
}
Value KernelWriter::block() {
  int64_t blocks = std::min(kernel.blocks, kMostBlocks); // more are refused when the kernel has been built
  auto range = LLVM::ConstantRangeAttr::get(op->getContext(), llvm::APInt(32, 0), llvm::APInt(32, blocks));
  return NVVM::BlockIdXOp::create(b, b.getI32Type(), range);
}

Value KernelWriter::blockAgain() {
  return LLVM::InlineAsmOp::create(b, b.getI32Type(), ValueRange(), "mov.u32 $0, %ctaid.x;", "=r",
                                   /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

Value KernelWriter::threadsBelow(int64_t count) {
  Value number =
      arith::AddIOp::create(b, arith::MulIOp::create(b, asIndex(block()), index(kernel.threads)), asIndex(thread()));
  if (count == kernel.blocks * kernel.threads)
    return number;
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, index(count));
  auto guard = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
  b.setInsertionPointToStart(guard.thenBlock());
  return number;
}

SmallVector<Value> KernelWriter::delinearize(Value number, ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (size_t i = sizes.size(); i-- > 1;) {
    indices[i] = arith::RemUIOp::create(b, number, index(sizes[i]));
    number = arith::DivUIOp::create(b, number, index(sizes[i]));
  }
  if (!indices.empty())
    indices[0] = number;
  return indices;
}

Value KernelWriter::address(Value memref, ValueRange indices) {
  auto type = cast<MemRefType>(memref.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  Value place = index(offset);
  for (auto [number, stride] : llvm::zip(indices, strides))
    place = arith::AddIOp::create(b, place, arith::MulIOp::create(b, number, index(stride)));
  Value number = arith::IndexCastOp::create(b, b.getI64Type(), place);
  Value base = map.lookup(memref);
  return LLVM::GEPOp::create(b, base.getType(), type.getElementType(), base, ValueRange(number));
}

Value KernelWriter::tensorMap(KernelTensorMap map) {
  kernel.maps.push_back(std::move(map));
  return function.getBody().addArgument(LLVM::LLVMPointerType::get(op->getContext()), op->getLoc());
}

static Type accessType(Value memref, int64_t width) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  return width == 1 ? element : VectorType::get({width}, element);
}

static unsigned accessBytes(Value memref, int64_t width) {
  return unsigned(width * llvm::divideCeil(cast<MemRefType>(memref.getType()).getElementTypeBitWidth(), 8));
}

Value KernelWriter::load(Value memref, ValueRange indices, int64_t width) {
  return LLVM::LoadOp::create(b, accessType(memref, width), address(memref, indices), accessBytes(memref, width));
}

void KernelWriter::store(Value value, Value memref, ValueRange indices, int64_t width) {
  LLVM::StoreOp::create(b, value, address(memref, indices), accessBytes(memref, width));
}

Value KernelWriter::sharedArray(int64_t elements) {
  std::string name = kernel.name + "_shared" + std::to_string(sharedArrays++);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(kernels.getBody());
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getF32Type(), elements), /*isConstant=*/false,
                           LLVM::Linkage::Internal, name, Attribute(), /*alignment=*/16, kSharedSpace);
  }
  return LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace), name);
}

Value KernelWriter::sharedPlace(Value array, Value number) {
  if (isa<IndexType>(number.getType()))
    number = arith::IndexCastUIOp::create(b, b.getI32Type(), number);
  return LLVM::GEPOp::create(b, array.getType(), b.getF32Type(), array, ValueRange(number));
}

SmallVector<Value> KernelWriter::place(linalg::LinalgOp loops, OpOperand &operand, ValueRange dims) {
  SmallVector<Value> indices;
  for (AffineExpr expression : loops.getMatchingIndexingMap(&operand).getResults())
    indices.push_back(affine::expandAffineExpr(b, b.getLoc(), expression, dims, {}));
  return indices;
}

void KernelWriter::cloneOp(Operation &inner, ValueRange dims) {
  auto mapped = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return map.lookupOrDefault(value); });
  };
  if (auto index = dyn_cast<linalg::IndexOp>(inner))
    return map.map(index.getResult(), dims[index.getDim()]);
  if (auto read = dyn_cast<memref::LoadOp>(inner))
    return map.map(read.getResult(), load(read.getMemref(), mapped(read.getIndices())));
  if (auto write = dyn_cast<memref::StoreOp>(inner))
    return store(map.lookup(write.getValue()), write.getMemref(), mapped(write.getIndices()));
  if (inner.getNumRegions() == 0) {
    b.clone(inner, map);
    return;
  }
  // An op with regions: itself without them, then their blocks.
  Operation *outer = b.cloneWithoutRegions(inner, map);
  OpBuilder::InsertionGuard guard(b);
  for (auto [from, to] : llvm::zip(inner.getRegions(), outer->getRegions()))
    for (Block &block : from) {
      SmallVector<Location> places(block.getNumArguments(), inner.getLoc());
      b.createBlock(&to, to.end(), block.getArgumentTypes(), places);
      for (auto [a, c] : llvm::zip(block.getArguments(), to.back().getArguments()))
        map.map(a, c);
      clone(block, dims);
      b.clone(*block.getTerminator(), map);
    }
}

void KernelWriter::clone(Block &block, ValueRange dims) {
  for (Operation &inner : block.without_terminator())
    cloneOp(inner, dims);
}

} // namespace mlir::ppc::cuda
