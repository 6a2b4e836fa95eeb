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
struct PlannedAction {
  int64_t time;
  PipelineAction action;
};

class VSchedule {
public:
  VSchedule(llvm::StringRef name, const PipelineShape &shape, llvm::ArrayRef<BuildingBlock> blocks)
      : schedule(makeEmptySchedule(name, shape)), scheduler(schedule, 1, 1, 1), devices(shape.devices) {
    schedule.placement = {zigzagPlacement(shape)};
    for (int64_t device = 0; device < shape.devices; ++device) {
      Device &each = devices[device];
      int64_t stages[2] = {device, 2 * shape.devices - 1 - device};
      for (int64_t m = 0; m < shape.microBatches; ++m)
        for (int64_t part = 0; part < 4; ++part) {
          Kind kind = part < 2 ? Kind::Forward : Kind::Backward;
          int64_t stage = stages[part == 1 || part == 2];
          each.planned.push_back({blocks[device][part] + m * blockInterval, {kind, stage, m}});
        }
      std::sort(each.planned.begin(), each.planned.end(),
                [](const PlannedAction &a, const PlannedAction &b) { return a.time < b.time; });
      capacity = std::max(capacity, peak(each.planned));
    }
  }

  PipelineSchedule make() {
    size_t left = 0;
    for (const Device &device : devices)
      left += device.planned.size() / 2 * 3;
    for (int64_t time = 0; left > 0; ++time)
      for (Device &device : devices)
        left -= step(device, time);
    return std::move(schedule);
  }

private:
  struct Device {
    std::vector<PlannedAction> planned;
    size_t begin = 0; // everything before has run
    std::deque<PipelineAction> weights;
    int64_t kept = 0;
  };

  /// Chunks kept at once when the plan is followed to the unit, W in the free ones.
  static int64_t peak(llvm::ArrayRef<PlannedAction> planned) {
    int64_t kept = 0, most = 0, weights = 0, last = 0;
    for (const PlannedAction &each : planned) {
      int64_t freed = std::min(weights, std::max<int64_t>(each.time - last - 1, 0));
      weights -= freed;
      kept -= freed;
      last = each.time;
      kept += each.action.kind == Kind::Forward;
      weights += each.action.kind == Kind::Backward;
      most = std::max(most, kept);
    }
    return most;
  }

  /// Runs at most one action of the device; returns how many.
  int64_t step(Device &device, int64_t time) {
    auto run = [&](const PipelineAction &action) {
      scheduler.run(action);
      device.kept += (action.kind == Kind::Forward) - (action.kind == Kind::WeightGradient);
      if (action.kind == Kind::Backward)
        device.weights.push_back({Kind::WeightGradient, action.stage, action.microBatch});
      return 1;
    };
    // The first planned action that can start now; an F only after all that is planned before it.
    bool hasWaiting = false;
    for (size_t i = device.begin; i < device.planned.size(); ++i) {
      PipelineAction &action = device.planned[i].action;
      if (action.microBatch < 0)
        continue;
      if (action.kind == Kind::Forward && (hasWaiting || device.kept == capacity))
        hasWaiting = true;
      else if (std::optional<int64_t> start = scheduler.start(action); start && *start <= time) {
        run(action);
        action.microBatch = -1;
        while (device.begin < device.planned.size() && device.planned[device.begin].action.microBatch < 0)
          ++device.begin;
        return 1;
      }
      hasWaiting = true;
      if (i > device.begin + 4 * devices.size() + 8)
        break; // far ahead of the plan
    }
    if (device.weights.empty())
      return 0;
    run(device.weights.front());
    device.weights.pop_front();
    return 1;
  }

  PipelineSchedule schedule;
  ListScheduler scheduler;
  std::vector<Device> devices;
  int64_t capacity = 0;
};
} // namespace

PipelineSchedule makeVHalfSchedule(const PipelineShape &shape) {
  int64_t p = shape.devices, shift = p % 2 ? 0 : 3; // so that no two parts fall on one unit
  std::vector<BuildingBlock> blocks;
  for (int64_t d = 0; d < p; ++d)
    blocks.push_back({2 * d, 3 * p - d - 2, 3 * p + shift + 2 * d - 1, 6 * p + shift - d - 2});
  return VSchedule("v-half", shape, blocks).make();
}

PipelineSchedule makeVMinSchedule(const PipelineShape &shape) {
  int64_t p = shape.devices, shift = p % 3 ? 0 : 2;
  std::vector<BuildingBlock> blocks;
  for (int64_t d = 0; d < p; ++d)
    blocks.push_back({d, 2 * p - d - 1, 2 * p + shift + d, 4 * p + shift - d - 1});
  return VSchedule("v-min", shape, blocks).make();
}

} // namespace mlir::ppc
