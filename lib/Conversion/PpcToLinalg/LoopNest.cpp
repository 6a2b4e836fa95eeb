// The emission of linalg.generic that all families share.
#include "LoopNest.h"

#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {

Value ScalarBuilder::number(Type type, double value) {
  return arith::ConstantOp::create(*this, cast<TypedAttr>(getFloatAttr(type, value)));
}

Value ScalarBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }

Value ScalarBuilder::accumulate(Value a, Value b) {
  return arith::AddFOp::create(*this, a, b, arith::FastMathFlags::contract | arith::FastMathFlags::reassoc);
}

Value ScalarBuilder::sigmoid(Value x) {
  Value one = number(x.getType(), 1);
  return div(one, add(one, exp(arith::NegFOp::create(*this, x))));
}

Value convertFloat(ScalarBuilder &builder, Value value, Type type) {
  if (value.getType() == type || !isa<FloatType>(value.getType()))
    return value;
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(builder, type, value);
  if (from == to) // f16 and bf16
    value = arith::ExtFOp::create(builder, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, type, value);
}

SmallVector<Value> loopNest(ScalarBuilder &builder, ArrayRef<Access> ins, ArrayRef<Access> outs,
                            ArrayRef<int64_t> reductions, LoopBody body) {
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  for (const Access &access : ins) {
    inputs.push_back(access.tensor);
    maps.push_back(access.map);
  }
  for (const Access &access : outs) {
    inits.push_back(access.tensor);
    maps.push_back(access.map);
  }
  SmallVector<utils::IteratorType> iterators(maps.back().getNumDims(), utils::IteratorType::parallel);
  for (int64_t loop : reductions)
    iterators[loop] = utils::IteratorType::reduction;
  auto generic = linalg::GenericOp::create(builder, ValueRange(inits).getTypes(), inputs, inits, maps, iterators,
                                           [&](OpBuilder &nested, Location loc, ValueRange arguments) {
                                             ScalarBuilder scalars(loc, nested);
                                             auto elements = llvm::map_to_vector(arguments, [&](Value element) {
                                               return convertFloat(scalars, element, sumType(element.getType()));
                                             });
                                             SmallVector<Value> results = body(scalars, elements);
                                             for (auto [result, init] : llvm::zip_equal(results, inits))
                                               result =
                                                   convertFloat(scalars, result, tensorType(init).getElementType());
                                             linalg::YieldOp::create(nested, loc, results);
                                           });
  return llvm::to_vector_of<Value>(generic.getResults());
}

Value mapLoops(ScalarBuilder &builder, RankedTensorType type, ArrayRef<Access> ins,
               function_ref<Value(ScalarBuilder &, ValueRange)> body) {
  Access out{emptyTensor(builder, type), allLoops(builder, type.getRank())};
  return loopNest(builder, ins, out, {},
                  [&](ScalarBuilder &b, ValueRange v) { return SmallVector<Value>{body(b, v)}; })[0];
}

Value convertTensor(ScalarBuilder &builder, Value x, Type element) {
  RankedTensorType type = tensorType(x);
  if (type.getElementType() == element)
    return x;
  return mapLoops(builder, withElement(type, element), Access{x, allLoops(builder, type.getRank())},
                  [](ScalarBuilder &, ValueRange v) { return v[0]; });
}

Value emptyTensor(ScalarBuilder &builder, RankedTensorType type) {
  return tensor::EmptyOp::create(builder, type.getShape(), type.getElementType());
}

Value filledTensor(ScalarBuilder &builder, RankedTensorType type, double value) {
  Value scalar = builder.number(type.getElementType(), value);
  return linalg::FillOp::create(builder, scalar, emptyTensor(builder, type)).getResult(0);
}

AffineMap allLoops(ScalarBuilder &builder, int64_t loops) { return builder.getMultiDimIdentityMap(loops); }

AffineMap someLoops(ScalarBuilder &builder, int64_t loops, ArrayRef<int64_t> which) {
  SmallVector<AffineExpr> results;
  for (int64_t loop : which)
    results.push_back(builder.getAffineDimExpr(loop));
  return AffineMap::get(loops, 0, results, builder.getContext());
}

AffineMap firstLoops(ScalarBuilder &builder, int64_t loops, int64_t count) {
  return someLoops(builder, loops, llvm::to_vector(llvm::seq<int64_t>(0, count)));
}

bool hasPadding(Operation *op, BlockAttr block, int64_t local) {
  // Without a plan the ranks are as many as the size that is given needs, here one more than the blocks: there may be.
  return local * groupSize(op, block.getAxes(), block.getExtent() + local, local) != block.getExtent();
}

Value blockStart(ScalarBuilder &builder, Operation *op, ArrayAttr axes, int64_t local) {
  if (axes.empty())
    return builder.index(0);
  FlatSymbolRefAttr group = ppcrt::findOrAddGroup(op->getParentOfType<ModuleOp>(), axes);
  Value coordinate = ppcrt::CoordinateOp::create(builder, builder.getIndexType(), group);
  return arith::MulIOp::create(builder, coordinate, builder.index(local));
}

} // namespace mlir::ppc
