// Numbers of 8 and 4 bits: what they and their scales mean, and which scales do not fit.
#include "runtime/weights/QuantizedTensor.h"
#include "runtime/base/Error.h"
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

struct Tensor {
  std::string name, type;
  std::vector<int64_t> shape;
  std::string data;
};

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

Tensor floats(const std::string &name, const std::vector<int64_t> &shape, const std::vector<float> &values) {
  return {name, "F32", shape, bytesOf(values)};
}

// Zeros, or another byte in each place.
Tensor numbers(const std::string &name, const std::string &type, const std::vector<int64_t> &shape, size_t bytes,
               char byte = 0) {
  return {name, type, shape, std::string(bytes, byte)};
}

class Files {
public:
  explicit Files(const std::vector<Tensor> &tensors) {
    nlohmann::json header;
    std::string data;
    for (const Tensor &tensor : tensors) {
      header[tensor.name] = {{"dtype", tensor.type},
                             {"shape", tensor.shape},
                             {"data_offsets", {data.size(), data.size() + tensor.data.size()}}};
      data += tensor.data;
    }
    std::string text = header.dump();
    static int number = 0;
    path = temporaryPath("quantized" + std::to_string(number++) + ".safetensors");
    writeFile(path, bytesOf(std::vector<uint64_t>{text.size()}) + text + data);
    file = std::make_unique<SafeTensorsFile>(path);
  }

  std::optional<QuantizedTensor> open(const QuantizedBlocks &blocks) const {
    auto find = [&](const std::string &name) {
      const StoredTensor *tensor = file->find(name);
      return tensor ? PlacedTensor{file.get(), tensor} : PlacedTensor();
    };
    return QuantizedTensor::of("w", find, blocks);
  }

  std::string path;

private:
  std::unique_ptr<SafeTensorsFile> file;
};

std::vector<double> valuesOf(const std::vector<Tensor> &tensors, const QuantizedBlocks &blocks = {}) {
  Files files(tensors);
  std::optional<QuantizedTensor> tensor = files.open(blocks);
  if (!tensor)
    return {};
  int64_t count = 1;
  for (int64_t extent : tensor->logical().shape)
    count *= extent;
  std::vector<double> values(size_t(count), -1), once(1);
  tensor->read(0, count, values.data());
  for (int64_t i = 0; i < count; ++i) { // each by itself is the same
    tensor->read(i, 1, once.data());
    EXPECT_TRUE(once[0] == values[size_t(i)] || (std::isnan(once[0]) && std::isnan(values[size_t(i)]))) << i;
  }
  return values;
}

std::string errorOf(const std::vector<Tensor> &tensors, const QuantizedBlocks &blocks = {}) {
  Files files(tensors);
  try {
    files.open(blocks);
  } catch (const InputError &error) {
    std::string text = error.what();
    EXPECT_EQ(text.rfind(files.path + ": the tensor ", 0), 0u) << text;
    return text.substr(std::min(text.size(), files.path.size() + 13));
  }
  return "";
}

TEST(QuantizedTensorTest, OtherTypesAreNotQuantized) {
  EXPECT_FALSE(Files({floats("w", {1}, {1})}).open({}));
  EXPECT_FALSE(Files({floats("v", {1}, {1})}).open({}));
  EXPECT_FALSE(Files({numbers("w_packed", "U32", {1}, 4)}).open({}));
}

TEST(QuantizedTensorTest, EveryNumberOfE4M3) {
  std::string all;
  for (int i = 0; i < 256; ++i)
    all += char(i);
  std::vector<double> values = valuesOf({{"w", "F8_E4M3", {16, 16}, all}, floats("w_scale", {}, {1})});
  ASSERT_EQ(values.size(), 256u);
  for (int i = 0; i < 128; ++i) {
    double expected = i < 8 ? i / 512.0 : (8 + i % 8) * std::pow(2.0, i / 8 - 10);
    if (i == 127)
      EXPECT_TRUE(std::isnan(values[127]) && std::isnan(values[255]));
    else
      EXPECT_TRUE(values[size_t(i)] == expected && values[size_t(i) + 128] == -expected) << i;
  }
  EXPECT_EQ(values[126], 448);
}

