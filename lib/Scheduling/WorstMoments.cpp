#include "WorstMoments.h"

#include "Generators.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace mlir::ppc {

using Kind = PipelineActionKind;
using Moment = PipelineProgram::Moment;

namespace {
class WorstMoments {
public:
  WorstMoments(const PipelineSchedule &schedule) : schedule(schedule) {}

  /// `list`: actions of the device.
  std::vector<Moment> of(llvm::ArrayRef<PipelineAction> list, llvm::ArrayRef<PipelineChunk> chunks) const {
    llvm::SmallVector<int64_t, 64> position(schedule.replicaCount() * schedule.stageCount, -1); // by chunk
    for (size_t i = 0; i < chunks.size(); ++i)
      position[chunks[i].replica * schedule.stageCount + chunks[i].stage] = i;
    double share = 1.0 / schedule.sliceCount;
    Moment now(chunks.size());
    std::vector<Moment> kept;
    size_t above = 0; // top of `kept`, perhaps above the last peak
    for (size_t i = 0; i < list.size(); ++i) {
      ChunkLoad &load = now[position[schedule.chunkIndex(list[i])]];
      if (list[i].kind == Kind::Forward) {
        load.forward += share;
        if (i + 1 == list.size() || list[i + 1].kind != Kind::Forward)
          keepMaximal(now, kept, above);
      } else if (list[i].kind == Kind::WeightGradient) {
        load.weight -= share;
      } else {
        load.forward -= share;
        if (isMerged(list, i)) {
          ++i;
        } else {
          load.weight += share;
          keepMaximal(now, kept, above);
        }
      }
    }
    llvm::sort(kept, isHeavier);
    return kept;
  }

  static bool isBelow(const Moment &a, const Moment &b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i].forward > b[i].forward + 1e-9 || a[i].weight > b[i].weight + 1e-9)
        return false;
    return true;
  }

  static bool isHeavier(const Moment &a, const Moment &b) {
    double sumA = 0, sumB = 0;
    for (size_t i = 0; i < a.size(); ++i)
      sumA += a[i].forward + a[i].weight, sumB += b[i].forward + b[i].weight;
    if (sumA != sumB)
      return sumA > sumB;
    for (size_t i = 0; i < a.size(); ++i)
      if (!(a[i] == b[i]))
        return std::pair(a[i].forward, a[i].weight) > std::pair(b[i].forward, b[i].weight);
    return false;
  }

  /// Adds a moment unless one that is kept is above it, and drops those below it. `above`: which was above the moment
  /// before; in a steady state moments come again in the order in which they were kept.
  static void keepMaximal(const Moment &now, std::vector<Moment> &kept, size_t &above) {
    for (size_t i = 0; i < kept.size(); ++i, ++above) {
      if (above >= kept.size())
        above = 0;
      if (isBelow(now, kept[above]))
        return;
    }
    llvm::erase_if(kept, [&](const Moment &other) { return isBelow(other, now); });
    above = kept.size();
    kept.push_back(now);
  }

private:
  const PipelineSchedule &schedule;
};
} // namespace

static std::vector<Moment> keepWorst(llvm::ArrayRef<Moment> moments) {
  std::vector<Moment> kept;
  size_t above = 0;
  for (const Moment &moment : moments)
    WorstMoments::keepMaximal(moment, kept, above);
  llvm::sort(kept, WorstMoments::isHeavier);
  return kept;
}

std::vector<Moment> worstMoments(const PipelineSchedule &schedule, llvm::ArrayRef<PipelineAction> list,
                                 llvm::ArrayRef<PipelineChunk> chunks) {
  return WorstMoments(schedule).of(list, chunks);
}

/// Forwards ahead of the first backward, and deferred W: forward m + ahead, then B of m, then W of m - held.
static std::vector<Moment> sloped(int64_t microBatches, SlopedOrder order) {
  int64_t ahead = std::min(microBatches, order.ahead), held = order.held, whole = microBatches - 1 - ahead;
  auto moment = [](int64_t forward, int64_t weight) { return Moment{ChunkLoad{double(forward), double(weight)}}; };
  if (held == 0 || microBatches == 1) // W right after B
    return {moment(std::min(microBatches, ahead + 1), 0)};
  std::vector<Moment> moments;
  if (whole < 0) {
    moments.push_back(moment(microBatches, 0));
  } else {
    moments.push_back(moment(ahead + 1, std::min(whole, held)));
    moments.push_back(moment(ahead, std::min(whole, held) + 1));
  }
  // After the last forward more W wait, as long as fewer are deferred than `held`.
  for (int64_t m = std::max<int64_t>(whole + 1, 0); m < microBatches && m <= held; ++m)
    moments.push_back(moment(microBatches - m - 1, m + 1));
  return keepWorst(moments);
}

bool hasKnownMoments(const PipelineScheduleKind &kind) {
  return llvm::is_contained({"gpipe", "breadth-first", "1f1b", "seq1f1b", "zb1p", "zb2p"}, kind.name);
}

std::vector<Moment> knownMoments(const PipelineScheduleKind &kind, const PipelineShape &shape, int64_t device) {
  int64_t microBatches = shape.microBatches, behind = shape.devices - 1 - device;
  if (kind.name == "gpipe" || kind.name == "breadth-first")
    return {Moment(shape.chunks, ChunkLoad{double(microBatches), 0})};
  if (kind.name == "1f1b")
    return {Moment{ChunkLoad{double(std::min(microBatches, behind + 1)), 0}}};
  if (kind.name == "seq1f1b")
    return {Moment{
        ChunkLoad{double(std::min(microBatches * shape.slices, behind + shape.slices)) / double(shape.slices), 0}}};
  return sloped(microBatches, slopedOrder(shape, kind.fittedInFlight, device));
}

} // namespace mlir::ppc
