// How a model's parameters lie in files of weights: under which names, in which shapes, in how many tensors. The
// compiler's importer knows and writes it into the manifest; nothing here knows a model.
#pragma once

#include "runtime/files/JsonValue.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ppcrt {

// Where the elements of a part are in a tensor whose dimensions are in another order, as transposed or interleaved
// ones are: element (i0, i1, ...) of a row-major array of `sizes` is the tensor's element sum of i_k * strides_k.
struct ElementOrder {
  std::vector<int64_t> sizes, strides; // empty: in the same order

  bool isSame() const { return sizes.empty(); }
  int64_t position(int64_t element) const;
  // Elements from `element` on whose positions are strides.back() apart.
  int64_t runLength(int64_t element) const { return sizes.back() - element % sizes.back(); }
};

// Tensors that hold a part of a parameter each: number i of `count` is called `tensor` with i in place of "*", and its
// elements are, in order, those of the parameter from `offset + i * step` on (row-major, in elements). Of a tensor that
// holds several parameters, these are `elements` of its elements, from `first` on.
struct WeightPart {
  std::string tensor;
  std::vector<int64_t> shape; // of each tensor, in the file
  int64_t offset = 0;
  int64_t count = 1;
  int64_t step = 0;
  int64_t first = 0, elements = 0; // 0 elements: all of the tensor
  ElementOrder order = {};
  // Where several orders have the same shape, another tensor tells: the part is in this order if that has this shape.
  std::string companion = {};
  std::vector<int64_t> companionShape = {};

  int64_t size() const;
  std::string name(int64_t index) const;
};

// Parts that cover a parameter exactly.
using WeightParts = std::vector<WeightPart>;

struct WeightMap {
  // [parameter]: the ways to store it; the first is written, so it holds elements in the parameter's order.
  std::vector<std::vector<WeightParts>> parameters;
  std::string optionalPrefix;       // files may leave it out of all names
  std::vector<std::string> ignored; // patterns of tensors that may be there and are not read; "*" is any text
  std::string config;               // the text of the model's config.json; empty when it has none
  // Keys of a config.json that decide what the weights compute, by path ("rope_scaling.factor"), and what each means
  // where it is absent, as JSON; null: it must be there.
  std::map<std::string, std::string> configKeys;
  std::vector<bool> unrounded; // [parameter]: f32 also in files whose other tensors are rounded
  int64_t paddingToken = -1;   // whose embedding the reference does not train; -1: none

  bool isIgnored(const std::string &tensor) const;
};

struct Parameter;

// Reads manifest["weights"] and manifest["config"]; a parameter that is not mentioned is stored under its name in its
// shape. Throws InputError naming the key, also when parts do not cover their parameter exactly.
WeightMap readWeightMap(const JsonValue &manifest, const std::vector<Parameter> &parameters);

// Whether `text` matches `pattern`, whose "*" stand for any text, the empty one included.
bool matches(std::string_view pattern, std::string_view text);

} // namespace ppcrt
