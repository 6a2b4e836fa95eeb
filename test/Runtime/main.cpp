// Runs the tests, or, with --program=LAYOUT as first argument, is a compiled program itself.
#include "test/Runtime/BigramProgram.h"

#include <gtest/gtest.h>

#include <string_view>

int main(int argc, char **argv) {
  constexpr std::string_view flag = "--program=";
  if (argc > 1 && std::string_view(argv[1]).substr(0, flag.size()) == flag) {
    const ppcrt_program &program = ppcrt::test::bigramProgram(std::string(argv[1] + flag.size()));
    return ppcrt_main(&program, argc - 1, argv + 1);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
