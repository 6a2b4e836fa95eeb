// A program computes the mean loss of a full batch and nothing less. What is left after the full ones fills a batch by
// being repeated, and as the loss of a batch is the mean of those of its samples, their sum follows.
#include "runtime/launch/Evaluation.h"
#include "ppc/Support/Limits.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cstdio>

namespace ppcrt {
namespace {

// Samples `first` .. `first + count - 1` of another source, over and over up to number `repeated`; number `first` from
// there on.
class RepeatedSamples final : public TokenSource {
public:
  RepeatedSamples(const TokenSource &source, int64_t first, int64_t count, int64_t repeated)
      : source(source), firstSample(first), count(count), repeated(repeated) {}
  void read(int64_t sample, int64_t first, int64_t length, int32_t *tokens) const override {
    source.read(firstSample + (sample < repeated ? sample % count : 0), first, length, tokens);
  }
  std::string identity() const override { return source.identity(); }

private:
  const TokenSource &source;
  int64_t firstSample, count, repeated;
};

} // namespace

Evaluation::Evaluation(std::unique_ptr<TokenData> data, int64_t globalBatch, int64_t batches)
    : tokens(std::move(data)), globalBatch(globalBatch), asked(batches), count(tokens->order().places()) {
  if (batches && batches <= count / globalBatch)
    count = batches * globalBatch;
}

std::string Evaluation::note(const std::string &path) const {
  if (asked <= batches())
    return "";
  int64_t rest = count % globalBatch;
  std::string last = rest == 0       ? std::string()
                     : count == rest ? format(" of %lld samples", (long long)rest)
                                     : format(", the last of %lld samples", (long long)rest);
  return format("--eval-batches %lld: %s has %lld batch%s%s, which %s evaluated", (long long)asked, path.c_str(),
                (long long)batches(), batches() == 1 ? "" : "es", last.c_str(), batches() == 1 ? "is" : "are all");
}

double Evaluation::run(const std::function<double(int64_t, const TokenSource &)> &loss, bool speaks) const {
  double sum = 0, start = now(), told = start;
  for (int64_t batch = 0; batch < count / globalBatch; ++batch) {
    sum += loss(batch, *tokens) * double(globalBatch);
    if (!speaks || now() - told < mlir::ppc::limits::silentSeconds / 2.0) // the step before it said nothing either
      continue;
    told = now();
    std::fprintf(stderr, "note: %lld of %lld batches are evaluated, about %.0f s left\n", (long long)batch + 1,
                 (long long)batches(), (told - start) / double(batch + 1) * double(batches() - batch - 1));
  }
  return (sum + sumOfRest(loss)) / double(count);
}

// The rest is in the batch as often as it fits, so that rounding errors of the batch grow to less than twice their
// size; one sample fills what remains, and a batch of it alone tells its loss.
double Evaluation::sumOfRest(const std::function<double(int64_t, const TokenSource &)> &loss) const {
  int64_t rest = count % globalBatch, first = count - rest;
  if (rest == 0)
    return 0;
  int64_t times = globalBatch / rest, filled = times * rest;
  double sum = loss(0, RepeatedSamples(*tokens, first, rest, filled)) * double(globalBatch);
  if (filled < globalBatch)
    sum -= loss(0, RepeatedSamples(*tokens, first, 1, globalBatch)) * double(globalBatch - filled);
  return sum / double(times);
}

} // namespace ppcrt
