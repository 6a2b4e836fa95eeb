// Logs: files that grow while a run goes on.
#pragma once

#include <cstdint>
#include <string>

namespace ppcrt {

// A file that a run writes line by line; opened before the ranks are forked, so that an unwritable path is known at
// once.
class LineFile {
public:
  LineFile() = default;
  // An empty path writes nothing. What the file holds stays until keep(). Throws InputError.
  explicit LineFile(const std::string &path);
  // Keeps the first `lines` lines, and what is written from now on follows them; returns how many there were. A stream
  // keeps nothing and says `lines`.
  int64_t keep(int64_t lines);
  // Writes the line and a line end at once. The first failure (a full disk, a pipe that nobody reads any more) is told
  // in a warning, and nothing is written after it: the file ends with a whole line, and the run goes on.
  void write(const std::string &line);

private:
  std::string path;
  int fd = -1;
  bool stream = false;
  int64_t end = 0; // of the last whole line
};

} // namespace ppcrt
