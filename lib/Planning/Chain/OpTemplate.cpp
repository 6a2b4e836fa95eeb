// Templates: checks, fingerprints, folding.
#include "ppc/Planning/Chain/OpTemplate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>

namespace mlir::ppc {

double TemplateValue::elements() const {
  double product = 1;
  for (int64_t extent : shape)
    product *= double(extent);
  return product;
}

static llvm::Error refuse(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error OpTemplate::verify() const {
  auto fail = [&](const TemplateOp &op, const llvm::Twine &message) {
    return refuse("template '" + llvm::Twine(name) + "', op '" + op.name + "': " + message);
  };
  std::vector<bool> known(values.size());
  for (auto [isKnown, value] : llvm::zip_equal(known, values))
    isKnown = value.kind != TemplateValueKind::Computed;
  for (const TemplateOp &op : ops) {
    auto check = [&](llvm::ArrayRef<int> numbers, llvm::ArrayRef<DimFactors> tensors, bool results) -> llvm::Error {
      if (numbers.size() != tensors.size())
        return fail(op, llvm::Twine(numbers.size()) + " values, but the factors of " + llvm::Twine(tensors.size()));
      for (auto [number, dims] : llvm::zip_equal(numbers, tensors)) {
        if (number < 0 || number >= int(values.size()))
          return fail(op, "value " + llvm::Twine(number) + " of " + llvm::Twine(values.size()));
        const TemplateValue &value = values[number];
        if (dims.size() != value.shape.size())
          return fail(op, "'" + value.name + "' has " + llvm::Twine(value.shape.size()) + " dimensions, its factors " +
                              llvm::Twine(dims.size()));
        for (auto [factor, extent] : llvm::zip_equal(dims, value.shape))
          if (factor >= int(op.factors.size()) || (factor >= 0 && op.factors[factor].size != extent))
            return fail(op, "a dimension of '" + value.name + "' has " + llvm::Twine(extent) +
                                " elements, its factor does not");
        if (results == known[number])
          return fail(op, "'" + value.name + (results ? "' is computed twice" : "' is used before it is computed"));
      }
      return llvm::Error::success();
    };
    if (llvm::Error error = check(op.operands, op.operandFactors, false))
      return error;
    if (llvm::Error error = check(op.results, op.resultFactors, true))
      return error;
    for (int result : op.results)
      known[result] = true;
    if (op.savedOperands.size() != op.operands.size() || op.savedResults.size() != op.results.size())
      return fail(op, "one mark of what backward needs per operand and result");
  }
  for (int input : inputs)
    if (input < 0 || input >= int(values.size()) || values[input].kind != TemplateValueKind::Boundary)
      return refuse("template '" + name + "': input " + llvm::Twine(input) +
                    " is not a value from the template before");
  for (int output : outputs)
    if (output < 0 || output >= int(values.size()) || !known[output])
      return refuse("template '" + name + "': output " + llvm::Twine(output) + " is not computed");
  return llvm::Error::success();
}

std::string OpTemplate::fingerprint() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto list = [&](const auto &numbers) {
    stream << "[";
    for (auto number : numbers)
      stream << int64_t(number) << ",";
    stream << "]";
  };
  for (const TemplateValue &value : values) {
    stream << int(value.kind) << "/" << value.elementBytes << "/" << value.hasGradient << "/" << value.shared << "/"
           << value.sharers;
    list(value.shape);
  }
  for (const TemplateOp &op : ops) {
    stream << ";" << int(op.kernel) << op.name;
    for (const TemplateFactor &factor : op.factors)
      stream << "/" << factor.name << factor.size << factor.needsReplication << factor.plannedOnly
             << int(factor.combiner);
    for (const DimFactors &dims : op.operandFactors)
      list(dims);
    for (const DimFactors &dims : op.resultFactors)
      list(dims);
    for (const auto &numbers : {op.operands, op.results, op.linearOperands})
      list(numbers);
    list(op.savedOperands);
    list(op.savedResults);
    const AttentionFactors &roles = op.attention;
    list(std::vector<int64_t>{roles.batch, roles.queries, roles.kvHeads, roles.group, roles.headDim, roles.keys,
                              roles.causal, roles.valueDim, roles.window});
  }
  list(inputs);
  list(outputs);
  return text;
}

int64_t TemplateChain::layerCount() const {
  int64_t count = 0;
  for (const Segment &segment : segments)
    count += segment.count;
  return count;
}

llvm::Error TemplateChain::verify() const {
  for (const OpTemplate &layer : templates)
    if (llvm::Error error = layer.verify())
      return error;
  const OpTemplate *before = nullptr;
  for (const Segment &segment : segments) {
    if (segment.index < 0 || segment.index >= int(templates.size()) || segment.count < 1)
      return refuse("segment of template " + llvm::Twine(segment.index) + ", " + llvm::Twine(segment.count) + " times");
    const OpTemplate &layer = templates[segment.index];
    auto fits = [&](const OpTemplate &from) {
      return from.outputs.size() == layer.inputs.size() &&
             llvm::all_of(llvm::zip_equal(from.outputs, layer.inputs), [&](auto pair) {
               const TemplateValue &out = from.values[std::get<0>(pair)], &in = layer.values[std::get<1>(pair)];
               return out.shape == in.shape && out.elementBytes == in.elementBytes;
             });
    };
    if (before ? !fits(*before) : !layer.inputs.empty())
      return refuse("inputs of template '" + layer.name + "' do not match outputs of the template before it");
    if (segment.count > 1 && !fits(layer))
      return refuse("outputs of template '" + layer.name + "' do not match its inputs, though it repeats");
    before = &layer;
  }
  return llvm::Error::success();
}

TemplateChain foldLayers(std::vector<OpTemplate> layers) {
  TemplateChain chain;
  std::map<std::string, int> known;
  for (OpTemplate &layer : layers) {
    for (const TemplateValue &value : layer.values)
      chain.sharedParameters = std::max(chain.sharedParameters, value.shared + 1);
    auto [it, isNew] = known.try_emplace(layer.fingerprint(), int(chain.templates.size()));
    if (isNew)
      chain.templates.push_back(std::move(layer));
    if (!chain.segments.empty() && chain.segments.back().index == it->second)
      ++chain.segments.back().count;
    else
      chain.segments.push_back({it->second, 1});
  }
  return chain;
}

void cutDimension(TemplateChain &chain, int templateIndex, int value, int dim, int64_t parts) {
  // (template, value, dimension) and (template, op, factor) that are that dimension.
  using Place = std::tuple<int, int, int>;
  std::set<Place> dims, factors;
  std::vector<Place> work;
  auto reach = [&](int layer, int number, int dimension) {
    if (dims.insert({layer, number, dimension}).second)
      work.push_back({layer, number, dimension});
  };
  auto acrossBoundary = [&](int from, int to, int number, int dimension, bool forward) {
    const OpTemplate &before = chain.templates[from], &after = chain.templates[to];
    for (auto [out, in] : llvm::zip(before.outputs, after.inputs)) {
      if (forward && out == number)
        reach(to, in, dimension);
      if (!forward && in == number)
        reach(from, out, dimension);
    }
  };
  reach(templateIndex, value, dim);
  while (!work.empty()) {
    int layer = std::get<0>(work.back()), number = std::get<1>(work.back()), dimension = std::get<2>(work.back());
    work.pop_back();
    const OpTemplate &at = chain.templates[layer];
    for (size_t opNumber = 0; opNumber < at.ops.size(); ++opNumber) {
      const TemplateOp &op = at.ops[opNumber];
      auto tensors = [&](auto visit) {
        for (auto [other, factorsOf] : llvm::zip(op.operands, op.operandFactors))
          visit(other, factorsOf);
        for (auto [other, factorsOf] : llvm::zip(op.results, op.resultFactors))
          visit(other, factorsOf);
      };
      std::set<int> hit;
      tensors([&](int other, const DimFactors &factorsOf) {
        if (other == number && factorsOf[dimension] >= 0)
          hit.insert(factorsOf[dimension]);
      });
      for (int factor : hit) {
        factors.insert({layer, int(opNumber), factor});
        tensors([&](int other, const DimFactors &factorsOf) {
          for (auto [otherDim, otherFactor] : llvm::enumerate(factorsOf))
            if (otherFactor == factor)
              reach(layer, other, otherDim);
        });
      }
    }
    for (size_t i = 0; i < chain.segments.size(); ++i) {
      int here = chain.segments[i].index;
      if (i + 1 < chain.segments.size()) {
        int next = chain.segments[i + 1].index;
        if (here == layer)
          acrossBoundary(here, next, number, dimension, true);
        if (next == layer)
          acrossBoundary(here, next, number, dimension, false);
      }
      if (here == layer && chain.segments[i].count > 1) {
        acrossBoundary(here, here, number, dimension, true);
        acrossBoundary(here, here, number, dimension, false);
      }
    }
  }
  for (auto [layer, number, dimension] : dims) {
    int64_t &extent = chain.templates[layer].values[number].shape[dimension];
    extent = llvm::divideCeil(extent, parts);
  }
  for (auto [layer, op, factor] : factors) {
    TemplateFactor &loop = chain.templates[layer].ops[op].factors[factor];
    loop.size = llvm::divideCeil(loop.size, parts);
    loop.isData = true;
  }
}

} // namespace mlir::ppc
