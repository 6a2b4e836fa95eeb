// What is printed of steps.
#include "runtime/metrics/Metrics.h"
#include "runtime/base/Clock.h"
#include "runtime/metrics/ProgressLine.h"
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

// A step that takes long: the line of a terminal moves by the seconds that it tells.
TEST(ProgressLineTest, MovesWhileSomethingTakesLong) {
  FILE *file = std::tmpfile();
  auto written = [&] {
    std::string text(size_t(std::ftell(file)), '\0');
    std::rewind(file);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
    std::rewind(file);
    return text;
  };
  {
    ProgressLine line(file, true);
    line.tick(1e9);
    EXPECT_EQ(written(), "") << "nothing is shown before there is something";
    double start = now() + 1e6; // for the thread of the line, nothing takes long
    line.begin("step 1", start);
    line.show("[....] 0/9", start);
    line.tick(start + 0.5);
    line.tick(start + 7);
    line.begin("evaluation after step 1", start + 8);
    line.show("[#...] 1/9", start + 8);
    line.show("[##..] 2/9", start + 8.05); // too soon to be drawn
    line.tick(start + 68);
    line.remove();
    line.tick(start + 70);
    EXPECT_EQ(written(), "\r[....] 0/9\033[K\r[....] 0/9\033[K\r[....] 0/9; step 1: 7 s\033[K\r[#...] 1/9\033[K"
                         "\r[##..] 2/9; evaluation after step 1: 60 s\033[K\r\033[K");
  }
  EXPECT_EQ(written(), "");
  ProgressLine silent(file, false);
  silent.begin("step 1", 0);
  silent.show("[....] 0/9", 0);
  silent.tick(100);
  EXPECT_EQ(written(), "");
  std::fclose(file);
}

} // namespace
} // namespace ppcrt
