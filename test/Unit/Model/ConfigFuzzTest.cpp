// Damaged config.json texts of every family: a message or a verified shape, whose counts are finite; never a crash.
#include "ppc/Model/ModelConfig.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace mlir::ppc;

static std::vector<std::string> publishedConfigs() {
  std::vector<std::string> texts;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(PPC_TEST_INPUTS "/Models", error), end; it != end && !error;
       it.increment(error))
    texts.push_back((*llvm::MemoryBuffer::getFile(it->path()))->getBuffer().str());
  return texts;
}

/// The values of a text's keys: where each begins and ends.
static std::vector<std::pair<size_t, size_t>> valuesOf(const std::string &text) {
  std::vector<std::pair<size_t, size_t>> values;
  for (size_t at = text.find("\": "); at != std::string::npos; at = text.find("\": ", at + 1)) {
    size_t end = text.find_first_of(",\n", at + 3);
    values.push_back({at + 3, end == std::string::npos ? text.size() : end});
  }
  return values;
}

TEST(ModelConfig, DamagedTexts) {
  const char *const values[] = {
      "0",   "-1",    "1",    "2",    "3",    "7",     "1e300", "-1e-300", "2147483648", "9223372036854775807",
      "0.3", "false", "true", "null", "\"\"", "\"x\"", "[]",    "[1]",     "{}",         "{\"type\": \"yarn\"}"};
  std::vector<std::string> texts = publishedConfigs();
  ASSERT_GE(texts.size(), 17u);
  std::mt19937 random(1);
  int64_t accepted = 0, refused = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text = texts[random() % texts.size()];
    for (int change = 0, changes = 1 + random() % 3; change < changes; ++change) {
      auto [begin, end] = valuesOf(text)[random() % valuesOf(text).size()];
      if (random() % 8 == 0)
        text.erase(random() % text.size(), 1 + random() % 5);
      else
        text.replace(begin, end - begin, values[random() % std::size(values)]);
      if (valuesOf(text).empty())
        break;
    }
    llvm::Expected<ModelConfig> config = parseModelConfig("config.json", text);
    if (!config) {
      std::string message = llvm::toString(config.takeError());
      EXPECT_EQ(message.rfind("config.json:", 0), 0u) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      ++refused;
      continue;
    }
    ++accepted;
    const ModelShape &shape = config->shape;
    if (shape.layers > 10000) // counted layer by layer
      continue;
    ParameterCounts counts = countParameters(shape);
    EXPECT_GT(counts.total, 0) << text;
    EXPECT_GT(counts.active, 0) << text;
    EXPECT_LE(counts.active, counts.total) << text;
    EXPECT_TRUE(std::isfinite(modelFlopsPerToken(shape, 2048))) << text;
    EXPECT_GT(forwardFlopsPerToken(shape, 2048, true).total(), 0) << text;
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 500);
}