// 0x38 is 1.
TEST(QuantizedTensorTest, ScalesOfFp8) {
  Tensor ones = numbers("w", "F8_E4M3", {2, 3}, 6, 0x38);
  EXPECT_EQ(valuesOf({ones, floats("w_scale", {1}, {2})}), (std::vector<double>(6, 2)));
  EXPECT_EQ(valuesOf({ones, floats("w_scale", {2, 1}, {2, 4})}), (std::vector<double>{2, 2, 2, 4, 4, 4}));
  EXPECT_EQ(valuesOf({ones, floats("w_scale_inv", {2, 2}, {1, 2, 4, 8})}, {1, 2}),
            (std::vector<double>{1, 1, 2, 4, 4, 8}));
  EXPECT_EQ(valuesOf({ones, {"w_scale_inv", "F8_E8M0", {1, 1}, "\x80"}}), (std::vector<double>(6, 2)));
  EXPECT_EQ(valuesOf({ones, {"w_scale_inv", "BF16", {}, std::string("\0\x40", 2)}}), (std::vector<double>(6, 2)));
  // One scale may belong to a tensor of any rank.
  EXPECT_EQ(valuesOf({numbers("w", "F8_E4M3", {1, 2, 1}, 2, 0x38), floats("w_scale", {}, {2})}),
            (std::vector<double>(2, 2)));
  EXPECT_TRUE(valuesOf({numbers("w", "F8_E4M3", {0, 4}, 0), floats("w_scale", {}, {2})}).empty());
}

TEST(QuantizedTensorTest, NumbersOfFourBits) {
  std::string pairs;
  for (int i = 0; i < 16; i += 2)
    pairs += char(i | (i + 1) << 4);
  const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  Tensor scale = {"w_scale", "F8_E4M3", {1, 1}, "\x38"}, packed = {"w_packed", "U8", {1, 8}, pairs};
  Tensor plain = packed;
  plain.name = "w";
  std::vector<double> multiplied = valuesOf({plain, scale, floats("w_scale_2", {}, {2})}),
                      divided = valuesOf({packed, scale, floats("w_global_scale", {1}, {2})}),
                      integers = valuesOf({{"w_packed", "I32", {1, 2}, pairs}, floats("w_scale", {1, 2}, {1, 2})});
  ASSERT_TRUE(multiplied.size() == 16 && divided.size() == 16 && integers.size() == 16);
  for (int i = 0; i < 16; ++i) {
    double value = i < 8 ? e2m1[i] : -e2m1[i - 8];
    EXPECT_EQ(multiplied[size_t(i)], 2 * value) << i;
    EXPECT_EQ(divided[size_t(i)], value / 2) << i;
    EXPECT_EQ(integers[size_t(i)], i < 8 ? i - 8 : 2 * (i - 8)) << i;
  }
}

TEST(QuantizedTensorTest, ScalesThatAreMissing) {
  EXPECT_EQ(errorOf({numbers("w", "F8_E4M3", {2, 2}, 4)}),
            "\"w\" is of type F8_E4M3, and no \"w_scale_inv\" or \"w_scale\" is there: without scales its values are "
            "unknown");
  EXPECT_EQ(errorOf({numbers("w", "U8", {2, 8}, 16)}),
            "\"w\" is of type U8, and no \"w_scale\" is there: without scales its values are unknown");
  EXPECT_EQ(errorOf({numbers("w_packed", "I32", {2, 1}, 8)}),
            "\"w_packed\" is of type I32, and no \"w_scale\" is there: without scales its values are unknown");
  EXPECT_EQ(errorOf({numbers("w", "U8", {2, 8}, 16), numbers("w_scale", "F8_E4M3", {2, 1}, 2)}),
            "\"w\" is of type U8, and no \"w_scale_2\" or \"w_global_scale\" is there");
}

