// V-Half and V-Min (arXiv 2405.15362): the V of ZB-V with a fraction of its activations. The schedule repeats one
// building block every 6 units (F, B, W of two chunks, a unit each), whose offsets decide how long activations live:
// about half, or a third, of 1F1B's p micro-batches. The block's times give the order of F and B on each device, with
// B as early as it can; W fill idle time, or run when memory is needed for an F. With F = B = W and
// b = (p - 1) / (M + p - 1), 1F1B's bubble rate: about b/2 for V-Half, 2b/3 for V-Min.
//
//   draw: v-half devices=3 micro-batches=3 chunks=2 F=1 B=1 W=1
//   device 0 |F0a F1a .   .   .   F0b B0b F2a W0b F1b B1b W1b B0a W0a .   F2b B2b B1a W2b W1a .   B2a W2a|
//   device 1 |.   F0a .   .   F0b F1a .   B0b F1b W0b F2a B0a B1b W0a F2b W1b B1a B2b W1a W2b B2a W2a .  |
//   device 2 |.   .   F0a F0b .   .   F1a F1b B0b B0a W0b F2a W0a F2b B1b B1a W1b W1a B2b B2a W2b W2a .  |
//
//   draw: v-min devices=3 micro-batches=3 chunks=2 F=1 B=1 W=1
//   device 0 |F0a .   .   .   .   F0b F1a B0b W0b .   .   F1b F2a B0a B1b W0a W1b F2b B2b B1a W2b W1a .   B2a W2a|
//   device 1 |.   F0a .   .   F0b .   .   F1a B0b W0b F1b .   B0a F2a W0a B1b F2b W1b B1a B2b W1a W2b B2a W2a .  |
//   device 2 |.   .   F0a F0b .   .   .   .   F1a F1b B0b B0a W0b W0a F2a F2b B1b B1a W1b W1a B2b B2a W2b W2a .  |
#include "Generators.h"
#include "ListScheduler.h"

#include <array>
#include <deque>

namespace mlir::ppc {

using Kind = PipelineActionKind;

/// Units at which a device runs F of chunk 0, F of chunk 1, B of chunk 1 and B of chunk 0 of micro-batch 0.
using BuildingBlock = std::array<int64_t, 4>;
static constexpr int64_t blockInterval = 6;

namespace {
class VSchedule {
public:
  VSchedule(llvm::StringRef name, const PipelineShape &shape, llvm::ArrayRef<BuildingBlock> blocks)
      : schedule(makeEmptySchedule(name, shape)), scheduler(schedule, 1, 1, 1), microBatches(shape.microBatches) {
    schedule.placement = placeZigzag(shape);
    for (int64_t device = 0; device < shape.devices; ++device) {
      int64_t up = 2 * shape.devices - 1 - device;
      devices.push_back({blocks[device], {device, up, up, device}});
      capacity = std::max(capacity, peak(devices.back()));
    }
  }

  PipelineSchedule make() {
    int64_t left = 6 * microBatches * devices.size();
    for (int64_t time = 0; left > 0; ++time)
      for (Device &device : devices)
        left -= step(device, time);
    return std::move(schedule);
  }

private:
  struct Device {
    BuildingBlock block;
    std::array<int64_t, 4> stages;    // per part of the block
    std::array<int64_t, 4> next = {}; // per part: its next micro-batch
    std::deque<PipelineAction> weights = {};
    int64_t kept = 0;

    int64_t plannedTime(int part) const { return block[part] + next[part] * blockInterval; }
  };
  static bool isForward(int part) { return part < 2; }

  /// The part whose next action is planned first; -1: all are done.
  int firstPlanned(const Device &device) const {
    int first = -1;
    for (int part = 0; part < 4; ++part)
      if (device.next[part] < microBatches && (first < 0 || device.plannedTime(part) < device.plannedTime(first)))
        first = part;
    return first;
  }

