// Damaged safetensors files are refused with what is wrong; values of every stored type become values of the program.
#include "runtime/weights/SafeTensors.h"
#include "runtime/base/Error.h"
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace ppcrt;

namespace {

std::string file(const std::string &header, const std::string &data) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<const char *>(&size), 8) + header + data;
}

std::string errorOf(const std::string &content) {
  try {
    parseSafeTensors(content, int64_t(content.size()), "w");
  } catch (const InputError &error) {
    return error.what();
  }
  return "";
}

std::string entry(const std::string &name, const std::string &shape, int begin, int end,
                  const std::string &type = "F32") {
  return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

TEST(SafeTensorsTest, ReadsWhatTheFormatAllows) {
  std::string content = file("{\"__metadata__\":{\"a\":\"b\"}," + entry("y", "[2]", 4, 12) + "," +
                                 entry("x", "[]", 0, 4) + "," + entry("none", "[0,3]", 4, 4) + "}   ",
                             std::string(12, 'x'));
  SafeTensorsHeader header = parseSafeTensors(content, int64_t(content.size()), "w");
  ASSERT_EQ(header.tensors.size(), 3u);
  EXPECT_EQ(header.tensors[0].name, "x");
  EXPECT_EQ(header.tensors[1].name, "none");
  EXPECT_EQ(header.tensors[2].name, "y");
  EXPECT_EQ(header.tensors[2].end, int64_t(content.size()));
  EXPECT_EQ(header.metadata.at("a"), "b");
}

TEST(SafeTensorsTest, RefusesDamagedFiles) {
  EXPECT_EQ(errorOf(""), "w: the file is empty");
  EXPECT_EQ(errorOf("1234"), "w: 4 bytes are too few for a safetensors file");
  EXPECT_EQ(errorOf(file("{}", "").substr(0, 9)), "w: the header has 2 bytes, but the file only 9: it is truncated");
  std::string huge(8, '\x7f');
  std::string rest(300, 'x');
  const std::pair<std::string, std::string> others[] = {
      {std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) + rest,
       "w is a gzip file, no safetensors file: unpack it first"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:" + rest,
       "w is a pointer of Git LFS, no safetensors file: fetch the file that it stands for first, as by git lfs pull"},
      {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9" + rest,
       "w is a file of weights of PyTorch, no safetensors file: write its tensors as one first, as by "
       "safetensors.torch.save_file(torch.load(\"w\", weights_only=True), \"model.safetensors\")"},
      {"GGUF" + rest, "w is a GGUF file of weights, no safetensors file: --weights takes a *.safetensors, or a folder "
                      "that holds model.safetensors or model.safetensors.index.json"},
      {"It was the best of times.\n" + rest,
       "w is a text, no safetensors file: --weights takes a *.safetensors, or a folder "
       "that holds model.safetensors or model.safetensors.index.json"}};
  for (const auto &[content, error] : others)
    EXPECT_EQ(errorOf(content), error);
  EXPECT_NE(errorOf(huge + "{}").find("is larger than the 100000000 that safetensors allows"), std::string::npos);
  EXPECT_EQ(errorOf(file("{\"x\":", "")), "w:1:6: key \"x\": not valid JSON: the text ends here");
  EXPECT_EQ(errorOf(file("[]", "")), "w: top level: expected an object, found []");
  EXPECT_EQ(errorOf(file("{" + entry("x", "[1]", 0, 4) + "," + entry("x", "[1]", 4, 8) + "}", std::string(8, 'x'))),
            "w: key \"x\" is given twice");
  EXPECT_EQ(errorOf(file("{" + entry("x", "[2]", 0, 8) + "," + entry("y", "[2]", 4, 12) + "}", std::string(12, 'x')))
                .substr(0, 41),
            "w: the tensors \"x\" and \"y\" overlap at byt");
  EXPECT_NE(errorOf(file("{" + entry("x", "[1]", 4, 8) + "}", std::string(8, 'x'))).find("belong to no tensor"),
            std::string::npos);
  EXPECT_NE(errorOf(file("{" + entry("x", "[1]", 0, 4) + "}", std::string(3, 'x'))).find("it is truncated"),
            std::string::npos);
  EXPECT_NE(errorOf(file("{" + entry("x", "[1]", 0, 4) + "}", std::string(5, 'x'))).find("the tensors end at byte"),
            std::string::npos);
  EXPECT_EQ(errorOf(file("{" + entry("x", "[3]", 0, 8) + "}", std::string(8, 'x'))),
            "w: x.data_offsets: the tensor has 8 bytes, but [3] of type F32 takes 12");
  EXPECT_EQ(errorOf(file("{" + entry("x", "[1]", 4, 0) + "}", std::string(4, 'x'))),
            "w: x.data_offsets: the tensor ends at byte 0, before it begins at 4");
  EXPECT_EQ(errorOf(file("{" + entry("x", "[1]", 0, 4, "F31") + "}", "1234")),
            "w: x.dtype: unknown type \"F31\"; known: BOOL, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, I16, U16, F16, BF16, "
            "I32, U32, F32, "
            "F64, I64, U64");
  EXPECT_EQ(errorOf(file("{" + entry("x", "[4611686018427387904,4]", 0, 4) + "}", "1234")).substr(0, 12),
            "w: x.shape[0");
  EXPECT_EQ(errorOf(file("{\"x\":" + std::string(70, '[') + std::string(70, ']') + "}", "")),
            "w: nested deeper than 64");
}

