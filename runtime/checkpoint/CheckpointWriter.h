// One rank's file of one checkpoint: a copy of what the rank is the one to write, then a thread that writes it.
#pragma once

#include "runtime/base/BackgroundWork.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/transport/DeviceMemory.h"

#include <optional>
#include <string>
#include <vector>

namespace ppcrt {

class CheckpointWriter {
public:
  // Copies the rank's blocks of parameters and states (without padding), each from the first stage that holds it, and
  // starts to write them to `folder`, which it makes when it is absent.
  CheckpointWriter(const Manifest &manifest, int64_t rank, const DeviceMemory &memory, const std::string &folder);

  bool isDone() const { return waitFor(0); }
  // Waits for at most so many seconds; whether it is done.
  bool waitFor(double seconds) const { return work->waitFor(seconds); }
  // Once it is done: why the file could not be written, or empty; and what checkpoint.json is to say of it. A file that
  // could not be written is gone. A rank that has nothing to write has no file: its name is empty.
  const std::string &failure() const { return problem; }
  const CheckpointFile &file() const { return written; }

private:
  struct Piece {
    std::string name;
    DataType type;
    StoredBlock block;
    std::vector<std::byte> content;
  };

  void write(const std::string &folder);

  std::vector<Piece> pieces;
  CheckpointFile written;
  std::string problem;
  std::optional<BackgroundWork> work; // on what is above
};

} // namespace ppcrt
