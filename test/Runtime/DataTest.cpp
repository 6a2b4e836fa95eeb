// Samples of a text and of random tokens. What is refused is in LaunchTest.
#include "runtime/core/TextData.h"
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sys/stat.h>
#include <thread>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

TEST(TextDataTest, SamplesAreWindowsThatDependOnSeedAndNumberOnly) {
  std::string path = temporaryPath("alphabet"), content;
  for (int i = 0; i < 200; ++i)
    content += char(i);
  writeFile(path, content);
  TextData first(path, 8, 256, 1), again(path, 8, 256, 1), other(path, 8, 256, 2);
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

TEST(TextDataTest, UnigramEntropyInNats) {
  std::string path = temporaryPath("entropy");
  writeFile(path, "aaaabbcd");
  EXPECT_NEAR(TextData(path, 4, 256, 0).unigramEntropy(), 1.75 * std::log(2), 1e-12);
}

TEST(TextDataTest, ReadsWhatCannotBeMapped) {
  std::string path = temporaryPath("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { writeFile(path, std::string(100000, 'x')); });
  TextData data(path, 8, 256, 0);
  writer.join();
  EXPECT_EQ(data.size(), 100000);
}

TEST(TextDataTest, ShortestPossibleText) {
  std::string path = temporaryPath("shortest");
  writeFile(path, "12345");
  int32_t tokens[5];
  TextData(path, 4, 256, 3).read(77, 0, 5, tokens);
  EXPECT_EQ(tokens[0], '1');
  EXPECT_EQ(tokens[4], '5');
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
