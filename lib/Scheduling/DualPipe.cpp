// DualPipe (DeepSeek-V3, arXiv 2412.19437): two replicas of the model in opposite directions, half of the micro-batches
// through each, so that every device always has an F of one direction to overlap with a B of the other (and, with
// expert parallelism, hides the all-to-all of one behind the other). With an F and its B as one block, and F = B = W,
// the bubble is the paper's (p/2 - 1)(F&B + B - 3W), there with W in B; parameters twice, p + 1 micro-batches saved.
//
// DualPipeV is half of it, from the middle on: one replica in a V, the chunk going down as one direction and
// the chunk going up as the other; p devices are as 2p devices of DualPipe.
//
// A device at distance h from its end of the pipeline, of H devices per half (n: the direction that starts nearer, f:
// the other one; N micro-batches per direction), runs, with q = H - 1 - h:
//   2q F(n);  h + 1 times F(n) F(f);  q times B(f) W F(f);  N - 2H + h + 1 times F(n) B(f) W F(f) B(n) W;
//   q times B(f) W F(f) B(n) W;  h + 1 times B(f) B(n), the W of the second half deferred;  q times W B(n);  W.
//
//   draw: dualpipe devices=4 micro-batches=8 F=1 B=1 W=1 (the first half of the micro-batches goes down, the second up)
//   device 0 |F0 F1 F2 F4 B4 W4 F5 F3 B5 W5 F6 B0 W0 B6 W6 F7 B1 W1 B7 W7 B2 W2 .  B3 W3|
//   device 1 |.  F0 F4 F1 F5 F2 B4 W4 F6 B0 W0 F3 B5 W5 F7 B1 W1 B6 W6 B2 W2 B7 B3 W7 W3|
//   device 2 |.  F4 F0 F5 F1 F6 B0 W0 F2 B4 W4 F7 B1 W1 F3 B5 W5 B2 W2 B6 W6 B3 B7 W3 W7|
//   device 3 |F4 F5 F6 F0 B0 W0 F1 F7 B1 W1 F2 B4 W4 B2 W2 F3 B5 W5 B3 W3 B6 W6 .  B7 W7|
//
//   draw: dualpipev devices=2 micro-batches=4 chunks=2 F=1 B=1 W=1
//   device 0 |F0a F1a F2a F0b B0b W0b F1b F3a B1b W1b F2b B0a W0a B2b W2b F3b B1a W1a B3b W3b B2a W2a .   B3a W3a|
//   device 1 |.   F0a F0b F1a F1b F2a B0b W0b F2b B0a W0a F3a B1b W1b F3b B1a W1a B2b W2b B2a W2a B3b B3a W3b W3a|
#include "Generators.h"

#include <algorithm>
#include <array>
#include <deque>

namespace mlir::ppc {

namespace {
/// Direction n is 0, f is 1; stages and numbers of micro-batches by direction.
class DualPipeDevice {
public:
  /// Covers only this number of micro-batches of each direction, from its first one on.
  DualPipeDevice(std::vector<PipelineAction> &actions, std::array<int64_t, 2> stages,
                 std::array<int64_t, 2> firstMicroBatch, int64_t count)
      : actions(actions), stages(stages), first(firstMicroBatch), next{firstMicroBatch, firstMicroBatch}, count(count) {
  }

  void fill(int64_t h, int64_t half, int64_t microBatches) {
    int64_t q = half - 1 - h;
    for (int64_t i = 0; i < 2 * q; ++i)
      F(0);
    for (int64_t i = 0; i < h + 1; ++i)
      F(0), F(1);
    for (int64_t i = 0; i < q; ++i)
      B(1, true), W(), F(1);
    for (int64_t i = 0; i < microBatches - 2 * half + h + 1; ++i)
      F(0), B(1), F(1), B(0);
    for (int64_t i = 0; i < q; ++i)
      B(1), F(1), B(0);
    bool holds = false;
    for (int64_t i = 0; i < h + 1; ++i) {
      holds |= i == (h + 1) / 2 && h % 2 == 1;
      B(1, holds);
      holds |= i == (h + 1) / 2 && h % 2 == 0;
      B(0, holds);
    }
    for (int64_t i = 0; i < q; ++i)
      W(), B(0, true);
    while (!held.empty())
      W();
  }

private:
  PipelineAction run(PipelineActionKind kind, int direction) {
    int64_t &m = next[kind == PipelineActionKind::Backward][direction];
    PipelineAction action(kind, stages[direction], m++);
    add(direction, action);
    return action;
  }
  void add(int direction, const PipelineAction &action) {
    if (action.microBatch < first[direction] + count)
      actions.push_back(action);
  }
  void F(int direction) { run(PipelineActionKind::Forward, direction); }
  void B(int direction, bool holdsWeight = false) {
    PipelineAction weight = run(PipelineActionKind::Backward, direction);
    weight.kind = PipelineActionKind::WeightGradient;
    if (holdsWeight)
      held.push_back({direction, weight});
    else
      add(direction, weight);
  }
  void W() {
    add(held.front().first, held.front().second);
    held.pop_front();
  }

  std::vector<PipelineAction> &actions;
  std::array<int64_t, 2> stages, first, next[2]; // next: [is backward][direction]
  int64_t count;
  std::deque<std::pair<int, PipelineAction>> held; // direction, W
};
} // namespace

// The lists need 2p micro-batches; those too many are dropped.

void makeDualPipeDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions) {
  int64_t last = shape.devices - 1, enough = std::max(shape.microBatches, 2 * shape.devices);
  int64_t count = shape.microBatches / 2, near = device > last - device; // the replica whose first stages are nearer
  std::array<int64_t, 2> stages = {std::min(device, last - device), std::max(device, last - device)};
  DualPipeDevice(actions, stages, {near * count, (1 - near) * count}, count)
      .fill(stages[0], shape.devices / 2, enough / 2);
}

void makeDualPipeVDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions) {
  int64_t enough = std::max(shape.microBatches, 2 * shape.devices);
  DualPipeDevice(actions, {device, 2 * shape.devices - 1 - device}, {0, 0}, shape.microBatches)
      .fill(device, shape.devices, enough);
}

PipelineSchedule makeDualPipeSchedule(const PipelineShape &shape) {
  PipelineSchedule schedule = makeEmptySchedule("dualpipe", shape);
  schedule.placement = placeBothWays(shape);
  schedule.pairsForwards = true;
  schedule.replicas = bidirectionalReplicas(shape.microBatches);
  return makeByDevice(std::move(schedule), shape, makeDualPipeDevice);
}

PipelineSchedule makeDualPipeVSchedule(const PipelineShape &shape) {
  PipelineSchedule schedule = makeEmptySchedule("dualpipev", shape);
  schedule.placement = placeZigzag(shape);
  schedule.pairsForwards = true;
  return makeByDevice(std::move(schedule), shape, makeDualPipeVDevice);
}

} // namespace mlir::ppc