  /// Chunks kept at once when the plan is followed to the unit, W in the free ones.
  int64_t peak(Device device) const {
    int64_t kept = 0, most = 0, weights = 0, last = 0;
    for (int part; (part = firstPlanned(device)) >= 0; ++device.next[part]) {
      int64_t time = device.plannedTime(part);
      int64_t freed = std::min(weights, std::max<int64_t>(time - last - 1, 0));
      weights -= freed;
      kept -= freed;
      last = time;
      kept += isForward(part);
      weights += !isForward(part);
      most = std::max(most, kept);
    }
    return most;
  }

  /// Runs at most one action of the device; returns how many.
  int64_t step(Device &device, int64_t time) {
    // Of the actions that can start now, the earliest in the plan; an F only if no other action is planned before it.
    int best = -1, first = firstPlanned(device);
    PipelineAction action;
    for (int part = 0; part < 4; ++part) {
      if (device.next[part] == microBatches || (best >= 0 && device.plannedTime(best) < device.plannedTime(part)) ||
          (isForward(part) && (part != first || device.kept == capacity)))
        continue;
      PipelineAction candidate{isForward(part) ? Kind::Forward : Kind::Backward, device.stages[part],
                               device.next[part]};
      if (std::optional<int64_t> start = scheduler.start(candidate); start && *start <= time)
        best = part, action = candidate;
    }
    if (best >= 0) {
      ++device.next[best];
      if (isForward(best))
        ++device.kept;
      else
        device.weights.push_back({Kind::WeightGradient, action.stage, action.microBatch});
      scheduler.run(action);
      return 1;
    }
    if (device.weights.empty())
      return 0;
    scheduler.run(device.weights.front());
    device.weights.pop_front();
    --device.kept;
    return 1;
  }

  PipelineSchedule schedule;
  ListScheduler scheduler;
  int64_t microBatches, capacity = 0;
  std::vector<Device> devices;
};
} // namespace

static std::vector<BuildingBlock> vHalfBlocks(int64_t p) {
  int64_t shift = p % 2 ? 0 : 3; // so that no two parts fall on one unit
  std::vector<BuildingBlock> blocks;
  for (int64_t d = 0; d < p; ++d)
    blocks.push_back({2 * d, 3 * p - d - 2, 3 * p + shift + 2 * d - 1, 6 * p + shift - d - 2});
  return blocks;
}

static std::vector<BuildingBlock> vMinBlocks(int64_t p) {
  int64_t shift = p % 3 ? 0 : 2;
  std::vector<BuildingBlock> blocks;
  for (int64_t d = 0; d < p; ++d)
    blocks.push_back({d, 2 * p - d - 1, 2 * p + shift + d, 4 * p + shift - d - 1});
  return blocks;
}

PipelineSchedule makeVHalfSchedule(const PipelineShape &shape) {
  return VSchedule("v-half", shape, vHalfBlocks(shape.devices)).make();
}
PipelineSchedule makeVMinSchedule(const PipelineShape &shape) {
  return VSchedule("v-min", shape, vMinBlocks(shape.devices)).make();
}

/// A forward waits for all that is planned before it.
static std::vector<OrderLimit> limitByPlan(llvm::ArrayRef<BuildingBlock> blocks) {
  std::vector<OrderLimit> limits;
  int64_t p = blocks.size();
  for (int64_t device = 0; device < p; ++device)
    for (int forward = 0; forward < 2; ++forward)
      for (int later = forward + 1; later < 4; ++later) {
        auto stageOf = [&](int part) { return part == 0 || part == 3 ? device : 2 * p - 1 - device; };
        int64_t ahead = (blocks[device][later] - blocks[device][forward]) / blockInterval + 1;
        limits.push_back({stageOf(forward), stageOf(later), later >= 2, ahead});
      }
  return limits;
}

std::vector<OrderLimit> limitVHalf(const PipelineShape &shape) { return limitByPlan(vHalfBlocks(shape.devices)); }
std::vector<OrderLimit> limitVMin(const PipelineShape &shape) { return limitByPlan(vMinBlocks(shape.devices)); }

} // namespace mlir::ppc
