// Templates of whole models for tests.
#include "TemplateModels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cassert>

namespace mlir::ppc::test {

TemplateBuilder::TemplateBuilder(std::string name, std::vector<std::pair<char, int64_t>> sizes)
    : sizes(std::move(sizes)) {
  layer.name = std::move(name);
}

int64_t TemplateBuilder::size(char letter) const {
  for (auto [known, size] : sizes)
    if (known == letter)
      return size;
  assert(false && "a dimension label without a size");
  return 1;
}

int TemplateBuilder::value(const std::string &name, const std::string &letters, TemplateValueKind kind, bool gradient) {
  TemplateValue &value = layer.values.emplace_back();
  value.name = name;
  value.kind = kind;
  value.hasGradient = gradient;
  for (char letter : letters)
    value.shape.push_back(size(letter));
  int number = int(layer.values.size()) - 1;
  if (kind == TemplateValueKind::Boundary)
    layer.inputs.push_back(number);
  return number;
}

int TemplateBuilder::boundary(const std::string &name, const std::string &letters) {
  return value(name, letters, TemplateValueKind::Boundary);
}
int TemplateBuilder::parameter(const std::string &name, const std::string &letters) {
  return value(name, letters, TemplateValueKind::Parameter);
}

TemplateOp &TemplateBuilder::start(const std::string &name, const std::vector<std::pair<int, std::string>> &operands,
                                   const std::string &result, const std::string &fixed) {
  int made = value(name, result, TemplateValueKind::Computed);
  TemplateOp &op = layer.ops.emplace_back();
  op.name = name;
  std::string letters;
  auto factorsOf = [&](const std::string &text) {
    DimFactors dims;
    for (char letter : text) {
      size_t at = letters.find(letter);
      if (at == std::string::npos) {
        at = letters.size();
        letters += letter;
        op.factors.push_back({std::string(1, letter), size(letter), fixed.find(letter) != std::string::npos});
      }
      dims.push_back(int(at));
    }
    return dims;
  };
  for (const auto &[operand, text] : operands) {
    op.operands.push_back(operand);
    op.operandFactors.push_back(factorsOf(text));
  }
  op.results = {made};
  op.resultFactors = {factorsOf(result)};
  op.savedOperands.assign(operands.size(), true);
  op.savedResults = {false};
  return op;
}

int TemplateBuilder::product(const std::string &name, const std::string &spec, int left, int right) {
  size_t comma = spec.find(','), arrow = spec.find("->");
  TemplateOp &op = start(name, {{left, spec.substr(0, comma)}, {right, spec.substr(comma + 1, arrow - comma - 1)}},
                         spec.substr(arrow + 2), "");
  op.kernel = TemplateKernel::Product;
  return op.results.front();
}

int TemplateBuilder::pointwise(const std::string &name, const std::string &letters, std::vector<int> operands,
                               bool linear, const std::string &fixed) {
  std::vector<std::pair<int, std::string>> list;
  for (int operand : operands)
    list.push_back({operand, letters});
  TemplateOp &op = start(name, list, letters, fixed);
  if (linear) {
    for (size_t i = 0; i < operands.size(); ++i)
      op.linearOperands.push_back(int(i));
    op.savedOperands.assign(operands.size(), false);
  }
  return op.results.front();
}

int TemplateBuilder::stream(const std::string &name, std::vector<std::pair<int, std::string>> operands,
                            const std::string &result, const std::string &fixed, Combiner combiner) {
  TemplateOp &op = start(name, operands, result, fixed);
  for (TemplateFactor &factor : op.factors)
    factor.combiner = combiner;
  return op.results.front();
}

int TemplateBuilder::attention(const std::string &name, int q, int k, int v) {
  TemplateOp &op = start(name, {{q, "bskgd"}, {k, "btkd"}, {v, "btkd"}}, "bskgd", "std");
  op.kernel = TemplateKernel::Attention;
  op.attention = {0, 1, 2, 3, 4, 5, true};
  op.savedResults = {true};
  return op.results.front();
}

OpTemplate TemplateBuilder::finish(std::vector<int> outputs) {
  layer.outputs = std::move(outputs);
  return layer;
}

TemplateChain denseChain(const DenseModel &model) {
  std::vector<std::pair<char, int64_t>> sizes = {{'b', model.batch},
                                                 {'s', model.sequence},
                                                 {'t', model.sequence},
                                                 {'h', model.hidden},
                                                 {'f', model.ffn},
                                                 {'k', model.kvHeads},
                                                 {'g', model.heads / model.kvHeads},
                                                 {'d', model.headDim},
                                                 {'v', model.vocab}};
  std::vector<OpTemplate> layers;
  TemplateBuilder embedding("embedding", sizes);
  int ids = embedding.value("ids", "bs", TemplateValueKind::Input, false);
  int table = embedding.parameter("table", "vh");
  int rows = embedding.stream("embed", {{table, "vh"}, {ids, "bs"}}, "bsh");
  layers.push_back(embedding.finish({rows}));
  TemplateBuilder b("decoder", sizes);
  int x = b.boundary("x", "bsh");
  int n1 = b.stream("norm1", {{x, "bsh"}, {b.parameter("norm1.weight", "h"), "h"}}, "bsh", "h");
  int q = b.product("q", "bsh,kgdh->bskgd", n1, b.parameter("wq", "kgdh"));
  int k = b.product("k", "bth,kdh->btkd", n1, b.parameter("wk", "kdh"));
  int v = b.product("v", "bth,kdh->btkd", n1, b.parameter("wv", "kdh"));
  int qr = b.pointwise("rotary q", "bskgd", {q}, true, "sd");
  int kr = b.pointwise("rotary k", "btkd", {k}, true, "td");
  int o = b.attention("attention", qr, kr, v);
  int a = b.product("o", "bskgd,hkgd->bsh", o, b.parameter("wo", "hkgd"));
  int x1 = b.pointwise("add1", "bsh", {x, a}, true);
  int n2 = b.stream("norm2", {{x1, "bsh"}, {b.parameter("norm2.weight", "h"), "h"}}, "bsh", "h");
  int gate = b.product("gate", "bsh,fh->bsf", n2, b.parameter("wg", "fh"));
  int up = b.product("up", "bsh,fh->bsf", n2, b.parameter("wu", "fh"));
  int act = b.pointwise("silu", "bsf", {gate}, false);
  int m = b.pointwise("mul", "bsf", {act, up}, false);
  int down = b.product("down", "bsf,hf->bsh", m, b.parameter("wd", "hf"));
  int x2 = b.pointwise("add2", "bsh", {x1, down}, true);
  OpTemplate decoder = b.finish({x2});
  if (model.positional)
    for (TemplateOp &op : decoder.ops)
      if (llvm::StringRef(op.name).starts_with("rotary"))
        op.factors[op.operandFactors.front()[1]].plannedOnly = true;
  for (int64_t i = 0; i < model.layers; ++i)
    layers.push_back(decoder);
  TemplateBuilder head("head", sizes);
  int in = head.boundary("x", "bsh");
  int normed = head.stream("norm", {{in, "bsh"}, {head.parameter("norm.weight", "h"), "h"}}, "bsh", "h");
  int logits = head.product("logits", "bsh,vh->bsv", normed, head.parameter("head", "vh"));
  int lse = head.stream("lse", {{logits, "bsv"}}, "bs", "", Combiner::LogSumExp);
  int targets = head.value("targets", "bs", TemplateValueKind::Input, false);
  int picked = head.stream("pick", {{logits, "bsv"}, {targets, "bs"}}, "bs");
  int nll = head.pointwise("nll", "bs", {lse, picked}, true);
  head.stream("loss", {{nll, "bs"}}, "");
  layers.push_back(head.finish({}));
  return foldLayers(std::move(layers));
}

TemplateChain twoTowerChain(int64_t layerCount, int64_t tokens, int64_t hidden, int64_t wide, int64_t narrow) {
  std::vector<std::pair<char, int64_t>> sizes = {{'t', tokens}, {'h', hidden}, {'w', wide}, {'n', narrow}};
  std::vector<OpTemplate> layers;
  TemplateBuilder first("input", sizes);
  int data = first.value("data", "th", TemplateValueKind::Input, false);
  int scaled = first.stream("scale", {{data, "th"}, {first.parameter("scale.weight", "h"), "h"}}, "th");
  layers.push_back(first.finish({scaled}));
  TemplateBuilder b("towers", sizes);
  int x = b.boundary("x", "th");
  int u1 = b.product("up1", "th,wh->tw", x, b.parameter("u1", "wh"));
  int a1 = b.pointwise("f", "tw", {u1}, false);
  int a2 = b.pointwise("gate1", "tw", {a1, u1}, false);
  int a3 = b.pointwise("gate2", "tw", {a2, a1}, false);
  int y1 = b.product("down1", "tw,hw->th", a3, b.parameter("w1", "hw"));
  int u2 = b.product("up2", "th,nh->tn", x, b.parameter("u2", "nh"));
  int g = b.pointwise("g", "tn", {u2}, false);
  int y2 = b.product("down2", "tn,hn->th", g, b.parameter("w2", "hn"));
  int sum = b.pointwise("towers", "th", {y1, y2}, true);
  int out = b.pointwise("residual", "th", {x, sum}, true);
  OpTemplate layer = b.finish({out});
  for (int64_t i = 0; i < layerCount; ++i)
    layers.push_back(layer);
  TemplateBuilder last("loss", sizes);
  int in = last.boundary("x", "th");
  int square = last.pointwise("square", "th", {in, in}, false);
  last.stream("sum", {{square, "th"}}, "");
  layers.push_back(last.finish({}));
  return foldLayers(std::move(layers));
}

} // namespace mlir::ppc::test
