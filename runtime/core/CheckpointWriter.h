// One rank's file of one checkpoint: a copy of what the rank is the one to write, then a thread that writes it.
#pragma once

#include "runtime/core/Checkpoint.h"
#include "runtime/core/DeviceMemory.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace ppcrt {

class CheckpointWriter {
public:
  // Copies the rank's blocks of parameters and states (without padding), each from the first stage that holds it, and
  // starts to write them to `folder`, which it makes when it is absent.
  CheckpointWriter(const Manifest &manifest, int64_t rank, const DeviceMemory &memory, const std::string &folder);
  ~CheckpointWriter();

  bool isDone() const { return done; }
  void wait();
  // After wait(): why the file could not be written, or empty; and what checkpoint.json is to say of it. A file that
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
  std::atomic<bool> done{false};
  std::thread thread;
};

} // namespace ppcrt
