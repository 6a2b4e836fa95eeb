// Samples of files and of random tokens; files that cannot be used. What the command line says of them is in
// LaunchTest.
#include "runtime/core/Error.h"
#include "runtime/core/TokenData.h"
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
  TokenData first(request(path, 8, 256, 1)), again(request(path, 8, 256, 1)), other(request(path, 8, 256, 2));
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
