// What the models share: embedding, the residual stream, norms, head, loss; arguments and small ops.
#include "ModelBuilder.h"

namespace mlir::ppc {

ModelBuilder::ModelBuilder(const ModelConfig &config, const HuggingFaceOptions &options, MLIRContext &context)
    : config(config), shape(config.shape), names(parameterNames(config.modelType)), batch(options.globalBatch),
      sequence(options.sequenceLength), capacity(options.sequenceLength), builder(&context),
      loc(UnknownLoc::get(&context)), frequencies(rotaryFrequencies(config, options.sequenceLength)) {
  if (options.expertCapacityFactor > 0 && shape.moe)
    capacity = std::min<int64_t>(sequence, std::ceil(options.expertCapacityFactor * double(sequence) *
                                                     double(shape.moe.topK) / double(shape.moe.experts)));
}

OwningOpRef<ModuleOp> ModelBuilder::build() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc, shape.family);
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, loc, "loss", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());

  Value ids = addInput("ids"), targets = addInput("targets");
  Value x = embed(ids);
  for (int64_t index = 0; index < shape.layers; ++index)
    x = decoderLayer(x, index);
  startLayer(names.lastNorm);
  x = norm(x, names.lastNorm.str());
  if (shape.tiedEmbeddings) // some files keep the head's name
    for (StringRef name : {names.embedding, names.head})
      storedAs(names.embedding.str() + ".weight", {weightPart(name + ".weight", {shape.vocab, shape.hidden})});
  Value head = shape.tiedEmbeddings
                   ? Value(function.getArgument(2))
                   : matrix(names.head.str() + ".weight", {{"vocab", shape.vocab}, {"hidden", shape.hidden}});
  at(names.head);
  Value mean = lossOf(matmul("bsh,vh->bsv", x, head), targets);

  func::ReturnOp::create(builder, loc, mean);
  function.setFunctionType(builder.getFunctionType(function.front().getArgumentTypes(), mean.getType()));
  function.setAllArgAttrs(argumentAttributes);
  module.get()->setAttr("ppc.weights", weightMap());
  return module;
}

Value ModelBuilder::embed(Value ids) {
  Value table = matrix(names.embedding.str() + ".weight", {{"vocab", shape.vocab}, {"hidden", shape.hidden}});
  startLayer(names.embedding);
  auto type = tensorOf({batch, sequence, shape.hidden});
  Value x = create<EmbeddingOp>(type, table, ids, BlockAttr());
  if (config.embeddingScale != 1)
    x = create<ScaleOp>(type, x, builder.getF64FloatAttr(config.embeddingScale));
  if (shape.position == PositionKind::Learned) {
    Value positions =
        matrix(names.positions.str() + ".weight", {{"positions", shape.maxPositions}, {"hidden", shape.hidden}});
    at(names.positions);
    auto order = llvm::to_vector(llvm::seq<int32_t>(0, sequence));
    Value places = create<ConstantOp>(
        DenseElementsAttr::get(RankedTensorType::get({sequence}, builder.getI32Type()), ArrayRef<int32_t>(order)));
    Value rows = create<EmbeddingOp>(tensorOf({sequence, shape.hidden}), positions, places, BlockAttr());
    x = add(x, repeat(rows, type.getShape(), {0}));
  }
  return shape.embeddingNorm ? norm(x, names.embeddingNorm.str()) : x;
}

Value ModelBuilder::decoderLayer(Value x, int64_t index) {
  std::string name = names.layer.str() + "." + std::to_string(index), ffnName = name + "." + names.ffn.str();
  startLayer(name);
  Value attended =
      attention(norm(x, name + "." + names.attentionNorm.str()), name + "." + names.attention.str(), index);
  at(name);
  Value middle = add(x, attended);
  Value y = norm(shape.parallelResidual ? x : middle, name + "." + names.ffnNorm.str());
  storeOlderNorm(name, names.attentionNorm, names.olderAttentionNorm);
  storeOlderNorm(name, names.ffnNorm, names.olderFfnNorm);
  y = shape.hasExperts(index) ? experts(y, ffnName) : feedForward(y, ffnName, shape.ffn);
  at(name);
  return add(middle, y);
}

Value ModelBuilder::lossOf(Value logits, Value targets) {
  at("loss");
  auto perToken = tensorOf({batch, sequence});
  auto crossEntropy = create<CrossEntropyOp>(TypeRange{perToken, perToken}, logits, targets);
  auto combiner = CombinerAttr::get(builder.getContext(), Combiner::Sum);
  Value sum = create<ReduceOp>(tensorOf({}), combiner, crossEntropy.getNll(), builder.getDenseI64ArrayAttr({0, 1}));
  return create<ScaleOp>(tensorOf({}), sum, builder.getF64FloatAttr(1.0 / (double(batch) * double(sequence))));
}

