// Byte-level tokenizers against what the library `tokenizers` makes of random texts (Inputs/Tokenizers), what is
// refused, and texts as training data.
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/base/Error.h"
#include "runtime/data/TokenData.h"
#include "runtime/files/File.h"
#include "runtime/tokenizer/CanonicalForm.h"
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

using namespace ppcrt;
using namespace ppcrt::test;
using nlohmann::json;

namespace {

std::string folder() {
  const char *other = std::getenv("PPC_TOKENIZERS");
  return other ? other : PPC_TOKENIZERS_FOLDER;
}

std::string textOf(const std::string &style) { return readText(folder() + "/" + style + ".json"); }

TEST(TokenizerTest, IdsAreThoseOfTheLibrary) {
  json expected = json::parse(readText(folder() + "/expected.json"));
  ASSERT_GE(expected["ids"].size(), 11u);
  for (const auto &[style, ids] : expected["ids"].items()) {
    Tokenizer tokenizer(textOf(style), style);
    ASSERT_EQ(ids.size(), expected["texts"].size());
    for (size_t i = 0; i < ids.size(); ++i) {
      auto text = expected["texts"][i].get<std::string>();
      ASSERT_EQ(tokenizer.encode(text), ids[i].get<std::vector<int32_t>>())
          << style << ": " << json(text).dump(-1, ' ', true);
    }
  }
}

// What a changed description is refused with; empty when it is not.
std::string refusal(const std::string &style, const std::function<void(json &)> &change) {
  json description = json::parse(textOf(style));
  change(description);
  try {
    Tokenizer tokenizer(description.dump(), "t.json");
  } catch (const InputError &error) {
    return error.what();
  }
  return "";
}

TEST(TokenizerTest, WhatIsNotSupportedIsNamed) {
  EXPECT_EQ(refusal("gpt2", [](json &) {}), "");
  EXPECT_EQ(refusal("gpt2", [](json &d) { d["model"]["type"] = "Unigram"; }),
            "t.json: model.type: \"Unigram\" is not supported; known: BPE");
  EXPECT_EQ(refusal("gpt2", [](json &d) { d["model"]["byte_fallback"] = true; }),
            "t.json: model.byte_fallback: is not supported: only byte-level tokenizers are");
  EXPECT_EQ(refusal("gpt2", [](json &d) { d["model"]["dropout"] = 0.1; }), "t.json: model.dropout: is not supported");
  EXPECT_EQ(refusal("gpt2", [](json &d) { d["model"]["end_of_word_suffix"] = "</w>"; }),
            "t.json: model.end_of_word_suffix: is not supported");
  EXPECT_EQ(refusal("gpt2", [](json &d) { d["model"]["merges"].push_back({"xq", "zz"}); }).substr(0, 22),
            "t.json: model.merges[1");
  EXPECT_EQ(refusal("gpt2", [](json &d) { d["normalizer"] = {{"type", "Lowercase"}}; }),
            "t.json: normalizer.type: \"Lowercase\" is not supported; known: NFC");
  EXPECT_EQ(refusal("gpt2", [](json &d) { d["pre_tokenizer"] = {{"type", "Metaspace"}}; }),
            "t.json: pre_tokenizer.type: \"Metaspace\" is not supported; known: Sequence, Split, Digits, ByteLevel");
  EXPECT_EQ(refusal("gpt2", [](json &d) { d["pre_tokenizer"] = nullptr; }),
            "t.json: pre_tokenizer: missing: only byte-level tokenizers are supported");
  EXPECT_EQ(refusal("gpt2", [](json &d) { d["added_tokens"][0]["id"] = 7; }),
            "t.json: added_tokens[0].id: 7 is not the id of this token in the vocabulary");
  EXPECT_EQ(refusal("llama3", [](json &d) { d["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Merged"; }),
            "t.json: pre_tokenizer.pretokenizers[0].behavior: unknown value \"Merged\"; known: Isolated, Removed, "
            "MergedWithPrevious, "
            "MergedWithNext, Contiguous");
  auto pattern = [](const std::string &regex) {
    return refusal("llama3", [&](json &d) { d["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = regex; });
  };
  EXPECT_EQ(pattern("\\s|[^\\S]"), "the regular expression \"\\s|[^\\S]\" is not supported: \\S at byte 5");
  for (const char *other :
       {"\\w+", "a{2}+", "[a[b]]", "[a&&b]", "^a", "(?<x>a)", "\\1", "(*FAIL)", "a\\", "(", "\\p{Nope}"})
    EXPECT_NE(pattern(other).find("is not supported"), std::string::npos) << other << ": " << pattern(other);
  for (const char *other :
       {"\\p{L}+", "[\\s\\d]", "\\u4e00|\\x{20}", "(?i:s)", ""}) // the last: empty is refused elsewhere
    EXPECT_EQ(pattern(other).find("is not supported"), std::string::npos) << other << ": " << pattern(other);
}

TEST(TokenizerTest, TextsThatAreNotUtf8AreRefusedWithTheirPlace) {
  Tokenizer tokenizer(textOf("gpt2"), "gpt2");
  const std::pair<std::string, int> cases[] = {{"ab\x80", 2},       {"\xc3", 0},         {"a\xc0\x80", 1},
                                               {"\xe0\x80\x80", 0}, {"\xed\xa0\x80", 0}, {"\xf4\x90\x80\x80", 0},
                                               {"\xf0\x9f\x8e", 0}, {"\xff", 0},         {"ok \xc3\xa9 \xe4\xb8", 6}};
  for (const auto &[text, place] : cases) {
    EXPECT_EQ(validUtf8(text), place);
    try {
      tokenizer.encode(text);
      FAIL() << place;
    } catch (const InputError &error) {
      EXPECT_EQ(std::string(error.what()), format("not valid UTF-8 at byte %d", place));
    }
  }
}

TEST(TokenizerTest, CanonicalForm) {
  EXPECT_EQ(composeCanonically("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(composeCanonically("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(composeCanonically("a\u0315\u0300"), "\u00e0\u0315");        // marks get their order first
  EXPECT_EQ(composeCanonically("\u212b \u0958"), "\u00c5 \u0915\u093c"); // what does not compose again
  EXPECT_EQ(composeCanonically("\u0301a"), "\u0301a");
}

TEST(TokenizerTest, ATextIsDataAndItsTokensCanBeSaved) {
  std::string text = temporaryPath("text"), saved = temporaryPath("saved.bin");
  json expected = json::parse(readText(folder() + "/expected.json"));
  std::string content;
  for (size_t i = 0; i < 100; ++i)
    content += expected["texts"][i].get<std::string>();
  writeFile(text, content);
  DataRequest request;
  request.path = text, request.tokenizer = folder() + "/gpt2.json", request.vocabulary = 440,
  request.sequenceLength = 32;
  TokenData tokens(request);
  Tokenizer tokenizer(textOf("gpt2"), "gpt2");
  ASSERT_EQ(tokens.size(), int64_t(tokenizer.encode(content).size()));
  tokens.save(saved);
  DataRequest again = request;
  again.path = saved, again.tokenizer.clear();
  TokenData ids(again);
  ASSERT_EQ(ids.size(), tokens.size());
  for (int64_t sample = 0; sample < 50; ++sample) {
    int32_t one[33], other[33];
    tokens.read(sample, 0, 33, one);
    ids.read(sample, 0, 33, other);
    for (int i = 0; i < 33; ++i)
      ASSERT_EQ(one[i], other[i]);
  }
  request.vocabulary = 300;
  try {
    TokenData refused(request);
    FAIL();
  } catch (const InputError &error) {
    EXPECT_NE(std::string(error.what()).find("which is not below the model's vocabulary size 300"), std::string::npos);
  }
}

TEST(TokenizerTest, ACheckpointRemembersTheTokenizer) {
  std::string text = temporaryPath("letters"), checkpoints = temporaryPath("tokenized");
  std::string content;
  for (int i = 0; i < 500; ++i)
    content += "qzq"; // what no merge makes longer, so that the program's vocabulary is large enough
  writeFile(text, content);
  std::vector<std::string> arguments = {"--data",    text,       "--quiet", "--lr",
                                        "1e-3",      "--min-lr", "1e-3",    "--checkpoint-dir",
                                        checkpoints, "--resume", "--steps"};
  auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(), arguments.begin(), arguments.end());
    ProgramRun run("1,1,1", more);
    EXPECT_EQ(run.wait(), 0) << run.err();
    return run.err();
  };
  std::string tokenizer = folder() + "/gpt2.json";
  EXPECT_EQ(train({"2", "--tokenizer", tokenizer}), "");
  EXPECT_EQ(train({"4", "--tokenizer", tokenizer}), "");
  arguments.push_back("6");
  ProgramRun other("1,1,1", arguments);
  EXPECT_EQ(other.wait(), 1);
  EXPECT_NE(other.err().find("--tokenizer is bytes here, " + tokenizer + " in the checkpoint"), std::string::npos)
      << other.err();
}

} // namespace
