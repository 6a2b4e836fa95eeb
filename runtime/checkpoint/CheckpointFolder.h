// The folder of a run's checkpoints: which are there, which can be used, giving a new one its name, removing old ones.
// A folder called step-N is complete; what is being written or removed is called step-N.partial.
#pragma once

#include "runtime/checkpoint/Checkpoint.h"

namespace ppcrt {

class CheckpointFolder {
public:
  static constexpr const char *indexName = "checkpoint.json";

  explicit CheckpointFolder(std::string path) : path(std::move(path)) {}

  // The run's own number, part of the names of what it is writing: a run that was cut off from this file system and
  // lives on elsewhere writes into no folder of the one that came after it.
  void setRun(int64_t number) { run = number; }

  const std::string &name() const { return path; }
  // Removes what runs that were killed have left unfinished. Throws InputError.
  void prepare() const;
  // Steps of the complete checkpoints, the last one first; empty when there is no folder. Throws InputError.
  std::vector<int64_t> steps() const;

  std::string completePath(int64_t step) const;
  std::string partialPath(int64_t step) const;

  // Completes the checkpoint whose files lie in partialPath(step): writes checkpoint.json, makes all durable, reads
  // back what each rank has written but the tensors, gives the folder its name, then removes all but the last `keep` up
  // to this step. Throws InputError; the older ones are untouched then.
  void commit(const CheckpointIndex &index, int64_t keep) const;
  // Removes what is there of an unfinished checkpoint, as far as possible.
  void discard(int64_t step) const;

private:
  std::string path;
  int64_t run = 0;
};

} // namespace ppcrt