Value ModelBuilder::norm(Value x, const std::string &name) {
  if (shape.norm == NormKind::RmsNorm)
    return rmsNorm(x, name, config.normEpsilon);
  Value weight = vector(name + ".weight", {{"hidden", shape.hidden}}, InitKind::Ones);
  Value bias = vector(name + ".bias", {{"hidden", shape.hidden}}, InitKind::Zeros);
  at(name);
  return create<LayerNormOp>(x.getType(), x, weight, bias, builder.getF64FloatAttr(config.normEpsilon));
}

Value ModelBuilder::rmsNorm(Value x, const std::string &name, double epsilon) {
  int64_t width = tensorType(x).getShape().back();
  StringRef dim = width == shape.hidden ? "hidden" : "normed";
  double offset = config.normWeightOffset;
  Value weight = vector(name + ".weight", {{dim, width}}, offset ? InitKind::Zeros : InitKind::Ones);
  at(name);
  if (offset)
    weight = add(weight, create<ConstantOp>(DenseElementsAttr::get(tensorType(weight), float(offset))));
  return create<RmsNormOp>(x.getType(), x, weight, builder.getF64FloatAttr(epsilon));
}

//===---- Arguments ----===//

double ModelBuilder::residualScale() const {
  return shape.family == "gpt2" ? 1 / std::sqrt(2.0 * double(shape.layers)) : 1;
}

Value ModelBuilder::matrix(const std::string &name, ArrayRef<Dimension> dims, unsigned rowDims, double scale) {
  if (dims.size() > 2 && rowDims) {
    int64_t sizes[] = {1, 1};
    for (auto [index, dim] : llvm::enumerate(dims))
      sizes[index >= rowDims] *= dim.extent;
    storedAs(name, {weightPart(name, sizes)});
  }
  auto normal =
      InitAttr::get(builder.getContext(), InitKind::Normal, builder.getF64FloatAttr(scale * config.initializerRange));
  return addArgument(attr::parameter, name, dims, builder.getF32Type(), {builder.getNamedAttr(attr::init, normal)});
}

Value ModelBuilder::frozenMatrix(const std::string &name, ArrayRef<Dimension> dims) {
  Value value = matrix(name, dims);
  NamedAttrList attributes(argumentAttributes.back());
  attributes.set(attr::noWeightDecay, builder.getUnitAttr());
  argumentAttributes.back() = attributes.getDictionary(builder.getContext());
  return value;
}

Value ModelBuilder::vector(const std::string &name, ArrayRef<Dimension> dims, InitKind init) {
  auto attribute = InitAttr::get(builder.getContext(), init, builder.getF64FloatAttr(0));
  if (dims.size() > 1) {
    int64_t size = 1;
    for (const Dimension &dim : dims)
      size *= dim.extent;
    storedAs(name, {weightPart(name, {size})});
  }
  return addArgument(
      attr::parameter, name, dims, builder.getF32Type(),
      {builder.getNamedAttr(attr::init, attribute), builder.getNamedAttr(attr::noWeightDecay, builder.getUnitAttr())});
}

Value ModelBuilder::addInput(StringRef name) {
  return addArgument(attr::input, name, {{"batch", batch}, {"sequence", sequence}}, builder.getI32Type(), {});
}

Value ModelBuilder::addArgument(StringRef role, StringRef name, ArrayRef<Dimension> dims, Type elementType,
                                SmallVector<NamedAttribute> attributes) {
  SmallVector<int64_t> extents;
  SmallVector<StringRef> dimNames;
  for (const Dimension &dim : dims) {
    extents.push_back(dim.extent);
    dimNames.push_back(dim.name);
  }
  attributes.push_back(builder.getNamedAttr(role, builder.getStringAttr(name)));
  attributes.push_back(builder.getNamedAttr(attr::dims, builder.getStrArrayAttr(dimNames)));
  argumentAttributes.push_back(builder.getDictionaryAttr(attributes));
  return function.front().addArgument(RankedTensorType::get(extents, elementType),
                                      NameLoc::get(builder.getStringAttr(name)));
}

//===---- Ops ----===//

Value ModelBuilder::repeat(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  return create<BroadcastOp>(withShape(tensorType(x), shape), x, dims);
}

Value ModelBuilder::addBias(Value x, Value bias) {
  RankedTensorType type = tensorType(x);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - tensorType(bias).getRank()));
  return add(x, repeat(bias, type.getShape(), dims));
}

SmallVector<Value> ModelBuilder::split(Value x, int64_t dim, ArrayRef<int64_t> sizes) {
  SmallVector<Type> types;
  for (int64_t size : sizes) {
    SmallVector<int64_t> part(tensorType(x).getShape());
    part[dim] = size;
    types.push_back(withShape(tensorType(x), part));
  }
  auto op = create<SplitOp>(TypeRange(types), x, builder.getI64IntegerAttr(dim));
  return llvm::to_vector_of<Value>(op.getParts());
}

} // namespace mlir::ppc