TEST(SafeTensorsTest, ConvertsEveryType) {
  const uint16_t halves[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x0400, 0x7c00, 0x3555};
  const float values[] = {0, -0.f, 1, -2, 65504, 0x1p-24f, 1023 * 0x1p-24f, 0x1p-14f, INFINITY, 0x1.554p-2f};
  float out[10];
  convert(reinterpret_cast<const std::byte *>(halves), "F16", 0, reinterpret_cast<std::byte *>(out), DataType::F32, 0,
          10);
  EXPECT_EQ(std::memcmp(out, values, sizeof out), 0);
  const double doubles[] = {0.1, 1e-3};
  convert(reinterpret_cast<const std::byte *>(doubles), "F64", 1, reinterpret_cast<std::byte *>(out), DataType::F32, 1,
          1);
  EXPECT_EQ(out[1], 1e-3f);
  const uint16_t brains[] = {0x3f80, 0xc040};
  double wide[2];
  convert(reinterpret_cast<const std::byte *>(brains), "BF16", 0, reinterpret_cast<std::byte *>(wide), DataType::F64, 0,
          2);
  EXPECT_EQ(wide[0], 1);
  EXPECT_EQ(wide[1], -3);
  uint16_t rounded[2];
  const float ties[] = {0x1.01p0f, 0x1.03p0f}; // halfway between two bf16 numbers: to even
  convert(reinterpret_cast<const std::byte *>(ties), "F32", 0, reinterpret_cast<std::byte *>(rounded), DataType::BF16,
          0, 2);
  EXPECT_EQ(rounded[0], 0x3f80);
  EXPECT_EQ(rounded[1], 0x3f82);
}

TEST(SafeTensorsTest, AFileThatShrinksIsNamed) {
  std::string path = ppcrt::test::temporaryPath("shrinks.safetensors");
  std::string data(1 << 16, 'x');
  ppcrt::test::writeFile(path, file("{" + entry("x", "[16384]", 0, 1 << 16) + "}", data));
  EXPECT_EXIT(
      {
        SafeTensorsFile tensors(path);
        ppcrt::test::writeFile(path, "short");
        volatile std::byte last = *(tensors.data(*tensors.find("x")) + (1 << 16) - 1);
        (void)last;
      },
      testing::ExitedWithCode(1), "shrinks.safetensors: byte [0-9]+ cannot be read: the file became shorter");
}

} // namespace
