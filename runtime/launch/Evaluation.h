// The mean loss of data that is not trained on: each of its samples counts once, whatever the global batch of the
// program is.
#pragma once

#include "runtime/data/TokenData.h"
#include "runtime/executor/PlanExecutor.h"

#include <functional>
#include <memory>
#include <string>

namespace ppcrt {

class Evaluation {
public:
  // `data` is in the order of the file; its first `batches` batches are evaluated, the last one with as many samples as
  // are left; 0: all of them.
  Evaluation(std::unique_ptr<TokenData> data, int64_t globalBatch, int64_t batches);

  // How many samples are evaluated, and in how many batches.
  int64_t samples() const { return count; }
  int64_t batches() const { return (count + globalBatch - 1) / globalBatch; }
  const TokenData &data() const { return *tokens; }

  // What a person would not expect of the number of batches that was asked for; empty when there is nothing to say.
  std::string note(const std::string &path) const;

  // The mean over all samples. `loss` gives the mean loss of the samples of a batch (from 0) of a source; what is done
  // so far is told every few seconds where it `speaks`.
  double run(const std::function<double(int64_t batch, const TokenSource &samples)> &loss, bool speaks) const;

private:
  double sumOfRest(const std::function<double(int64_t batch, const TokenSource &samples)> &loss) const;

  std::unique_ptr<TokenData> tokens;
  int64_t globalBatch, asked, count;
};

} // namespace ppcrt
