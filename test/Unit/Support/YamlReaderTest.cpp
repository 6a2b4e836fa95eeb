// Values, and the position and words of every error.
#include "ppc/Support/YamlReader.h"

#include <gtest/gtest.h>

using namespace mlir::ppc;

static YamlReader parsed(llvm::StringRef text) { return llvm::cantFail(YamlReader::fromText("f.yaml", text)); }

static std::string errorOf(llvm::StringRef text) {
  llvm::Expected<YamlReader> reader = YamlReader::fromText("f.yaml", text);
  if (!reader)
    return llvm::toString(reader.takeError());
  return "";
}

TEST(YamlReader, ReadsEveryKind) {
  YamlReader reader =
      parsed("# comment\nname: \"a b\"\nsize: 8\nrate: 450e9\non: true\nlist: [1, 2.5]\nnames: [x, 'y']\n"
             "inner: { depth: 2 }\nrows:\n  - { a: 1 }\n  - a: 2\nempty:\n");
  EXPECT_EQ(reader.string("name"), "a b");
  EXPECT_EQ(reader.integer("size", 1), 8);
  EXPECT_EQ(reader.positive("rate"), 450e9);
  EXPECT_TRUE(reader.boolean("on"));
  EXPECT_EQ(reader.numbers("list"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(reader.strings("names"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(reader.mapping("inner")->integer("depth", 1), 2);
  ASSERT_EQ(reader.mappings("rows").size(), 2u);
  EXPECT_EQ(reader.mappings("rows")[1].integer("a", 1), 2);
  EXPECT_EQ(reader.number("empty", 0, 1, 0.5), 0.5);
  EXPECT_FALSE(reader.has("empty"));
  reader.finish();
  EXPECT_EQ(llvm::toString(reader.takeError()), "");
}

TEST(YamlReader, ReportsPositionAndKey) {
  YamlReader reader = parsed("a: 1\nb: fast\n");
  reader.positive("b");
  EXPECT_EQ(llvm::toString(reader.takeError()), "f.yaml:2:4: error: key \"b\": expected a number > 0, found \"fast\"");
  reader.integer("c", 1);
  EXPECT_EQ(llvm::toString(reader.takeError()), "f.yaml:1:1: error: key \"c\": missing; expected an integer >= 1");
  reader.finish();
  EXPECT_EQ(llvm::toString(reader.takeError()), "f.yaml:1:1: error: unknown key \"a\"; possible: b, c");
  static const llvm::StringRef choices[] = {"slow", "slower"};
  reader.choice("b", choices);
  EXPECT_EQ(llvm::toString(reader.takeError()),
            "f.yaml:2:4: error: key \"b\": expected one of slow, slower, found \"fast\"");
  reader.number("a", 2, 4);
  EXPECT_EQ(llvm::toString(reader.takeError()),
            "f.yaml:1:4: error: key \"a\": expected a number from 2 to 4, found \"1\"");
}

TEST(YamlReader, QuotedNumbersAndOddSpellingsAreNotNumbers) {
  for (const char *text : {"a: '8'", "a: 0x10", "a: nan", "a: inf", "a: 1e999", "a: 8 GB", "a: [8]", "a: 1.5"}) {
    YamlReader reader = parsed(text);
    reader.integer("a", 1);
    EXPECT_TRUE(reader.failed()) << text;
    llvm::consumeError(reader.takeError());
  }
}

TEST(YamlReader, RefusesTextThatIsNotOneMapping) {
  EXPECT_EQ(errorOf("a: 1\na: 2\n"), "f.yaml:2:1: error: key \"a\" occurs twice; first in line 1");
  EXPECT_EQ(errorOf("- 1\n"), "f.yaml:1:1: error: expected `key: value` lines, found a list");
  EXPECT_NE(errorOf(""), "");
  EXPECT_NE(errorOf("a: [1, 2\n"), "");
  EXPECT_NE(errorOf("a: &x 1\nb: *x\n"), "");
  EXPECT_NE(errorOf("a: !!int 1\n"), "");
  EXPECT_NE(errorOf("a: 1\n---\nb: 2\n"), "");
  EXPECT_NE(errorOf(llvm::StringRef("a: \0 1", 6)), "");
  EXPECT_NE(errorOf("a: " + std::string(10000, '[')), "");
}

TEST(YamlReader, ListsAndLimitsNameAllowedValues) {
  YamlReader reader = parsed("a: [ [ x, y ], [ ] ]\nb: [ 1, 3 ]\nc: 9\nd: [ x, [ y ] ]\ne: [ 1.5 ]\n");
  EXPECT_EQ(reader.stringLists("a"), (std::vector<std::vector<std::string>>{{"x", "y"}, {}}));
  EXPECT_EQ(reader.integers("b", 0, 3), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(reader.integerWithin("c", 1, 9), 9);
  EXPECT_FALSE(reader.failed());
  reader.integerWithin("c", 1, 8);
  EXPECT_EQ(llvm::toString(reader.takeError()), "f.yaml:3:4: error: key \"c\": expected at most 8, found 9");
  reader.stringLists("d");
  EXPECT_EQ(llvm::toString(reader.takeError()),
            "f.yaml:4:6: error: key \"d\": expected a list of lists of names, found \"x\"");
  reader.integers("b", 2, 9);
  EXPECT_NE(llvm::toString(reader.takeError()).find("expected whole numbers from 2 to 9"), std::string::npos);
  reader.integers("e", 0, 9);
  EXPECT_NE(llvm::toString(reader.takeError()).find("key \"e\""), std::string::npos);
}
