// How a model's parameters lie in files of weights: under which names, in which shapes, in how many tensors. The
// compiler's importer knows and writes it into the manifest; nothing here knows a model.
#pragma once

#include "runtime/core/JsonValue.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ppcrt {

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

  int64_t size() const;
  std::string name(int64_t index) const;
};

// Parts that cover a parameter exactly.
using WeightParts = std::vector<WeightPart>;

struct WeightMap {
  std::vector<std::vector<WeightParts>> parameters; // [parameter]: the ways to store it; the first is written
  std::string optionalPrefix;                       // files may leave it out of all names
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
