// Agreement between ranks takes a reduction of one number; nothing is exchanged in steps without a checkpoint under
// way.
#include "runtime/launch/Checkpointing.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"
#include "runtime/data/SampleOrder.h"
#include "runtime/run/LearningRate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <sys/stat.h>

namespace ppcrt {
namespace {

void warn(const std::string &text) { std::fprintf(stderr, "warning: %s\n", text.c_str()); }

int64_t fileBytes(const std::string &path) {
  struct stat status;
  return !path.empty() && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? int64_t(status.st_size) : 0;
}

// What the checkpoint calls the data: the file, and what makes tokens of it.
std::string dataName(const Options &options) {
  return options.data + (options.data.empty() || options.tokenizer == "bytes" ? "" : " through " + options.tokenizer);
}

void loadBlock(const Checkpoint &checkpoint, const Buffer &buffer, const Block &block, DeviceMemory &memory) {
  std::vector<std::byte> content(size_t(buffer.bytes));
  checkpoint.load(buffer, block, content.data());
  memory.copyIn(buffer.offset, content.data(), buffer.bytes);
}

std::string show(const Difference &difference) {
  return difference.name + " is " + difference.here + " here, " + difference.there + " in the checkpoint";
}

std::string show(const std::vector<Difference> &differences) {
  constexpr size_t most = 8;
  std::string text;
  for (size_t i = 0; i < std::min(most, differences.size()); ++i)
    text += (i ? "; " : "") + show(differences[i]);
  return differences.size() > most ? text + format("; and %zu more", differences.size() - most) : text;
}

} // namespace

Checkpointing::Checkpointing(const Manifest &manifest, Options &options, FolderLock *lock)
    : manifest(manifest), options(options), lock(lock), folder(options.checkpointDir) {
  if (options.checkpointDir.empty())
    return;
  std::vector<int64_t> steps = folder.steps();
  if (!options.resume) {
    if (!steps.empty())
      throw InputError(format("%s holds checkpoints up to step %lld: give --resume to go on from them, or another "
                              "--checkpoint-dir",
                              options.checkpointDir.c_str(), (long long)steps.front()));
    return;
  }
  findCandidates();
  if (!candidates.empty())
    adopt(candidates.front()->info());
  if (options.minimumLearningRate > options.learningRate)
    throw UsageError(format("--min-lr %g is larger than --lr %g", options.minimumLearningRate, options.learningRate));
}

void Checkpointing::findCandidates() {
  for (int64_t step : folder.steps()) {
    std::unique_ptr<Checkpoint> checkpoint;
    try {
      checkpoint = std::make_unique<Checkpoint>(folder.completePath(step));
    } catch (const InputError &error) {
      refusals.push_back(error.what());
      continue;
    }
    if (checkpoint->info().step != step) {
      refusals.push_back(format("%s: the checkpoint is of step %lld", checkpoint->folder().c_str(),
                                (long long)checkpoint->info().step));
      continue;
    }
    checkpoint->checkFits(manifest);
    candidates.push_back(std::move(checkpoint));
  }
  if (candidates.empty() && !refusals.empty())
    throw InputError(format("none of %zu checkpoints can be used: ", refusals.size()) + refusals.front());
}

void Checkpointing::adopt(const CheckpointInfo &info) {
  bool seed = options.isGiven("--seed"), order = options.isGiven("--order");
  if (seed && options.seed != info.seed && !options.resumeAnyway)
    throw InputError(format("%s was written with --seed %llu: --seed %llu would be another run",
                            candidates.front()->folder().c_str(), (unsigned long long)info.seed,
                            (unsigned long long)options.seed));
  if (order && options.order != info.order && !options.resumeAnyway)
    throw InputError(format("%s was written with --order %s: --order %s would be another run",
                            candidates.front()->folder().c_str(), info.order.c_str(), options.order.c_str()));
  if (!seed)
    options.seed = info.seed;
  if (!order && options.order != info.order &&
      std::find(std::begin(orderNames), std::end(orderNames), info.order) == std::end(orderNames))
    throw InputError(candidates.front()->folder() + ": unknown order of samples \"" + info.order + "\"");
  if (!order)
    options.order = info.order;
  bool steps = options.isGiven("--steps"), rate = options.isGiven("--lr");
  if (!steps)
    options.steps = info.steps;
  if (!rate)
    options.learningRate = info.learningRate;
  if (!options.isGiven("--min-lr") && !rate)
    options.minimumLearningRate = info.minimumLearningRate;
  if (!options.isGiven("--warmup"))
    options.warmup = info.warmup;
}

std::vector<Difference> Checkpointing::differencesFrom(const CheckpointInfo &info) const {
  if (!info.identity.mathematics.empty())
    return differences(identity.mathematics, info.identity.mathematics);
  // Of format 1: little is known.
  Facts here, there{{"sequence length", std::to_string(info.sequenceLength)},
                    {"global batch", std::to_string(info.globalBatch)},
                    {"seed", std::to_string(info.seed)},
                    {"order of samples", info.order}};
  for (const auto &[name, value] : there)
    if (auto found = identity.mathematics.find(name); found != identity.mathematics.end())
      here.insert(*found);
  if (int64_t bytes = fileBytes(options.data); bytes && info.dataBytes) {
    here["bytes of the data"] = std::to_string(bytes);
    there["bytes of the data"] = std::to_string(info.dataBytes);
  }
  return differences(here, there);
}

void Checkpointing::identify(RunIdentity now) {
  identity = std::move(now);
  for (size_t i = 0; i < candidates.size() && !options.resumeAnyway;) {
    std::vector<Difference> found = differencesFrom(candidates[i]->info());
    if (found.empty()) {
      ++i;
      continue;
    }
    bool ofData = std::any_of(found.begin(), found.end(), [](const Difference &one) { return one.name == "data"; });
    for (const Difference &other : differences(identity.circumstances, candidates[i]->info().identity.circumstances))
      if (ofData && (other.name == "--data" || other.name == "--tokenizer")) // why it differs
        found.push_back(other);
    std::string text = candidates[i]->folder() + " is of another run: " + show(found);
    if (i == 0)
      throw InputError(text + ". --resume-anyway goes on all the same; another --checkpoint-dir begins anew");
    refusals.push_back(text);
    candidates.erase(candidates.begin() + int64_t(i));
  }
}

std::string Checkpointing::describeCandidates() const {
  std::string text;
  for (const auto &candidate : candidates)
    text += (text.empty() ? "steps " : ", ") + std::to_string(candidate->info().step);
  return text.empty() ? "none" : text;
}

std::string Checkpointing::describeRate(const CheckpointInfo &info) const {
  LearningRate there{info.learningRate, info.minimumLearningRate, info.warmup, info.steps},
      here{options.learningRate, options.minimumLearningRate, options.warmup, options.steps};
  double last = there.at(info.step), expected = there.at(info.step + 1), next = here.at(info.step + 1);
  constexpr double visible = 1e-3; // of the rate
  if (info.step >= options.steps || std::abs(next - expected) <= visible * expected)
    return "";
  return format("the learning rate is %.4g in step %lld, after %.4g in step %lld: its schedule is now that of --steps "
                "%lld --lr %.4g --min-lr %.4g --warmup %lld; --lr %.4g --min-lr %.4g goes on without a jump",
                next, (long long)info.step + 1, last, (long long)info.step, (long long)options.steps,
                options.learningRate, options.minimumLearningRate, (long long)options.warmup, last, last);
}

void Checkpointing::prepare() {
  if (options.checkpointDir.empty())
    return;
  auto note = [&](const std::string &text) {
    if (!options.quiet)
      std::fprintf(stderr, "note: %s\n", text.c_str());
  };
  if (lock && !lock->takenOver().empty())
    note(lock->takenOver());
  for (const std::string &refusal : refusals)
    warn("a checkpoint is refused: " + refusal);
  if (!candidates.empty()) {
    const CheckpointInfo &info = candidates.front()->info();
    for (const Difference &difference : differencesFrom(info))
      warn("--resume-anyway ignores that " + show(difference));
    if (info.identity.mathematics.empty())
      warn(candidates.front()->folder() +
           " was written when checkpoints did not say of which options of the model, optimizer and data they are: "
           "names and shapes of tensors, sequence length, batch, seed and order are those of this program");
    else
      for (const Difference &difference : differences(identity.circumstances, info.identity.circumstances))
        note("resumed with " + difference.name + " " + difference.here + " instead of " + difference.there);
    if (std::string text = describeRate(info); !text.empty())
      warn(text);
    if (!options.weights.empty())
      note("--weights is not read: the parameters are those of the checkpoint");
  }
  folder.prepare();
}

int64_t Checkpointing::largest(Transport &transport, int64_t value) {
  transport.allReduce(Transport::everyRank, &value, 1, DataType::I64, Reduction::Max);
  return value;
}

bool Checkpointing::tryLoad(const Checkpoint &checkpoint, Transport &transport, DeviceMemory &memory) {
  std::string problem;
  int64_t rank = transport.rank(), ranks = transport.rankCount();
  try {
    for (const Buffer &buffer : manifest.deviceOf(rank).buffers)
      if (buffer.role == Role::Parameter || buffer.role == Role::State)
        loadBlock(checkpoint, buffer,
                  Block(manifest.grid, rank, manifest.parameters[buffer.parameter].shape, buffer.cuts), memory);
  } catch (const InputError &error) {
    problem = error.what();
  }
  int64_t first = largest(transport, problem.empty() ? 0 : ranks - rank);
  if (first == ranks - rank)
    warn("a checkpoint is refused: " + problem);
  return first == 0;
}

int64_t Checkpointing::resume(Transport &transport, DeviceMemory &memory) {
  int64_t result = 0, refused = 0;
  if (options.checkpointDir.empty())
    return 0;
  folder.setRun(largest(transport, lock ? lock->id() : 0));
  if (lock && transport.rank() == 0)
    lock->startBeating();
  for (const auto &candidate : candidates) {
    int64_t step = candidate->info().step;
    if (largest(transport, step) != step || -largest(transport, -step) != step)
      fatal("the ranks do not see the same checkpoints in %s: it must be on a file system that they share",
            options.checkpointDir.c_str());
    if (tryLoad(*candidate, transport, memory)) {
      result = step;
      break;
    }
    ++refused;
  }
  if (result == 0 && refused)
    fatal("no checkpoint in %s can be used", options.checkpointDir.c_str());
  candidates.clear();
  if (result)
    good.push_back(result);
  if (options.resume && transport.rank() == 0 && !options.quiet) {
    if (result)
      std::printf("resumed after step %lld from %s\n", (long long)result, folder.completePath(result).c_str());
    else
      std::printf("no checkpoint in %s: starting at the beginning\n", options.checkpointDir.c_str());
  }
  return result;
}

void Checkpointing::afterStep(Transport &transport, const DeviceMemory &memory, int64_t step) {
  if (options.checkpointDir.empty())
    return;
  bool last = step == options.steps, due = last || (options.checkpointEvery && step % options.checkpointEvery == 0);
  if (writer)
    complete(transport, /*wait=*/due);
  if (!due)
    return;
  begin(transport, memory, step);
  if (last || options.checkpointWait)
    complete(transport, /*wait=*/true);
}

void Checkpointing::begin(Transport &transport, const DeviceMemory &memory, int64_t step) {
  underWay.info = {step,          manifest.model,       manifest.sequenceLength,     manifest.globalBatch,
                   options.seed,  options.learningRate, options.minimumLearningRate, options.warmup,
                   options.steps, dataName(options),    fileBytes(options.data),     options.order,
                   identity};
  writer = std::make_unique<CheckpointWriter>(manifest, transport.rank(), memory, folder.partialPath(step));
}

void Checkpointing::giveUp(const std::string &why) {
  std::string text = format("the checkpoint of step %lld could not be written: ", (long long)underWay.info.step) + why;
  if (options.checkpointRequired)
    fatal("%s", text.c_str());
  std::vector<int64_t> there;
  try {
    there = folder.steps();
  } catch (const InputError &) { // it is gone
  }
  auto last = std::find_if(there.begin(), there.end(),
                           [&](int64_t step) { return std::find(good.begin(), good.end(), step) != good.end(); });
  warn(text + (last == there.end() ? "; there is none before it"
                                   : format("; the last one is of step %lld", (long long)*last)));
}

void Checkpointing::waitForDisk(const Transport &transport, const std::function<bool(double seconds)> &waitFor) const {
  auto say = [&](double waited) {
    warn(manifest.grid.describe(transport.rank()) +
         format(" has waited %.0f s for the disk of %s, to which the checkpoint of step %lld is written", waited,
                options.checkpointDir.c_str(), (long long)underWay.info.step));
  };
  waitAndSay(waitFor, say, now);
}

void Checkpointing::complete(Transport &transport, bool wait) {
  if (wait)
    waitForDisk(transport, [&](double seconds) { return writer->waitFor(seconds); });
  else if (largest(transport, !writer->isDone()))
    return;
  int64_t rank = transport.rank(), ranks = transport.rankCount(), step = underWay.info.step;
  std::string problem = writer->failure();
  int64_t first = largest(transport, problem.empty() ? 0 : ranks - rank);
  int64_t mine[] = {writer->file().bytes, int64_t(writer->file().headerChecksum)};
  writer.reset();
  if (!first) {
    std::vector<int64_t> all(2 * ranks);
    transport.allGather(Transport::everyRank, mine, all.data(), 2, DataType::I64);
    if (rank == 0)
      problem = commit(transport, all);
    first = largest(transport, problem.empty() ? 0 : ranks - rank);
  }
  if (!first) {
    good.push_back(step);
    missing = 0;
    return;
  }
  missing = step;
  folder.discard(step); // by each rank, which may have a folder of its own
  if (first == ranks - rank)
    giveUp(problem);
}

std::string Checkpointing::commit(const Transport &transport, const std::vector<int64_t> &bytesAndChecksums) {
  underWay.files.clear();
  for (size_t rank = 0; 2 * rank < bytesAndChecksums.size(); ++rank)
    if (bytesAndChecksums[2 * rank])
      underWay.files.push_back(
          {rankFileName(int64_t(rank)), bytesAndChecksums[2 * rank], uint32_t(bytesAndChecksums[2 * rank + 1])});
  try {
    if (lock)
      lock->check();
  } catch (const InputError &error) {
    fatal("%s", error.what());
  }
  try {
    BackgroundWork work([&] { folder.commit(underWay, options.checkpointKeep); });
    waitForDisk(transport, [&](double seconds) { return work.waitFor(seconds); });
    work.finish();
  } catch (const InputError &error) {
    return error.what();
  }
  return "";
}

} // namespace ppcrt
