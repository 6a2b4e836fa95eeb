// Samples of files and of random tokens; files that cannot be used. What the command line says of them is in
// LaunchTest.
#include "runtime/base/Error.h"
#include "runtime/data/TokenData.h"
#include "test/Runtime/ProgramRun.h"
#include "test/Runtime/Ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <sys/stat.h>
#include <thread>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

DataRequest request(const std::string &path, int64_t sequenceLength, int64_t vocabulary = 256, uint64_t seed = 0,
                    OrderKind order = OrderKind::Random, DataFormat format = DataFormat::Auto) {
  DataRequest result;
  result.path = path, result.sequenceLength = sequenceLength, result.vocabulary = vocabulary, result.seed = seed;
  result.order = order, result.format = format;
  return result;
}

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

template <typename T> std::string bytesOf(T value) { return bytesOf(std::vector<T>{value}); }

std::string repeated(const std::string &text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i)
    result += text;
  return result;
}

std::string errorOf(const DataRequest &request) {
  try {
    TokenData data(request);
  } catch (const InputError &error) {
    return error.what();
  }
  return "";
}

TEST(TokenDataTest, SamplesAreWindowsThatDependOnSeedAndNumberOnly) {
  std::string path = temporaryPath("alphabet"), content;
  for (int i = 0; i < 200; ++i)
    content += char(i);
  writeFile(path, content);
  auto seeded = [&](uint64_t seed) {
    return TokenData(request(path, 8, 256, seed, OrderKind::Random, DataFormat::Text));
  };
  TokenData first(seeded(1)), again(seeded(1)), other(seeded(2));
  std::set<int32_t> starts;
  int different = 0;
  for (int64_t sample = 0; sample < 4000; ++sample) {
    int32_t tokens[9], same[4], another;
    first.read(sample, 0, 9, tokens);
    again.read(sample, 5, 4, same);
    other.read(sample, 0, 1, &another);
    for (int i = 1; i < 9; ++i)
      ASSERT_EQ(tokens[i], tokens[0] + i);
    for (int i = 0; i < 4; ++i)
      ASSERT_EQ(same[i], tokens[5 + i]);
    starts.insert(tokens[0]);
    different += another != tokens[0];
  }
  EXPECT_EQ(starts.size(), 192u); // every position from which 9 tokens can be read
  EXPECT_GT(different, 3900);
}

TEST(TokenDataTest, UnigramEntropyInNats) {
  std::string path = temporaryPath("entropy");
  writeFile(path, "aaaabbcd");
  EXPECT_NEAR(TokenData(request(path, 4)).unigramEntropy(), 1.75 * std::log(2), 1e-12);
}

