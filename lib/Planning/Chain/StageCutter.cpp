// Cuts the chain of layers into pipeline stages: one dynamic program, run with three objectives.
#include "ppc/Planning/Chain/StageCutter.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <limits>

namespace mlir::ppc {

namespace {
constexpr double cannotBe = std::numeric_limits<double>::infinity();

struct Solution {
  double cost = cannotBe;
  std::vector<int64_t> firstLayer;
};

/// best[s][i]: least cost of layers [i, L) in s stages; the first stage is [i, j), j the smallest that attains it.
/// `pieceCost(i, j)` may be infinite; `combine` is max or +.
Solution solve(int64_t layers, int64_t stages, llvm::function_ref<double(int64_t, int64_t)> pieceCost,
               llvm::function_ref<double(double, double)> combine) {
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(layers + 1, cannotBe));
  std::vector<std::vector<int64_t>> end(stages + 1, std::vector<int64_t>(layers + 1, -1));
  best[0][layers] = 0;
  for (int64_t s = 1; s <= stages; ++s)
    for (int64_t i = 0; i <= layers - s; ++i)
      for (int64_t j = i + 1; j <= layers - (s - 1); ++j) {
        double cost = combine(pieceCost(i, j), best[s - 1][j]);
        if (cost < best[s][i]) {
          best[s][i] = cost;
          end[s][i] = j;
        }
      }
  Solution solution;
  solution.cost = best[stages][0];
  if (solution.cost == cannotBe)
    return solution;
  for (int64_t s = stages, i = 0; s > 0; i = end[s][i], --s)
    solution.firstLayer.push_back(i);
  return solution;
}

double maximum(double a, double b) { return std::max(a, b); }
double sum(double a, double b) { return a + b; }
} // namespace

llvm::Expected<StageCut> cutStages(llvm::ArrayRef<LayerCost> layers, int64_t stages, std::optional<Bytes> memoryLimit) {
  auto refuse = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  int64_t count = layers.size();
  if (stages < 1)
    return refuse("cannot partition layers into " + llvm::Twine(stages) + " pipeline stages; at least 1 is needed");
  if (count < stages)
    return refuse("cannot partition " + llvm::Twine(count) + " layers (embedding and LM head count) into " +
                  llvm::Twine(stages) + " pipeline stages; use at most " + llvm::Twine(count));

  std::vector<double> time(count + 1, 0), memory(count + 1, 0); // of the layers before
  for (int64_t i = 0; i < count; ++i) {
    time[i + 1] = time[i] + layers[i].time.value;
    memory[i + 1] = memory[i] + layers[i].memory.value;
  }
  auto memoryOf = [&](int64_t i, int64_t j) { return memory[j] - memory[i]; };
  auto timeOf = [&](int64_t i, int64_t j) {
    return memoryLimit && memoryOf(i, j) > memoryLimit->value ? cannotBe : time[j] - time[i];
  };
  Solution fastest = solve(count, stages, timeOf, maximum);
  if (fastest.cost == cannotBe) {
    Solution smallest = solve(count, stages, memoryOf, maximum);
    return refuse("no partition of " + llvm::Twine(count) + " layers into " + llvm::Twine(stages) +
                  " pipeline stages keeps every stage within " + toString(*memoryLimit) + "; the best needs " +
                  toString(Bytes(smallest.cost)));
  }
  // Sums of the same layers are the same doubles in both runs, so comparing with the optimum is exact.
  auto squareOf = [&](int64_t i, int64_t j) {
    double piece = timeOf(i, j);
    return piece <= fastest.cost ? piece * piece : cannotBe;
  };
  Solution even = solve(count, stages, squareOf, sum);
  return StageCut{std::move(even.firstLayer), Seconds(fastest.cost)};
}

} // namespace mlir::ppc
