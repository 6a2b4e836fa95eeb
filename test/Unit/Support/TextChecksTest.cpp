// Checks before a recursive parser runs: nesting depth, duplicate keys, aliases.
#include "ppc/Support/JsonReader.h"
#include "ppc/Support/JsonText.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/ModuleText.h"
#include "ppc/Support/YamlReader.h"

#include "llvm/Support/JSON.h"
#include <gtest/gtest.h>

#include <random>

using namespace mlir::ppc;

static std::string repeated(llvm::StringRef text, int64_t count) {
  std::string result;
  for (int64_t i = 0; i < count; ++i)
    result += text;
  return result;
}

static std::string jsonProblem(llvm::StringRef text) { return llvm::toString(checkJsonText("c.json", text)); }
static std::string moduleProblem(llvm::StringRef text) { return llvm::toString(checkModuleText("m.mlir", text)); }
static std::string yamlProblem(llvm::StringRef text) {
  llvm::Expected<YamlReader> reader = YamlReader::fromText("p.yaml", text);
  return reader ? "" : llvm::toString(reader.takeError());
}

TEST(TextChecks, JsonNestsToOneLimit) {
  for (auto [open, close] : {std::pair("[", "]"), std::pair("{\"a\": ", "}")}) {
    auto text = [&, open = open, close = close](int64_t depth) {
      return repeated(open, depth) + "1" + repeated(close, depth);
    };
    EXPECT_EQ(jsonProblem(text(limits::nesting)), "");
    EXPECT_NE(jsonProblem(text(limits::nesting + 1)).find("nested deeper than 64 levels"), std::string::npos);
    EXPECT_NE(jsonProblem(text(300'000)).find("nested deeper than 64 levels"), std::string::npos);
    EXPECT_NE(jsonProblem(repeated(open, 300'000)).find("nested deeper than 64 levels"), std::string::npos);
  }
  EXPECT_EQ(jsonProblem("\"" + repeated("[", 1000) + "\""), "");
  EXPECT_EQ(jsonProblem("[\n  " + repeated("[", 64)), "c.json:2:66: nested deeper than 64 levels");
}

TEST(TextChecks, JsonKeysAreThereOnce) {
  EXPECT_EQ(jsonProblem(R"({"a": {"b": 1}, "b": [{"a": 1}, {"a": "b"}], "c": "a"})"), "");
  EXPECT_EQ(jsonProblem("{\"a\": 1,\n \"a\": 2}"), "c.json:2:2: key \"a\" is given twice");
  EXPECT_EQ(jsonProblem(R"({"x": {"a": 1, "\u0061": 2}})"), "c.json:1:16: key \"\\u0061\" is given twice");
  EXPECT_EQ(jsonProblem(R"({"a\"b": 1, "a": 2})"), "");
}

/// A random document, and how deep it is; no object has a key twice.
static int64_t drawJson(std::mt19937 &random, int64_t levels, std::string &text) {
  auto below = [&](int end) { return std::uniform_int_distribution<int>(0, end - 1)(random); };
  int kind = levels > 0 ? below(4) : 2 + below(2);
  if (kind == 2)
    return text += std::to_string(below(1000)), 0;
  if (kind == 3)
    return text += "\"[{\\\"" + std::to_string(below(10)) + "\"", 0;
  int64_t depth = 0;
  text += kind ? "{" : "[";
  for (int i = 0, count = below(4); i < count; ++i) {
    text += i ? ", " : "";
    text += kind ? "\"k" + std::to_string(i) + "\": " : "";
    depth = std::max(depth, drawJson(random, levels - 1, text));
  }
  text += kind ? "}" : "]";
  return depth + 1;
}

TEST(TextChecks, RandomJsonIsRefusedForItsDepthAlone) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::string inner;
    int64_t depth = drawJson(random, 8, inner);
    int64_t around = std::uniform_int_distribution<int64_t>(50, 70)(random);
    std::string text = repeated("[", around) + inner + repeated("]", around);
    EXPECT_EQ(jsonProblem(text).empty(), depth + around <= limits::nesting) << text;
  }
}

TEST(TextChecks, YamlNestsToTheSameLimit) {
  auto flow = [](int64_t depth) { return "a: " + repeated("[", depth) + repeated("]", depth) + "\n"; };
  EXPECT_EQ(yamlProblem(flow(limits::nesting - 1)), "");
  EXPECT_NE(yamlProblem(flow(limits::nesting + 1)).find("nested deeper than 64 levels"), std::string::npos);
  EXPECT_NE(yamlProblem(flow(100'000)).find("nested deeper than 64 levels"), std::string::npos);
  EXPECT_NE(yamlProblem("a:\n  " + repeated("- ", 100'000) + "1\n").find("nested deeper than 64 levels"),
            std::string::npos);
}

TEST(TextChecks, ModulesNestToTheSameLimit) {
  for (auto [open, close] : {std::pair("module {\n", "}\n"), std::pair("[", "]"), std::pair("tuple<", ">"),
                             std::pair("(", ") -> ()"), std::pair("loc(callsite(", " at unknown))")}) {
    int64_t each = llvm::StringRef(open).count('(') > 1 ? 2 : 1;
    EXPECT_EQ(moduleProblem(repeated(open, limits::nesting / each) + repeated(close, limits::nesting / each)), "");
    EXPECT_NE(moduleProblem(repeated(open, 65)).find("nested deeper than 64 levels"), std::string::npos) << open;
    EXPECT_NE(moduleProblem(repeated(open, 200'000)).find("nested deeper than 64 levels"), std::string::npos) << open;
  }
  // Neighbours are not nested, nor are strings and comments.
  EXPECT_EQ(
      moduleProblem(repeated("func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %b = ppc.scale %a by -1.0e-05 "
                             "{a = [-1, - 2]} : tensor<4xf32>\n}\n",
                             500)),
      "");
  EXPECT_EQ(moduleProblem("module {\n" + repeated("  %b = ppc.scale %a by 7.8e-03 : tensor<*xf32>\n", 500) + "}\n"),
            "");
  EXPECT_EQ(moduleProblem("// " + repeated("[", 1000) + "\n\"" + repeated("<", 1000) + "\""), "");
  EXPECT_EQ(moduleProblem(repeated("affine_set<(d0) : (d0 - 1 >= 0, -d0 + 5 >= 0)>\n", 200)), "");
  EXPECT_EQ(moduleProblem(repeated("module {\n// -----\n", 100)), "");
}

TEST(TextChecks, AffineExpressionsAreNoDeeper) {
  for (llvm::StringRef text : {"-", "d0 + ", "d0 * ", "d0 mod s0 floordiv "})
    EXPECT_NE(moduleProblem("affine_map<(d0)[s0] -> (" + repeated(text, 1000) + "d0)>").find("nested deeper"),
              std::string::npos);
}

TEST(TextChecks, AliasesCountAsTheirDefinitions) {
  auto chain = [](int64_t length, llvm::StringRef value) {
    std::string text = "#a0 = [1]\n";
    for (int64_t i = 1; i < length; ++i) {
      std::string one = value.str();
      for (size_t at; (at = one.find('$')) != std::string::npos;)
        one.replace(at, 1, "#a" + std::to_string(i - 1));
      text += "#a" + std::to_string(i) + " = " + one + "\n";
    }
    return text;
  };
  EXPECT_EQ(moduleProblem(chain(20, "[$]")), "");
  EXPECT_NE(moduleProblem(chain(40, "[$]")).find("aliases nested deeper than 64 levels"), std::string::npos);
  EXPECT_NE(moduleProblem(chain(200'000, "[$]")).find("aliases nested deeper than 64 levels"), std::string::npos);
  EXPECT_NE(moduleProblem(chain(30, "[$, $]")).find("longer than"), std::string::npos);
  EXPECT_EQ(moduleProblem(chain(10, "[$, $]")), "");
  // Locations are defined below their uses, and neighbours do not make each other deeper.
  std::string below = "module {} loc(#l0)\n";
  for (int i = 0; i < 200'000; ++i)
    below += "#l" + std::to_string(i) + " = loc(callsite(#l" + std::to_string(i + 1) + " at unknown))\n";
  EXPECT_NE(moduleProblem(below).find("aliases nested deeper than 64 levels"), std::string::npos);
  // Wherever a definition stands, and over however many lines.
  for (llvm::StringRef style :
       {" #B = [#A]", "#B =\n\n  // x\n [#A]\n", "#B = loc\n(callsite(#A at unknown))\n", "!B = () ->\n (!A)\n"}) {
    std::string text = style[0] == '!' ? "!a0 = i1\n" : "#a0 = [1]\n";
    for (int i = 1; i < 100; ++i) {
      std::string one = style.str(), name = "a" + std::to_string(i - 1);
      one.replace(one.find('A'), 1, name);
      one.replace(one.find('B'), 1, "a" + std::to_string(i));
      text += one;
    }
    EXPECT_NE(moduleProblem(text).find("aliases nested deeper than 64 levels"), std::string::npos) << style.str();
  }
  std::string beside;
  for (int i = 0; i < 1000; ++i)
    beside += "#m" + std::to_string(i) + " = affine_map<(d0) -> (d0)>\nmodule attributes {a.b = #m" +
              std::to_string(i) + "} {}\n";
  EXPECT_EQ(moduleProblem(beside), "");
}

TEST(TextChecks, ReadersOfConfigurationsLookFirst) {
  llvm::Expected<JsonReader> reader = JsonReader::fromText("c.json", repeated("[", 1'000'000));
  ASSERT_FALSE(reader);
  EXPECT_EQ(llvm::toString(reader.takeError()), "c.json:1:65: nested deeper than 64 levels");
}
