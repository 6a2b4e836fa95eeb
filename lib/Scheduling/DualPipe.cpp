// DualPipe (DeepSeek-V3, arXiv 2412.19437): two replicas of the model in opposite directions, half of the micro-batches
// through each, so that every device always has an F of one direction to run beside a B of the other (and, with expert
// parallelism, hides the all-to-all of one behind the other). The paper's bubble, with B including W, is
// (p/2 - 1)(F&B + B - 3W); parameters twice, activations of p + 1 micro-batches.
//
// A device at distance h from its end of the pipeline (0 at the ends, p/2 - 1 in the middle; n: direction that starts
// nearer, f: the other one) runs, with q = p/2 - 1 - h:
//   2q F(n);  h + 1 times F(n) F(f);  q times B(f) W F(f);  M/2 - p + h + 1 times F(n) B(f) W F(f) B(n) W;
//   q times B(f) W F(f) B(n) W;  h + 1 times B(f) B(n), the W of the second half held back;  q times W B(n);  W.
#include "Generators.h"

#include <algorithm>
#include <deque>

namespace mlir::ppc {

PipelineSchedule makeDualPipeSchedule(const PipelineShape &shape) {
  PipelineShape enough = shape; // the lists below need 2p micro-batches; those too many are dropped
  enough.microBatches = std::max(shape.microBatches, 2 * shape.devices);
  int64_t p = shape.devices, half = enough.microBatches / 2;
  PipelineSchedule schedule = makeEmptySchedule("dualpipe", enough);
  schedule.placement = bidirectionalPlacement(shape);
  schedule.replicas = bidirectionalReplicas(enough.microBatches);
  for (int64_t device = 0; device < p; ++device) {
    std::vector<PipelineAction> &actions = schedule.devices[device];
    bool isSecondHalf = device >= p / 2;
    int64_t h = std::min(device, p - 1 - device), q = p / 2 - 1 - h;
    int64_t done[2][2] = {};
    std::deque<PipelineAction> held;
    auto run = [&](PipelineActionKind kind, int far) {
      int64_t replica = far ^ int64_t(isSecondHalf);
      int64_t m = 2 * done[int(kind)][far]++ + replica;
      actions.push_back({kind, replica ? p - 1 - device : device, m});
    };
    auto F = [&](int far) { run(PipelineActionKind::Forward, far); };
    auto B = [&](int far, bool holdsWeight = false) {
      run(PipelineActionKind::Backward, far);
      PipelineAction weight = actions.back();
      weight.kind = PipelineActionKind::WeightGradient;
      if (holdsWeight)
        held.push_back(weight);
      else
        actions.push_back(weight);
    };
    auto W = [&] {
      actions.push_back(held.front());
      held.pop_front();
    };

    for (int64_t i = 0; i < 2 * q; ++i)
      F(0);
    for (int64_t i = 0; i < h + 1; ++i)
      F(0), F(1);
    for (int64_t i = 0; i < q; ++i)
      B(1, true), W(), F(1);
    for (int64_t i = 0; i < half - p + h + 1; ++i)
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
  return dropMicroBatches(std::move(schedule), shape.microBatches);
}

} // namespace mlir::ppc
