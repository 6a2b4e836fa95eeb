// Weights in files: what is stacked, split or called otherwise is found by the manifest's map; what does not fit is
// named; no rank reads more than it keeps.
#include "runtime/weights/WeightFiles.h"
#include "runtime/base/Error.h"
#include "runtime/base/Random.h"
#include "test/Runtime/BigramProgram.h"
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>

using namespace ppcrt;
using namespace ppcrt::test;
using nlohmann::json;

namespace {

constexpr int64_t count = int64_t(vocabulary) * hidden;

struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  float first = 0; // values first, first + 1, ...
};

std::string tensorFile(const std::vector<Tensor> &tensors, const char *type = "F32") {
  json header;
  std::string data;
  for (const Tensor &tensor : tensors) {
    size_t begin = data.size();
    for (int64_t i = 0; i < elementCount(tensor.shape); ++i) {
      float value = tensor.first + float(i);
      data.append(reinterpret_cast<const char *>(&value), 4);
    }
    header[tensor.name] = {{"dtype", type}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  uint64_t size = text.size();
  return std::string(reinterpret_cast<const char *>(&size), 8) + text + data;
}

// A fresh folder of weights.
std::string makeFolder(const std::map<std::string, std::string> &files) {
  static int number = 0;
  std::string folder = temporaryPath("weights" + std::to_string(number++));
  std::filesystem::create_directories(folder);
  for (const auto &[name, content] : files)
    writeFile(folder + "/" + name, content);
  return folder;
}

Manifest manifestWith(const json &weights, int dp = 1, int tp = 1) {
  json manifest = json::parse(bigramManifest(1, dp, tp));
  if (!weights.is_null())
    manifest["weights"] = weights;
  return parseManifest(manifest.dump());
}

const Tensor e{"E", {vocabulary, hidden}, 1}, w{"W", {vocabulary, hidden}, 10000};

std::string errorOfWeights(const std::string &folder, const json &weights = nullptr) {
  try {
    WeightFiles files(folder, manifestWith(weights));
  } catch (const InputError &error) {
    std::string text = error.what();
    for (size_t at; (at = text.find(folder)) != std::string::npos;)
      text.replace(at, folder.size(), "D");
    return text;
  }
  return "";
}

std::vector<float> loaded(const WeightFiles &files, const Manifest &manifest, int64_t rank, const char *name,
                          int64_t *bytes = nullptr) {
  for (const Buffer &buffer : manifest.devices[0].buffers)
    if (buffer.role == Role::Parameter && buffer.name == name) {
      Block block(manifest.grid, rank, manifest.parameters[buffer.parameter].shape, buffer.cuts);
      std::vector<float> data(block.localCount(), 5);
      int64_t read = files.load(buffer, block, reinterpret_cast<std::byte *>(data.data()));
      if (bytes)
        *bytes += read;
      return data;
    }
  return {};
}

TEST(WeightFilesTest, ASingleFileAndAnIndexAreTheSame) {
  Manifest manifest = manifestWith(nullptr);
  std::string single = makeFolder({{"model.safetensors", tensorFile({e, w})}});
  json index = {{"metadata", {{"total_size", 1}}}, {"weight_map", {{"E", "a.safetensors"}, {"W", "b.safetensors"}}}};
  std::string several = makeFolder({{"model.safetensors.index.json", index.dump()},
                                    {"a.safetensors", tensorFile({e})},
                                    {"b.safetensors", tensorFile({w})}});
  for (const std::string &path :
       {single, single + "/model.safetensors", several, several + "/model.safetensors.index.json"}) {
    WeightFiles files(path, manifest);
    EXPECT_EQ(loaded(files, manifest, 0, "E")[7], 8);
    EXPECT_EQ(loaded(files, manifest, 0, "W").back(), 10000 + count - 1);
    EXPECT_EQ(files.bytes(), 2 * count * 4);
  }
}

TEST(WeightFilesTest, StackedPartsAndOtherNames) {
  json map = {{"optional_prefix", "body."},
              {"ignored", {"*.mask"}},
              {"parameters",
               {{"E",
                 {{{{"tensor", "body.rows.*.up"}, {"shape", {hidden}}, {"count", vocabulary}, {"step", hidden}}},
                  {{{"tensor", "body.table"}, {"shape", {vocabulary * hidden}}}}}}}}};
  Manifest manifest = manifestWith(map);
  std::vector<Tensor> tensors = {w, {"layer.0.mask", {3}}};
  for (int i = 0; i < vocabulary; ++i)
    tensors.push_back({"rows." + std::to_string(i) + ".up", {hidden}, float(100 * i)});
  WeightFiles files(makeFolder({{"model.safetensors", tensorFile(tensors)}}), manifest);
  std::vector<float> values = loaded(files, manifest, 0, "E");
  for (int64_t i = 0; i < count; ++i)
    EXPECT_EQ(values[i], float(i / hidden * 100 + i % hidden));
  WeightFiles other(makeFolder({{"model.safetensors", tensorFile({w, {"body.table", {count}, 3}})}}), manifest);
  EXPECT_EQ(loaded(other, manifest, 0, "E")[5], 8);
  tensors.pop_back();
  EXPECT_EQ(errorOfWeights(makeFolder({{"model.safetensors", tensorFile(tensors)}}), map),
            "D: 1 tensor of the model is missing: body.rows.130.up; the files hold W, layer.*, rows.* (130)");
}

// Two names of one parameter, as a tied head has them, and one tensor that nobody reads.
const json tied = {{"ignored", {"*.mask"}},
                   {"parameters",
                    {{"E",
                      {{{{"tensor", "E"}, {"shape", {vocabulary, hidden}}}},
                       {{{"tensor", "head"}, {"shape", {vocabulary, hidden}}}}}}}}};

TEST(WeightFilesTest, WhatIsThereTwiceMustBeEqual) {
  auto folder = [](float first) {
    return makeFolder({{"model.safetensors", tensorFile({e, w, {"head", {vocabulary, hidden}, first}})}});
  };
  EXPECT_EQ(errorOfWeights(folder(1), tied), "");
  EXPECT_EQ(errorOfWeights(folder(2), tied),
            "D/model.safetensors: the tensors \"E\" and \"head\" differ (1 and 2 at element 0), but they are one "
            "parameter of the program: compile it with \"tie_word_embeddings\": false where both are to be trained, or "
            "remove the one that does not count from the file");
  std::string last = tensorFile({e, w, {"head", {vocabulary, hidden}, 1}});
  last.back() ^= 1; // of the last value
  EXPECT_NE(errorOfWeights(makeFolder({{"model.safetensors", last}}), tied).find("at element 1571)"),
            std::string::npos);
}

TEST(WeightFilesTest, WhatIsNotReadIsNamed) {
  Manifest manifest = manifestWith(tied);
  EXPECT_EQ(WeightFiles(makeFolder({{"model.safetensors", tensorFile({e, w})}}), manifest).note(), "");
  std::string folder = makeFolder({{"model.safetensors", tensorFile({e, w, {"h.0.mask", {3}}})}});
  EXPECT_EQ(WeightFiles(folder, manifest).note(),
            "1 tensor of " + folder +
                " is not read, as the program leaves out or computes itself what it holds: h.0.mask");
}

// --save-parameters writes parameters in the program's own shapes.
TEST(WeightFilesTest, AParameterInItsOwnShapeIsRead) {
  json flat = {{"parameters", {{"E", {{{{"tensor", "E"}, {"shape", {count}}}}}}}}};
  Manifest manifest = manifestWith(flat);
  for (const std::vector<int64_t> &shape : {std::vector<int64_t>{count}, {vocabulary, hidden}}) {
    WeightFiles files(makeFolder({{"model.safetensors", tensorFile({{"E", shape, 1}, w})}}), manifest);
    EXPECT_EQ(loaded(files, manifest, 0, "E")[7], 8);
  }
  EXPECT_NE(errorOfWeights(makeFolder({{"model.safetensors", tensorFile({{"E", {hidden, vocabulary}}, w})}}), flat),
            "");
}

// One tensor of E whose elements are in another order.
json inOrder(const std::vector<int64_t> &shape, const std::vector<int64_t> &sizes,
             const std::vector<int64_t> &strides) {
  return json::array({json::object({{"tensor", "E"}, {"shape", shape}, {"sizes", sizes}, {"strides", strides}})});
}

// As it is in another file, and in these ways.
json waysOfE(const std::vector<json> &ways) {
  json rows = {{"tensor", "rows.*"}, {"shape", {hidden}}, {"count", vocabulary}, {"step", hidden}};
  json all = json::array({json::array({rows})});
  for (const json &way : ways)
    all.push_back(way);
  return {{"parameters", {{"E", all}}}};
}

const json wholeE = json::array({json::object({{"tensor", "E"}, {"shape", {vocabulary, hidden}}})});

TEST(WeightFilesTest, TransposedAndInterleavedTensors) {
  json transposed = inOrder({hidden, vocabulary}, {vocabulary, hidden}, {1, vocabulary}),
       // Four columns of three groups stand side by side: (row, group, column) at row * 12 + column * 3 + group.
      interleaved = inOrder({vocabulary, 4, 3}, {vocabulary, 3, 4}, {hidden, 1, 3});
  auto load = [](const json &map, const Tensor &tensor, int tp) {
    Manifest manifest = manifestWith(map, 1, tp);
    WeightFiles files(makeFolder({{"model.safetensors", tensorFile({tensor, w})}}), manifest);
    std::vector<float> all;
    for (int rank = 0; rank < tp; ++rank)
      for (float value : loaded(files, manifest, rank, "E"))
        all.push_back(value);
    return all;
  };
  for (int tp : {1, 2, 3}) {
    std::vector<float> columns = load(waysOfE({transposed}), {"E", {hidden, vocabulary}}, tp),
                       groups = load(waysOfE({interleaved}), {"E", {vocabulary, 4, 3}}, tp);
    for (int64_t row = 0; row < vocabulary; ++row)
      for (int64_t column = 0; column < hidden; ++column) {
        size_t at = size_t(row * hidden + column);
        ASSERT_EQ(columns[at], float(column * vocabulary + row)) << tp << ": " << row << ", " << column;
        ASSERT_EQ(groups[at], float(row * hidden + column % 4 * 3 + column / 4)) << tp << ": " << row << ", " << column;
      }
  }
  // The shape says which of several orders a tensor has.
  json both = waysOfE({transposed, wholeE});
  EXPECT_EQ(load(both, {"E", {hidden, vocabulary}}, 1)[1], vocabulary);
  EXPECT_EQ(load(both, {"E", {vocabulary, hidden}}, 1)[1], 1);
  EXPECT_EQ(errorOfWeights(makeFolder({{"model.safetensors", tensorFile({{"E", {4, 3}}, w})}}), both),
            "D/model.safetensors: the tensor \"E\" has shape [4, 3], the model needs [12, 131]");
}

TEST(WeightFilesTest, TransposedQuantizedTensors) {
  std::string data, header;
  for (int64_t i = 0; i < count; ++i)
    data += char(0x38 + i % 2 * 8); // 1, 2
  json tensors = {
      {"E", {{"dtype", "F8_E4M3"}, {"shape", {hidden, vocabulary}}, {"data_offsets", {0, count}}}},
      {"E_scale", {{"dtype", "F32"}, {"shape", json::array()}, {"data_offsets", {count, count + 4}}}},
      {"W", {{"dtype", "F32"}, {"shape", {vocabulary, hidden}}, {"data_offsets", {count + 4, 5 * count + 4}}}}};
  float scale = 3;
  data.append(reinterpret_cast<const char *>(&scale), 4);
  data.resize(size_t(5 * count + 4));
  uint64_t size = tensors.dump().size();
  header.assign(reinterpret_cast<const char *>(&size), 8);
  Manifest manifest = manifestWith(waysOfE({inOrder({hidden, vocabulary}, {vocabulary, hidden}, {1, vocabulary})}));
  WeightFiles files(makeFolder({{"model.safetensors", header + tensors.dump() + data}}), manifest);
  std::vector<float> values = loaded(files, manifest, 0, "E");
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(values[size_t(i)], 3 * (1 + (i % hidden * vocabulary + i / hidden) % 2)) << i;
}

TEST(WeightFilesTest, OrdersThatLeaveTheTensorAreRefused) {
  auto errorOf = [](const json &ways) {
    try {
      manifestWith({{"parameters", {{"E", ways}}}});
    } catch (const InputError &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  auto second = [&](const json &way) { return errorOf(json::array({wholeE, way})); };
  EXPECT_EQ(second(inOrder({hidden, vocabulary}, {vocabulary, hidden}, {1, vocabulary})), "");
  for (auto [sizes, strides, text] :
       {std::tuple(std::vector<int64_t>{vocabulary, hidden}, std::vector<int64_t>{2, vocabulary},
                   "is outside of the tensor"),
        {{vocabulary, hidden}, {1, int64_t(1) << 45}, "is outside of the tensor"},
        {{vocabulary, hidden}, {1}, "expected one stride for each size"},
        {{vocabulary, 2}, {1, vocabulary}, "the tensor has 1572 elements, these are 262"}})
    EXPECT_NE(second(inOrder({hidden, vocabulary}, sizes, strides)).find(text), std::string::npos)
        << second(inOrder({hidden, vocabulary}, sizes, strides));
  json first = json::array({inOrder({hidden, vocabulary}, {vocabulary, hidden}, {1, vocabulary})});
  EXPECT_NE(errorOf(first).find("the first way is written, which keeps the order of elements"), std::string::npos)
      << errorOf(first);
}

// What a folder's config.json says of the model, against the program's.
std::string differenceOf(const json &program, const json &folder) {
  json keys = {{"rms_norm_eps", "1e-06"},       {"rope_theta", "10000"},         {"sliding_window", "4096"},
               {"hidden_act", "\"silu\""},      {"hidden_size", "null"},         {"model_type", "\"mistral\""},
               {"rope_scaling.factor", "null"}, {"rope_scaling.beta_fast", "32"}};
  json manifest = json::parse(bigramManifest(1, 1, 1));
  manifest["weights"] = {{"config_keys", keys}};
  manifest["config"] = program.dump();
  try {
    WeightFiles files(makeFolder({{"model.safetensors", tensorFile({e, w})}, {"config.json", folder.dump()}}),
                      parseManifest(manifest.dump()));
  } catch (const InputError &error) {
    std::string text = error.what();
    std::string before = "is of another model: ";
    size_t begin = text.find(before) + before.size(), end = text.find(". Compile that model, or give --weights ");
    return end == std::string::npos ? text : text.substr(begin, end - begin);
  }
  return "";
}

TEST(WeightFilesTest, AFolderOfAnotherModelIsRefused) {
  json own = {{"model_type", "mistral"}, {"hidden_size", 16}, {"rms_norm_eps", 1e-6}, {"sliding_window", nullptr}};
  EXPECT_EQ(differenceOf(own, own), "");
  auto changed = [&](const json &patch) {
    json other = own;
    other.merge_patch(patch); // null removes a key
    return differenceOf(own, other);
  };
  EXPECT_EQ(changed({{"sliding_window", 2}, {"rms_norm_eps", 0.1}}),
            "rms_norm_eps is 0.1 there, 1e-06 in the program; sliding_window is 2 there, null in the program");
  EXPECT_EQ(changed({{"sliding_window", nullptr}}), "sliding_window is 4096 there, null in the program");
  EXPECT_EQ(changed({{"rms_norm_eps", nullptr}}), "") << "the default";
  EXPECT_EQ(changed({{"hidden_act", "gelu"}}), "hidden_act is \"gelu\" there, \"silu\" in the program");
  EXPECT_EQ(changed({{"model_type", "llama"}}), "model_type is \"llama\" there, \"mistral\" in the program");
  // Spellings and values of one thing, and keys of no account.
  for (const json &same : {json{{"rope_theta", 10000.0}}, json{{"rope_parameters", {{"rope_theta", 1e4}}}},
                           json{{"rope_parameters", {{"rope_theta", 10000}, {"rope_type", "default"}}}},
                           json{{"dtype", "bfloat16"}, {"transformers_version", "5"}, {"use_cache", true}}})
    EXPECT_EQ(changed(same), "") << same;
  EXPECT_EQ(changed({{"rope_parameters", {{"rope_theta", 5e5}}}}),
            "rope_theta is 500000.0 there, 10000 in the program");
  json yarn = {{"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}}}};
  EXPECT_EQ(changed(yarn), "rope_scaling.factor is 4.0 there, null in the program; rope_scaling.rope_type is \"yarn\" "
                           "there, null in the program");
  json stretched = own;
  stretched.merge_patch(yarn);
  json newer = own;
  newer["rope_parameters"] = {{"rope_type", "yarn"}, {"factor", 4}, {"rope_theta", 10000}, {"beta_fast", 32}};
  EXPECT_EQ(differenceOf(stretched, newer), "");
}

TEST(WeightFilesTest, NoRankReadsMoreThanItKeeps) {
  std::string folder = makeFolder({{"model.safetensors", tensorFile({e, w})}});
  for (int tp : {1, 2, 3, 4}) {
    Manifest manifest = manifestWith(nullptr, 1, tp);
    WeightFiles files(folder, manifest);
    int64_t readOfE = 0;
    std::vector<float> all;
    for (int rank = 0; rank < tp; ++rank) {
      int64_t read = 0;
      std::vector<float> part = loaded(files, manifest, rank, "E", &read);
      EXPECT_LE(read, int64_t(part.size()) * 4);
      readOfE += read;
      all.insert(all.end(), part.begin(), part.end());
    }
    EXPECT_EQ(readOfE, count * 4);
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(all[i], int64_t(i) < count ? float(1 + i) : 0) << "padding is zero";
  }
}

TEST(WeightFilesTest, WhatDoesNotFitIsNamed) {
  auto single = [](const std::vector<Tensor> &tensors) {
    return makeFolder({{"model.safetensors", tensorFile(tensors)}});
  };
  EXPECT_EQ(errorOfWeights(single({e})), "D: 1 tensor of the model is missing: W; the files hold E");
  EXPECT_EQ(errorOfWeights(single({e, w, {"X", {2}}})), "D: 1 tensor is not of the model: X");
  EXPECT_EQ(errorOfWeights(single({e, {"W", {hidden, vocabulary}}})),
            "D/model.safetensors: the tensor \"W\" has shape [12, 131], the model needs [131, 12]");
  EXPECT_EQ(errorOfWeights(makeFolder({{"model.safetensors", tensorFile({e, w}, "I32")}})),
            "D/model.safetensors: the tensor \"E\" is of type I32; F32, F64, BF16 and F16 can be read, "
            "and FP8, NVFP4 and INT4 with the scales that go with them");
  EXPECT_EQ(errorOfWeights(makeFolder({{"other", "x"}})),
            "D: the folder holds neither model.safetensors nor model.safetensors.index.json");
  EXPECT_EQ(errorOfWeights(makeFolder({{"model.safetensors", ""}})), "D/model.safetensors: the file is empty");
  json index = {{"weight_map", {{"E", "a.safetensors"}, {"W", "b.safetensors"}}}};
  std::string name = "model.safetensors.index.json";
  EXPECT_EQ(errorOfWeights(makeFolder({{name, index.dump()}, {"a.safetensors", tensorFile({e})}})),
            "D/" + name + ": weight_map.W: the file \"b.safetensors\" is absent");
  EXPECT_EQ(errorOfWeights(makeFolder(
                {{name, index.dump()}, {"a.safetensors", tensorFile({e})}, {"b.safetensors", tensorFile({e})}})),
            "D/" + name + ": weight_map.W: the file \"b.safetensors\" does not hold this tensor");
  EXPECT_EQ(errorOfWeights(makeFolder(
                {{name, index.dump()}, {"a.safetensors", tensorFile({e})}, {"b.safetensors", tensorFile({e, w})}})),
            "D/b.safetensors: the tensor \"E\" is also in D/a.safetensors");
  index["weight_map"]["W"] = "../b.safetensors";
  EXPECT_EQ(errorOfWeights(makeFolder({{name, index.dump()}, {"a.safetensors", tensorFile({e})}})),
            "D/" + name + ": weight_map.W: \"../b.safetensors\" is not the name of a file in the same folder");
}

TEST(WeightFilesTest, WhatWasSavedIsReadUnderAnyLayout) {
  std::string folder = temporaryPath("saved");
  for (const char *layout : {"1,1,1", "2,1,2", "1,2,3"}) {
    ProgramRun first(layout, {"--synthetic", "--steps", "3", "--quiet", "--save-weights", folder, "--weight-file-bytes",
                              "7000", "--save-losses", folder + ".a"});
    ASSERT_EQ(first.wait(), 0) << first.err();
    EXPECT_TRUE(std::filesystem::exists(folder + "/model-00001-of-00002.safetensors"));
    EXPECT_FALSE(std::filesystem::exists(folder + "/config.json")) << "the program has none";
    std::string saved = readFile(folder + "/model-00001-of-00002.safetensors");
    for (const char *other : {"1,1,1", "1,1,4"}) {
      ProgramRun second(other, {"--synthetic", "--steps", "1", "--lr", "0", "--quiet", "--weights", folder,
                                "--save-weights", folder + ".again", "--weight-file-bytes", "7000"});
      ASSERT_EQ(second.wait(), 0) << second.err();
      EXPECT_EQ(readFile(folder + ".again/model-00001-of-00002.safetensors"), saved);
    }
  }
}

} // namespace