TEST(QuantizedTensorTest, ScalesOfOtherShapes) {
  Tensor fp8 = numbers("w", "F8_E4M3", {3, 4}, 12);
  EXPECT_EQ(errorOf({fp8, floats("w_scale_inv", {2, 2}, {1, 1, 1, 1})}),
            "\"w_scale_inv\" has shape [2, 2]; [3, 4] of \"w\" in blocks of 128 x 128 need [1, 1] (quantization_config "
            "of config.json says the blocks)");
  EXPECT_EQ(errorOf({fp8, floats("w_scale_inv", {2, 2}, {1, 1, 1, 1})}, {2, 2}), "");
  EXPECT_EQ(errorOf({fp8, floats("w_scale", {3}, {1, 1, 1})}, {1, 4}),
            "\"w_scale\" has shape [3]; [3, 4] of \"w\" in blocks of 1 x 4 need [3, 1] (quantization_config of "
            "config.json says the blocks)");
  EXPECT_EQ(errorOf({numbers("w", "F8_E4M3", {2, 2, 2}, 8), floats("w_scale", {2, 1, 1}, {1, 1})}),
            "\"w\" has shape [2, 2, 2]; scales of blocks belong to a matrix");
  Tensor four = numbers("w", "U8", {1, 16}, 16);
  EXPECT_EQ(errorOf({four, numbers("w_scale", "F8_E4M3", {1, 1}, 1)}),
            "\"w_scale\" has shape [1, 1]; [1, 32] of \"w\" in blocks of 1 x 16 need [1, 2] (quantization_config of "
            "config.json says the blocks)");
  EXPECT_EQ(errorOf({four, numbers("w_scale", "F8_E4M3", {1, 2}, 2), floats("w_scale_2", {2}, {1, 1})}),
            "\"w_scale_2\" has shape [2]; it is one number");
  Tensor packed = numbers("w_packed", "I32", {2, 8}, 64);
  EXPECT_EQ(errorOf({packed, floats("w_scale", {2, 3}, std::vector<float>(6, 1))}),
            "\"w_scale\" has shape [2, 3]; [2, 64] of \"w\" in blocks of 1 x 32 need [2, 2] (quantization_config of "
            "config.json says the blocks)");
  EXPECT_EQ(errorOf({packed,
                     floats("w_scale", {2, 2}, std::vector<float>(4, 1)),
                     {"w_shape", "I64", {2}, bytesOf(std::vector<int64_t>{2, 63})}}),
            "\"w_shape\" says [2, 63]; the packed values are [2, 64]");
  EXPECT_EQ(errorOf({packed,
                     floats("w_scale", {2, 2}, std::vector<float>(4, 1)),
                     {"w_shape", "I32", {2}, bytesOf(std::vector<int32_t>{2, 64})}}),
            "");
  EXPECT_EQ(errorOf({packed, floats("w_scale", {2, 2}, std::vector<float>(4, 1)), floats("w_shape", {2}, {2, 64})}),
            "\"w_shape\" says [0, 0]; the packed values are [2, 64]");
}

TEST(QuantizedTensorTest, ScalesThatAreNone) {
  Tensor fp8 = numbers("w", "F8_E4M3", {2, 2}, 4);
  EXPECT_EQ(errorOf({fp8, floats("w_scale", {2, 1}, {1, INFINITY})}),
            "\"w_scale\" holds a scale that is not finite, element 1");
  EXPECT_EQ(errorOf({fp8, {"w_scale", "F8_E8M0", {1}, "\xff"}}),
            "\"w_scale\" holds a scale that is not finite, element 0");
  EXPECT_EQ(errorOf({fp8, numbers("w_scale", "I32", {1}, 4)}),
            "\"w_scale\" holds scales of type I32; F32, F64, BF16, F16, F8_E4M3 and F8_E8M0 can be read");
  Tensor four = numbers("w_packed", "U8", {1, 8}, 8), scale = numbers("w_scale", "F8_E4M3", {1, 1}, 1, 0x38);
  EXPECT_EQ(errorOf({four, scale, floats("w_global_scale", {1}, {0})}),
            "\"w_global_scale\" is 0, and values are divided by it");
  EXPECT_EQ(errorOf({four, scale, floats("w_global_scale", {1}, {NAN})}),
            "\"w_global_scale\" holds a scale that is not finite, element 0");
  EXPECT_EQ(errorOf({numbers("w_packed", "I32", {1, 1}, 4), floats("w_scale", {1, 1}, {1}),
                     numbers("w_zero_point", "I32", {1, 1}, 4)}),
            "\"w_zero_point\" moves the zero of INT4 values, which is not read: only symmetric ones are");
}

TEST(QuantizedTensorTest, PartsAndScalesOfActivations) {
  Files files({numbers("w_packed", "U8", {1, 8}, 8), numbers("w_scale", "F8_E4M3", {1, 1}, 1, 0x38),
               floats("w_global_scale", {}, {1}), floats("w_other", {}, {1})});
  std::optional<QuantizedTensor> tensor = files.open({});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->parts(), (std::vector<std::string>{"w_packed", "w_scale", "w_global_scale"}));
  EXPECT_EQ(tensor->logical().shape, (std::vector<int64_t>{1, 16}));
  EXPECT_EQ(std::string(tensor->format()), "NVFP4");
  for (const char *name : {"a.input_scale", "a.input_global_scale", "a.k_scale", "a.v_scale", "a.output_scale"})
    EXPECT_TRUE(isActivationScale(name)) << name;
  for (const char *name : {"a.weight_scale", "input_scale", "a.input_scale.weight", "a.mask_scale"})
    EXPECT_FALSE(isActivationScale(name)) << name;
}

} // namespace
