// Every message names the file and the key path; the first error sticks; unread keys are known.
#include "ppc/Support/JsonReader.h"

#include <gtest/gtest.h>

using namespace mlir::ppc;

static JsonReader readerOf(llvm::StringRef text) { return llvm::cantFail(JsonReader::fromText("config.json", text)); }

/// The message after one read; "" when there is none.
template <typename Read> static std::string messageOf(llvm::StringRef text, Read read) {
  JsonReader reader = readerOf(text);
  read(reader);
  return llvm::toString(reader.takeError());
}

static std::string parseMessage(llvm::StringRef text) {
  llvm::Expected<JsonReader> reader = JsonReader::fromText("config.json", text);
  return reader ? "" : llvm::toString(reader.takeError());
}

TEST(JsonReader, ReadsValuesAndFallbacks) {
  JsonReader reader = readerOf(R"({"a": 8, "b": 1e-5, "c": true, "d": "silu", "e": ["x", "y"], "n": null})");
  EXPECT_EQ(reader.integer("a", 1), 8);
  EXPECT_EQ(reader.number("b"), 1e-5);
  EXPECT_TRUE(reader.boolean("c"));
  EXPECT_EQ(reader.string("d"), "silu");
  EXPECT_EQ(reader.strings("e"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(reader.integer("n", 1, 5), 5);
  EXPECT_EQ(reader.integer("absent", 1, 6), 6);
  EXPECT_FALSE(reader.object("n"));
  EXPECT_FALSE(reader.has("n"));
  EXPECT_FALSE(reader.takeError());
}

TEST(JsonReader, NamesFileKeyAndValue) {
  EXPECT_EQ(messageOf(R"({"num_attention_heads": "8"})", [](JsonReader &r) { r.integer("num_attention_heads", 1); }),
            "config.json: key \"num_attention_heads\": expected an integer >= 1, found \"8\"");
  EXPECT_EQ(messageOf(R"({"h": 0})", [](JsonReader &r) { r.integer("h", 1); }),
            "config.json: key \"h\": expected an integer >= 1, found 0");
  EXPECT_EQ(messageOf(R"({"h": 8.5})", [](JsonReader &r) { r.integer("h", 1); }),
            "config.json: key \"h\": expected an integer >= 1, found 8.5");
  EXPECT_EQ(messageOf("{}", [](JsonReader &r) { r.integer("hidden_size", 1); }),
            "config.json: key \"hidden_size\": missing; expected an integer >= 1");
  EXPECT_EQ(messageOf(R"({"eps": -1})", [](JsonReader &r) { r.positive("eps"); }),
            "config.json: key \"eps\": expected a number > 0, found -1");
  EXPECT_EQ(messageOf(R"({"tie": 1})", [](JsonReader &r) { r.boolean("tie"); }),
            "config.json: key \"tie\": expected true or false, found 1");
  EXPECT_EQ(messageOf(R"({"a": ["x", 2]})", [](JsonReader &r) { r.strings("a"); }),
            "config.json: key \"a\": expected a list of strings, found [\"x\",2]");
  EXPECT_EQ(messageOf(R"({"rope": {"factor": []}})", [](JsonReader &r) { r.object("rope")->number("factor"); }),
            "config.json: key \"rope.factor\": expected a number, found []");
}

TEST(JsonReader, FirstErrorSticks) {
  JsonReader reader = readerOf(R"({"a": "x", "rope": {"b": "y"}})");
  reader.integer("a", 1);
  reader.object("rope")->integer("b", 1);
  EXPECT_EQ(llvm::toString(reader.takeError()), "config.json: key \"a\": expected an integer >= 1, found \"x\"");
  EXPECT_FALSE(reader.takeError());
}

TEST(JsonReader, MalformedTextHasALineAndColumn) {
  EXPECT_EQ(parseMessage("{\"a\": 1,\n  \"b\" 2}"), "config.json:2:7: not JSON: Expected : after object key");
  EXPECT_NE(parseMessage("{\"a\": 1").find("config.json:1:"), std::string::npos);
  EXPECT_NE(parseMessage("").find("config.json:1:"), std::string::npos);
  EXPECT_EQ(parseMessage("[1]"), "config.json: expected an object at the top, found [1]");
}

TEST(JsonReader, MissingFile) {
  llvm::Expected<JsonReader> reader = JsonReader::fromFile("/nonexistent/config.json");
  ASSERT_FALSE(reader);
  EXPECT_EQ(llvm::toString(reader.takeError()), "/nonexistent/config.json: No such file or directory");
}

TEST(JsonReader, KnowsUnreadKeys) {
  JsonReader reader = readerOf(R"({"z": 1, "a": 2, "skip": 3, "rope": {"x": 1, "y": 2}, "closed": {"k": 1}})");
  reader.integer("z", 0);
  reader.ignore({"skip"});
  reader.object("rope")->integer("x", 0);
  EXPECT_EQ(reader.unreadKeys(), (std::vector<std::string>{"a", "closed", "rope.y"}));
}
