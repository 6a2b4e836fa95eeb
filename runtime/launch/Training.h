// One training run: what is prepared before ranks start (data, output files), and the step loop of each rank. How ranks
// come to be is no matter here: see Launch.h.
#pragma once

#include "runtime/data/TokenData.h"
#include "runtime/executor/EmulatedBodies.h"
#include "runtime/executor/PlanExecutor.h"
#include "runtime/launch/Checkpointing.h"
#include "runtime/launch/Evaluation.h"
#include "runtime/launch/RankAgreement.h"
#include "runtime/metrics/Metrics.h"
#include "runtime/metrics/Trace.h"
#include "runtime/run/Options.h"
#include "runtime/watch/RankProgress.h"
#include "runtime/weights/TensorFile.h"
#include "runtime/weights/WeightFiles.h"
#include "runtime/weights/WeightFolder.h"

#include <memory>
#include <vector>

namespace ppcrt {

// What the options say of the data of `manifest`'s model.
DataRequest dataRequest(const Options &options, const Manifest &manifest);

// What follows from the way in which ranks are started.
struct RunSetting {
  const char *transport; // "local" or "mpi"
  int threads;           // of a rank
  FolderLock *lock;      // of --checkpoint-dir, borrowed; null where there is none or another process has it
  const Emulation *emulation = nullptr; // borrowed; null: as fast as this machine is
  uint64_t run = drawRunNumber();       // the same in all ranks
};

class Training {
public:
  // Reads and checks the data and what to begin with: weights, checkpoints. `manifest` is borrowed.
  // Throws InputError.
  Training(const Manifest &manifest, const Options &options, const RunSetting &setting);

  // What ranks that were started apart have to find alike in what was read.
  std::vector<RunFact> facts() const;

  // Opens the files that the run writes. Once for each run, in the launcher or in the first rank: throws InputError
  // when one of them cannot be written.
  void createOutputs();
  // The same in every process that neither called createOutputs() nor descends from one that did; after it has returned
  // there.
  void joinOutputs();

  bool isEmulated() const { return emulation; }

  // Runs all steps as the rank of `transport`, and tells `progress` of it. `memory` is zero, and `code` that of the
  // rank's device.
  void run(Transport &transport, DeviceMemory &memory, RoutineCode &code, RankProgress &progress);

  // Gives the files their names; where createOutputs() was called, after every rank's run() has returned.
  void commitOutputs();
  // Throws InputError where a run that `progress` tells of lacks a checkpoint that it was to write.
  void checkCheckpoints(const RankProgress &progress) const;

private:
  void openData(const RunSetting &setting);
  // What the emulation has come to; the first rank says it and writes --save-durations. Throws InputError when too many
  // bodies were late.
  void concludeEmulation(const EmulatedBodies &bodies, Transport &transport) const;
  void measureMemory(Transport &transport, const DeviceMemory &memory, StepReport &report) const;

  const Manifest &manifest;
  Options options; // as given, or as the checkpoint says
  const Emulation *emulation;
  uint64_t runNumber;
  Checkpointing checkpoints;
  LineFile log, losses;
  std::unique_ptr<TraceFile> trace;     // where the outputs were created, and a descendant's
  std::unique_ptr<TokenSource> tokens;  // null where no step reads any
  std::vector<std::string> dataNotes;   // of what the data holds that may not be meant
  std::unique_ptr<Evaluation> heldOut;  // null without --eval-data
  std::unique_ptr<WeightFiles> weights; // until the ranks have read them
  std::vector<std::unique_ptr<TensorFile>> saved;
  std::unique_ptr<WeightFolder> savedWeights;
};

} // namespace ppcrt
