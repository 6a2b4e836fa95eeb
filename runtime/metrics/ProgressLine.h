// The line of a terminal that shows how far a run is: it moves by itself while something takes long.
#pragma once

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace ppcrt {

class ProgressLine {
public:
  // `out` is borrowed. Where nothing `isShown`, no member does anything. Not to be made before a fork.
  ProgressLine(FILE *out, bool isShown);
  // Removes the line.
  ~ProgressLine();
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;

  // What the run does from `time` on, in seconds of now(): told with its seconds once it takes longer than one.
  void begin(const std::string &activity, double time);
  // How far it is.
  void show(const std::string &text, double time);
  // The line as it is at `time`; called once a second by a thread of its own.
  void tick(double time);
  // Nothing is shown until the next show(): other text takes the place.
  void remove();

private:
  void draw(double time);

  FILE *out;
  bool isShown, isDrawn = false, ends = false;
  std::string activity, text;
  double begun = 0, drawn = 0;
  std::mutex mutex;
  std::condition_variable ending;
  std::thread thread;
};

} // namespace ppcrt
