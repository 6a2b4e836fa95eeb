// Every option that takes a number, with values that are none or mean nothing.
#include "runtime/run/Options.h"
#include "runtime/base/Error.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

using namespace ppcrt;

namespace {

// "N" or "F" of the options that the help text names.
std::map<std::string, char> numericOptions() {
  std::map<std::string, char> found;
  std::stringstream text(helpText("train"));
  for (std::string line; std::getline(text, line);) {
    std::stringstream words(line);
    std::string name, argument;
    words >> name >> argument;
    if (name.rfind("--", 0) == 0 && (argument == "N" || argument == "F"))
      found[name] = argument[0];
  }
  return found;
}

// What the option says of the value, or nothing.
std::string refusal(const std::string &option, const std::string &value) {
  std::string joined = option + "=" + value, program = "train", version = "--version";
  char *arguments[] = {program.data(), joined.data(), version.data()};
  try {
    parseOptions(3, arguments);
    return "";
  } catch (const UsageError &error) {
    return error.what();
  }
}

TEST(OptionsTest, NumbersThatMeanNothingAreRefusedByName) {
  std::map<std::string, char> options = numericOptions();
  EXPECT_GE(options.size(), 12u);
  for (const auto &[name, kind] : options) {
    for (const char *value : {"nan", "NaN", "inf", "-inf", "-1", "-0.5", "1e400", "-1e400", "1e-400", "1e39", "",
                              " ",   "1x",  "0x",  "1,5",  "01", "007",  "00.5",  "+01",    "--lr",   " 1",   "1 "})
      EXPECT_EQ(refusal(name, value).find(name + ": expected "), 0u)
          << name << " " << value << ": " << refusal(name, value);
    if (kind == 'N')
      for (const char *value : {"1.5", "1e3", "inf", "0x10", "9223372036854775808", "99999999999999999999999999999999"})
        EXPECT_EQ(refusal(name, value).find(name + ": expected an integer from "), 0u) << name << " " << value;
    bool zero = kind == 'F' || name == "--warmup" || name == "--seed" || name == "--steps";
    EXPECT_EQ(refusal(name, "0") == "", zero) << name;
    EXPECT_EQ(refusal(name, "1"), "") << name;
    if (kind == 'N' && name != "--seed" && name != "--weight-file-bytes")
      EXPECT_NE(refusal(name, "1000000001"), "") << name;
  }
  EXPECT_EQ(refusal("--lr", "1e-46"), "--lr: expected a number from 0 to 3.4e+38, found \"1e-46\"") << "0 in 32 bits";
  EXPECT_NE(refusal("--threads", "1025"), "");
  EXPECT_EQ(refusal("--seed", "9223372036854775807"), "");
}

TEST(OptionsTest, AnEmptyNameIsNoFile) {
  std::stringstream text(helpText("train"));
  int files = 0;
  for (std::string line; std::getline(text, line);) {
    std::stringstream words(line);
    std::string name, argument;
    words >> name >> argument;
    if (name.rfind("--", 0) == 0 &&
        (argument.find("FILE") != std::string::npos || argument == "FOLDER" || argument == "PATH")) {
      ++files;
      EXPECT_EQ(refusal(name, ""), name + ": expected a file name, found nothing");
    }
  }
  EXPECT_GE(files, 13);
}

} // namespace
