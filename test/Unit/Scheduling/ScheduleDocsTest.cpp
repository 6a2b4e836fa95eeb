// The timelines in docs/internals/Schedules.md and in the generators' comments are what the code draws. A drawing
// follows a line
//   draw: NAME devices=4 micro-batches=8 chunks=2 slices=1 F=1 B=1 W=0.5
// (a device's share of the model takes F, B and W; a cell is the shortest of them that is not 0, over the chunks and
// slices). PPC_UPDATE_DRAWINGS=1 writes them anew.
#include "ppc/Scheduling/ScheduleDrawing.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace mlir::ppc;

static std::vector<std::string> draw(llvm::StringRef request) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(request, words);
  PipelineShape shape;
  StageDurations durations;
  for (llvm::StringRef word : llvm::drop_begin(words)) {
    auto [key, text] = word.split('=');
    double value = 0;
    if (text.getAsDouble(value))
      break; // the rest is prose
    if (key == "devices")
      shape.devices = value;
    else if (key == "micro-batches")
      shape.microBatches = value;
    else if (key == "chunks")
      shape.chunks = value;
    else if (key == "slices")
      shape.slices = value;
    else if (key == "F")
      durations.forward = Seconds(value);
    else if (key == "B")
      durations.backward = Seconds(value);
    else if (key == "W")
      durations.weightGradient = Seconds(value);
    else
      ADD_FAILURE() << "unknown key in \"" << request.str() << "\"";
  }
  double cell = 1e9;
  for (Seconds each : {durations.forward, durations.backward, durations.weightGradient})
    if (each.value > 0)
      cell = std::min(cell, each.value);
  llvm::Expected<PipelineSchedule> schedule = makePipelineSchedule(words[0], shape);
  if (!schedule) {
    ADD_FAILURE() << llvm::toString(schedule.takeError());
    return {};
  }
  double v = shape.chunks;
  for (Seconds *each : {&durations.forward, &durations.backward, &durations.weightGradient})
    *each = Seconds(each->value / v);
  ScheduleTimeline timeline = llvm::cantFail(simulateSchedule(*schedule, {durations}));
  std::string text = drawSchedule(timeline, Seconds(cell / v / shape.slices));
  std::vector<std::string> lines;
  for (llvm::StringRef line : llvm::split(llvm::StringRef(text).rtrim('\n'), '\n'))
    lines.push_back(line.str());
  return lines;
}

/// The file with its drawings made anew; `drawings` counts them.
static std::string redraw(llvm::StringRef text, int &drawings) {
  std::string result;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    result += (i ? "\n" : "") + lines[i].str();
    size_t at = lines[i].find("draw: ");
    if (at == llvm::StringRef::npos)
      continue;
    ++drawings;
    size_t j = i + 1;
    for (; j < lines.size() && !lines[j].contains("device "); ++j)
      result += "\n" + lines[j].str();
    if (j == lines.size())
      break;
    std::string prefix = lines[j].take_front(lines[j].find("device ")).str();
    for (const std::string &line : draw(lines[i].substr(at + 6)))
      result += "\n" + prefix + line;
    while (j < lines.size() && lines[j].substr(prefix.size()).starts_with("device "))
      ++j;
    i = j - 1;
  }
  return result;
}

TEST(ScheduleDocs, DrawingsMatchTheCode) {
  llvm::SmallString<256> root(PPC_TEST_INPUTS);
  llvm::sys::path::append(root, "../..");
  std::vector<std::string> files = {(root + "/docs/internals/Schedules.md").str()};
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry((root + "/lib/Scheduling").str(), error), end; entry != end && !error;
       entry.increment(error))
    if (llvm::StringRef(entry->path()).ends_with(".cpp"))
      files.push_back(entry->path());
  int drawings = 0;
  for (const std::string &file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    ASSERT_TRUE(bool(buffer)) << file;
    std::string text = (*buffer)->getBuffer().str(), drawn = redraw(text, drawings);
    if (drawn == text)
      continue;
    if (!std::getenv("PPC_UPDATE_DRAWINGS")) {
      EXPECT_EQ(text, drawn) << file;
      continue;
    }
    llvm::raw_fd_ostream out(file, error);
    out << drawn;
  }
  // One in the comments of each generator, five on the page.
  EXPECT_GE(drawings, int(pipelineScheduleKinds().size()) + 5);
}