TEST(TokenDataTest, ReadsWhatCannotBeMapped) {
  std::string path = temporaryPath("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { writeFile(path, std::string(100000, 'x')); });
  TokenData data(request(path, 8));
  writer.join();
  EXPECT_EQ(data.size(), 100000);
}

TEST(TokenDataTest, ShortestPossibleText) {
  std::string path = temporaryPath("shortest");
  writeFile(path, "12345");
  int32_t tokens[5];
  TokenData(request(path, 4, 256, 3)).read(77, 0, 5, tokens);
  EXPECT_EQ(tokens[0], '1');
  EXPECT_EQ(tokens[4], '5');
}

// The same ids as files of each kind: all give the same samples.
TEST(TokenDataTest, EveryFormatHoldsTheSameTokens) {
  std::mt19937_64 random(testSeed());
  constexpr int64_t vocabulary = 50257, length = 16;
  std::vector<uint16_t> narrow(5000 + random() % 100);
  for (uint16_t &id : narrow)
    id = uint16_t(random() % vocabulary);
  std::vector<uint32_t> wide(narrow.begin(), narrow.end());
  std::vector<int32_t> header(256), header32(256);
  header[0] = 20240520, header[1] = 1, header[2] = int32_t(narrow.size());
  header32[0] = 20240801, header32[1] = 7, header32[2] = int32_t(narrow.size());
  // Three sequences, one of them empty.
  std::vector<int32_t> lengths = {1000, 0, int32_t(narrow.size()) - 1000};
  auto index = [&](uint8_t code, int64_t width) {
    return std::string("MMIDIDX\0\0", 9) + bytesOf(uint64_t(1)) + bytesOf(code) + bytesOf(uint64_t(3)) +
           bytesOf(uint64_t(2)) + bytesOf(lengths) + bytesOf(std::vector<int64_t>{0, 1000 * width, 1000 * width}) +
           bytesOf(std::vector<int64_t>{0, 3});
  };
  std::string base = temporaryPath("tokens");
  writeFile(base + "16.bin", bytesOf(narrow));
  writeFile(base + "32.bin", bytesOf(wide));
  writeFile(base + "c16.bin", bytesOf(header) + bytesOf(narrow));
  writeFile(base + "c32.bin", bytesOf(header32) + bytesOf(wide));
  writeFile(base + "m16.bin", bytesOf(narrow));
  writeFile(base + "m16.idx", index(8, 2));
  writeFile(base + "m32.bin", bytesOf(wide));
  writeFile(base + "m32.idx", index(4, 4));
  for (OrderKind order : {OrderKind::Random, OrderKind::Shuffle, OrderKind::Sequential}) {
    TokenData reference(request(base + "16.bin", length, vocabulary, 7, order, DataFormat::UInt16));
    for (const std::string &name : {"16.bin", "32.bin", "c16.bin", "c32.bin", "m16.bin", "m16.idx", "m16", "m32.bin"}) {
      TokenData data(request(base + name, length, vocabulary, 7, order));
      EXPECT_EQ(data.size(), int64_t(narrow.size())) << name;
      for (int64_t sample = 0; sample < 1000; sample += 37) {
        int32_t tokens[length + 1], expected[length + 1];
        data.read(sample, 0, length + 1, tokens);
        reference.read(sample, 0, length + 1, expected);
        ASSERT_EQ(std::memcmp(tokens, expected, sizeof tokens), 0) << name;
        ASSERT_EQ(tokens[3], narrow[reference.order().start(sample) + 3]);
      }
    }
  }
  EXPECT_EQ(TokenData(request(base + "32.bin", length, vocabulary)).type(), TokenType::UInt32);
  EXPECT_EQ(TokenData(request(base + "m32.idx", length, vocabulary)).type(), TokenType::Int32);
  EXPECT_EQ(TokenData(request(base + "m16", length, vocabulary))
                .describe()
                .find(std::to_string(narrow.size()) + " tokens of uint16 in 3 sequences, unigram entropy "),
            0u);
}

TEST(TokenDataTest, FilesThatCannotBeUsedAreNamed) {
  std::string base = temporaryPath("bad");
  auto file = [&](const std::string &name, const std::string &content) {
    writeFile(base + name, content);
    return base + name;
  };
  std::vector<uint16_t> ids(40, 7);
  std::string odd = file("odd.bin", bytesOf(ids) + "x"), empty = file("empty.bin", "");
  EXPECT_EQ(errorOf(request(odd, 8)),
            odd + " holds 81 bytes, which is no multiple of the 2 bytes of a uint16: the file is "
                  "truncated, or --data-format is wrong");
  EXPECT_EQ(errorOf(request(empty, 8)), empty +
                                            " holds 0 tokens, but one sample needs 9 (sequence length 8 + 1): use a "
                                            "longer text or a shorter sequence");
  std::string few = file("few.bin", bytesOf(std::vector<uint16_t>(8, 7)));
  EXPECT_EQ(errorOf(request(few, 8)).find(few + " holds 8 tokens, but one sample needs 9"), 0u);
  ids[33] = 300;
  std::string outside = file("outside.bin", bytesOf(ids));
  EXPECT_EQ(errorOf(request(outside, 8)), outside +
                                              ": token 300, number 33 of the file read as uint16, is not below the "
                                              "model's vocabulary size 256: use the tokenizer of this model, or say "
                                              "what the file is with --data-format");
  ids[33] = 7;
  std::string index = std::string("MMIDIDX\0\0", 9) + bytesOf(uint64_t(1)) + bytesOf(uint8_t(8)) +
                      bytesOf(uint64_t(1)) + bytesOf(uint64_t(2)) + bytesOf(int32_t(40)) + bytesOf(int64_t(0)) +
                      bytesOf(std::vector<int64_t>{0, 1});
  std::string data = file("pair.bin", bytesOf(ids)), pair = file("pair.idx", index);
  EXPECT_EQ(errorOf(request(data, 8)), "");
  auto changed = [&](size_t at, const std::string &bytes) {
    std::string copy = index;
    copy.replace(at, bytes.size(), bytes);
    writeFile(pair, copy);
    return errorOf(request(data, 8));
  };
  EXPECT_EQ(changed(34, bytesOf(int32_t(41))),
            pair + " describes 41 tokens of uint16, 82 bytes, but the file beside it has "
                   "80: they do not belong together, or one is truncated");
  EXPECT_EQ(changed(17, bytesOf(uint8_t(7))), pair + ": type code 7 is none of integer tokens (1 to 5, 8)");
  EXPECT_EQ(changed(9, bytesOf(uint64_t(2))), pair + " has version 2 of the format, this runtime reads version 1");
  EXPECT_EQ(changed(34, bytesOf(int32_t(-1))), pair + ": sequence 0 has length -1");
  EXPECT_EQ(changed(18, bytesOf(~uint64_t(0))).find(pair + " is truncated: "), 0u);
  EXPECT_EQ(changed(38, bytesOf(int64_t(4))).find(pair + ": sequence 0 begins at byte 4, but the one before ends at 0"),
            0u);
  EXPECT_EQ(changed(0, "TNTIDX"), pair + " is not an index of Megatron-LM: it does not begin with MMIDIDX");
  EXPECT_EQ(errorOf(request(base + "absent", 8, 256, 0, OrderKind::Random, DataFormat::Megatron)),
            "cannot read " + base + "absent.bin: No such file or directory");
}

// Each is 300 bytes and more, so that it would be long enough to train on.
TEST(TokenDataTest, WhatIsNoTextIsNamed) {
  using namespace std::string_literals;
  std::string prose = "It was the best of times, it was the worst of times.\n", rest;
  while (rest.size() < 300)
    rest += prose;
  std::string utf16;
  for (char c : rest)
    utf16 += c + "\0"s;
  std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  struct Case {
    const char *name;
    std::string content, told;
    bool isBinary = true; // --data-format text takes no other
  };
  const Case cases[] = {
      {"a.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03"s + rest, "is a gzip file"},
      {"a", "\x1f\x8b\x08\x08\0\0\0\0\x02\x03"s + rest, "is a gzip file"},
      {"a.txt", "\x28\xb5\x2f\xfd" + rest, "is a zstd file"},
      {"b",
       "\xfd"
       "7zXZ\0"s +
           rest,
       "is an xz file"},
      {"c", "BZh91AY&SY" + rest, "is a bzip2 file"},
      {"d", "PK\x03\x04" + rest, "is a zip archive"},
      {"d.npz", "PK\x03\x04" + rest, "is an archive of NumPy arrays"},
      {"e", "PAR1" + rest + "PAR1", "is a parquet file"},
      {"f", "\x93NUMPY\x01\0"s + rest, "is a NumPy array"},
      {"g", "%PDF-1.7\n" + rest, "is a PDF document"},
      {"h", "\x89PNG\r\n\x1a\n" + rest, "is a PNG picture"},
      {"i", "\xff\xd8\xff\xe0" + rest, "is a JPEG picture"},
      {"j", "GIF89a" + rest, "is a GIF picture"},
      {"k", "RIFF\x24\0\0\0WEBP"s + rest, "is a WebP picture"},
      {"l", bytesOf(uint64_t(header.size())) + header + rest, "is a safetensors file"},
      {"m", "\x80\x04\x95\x10" + rest + ".", "is a pickled object"},
      {"n",
       "\x7f"
       "ELF\x02\x01" +
           rest,
       "is a program"},
      {"o", std::string(257, 'x') + "ustar" + rest, "is a tar archive"},
      {"p", "SQLite format 3\0"s + rest, "is an SQLite database"},
      {"q", "\x89HDF\r\n\x1a\n" + rest, "is an HDF5 file"},
      {"r", "ARROW1\0\0"s + rest, "is an Arrow file"},
      {"s.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n" + rest, "is JSON by its name", false},
      {"t", "{\"text\": \"" + rest.substr(0, 40) + "\"}\n\n{\"text\": \"b\"}", "is JSON: ", false},
      {"u.txt", "{\n\"texts\": [\"a\", \"b\",\n\"c\"]}\n", "is JSON: ", false},
      {"v", "\xff\xfe" + utf16, "is a text in UTF-16", false},
      {"w", utf16, "is a text in UTF-16LE", false},
      {"x", "\0"s + utf16.substr(0, utf16.size() - 1), "is a text in UTF-16BE", false},
      {"y", bytesOf(std::vector<uint32_t>(100, 300)), "holds binary data, no text", false},
      {"z.parquet", rest, "is a file of records by its name", false},
      {"z.npy", rest, "is a file of arrays by its name", false},
  };
  auto entry = [&](const std::string &name) { // of a zip archive
    return "PK\x03\x04" + std::string(22, '\0') + bytesOf(uint16_t(name.size())) + "\0\0"s + name + rest;
  };
  auto record = [&](const std::string &text) { return bytesOf(uint64_t(text.size())) + "abcd" + text + "abcd"; };
  std::string utf32, numbers = "[", lists = "[";
  for (char c : rest)
    utf32 += c + "\0\0\0"s;
  std::string written = "0\n", commas = "0";
  for (int i = 0; i < 100; ++i)
    written += std::to_string(i * 977) + (i % 7 ? " " : "\n"), commas += "," + std::to_string(i * 977);
  for (int i = 0; i < 100; ++i)
    numbers += (i ? ", " : "") + std::to_string(i), lists += (i ? ",\n[" : "[") + std::to_string(i) + ", 7]";
  const Case more[] = {
      {"a", "\xff\x06\0\0sNaPpY"s + rest, "is a snappy file"},
      {"b", "\x5d\0\0\x80\0"s + rest, "is an lzma file"},
      {"c", "MSCF\0\0\0\0"s + rest, "is a cabinet archive"},
      {"d", "!<arch>\ndebian-binary   " + rest, "is an archive of a package or a library"},
      {"e", "\xed\xab\xee\xdb" + rest, "is an RPM package"},
      {"f", std::string(32769, '\0') + "CD001" + rest, "is a disc image"},
      {"g", std::string(16, '\0') + "\xde\xc0\xef\xbe\1\0\0\0"s + rest, "is an LMDB database"},
      {"h", "\x0a\x23\xd7\xce" + rest, "is a RecordIO file"},
      {"i", "MATLAB 5.0 MAT-file" + rest, "is a MATLAB file"},
      {"j", "\xd4\xc3\xb2\xa1" + rest, "is a network capture"},
      {"k", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9" + rest, "is a file of weights of PyTorch"},
      {"l", entry("archive/data.pkl"), "is a file of weights of PyTorch"},
      {"m", entry("x.npy"), "is an archive of NumPy arrays"},
      {"n", entry("[Content_Types].xml"), "is a document of an office suite"},
      {"o", entry("a.txt"), "is a zip archive, no text: unpack it first"},
      {"p", "version https://git-lfs.github.com/spec/v1\noid sha256:" + rest,
       "is a pointer of Git LFS, no text: fetch the file that it stands for first, as by git lfs pull"},
      {"q", "%!PS-Adobe-3.0\n" + rest, "is a PostScript document"},
      {"r", "{\\rtf1 " + rest, "is an RTF document"},
      {"s", "8BPS\0\1"s + rest, "is a Photoshop picture"},
      {"t", "\0\0\0\x0cjP  \r\n\x87\n"s + rest, "is a JPEG 2000 picture"},
      {"u", "wOF2" + rest, "is a font"},
      {"v", "OTTO\0"s + rest, "is a font"},
      {"w", "FLV\1" + rest, "is a Flash film"},
      {"x", "\xca\xfe\xba\xbe" + rest, "is a program"},
      {"y", "\xcf\xfa\xed\xfe" + rest, "is a program"},
      {"aa", record(rest) + record("b") + record("c") + rest, "is a file of records of TensorFlow"},
      {"ab", record(rest), "is a file of records of TensorFlow"},
      {"ac", "(lp0\nI17\naI5\na" + rest + ".", "is a pickled object"},
      {"ad", "]q\0(K\1K\2e"s + rest + ".", "is a pickled object"},
      {"ae", "x\x9c\x01\x02\x81\x82\x83\x84\x85\x86" + rest, "is a zlib file"},
      {"af", utf32, "is a text in UTF-32LE", false},
      {"ag", "\0\0\0"s + utf32.substr(0, utf32.size() - 3), "is a text in UTF-32BE", false},
      {"ah", std::string(500, '\n'), "holds nothing but white space", false},
      {"ai", std::string(500, ' '), "holds nothing but white space", false},
      {"aj", numbers + "]\n", "is a list of numbers in JSON", false},
      {"ak", lists + "]", "is a list of numbers in JSON", false},
      {"al.csv", "id,text\n1,hello\n" + rest, "is a table by its name", false},
      {"am.tsv", "id\ttext\n1\thello\n" + rest, "is a table by its name", false},
      {"an", written, "holds nothing but whole numbers: if they are token ids, write them", false},
      {"ao", written.substr(0, written.size() - 3), "holds nothing but whole numbers", false},
      {"ap", commas, "holds nothing but whole numbers", false},
  };
  std::vector<Case> all(std::begin(cases), std::end(cases));
  all.insert(all.end(), std::begin(more), std::end(more));
  for (const Case &one : all) {
    std::string path = temporaryPath("kind-" + std::string(one.name));
    writeFile(path, one.content);
    std::string told = errorOf(request(path, 8));
    EXPECT_EQ(told.find(path + " " + one.told), 0u) << path << ": " << told;
    EXPECT_EQ(errorOf(request(path, 8, 256, 0, OrderKind::Random, DataFormat::Text)).empty(), !one.isBinary) << path;
  }
}

TEST(TokenDataTest, OddTextsAreTexts) {
  using namespace std::string_literals;
  const std::string texts[] = {"{\"a\": 1}\nand then prose about it\n",
                               "[1, 2, 3]\n[4, 5, 6]\n",
                               "12345\n67890\n12345\n",
                               "x = 1 marks the spot, and x^2 is its square",
                               "(lp0 was a label here, and here it ends.",
                               "\xef\xbb\xbfWith a mark of its order",
                               "PK, or not PK",
                               "BZh is no name of an archive",
                               "GIF is a word, and so is PAR1",
                               "MZ and II* too",
                               "a zero \0 in the middle"s,
                               "caf\xe9 in Latin-1, \xff\xff\xff\xff",
                               "{ this is no JSON }\n",
                               "\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89",
                               "%!PS comes before PDF",
                               "\x1f\x8b is odd, but no archive",
                               "\"quoted\"\n\"lines\"\n",
                               repeated("1415926535 8979323846 2643383279 5028841971 5923078164 0628620899\n", 20),
                               repeated("7 0 12 ", 40) + "and a word",
                               repeated("3.5 -7 ", 80),
                               std::string(5000, '7')};
  for (const std::string &text : texts) {
    std::string path = temporaryPath("odd");
    writeFile(path, text);
    EXPECT_EQ(errorOf(request(path, 4)), "") << text;
  }
}

TEST(TokenDataTest, TextsThatAreMarkupOrEncodedAreNoted) {
  std::string encoded, one = "UGFyYWxsZWwgcHJvZ3JhbXMgc2hhcmQgMTI4IG1hdHJpY2VzLCBhbmQgZWFjaCByYW5rIGhvbGRz";
  for (int i = 0; i < 9; ++i)
    encoded += one + "\n";
  const std::pair<std::string, std::string> texts[] = {
      {"<!DOCTYPE html>\n<p>a text</p>", "looks like HTML: its tags are trained on as the rest of the text is"},
      {"\xef\xbb\xbf  <HTML lang=\"en\"><p>", "looks like HTML: "},
      {"<?xml version=\"1.0\"?><a>b</a>", "looks like XML: "},
      {repeated("<page><title>A</title></page>\n", 9), "looks like XML or HTML: "},
      {encoded, "looks like base64: it is trained on as it is; base64 -d "},
      {encoded + "QUJD=\n", "looks like base64: "},
      {repeated(one, 9), "looks like base64: "},
      {"<3 is a heart, and a < b > c is none", ""},
      {"<b>bold</b> words, and then a text without a tag", ""},
      {repeated("the quick brown fox\n", 30), ""},
      {repeated("MKVLAAGIVGLLLAQWERTYPASDFGHKLCVNM", 30), ""},
      {repeated("0123456789abcdef", 40), ""},
      {repeated("JustOneWordOfManyLettersAndNoDigit", 30), ""},
      {repeated(one + " ", 9), ""},
  };
  for (const auto &[text, note] : texts) {
    std::string path = temporaryPath("noted");
    writeFile(path, text);
    std::string found = TokenData(request(path, 4)).note();
    EXPECT_EQ(found.find(note.empty() ? "" : path + " " + note), 0u) << text << found;
    EXPECT_EQ(found.empty(), note.empty()) << text << found;
    EXPECT_EQ(TokenData(request(path, 4, 256, 0, OrderKind::Random, DataFormat::Text)).note(), "") << text;
  }
}

TEST(TokenDataTest, PaddingTokensAreCounted) {
  std::string path = temporaryPath("padding");
  writeFile(path, "abcabcab");
  DataRequest asked = request(path, 4);
  EXPECT_EQ(TokenData(asked).padding(), 0);
  asked.paddingToken = 'b';
  EXPECT_EQ(TokenData(asked).padding(), 3);
}

TEST(TokenDataTest, IdsOfAnotherWidthAreRefused) {
  std::string path = temporaryPath("wide.bin");
  auto refusal = [&](const std::string &content, DataFormat format) {
    writeFile(path, content);
    return errorOf(request(path, 8, 1000, 0, OrderKind::Random, format));
  };
  std::vector<uint16_t> ids;
  for (int i = 0; i < 100; ++i)
    ids.push_back(uint16_t(i * 7 % 1000));
  std::string two = bytesOf(ids), four = bytesOf(std::vector<uint32_t>(ids.begin(), ids.end())),
              eight = bytesOf(std::vector<int64_t>(ids.begin(), ids.end()));
  for (DataFormat format : {DataFormat::Auto, DataFormat::UInt16, DataFormat::UInt32})
    EXPECT_EQ(refusal(eight, format)
                  .find(path + " holds ids of 8 bytes (int64): write its token ids as numbers of 2 or "
                               "4 bytes and nothing else first, as by np.fromfile"),
              0u)
        << refusal(eight, format);
  EXPECT_EQ(refusal(four, DataFormat::UInt16),
            path + ": every second uint16 is 0: these are ids of 4 bytes: give --data-format uint32");
  EXPECT_EQ(refusal(four, DataFormat::UInt32), "");
  EXPECT_EQ(refusal(four, DataFormat::Auto), "");
  EXPECT_EQ(refusal(two, DataFormat::UInt16), "");
  EXPECT_EQ(refusal(two, DataFormat::Auto), "");
  std::string prose;
  while (prose.size() < 200)
    prose += "a text that is called ids\n";
  for (DataFormat format : {DataFormat::Auto, DataFormat::UInt16, DataFormat::UInt32})
    EXPECT_EQ(refusal(prose, format), path +
                                          " is a text, no list of token ids: give --data-format text, or --tokenizer "
                                          "FILE");
  EXPECT_EQ(refusal("\x93NUMPY" + two, DataFormat::UInt16).find(path + " is a NumPy array, no list of token ids"), 0u);
  EXPECT_EQ(refusal(std::string("PK\x03\x04") + two, DataFormat::Auto).find(path + " is a zip archive"), 0u);
}

TEST(TokenDataTest, TokensBeyondTheCheckedPartEndTheRunWhereTheyAreRead) {
  std::string path = temporaryPath("late.bin");
  std::vector<uint16_t> ids(1000, 7);
  ids[900] = 300;
  writeFile(path, bytesOf(ids));
  DataRequest late = request(path, 10, 256, 0, OrderKind::Sequential, DataFormat::UInt16);
  EXPECT_NE(errorOf(late).find("number 900 "), std::string::npos);
  late.checkedBytes = 1000;
  TokenData data(late);
  int32_t tokens[11];
  data.read(88, 0, 11, tokens);
  EXPECT_EXIT(data.read(90, 0, 11, tokens), ::testing::ExitedWithCode(1), "token 300, number 900 of the file");
}

// Every index, changed or cut at random, gives data or an error: no crash, no reading beyond.
TEST(TokenDataTest, MutatedIndexesGiveErrorsOrData) {
  std::mt19937_64 random(testSeed());
  std::vector<uint16_t> ids(90, 7);
  std::string whole = std::string("MMIDIDX\0\0", 9) + bytesOf(uint64_t(1)) + bytesOf(uint8_t(8)) +
                      bytesOf(uint64_t(2)) + bytesOf(uint64_t(2)) + bytesOf(std::vector<int32_t>{40, 50}) +
                      bytesOf(std::vector<int64_t>{0, 80}) + bytesOf(std::vector<int64_t>{0, 2});
  int accepted = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    std::string text = whole;
    for (uint64_t changes = random() % 4; changes > 0; --changes)
      text[random() % text.size()] = char(random() % 4 == 0 ? 255 : random());
    if (random() % 4 == 0)
      text.resize(random() % (text.size() + 1));
    std::vector<char> exact(text.begin(), text.end()); // so that a sanitizer sees what is read beyond
    try {
      TokenIndex index = parseTokenIndex({exact.data(), exact.size()}, 180, "index");
      EXPECT_EQ(index.tokens * tokenTypeBytes[int(index.type)], 180);
      ++accepted;
    } catch (const InputError &) {
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_LT(accepted, 19000);
}

TEST(SampleOrderTest, ShuffledEpochsHoldEveryWindowOnce) {
  std::mt19937_64 random(testSeed());
  for (int turn = 0; turn < 60; ++turn) {
    int64_t length = 1 + int64_t(random() % 9);
    int64_t windows = turn < 20 ? turn + 1 : 1 + int64_t(random() % 3000),
            tokens = windows * length + 1 + int64_t(random() % length);
    SampleOrder order(OrderKind::Shuffle, tokens, length, turn);
    ASSERT_EQ(order.places(), windows);
    std::vector<int64_t> first, second;
    for (int64_t epoch = 0; epoch < 2; ++epoch) {
      std::set<int64_t> seen;
      for (int64_t i = 0; i < windows; ++i) {
        int64_t start = order.start(epoch * windows + i);
        ASSERT_TRUE(start % length == 0 && start >= 0 && start + length + 1 <= tokens);
        seen.insert(start);
        (epoch ? second : first).push_back(start);
      }
      ASSERT_EQ(int64_t(seen.size()), windows);
    }
    if (windows > 20) {
      EXPECT_NE(first, second);
      EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
    }
  }
}

// Where window 0 lands over many epochs is as even as chance: chi-squared over 16 places, 15 degrees of freedom.
TEST(SampleOrderTest, ShuffleIsEven) {
  constexpr int64_t windows = 160, epochs = 8000;
  SampleOrder order(OrderKind::Shuffle, windows * 4 + 1, 4, 5);
  double found[16] = {};
  for (int64_t epoch = 0; epoch < epochs; ++epoch)
    found[order.start(epoch * windows) / 4 * 16 / windows] += 1;
  double chiSquared = 0;
  for (double count : found)
    chiSquared += (count - epochs / 16.0) * (count - epochs / 16.0) / (epochs / 16.0);
  EXPECT_LT(chiSquared, 45); // exceeded once in 10,000
}

TEST(SampleOrderTest, SequentialStartsAgain) {
  SampleOrder order(OrderKind::Sequential, 13, 4, 0);
  EXPECT_EQ(order.places(), 3);
  for (int64_t i = 0; i < 7; ++i)
    EXPECT_EQ(order.start(i), i % 3 * 4);
}

TEST(RandomTokensTest, TargetsAreTheNextInputs) {
  RandomTokens tokens(16, 131, 0);
  int32_t ids[16], targets[16];
  tokens.read(3, 0, 16, ids);
  tokens.read(3, 1, 16, targets);
  for (int i = 0; i < 15; ++i)
    EXPECT_EQ(ids[i + 1], targets[i]);
  for (int32_t id : ids)
    EXPECT_TRUE(id >= 0 && id < 131);
}

} // namespace
