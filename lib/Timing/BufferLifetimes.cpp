// First and last uses of buffers as clocks: the minimum of the clocks at which uses start, and the ends of the last
// ones.
#include "ppc/Timing/BufferLifetimes.h"
#include "ppc/Timing/LinearOrder.h"

namespace mlir::ppc {

LogicalResult BufferLifetimes::add(std::vector<Span> &spans, const StepEvents &events, BufferUses &uses) {
  FailureOr<std::vector<Event>> order = findLinearOrder(events);
  if (failed(order))
    return failure();
  return followClocks(events, *order, [&](uint32_t activity, Clock ended) {
    const Activity &own = events.getActivities()[activity];
    uint32_t first = events.firstStream(own.device);
    Clock here = ended.slice(first, events.firstStream(own.device + 1) - first);
    for (const BufferUse &use : uses.of(own.op)) {
      Span &span = spans[use.buffer];
      if (span.before.empty()) {
        span.before.assign(here.begin(), here.end());
        span.until.assign(here.size(), 0);
      }
      for (auto [known, now] : llvm::zip_equal(span.before, here))
        known = std::min(known, now);
      const Activity &last = events.getActivities()[events.endOfUse(activity, use.early)];
      span.until[last.stream - first] = std::max(span.until[last.stream - first], last.place + 1);
    }
    return success();
  });
}

FailureOr<BufferLifetimes> BufferLifetimes::compute(ppcrt::ProgramOp program, const ppcrt::ProgramSymbols &symbols,
                                                    BufferUses &uses) {
  BufferLifetimes result;
  for (bool isEvaluation : {false, true}) {
    std::vector<Span> &spans = isEvaluation ? result.evaluation : result.step;
    spans.resize(uses.getBuffers().size());
    FailureOr<StepEvents> events = StepEvents::build(program, symbols, isEvaluation);
    if (failed(events) || failed(result.add(spans, *events, uses)))
      return failure();
  }
  return result;
}

bool BufferLifetimes::areApart(uint32_t a, uint32_t b) const {
  return llvm::all_of(ArrayRef{&step, &evaluation}, [&](const std::vector<Span> *list) {
    auto endsBefore = [](const Span &first, const Span &second) {
      return llvm::all_of_zip(first.until, second.before,
                              [](uint32_t until, uint32_t ended) { return until <= ended; });
    };
    const Span &one = (*list)[a], &other = (*list)[b];
    return one.before.empty() || other.before.empty() || endsBefore(one, other) || endsBefore(other, one);
  });
}

bool BufferLifetimes::takeTurns(uint32_t a, uint32_t b) const {
  return llvm::all_of(ArrayRef{&step, &evaluation}, [&](const std::vector<Span> *list) {
    const Span &one = (*list)[a], &other = (*list)[b];
    int64_t streams = 0;
    for (size_t i = 0; i < std::max(one.until.size(), other.until.size()); ++i)
      streams += (i < one.until.size() && one.until[i]) || (i < other.until.size() && other.until[i]);
    return streams <= 1;
  });
}

} // namespace mlir::ppc
