// How files of weights store the parameters, where it is not one tensor of the same name and shape.
#include "ModelBuilder.h"

namespace mlir::ppc {

Attribute ModelBuilder::weightPart(const llvm::Twine &tensor, ArrayRef<int64_t> shape, int64_t offset, int64_t count,
                                   int64_t step) {
  SmallVector<NamedAttribute> fields = {builder.getNamedAttr("tensor", builder.getStringAttr(tensor)),
                                        builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr(shape))};
  if (offset)
    fields.push_back(builder.getNamedAttr("offset", builder.getI64IntegerAttr(offset)));
  if (count) {
    fields.push_back(builder.getNamedAttr("count", builder.getI64IntegerAttr(count)));
    fields.push_back(builder.getNamedAttr("step", builder.getI64IntegerAttr(step)));
  }
  return builder.getDictionaryAttr(fields);
}

Attribute ModelBuilder::stackedPart(StringRef tensor, ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes,
                                    StringRef companion, ArrayRef<int64_t> companionShape) {
  SmallVector<NamedAttribute> fields = {
      builder.getNamedAttr("tensor", builder.getStringAttr(tensor)),
      builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr(shape)),
      builder.getNamedAttr("companion", builder.getStringAttr(companion)),
      builder.getNamedAttr("companion_shape", builder.getDenseI64ArrayAttr(companionShape))};
  if (!sizes.empty()) {
    int64_t strides[] = {shape[1] * shape[2], 1, shape[2]};
    fields.push_back(builder.getNamedAttr("sizes", builder.getDenseI64ArrayAttr(sizes)));
    fields.push_back(builder.getNamedAttr("strides", builder.getDenseI64ArrayAttr(strides)));
  }
  return builder.getDictionaryAttr(fields);
}

void ModelBuilder::storedAs(const std::string &parameter, ArrayRef<Attribute> parts) {
  stored[builder.getStringAttr(parameter)].push_back(builder.getArrayAttr(parts));
}

void ModelBuilder::storedInRows(const std::string &parameter, const llvm::Twine &tensor, int64_t rows, int64_t first,
                                int64_t count) {
  storedAs(parameter, {builder.getDictionaryAttr(
                          {builder.getNamedAttr("tensor", builder.getStringAttr(tensor)),
                           builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr({rows, shape.hidden})),
                           builder.getNamedAttr("first", builder.getI64IntegerAttr(first * shape.hidden)),
                           builder.getNamedAttr("elements", builder.getI64IntegerAttr(count * shape.hidden))})});
}

/// Published files have the tensors of each expert; the reference keeps them stacked in memory and may save them so.
void ModelBuilder::storeExperts(const std::string &name) {
  const ExpertShape &moe = shape.moe;
  std::string block = name;
  if (!names.storedExperts.empty()) {
    block = StringRef(name).drop_back(names.ffn.size()).str() + names.storedExperts.str();
    for (const std::string &where : {block, name})
      storedAs(name + ".gate.weight", {weightPart(where + ".gate.weight", {moe.experts, shape.hidden})});
  }
  auto each = [&](StringRef projection, ArrayRef<int64_t> sizes, int64_t offset, int64_t step) {
    return weightPart(block + ".experts.*." + projection + ".weight", sizes, offset, moe.experts, step);
  };
  int64_t inner[] = {moe.ffn, shape.hidden}, outer[] = {shape.hidden, moe.ffn}, size = moe.ffn * shape.hidden;
  std::string gateUp = name + ".experts.gate_up_proj", down = name + ".experts.down_proj";
  storedAs(gateUp, {each(names.expertGate, inner, 0, 2 * size), each(names.expertUp, inner, size, 2 * size)});
  storedAs(down, {each(names.expertDown, outer, 0, size)});
  if (names.transposedExperts)
    return storeStackedExperts(gateUp, down);
  storedAs(gateUp, {weightPart(gateUp, {moe.experts, 2 * moe.ffn, shape.hidden})});
  storedAs(down, {weightPart(down, {moe.experts, shape.hidden, moe.ffn})});
}

/// Published files have [experts, hidden, 2 ffn], first all gates and then all that they open, and [experts, ffn,
/// hidden]; newer versions of the reference write [experts, 2 ffn, hidden] and [experts, hidden, ffn]. If one of the
/// two tensors has the same shape either way, the other tells.
void ModelBuilder::storeStackedExperts(const std::string &gateUp, const std::string &down) {
  int64_t experts = shape.moe.experts, ffn = shape.moe.ffn, hidden = shape.hidden;
  int64_t gateUpRows[] = {experts, 2 * ffn, hidden}, downRows[] = {experts, hidden, ffn};
  int64_t gateUpColumns[] = {experts, hidden, 2 * ffn}, downColumns[] = {experts, ffn, hidden};
  auto store = [&](const std::string &tensor, ArrayRef<int64_t> rows, ArrayRef<int64_t> columns,
                   const std::string &other, ArrayRef<int64_t> otherRows, ArrayRef<int64_t> otherColumns) {
    storedAs(tensor, {stackedPart(tensor, rows, /*sizes=*/{}, other, otherRows)});
    storedAs(tensor, {stackedPart(tensor, columns, /*sizes=*/rows, other, otherColumns)});
  };
  store(gateUp, gateUpRows, gateUpColumns, down, downRows, downColumns);
  store(down, downRows, downColumns, gateUp, gateUpRows, gateUpColumns);
}

void ModelBuilder::storeOlderNorm(const std::string &layer, StringRef name, StringRef older) {
  if (older.empty())
    return;
  for (StringRef each : {name, older})
    storedAs(layer + "." + name.str() + ".weight", {weightPart(layer + "." + each + ".weight", {shape.hidden})});
}

DictionaryAttr ModelBuilder::configKeys() {
  SmallVector<NamedAttribute> keys;
  for (const auto &[key, value] : config.keys)
    keys.push_back(builder.getNamedAttr(key, builder.getStringAttr(value)));
  return builder.getDictionaryAttr(keys);
}

DictionaryAttr ModelBuilder::weightMap() {
  SmallVector<NamedAttribute> parameters;
  for (auto &[name, ways] : stored)
    parameters.push_back(NamedAttribute(name, builder.getArrayAttr(ways)));
  SmallVector<Attribute> ignored;
  for (StringRef pattern : names.ignoredTensors)
    ignored.push_back(builder.getStringAttr(pattern));
  for (int64_t index = 0; index < shape.predictionLayers; ++index)
    ignored.push_back(builder.getStringAttr(names.layer + "." + llvm::Twine(shape.layers + index) + ".*"));
  // Files of the bare model, without a head of its own, leave out the first part of the names.
  StringRef prefix = names.layer.take_front(names.layer.find('.') + 1);
  SmallVector<NamedAttribute> fields = {
      builder.getNamedAttr("optional_prefix", builder.getStringAttr(prefix)),
      builder.getNamedAttr("ignored", builder.getArrayAttr(ignored)),
      builder.getNamedAttr("config_keys", configKeys()),
      builder.getNamedAttr("parameters", builder.getDictionaryAttr(parameters)),
  };
  if (!unrounded.empty())
    fields.push_back(builder.getNamedAttr("unrounded", builder.getArrayAttr(unrounded)));
  if (config.paddingToken && !paddingRow)
    fields.push_back(builder.getNamedAttr("padding_token", builder.getI64IntegerAttr(*config.paddingToken)));
  return builder.getDictionaryAttr(fields);
}

} // namespace mlir::ppc
