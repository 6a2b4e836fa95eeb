// What is printed of steps.
#include "runtime/core/Metrics.h"
#include "test/Runtime/BigramProgram.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ppcrt {
namespace {

/// Lines printed of `steps` steps of `seconds` each, of a run of very many, with a checkpoint of `between` seconds
/// after each.
size_t printedLines(int64_t steps, double seconds, int64_t printEvery, double between = 0) {
  Manifest manifest = parseManifest(test::bigramManifest(1, 1, 1));
  Options options;
  options.steps = 1000000;
  options.printEvery = printEvery;
  Metrics metrics(manifest, options, LineFile(), LineFile(), 0);
  Traffic traffic;
  traffic.groupBytes.resize(manifest.groups.size());
  testing::internal::CaptureStdout();
  for (int64_t step = 1; step <= steps; ++step) {
    StepReport report{};
    report.step = step;
    report.seconds = seconds;
    report.loss = 1;
    metrics.report(report, traffic, double(step) * (seconds + between));
  }
  std::string text = testing::internal::GetCapturedStdout();
  return size_t(std::count(text.begin(), text.end(), '\n'));
}

TEST(Metrics, SaysSomethingEverySixSeconds) {
  EXPECT_EQ(printedLines(1000, 0.001, 0), 1u); // the first of what fits into a second
  EXPECT_EQ(printedLines(100, 2, 0), 34u);     // each third step, after the first
  EXPECT_EQ(printedLines(10, 60, 0), 10u);
  EXPECT_EQ(printedLines(100, 0.001, 0, 2), 34u); // also where steps are short, and what lies between is long
}

TEST(Metrics, KeepsToStepsThatAreAskedFor) { EXPECT_EQ(printedLines(100, 60, 50), 3u); }

} // namespace
} // namespace ppcrt
