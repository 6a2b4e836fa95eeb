// The checkpoints of a run: where it goes on from, when new ones begin, and how the ranks agree that one is complete.
#pragma once

#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/CheckpointWriter.h"
#include "runtime/files/FolderLock.h"
#include "runtime/run/Options.h"
#include "runtime/transport/Transport.h"

#include <functional>
#include <memory>
#include <vector>

namespace ppcrt {

class Checkpointing {
public:
  // With --resume, finds the checkpoints that may be gone on from; what they say of seed and learning rate replaces the
  // options that were not given. Throws InputError when there are checkpoints but none is usable, when their tensors
  // are not those of the program, when they disagree with a given --seed, and when there are some that the run is not
  // to go on from. `lock` keeps other runs out of the folder; null where another process of the run holds it.
  Checkpointing(const Manifest &manifest, Options &options, FolderLock *lock);

  // What this run is, to be called before those below. Throws InputError when the last checkpoint is of another one,
  // and says of which, unless --resume-anyway is given.
  void identify(RunIdentity identity);

  // Warns of refused checkpoints and of what is ignored, and notes what else is other than when the checkpoint was
  // written; removes what was left unfinished. Once for each run.
  void prepare();

  // All ranks call each of these together.
  // Fills the arena from the last checkpoint that all ranks can read; returns its step, 0 when the run starts at the
  // beginning. Ends the process when checkpoints turn out to be damaged and none is left.
  int64_t resume(Transport &transport, DeviceMemory &memory);
  // To be called after every step. Completes the checkpoint under way once all ranks have written theirs, and begins
  // the next when it is due.
  void afterStep(Transport &transport, const DeviceMemory &memory, int64_t step);

  // The step of the last checkpoint that was due, where it could not be written; else 0.
  int64_t lacking() const { return missing; }

  bool hasCandidates() const { return !candidates.empty(); }
  // "steps 20, 15", or "none".
  std::string describeCandidates() const;

private:
  void findCandidates();
  void adopt(const CheckpointInfo &info);
  // What makes the checkpoint one of another run.
  std::vector<Difference> differencesFrom(const CheckpointInfo &info) const;
  // How the learning rate goes on where it is not as the checkpoint's own schedule has it; else empty.
  std::string describeRate(const CheckpointInfo &info) const;
  bool tryLoad(const Checkpoint &checkpoint, Transport &transport, DeviceMemory &memory);
  void begin(Transport &transport, const DeviceMemory &memory, int64_t step);
  void complete(Transport &transport, bool wait);
  // By the first rank: gives the checkpoint under way its name. Returns why it could not, or nothing.
  std::string commit(const Transport &transport, const std::vector<int64_t> &bytesAndChecksums);
  void giveUp(const std::string &why);
  // Waits for what this rank brings to a disk, and says so where that takes long.
  void waitForDisk(const Transport &transport, const std::function<bool(double seconds)> &waitFor) const;
  // The largest of the ranks' values.
  static int64_t largest(Transport &transport, int64_t value);

  const Manifest &manifest;
  Options &options;
  FolderLock *lock;
  CheckpointFolder folder;
  RunIdentity identity;
  std::vector<std::unique_ptr<Checkpoint>> candidates; // the last one first
  std::vector<std::string> refusals;
  std::unique_ptr<CheckpointWriter> writer; // of the checkpoint under way
  CheckpointIndex underWay;
  std::vector<int64_t> good; // steps of those that this run began from or wrote
  int64_t missing = 0;
};

} // namespace ppcrt
