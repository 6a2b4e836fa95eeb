// Runs one subject over the inputs in the tree.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ppc::test {

/// Every file of Corpus/<subject>: returns, or ends the test program as the fuzzer would.
inline void runCorpus(const char *subject, int (*run)(const uint8_t *, size_t)) {
  int64_t inputs = 0;
  for (const std::filesystem::directory_entry &entry :
       std::filesystem::directory_iterator(std::string(PPC_FUZZ_CORPUS) + "/" + subject)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    EXPECT_EQ(run(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()), 0);
    ++inputs;
  }
  EXPECT_GT(inputs, 0) << subject;
}

} // namespace ppc::test

#define PPC_FUZZ_CORPUS_TEST(name)                                                                                     \
  int fuzz##name(const uint8_t *data, size_t size);                                                                    \
  TEST(FuzzCorpus, name) { ppc::test::runCorpus(#name, fuzz##name); }
