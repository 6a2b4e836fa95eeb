// Which facts of two runs differ, and what is said of a model.
#include "runtime/run/RunIdentity.h"

#include <gtest/gtest.h>

using namespace ppcrt;

namespace {

std::vector<std::string> names(const std::vector<Difference> &differences) {
  std::vector<std::string> result;
  for (const Difference &difference : differences)
    result.push_back(difference.name + " " + difference.here + " " + difference.there);
  return result;
}

TEST(RunIdentityTest, FactsThatDifferAreNamed) {
  Facts here = {{"model.fingerprint", "aa"}, {"model.attention.window", "128"}, {"seed", "1"}, {"data", "x"}};
  Facts there = {{"model.fingerprint", "bb"}, {"seed", "2"}, {"data", "x"}};
  EXPECT_EQ(names(differences(here, there)), (std::vector<std::string>{"model.attention.window 128 none", "seed 1 2"}));
  EXPECT_EQ(names(differences(there, here)), (std::vector<std::string>{"model.attention.window none 128", "seed 2 1"}));
  EXPECT_TRUE(differences(here, here).empty());
}

TEST(RunIdentityTest, TheFingerprintDecidesOverTheModel) {
  Facts here = {{"model.fingerprint", "aa"}, {"model.rotary", "2"}}, there = here;
  there["model.rotary"] = "3"; // said otherwise by another version of the compiler
  EXPECT_TRUE(differences(here, there).empty());
  there = here;
  there["model.fingerprint"] = "bb";
  EXPECT_EQ(names(differences(here, there)), (std::vector<std::string>{"model.fingerprint aa bb"}));
  there["sequence length"] = "16"; // the shapes of the fingerprint are those of a batch
  EXPECT_EQ(names(differences(here, there)), (std::vector<std::string>{"sequence length none 16"}));
}

} // namespace
