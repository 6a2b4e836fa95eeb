// --check: runs the parallel and the single-device program on the same data and compares their results.
#include "CheckRun.h"
#include "Compilation.h"
#include "ExpertChoices.h"
#include "TensorFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cmath>
#include <map>

namespace mlir::ppc {
namespace {

/// Relative; of tensors in the L2 norm. In bf16 a sum in another order may round to another number.
struct Tolerances {
  double loss, tensor;
  bool roundsScores; // experts: one run may choose the other of two experts
};
Tolerances tolerancesOf(llvm::StringRef precision) {
  return precision == "bf16" ? Tolerances{1e-3, 5e-2, true} : Tolerances{1e-5, 1e-4, false};
}

constexpr double kLearningRate = 3e-4; // equal in every step
constexpr int64_t kKnownSteps = 3;     // whose gradients are known

struct Run {
  std::vector<double> losses;
  TensorFile gradients, parameters;
};

/// Bounds on the differences of parameters of two runs whose gradients agree. Adam moves an element by the learning
/// rate times the mean gradient over the root of its mean square, whatever the gradient's size: a gradient that is
/// small compared with others of its tensor is to a larger part rounding, and so is the element's movement. If
/// gradients have differed by at most d, both means and roots are known to d, and the quotient to 2 d / root.
class Doubts {
public:
  /// The gradients of the next step of both runs.
  void addStep(const TensorFile &parallel, const TensorFile &single) {
    ++steps;
    for (auto &[name, tensor] : single.tensors) {
      auto other = parallel.tensors.find(name);
      if (other == parallel.tensors.end() || other->second.values.size() != tensor.values.size())
        continue; // reported where tensors are compared
      std::vector<Element> &elements = known[name];
      elements.resize(tensor.values.size());
      for (auto [element, own, expected] : llvm::zip_equal(elements, other->second.values, tensor.values)) {
        element.apart = std::max(element.apart, std::abs(double(own) - expected));
        element.square += double(expected) * expected;
        element.way += kLearningRate * unsure(element, steps);
      }
    }
  }
  /// Further steps, of which nothing is known: the mean square becomes less at most as if they had no gradient.
  void addUnknown(int64_t count) {
    for (auto &[name, elements] : known)
      for (Element &element : elements)
        for (int64_t step = steps + 1; step <= steps + count; ++step)
          element.way += kLearningRate * unsure(element, step);
  }
  /// Bound in the unit of the parameter; 0 if unknown.
  double of(const std::string &name, size_t index) const {
    auto found = known.find(name);
    return found == known.end() || index >= found->second.size() ? 0 : found->second[index].way;
  }

private:
  struct Element {
    double apart = 0, square = 0, way = 0;
  };
  /// A step of Adam is one learning rate long; in the opposite direction it is two away.
  static double unsure(const Element &element, int64_t step) {
    return element.apart == 0 ? 0 : std::min(2.0, 2 * element.apart / std::sqrt(element.square / double(step)));
  }

  int64_t steps = 0;
  std::map<std::string, std::vector<Element>> known;
};

bool readLosses(llvm::StringRef path, std::vector<double> &losses) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return reportError("cannot read " + path + ": " + file.getError().message()), false;
  llvm::SmallVector<llvm::StringRef> lines;
  (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    double value;
    llvm::StringRef last = line.rsplit(' ').second.empty() ? line : line.rsplit(' ').second;
    losses.push_back(last.getAsDouble(value) ? std::nan("") : value);
  }
  return true;
}

bool execute(llvm::StringRef executable, const std::string &prefix, int64_t steps, Run &run) {
  std::string losses = prefix + ".losses", gradients = prefix + ".gradients", parameters = prefix + ".parameters",
              count = std::to_string(steps), rate = std::to_string(kLearningRate);
  llvm::SmallVector<llvm::StringRef> arguments = {executable, "--synthetic",
                                                  "--quiet",  "--seed",
                                                  "1",        "--steps",
                                                  count,      "--warmup",
                                                  "0",        "--lr",
                                                  rate,       "--min-lr",
                                                  rate,       "--save-losses",
                                                  losses,     "--save-gradients",
                                                  gradients,  "--save-parameters",
                                                  parameters};
  std::string problem;
  int status = llvm::sys::ExecuteAndWait(executable, arguments, std::nullopt, {}, 0, 0, &problem);
  if (status)
    return reportError("--check: running " + executable + " failed" + (problem.empty() ? "" : ": " + problem)), false;
  return readLosses(losses, run.losses) && run.gradients.read(gradients) && run.parameters.read(parameters);
}

bool compareLosses(const Run &parallel, const Run &single, double tolerance) {
  if (parallel.losses.size() != single.losses.size() || single.losses.empty())
    return reportError("--check: " + llvm::Twine(parallel.losses.size()) + " losses against " +
                       llvm::Twine(single.losses.size())),
           false;
  for (size_t i = 0; i < single.losses.size(); ++i) {
    double difference = std::abs(parallel.losses[i] - single.losses[i]) / std::abs(single.losses[i]);
    if (!(difference < tolerance)) {
      std::string text;
      llvm::raw_string_ostream(text) << llvm::format("loss of step %zu is %.9g, on a single device %.9g", i + 1,
                                                     parallel.losses[i], single.losses[i]);
      return reportError("--check: " + text), false;
    }
  }
  return true;
}

/// The worst relative L2 difference, or std::nullopt if one is too large (and reported). Differences within the bounds
/// of `doubts` for an element, or explained by `choices` for a tensor, do not count.
std::optional<double> compareTensors(llvm::StringRef kind, const TensorFile &parallel, const TensorFile &single,
                                     double tolerance, const Doubts *doubts = nullptr,
                                     ExpertChoices *choices = nullptr) {
  double worst = 0;
  for (auto &[name, expected] : single.tensors) {
    auto found = parallel.tensors.find(name);
    if (found == parallel.tensors.end() || found->second.shape != expected.shape) {
      reportError("--check: " + kind + " '" + name + "' is missing or has another shape in the parallel program");
      return std::nullopt;
    }
    double square = 0, norm = 0, largest = -1;
    size_t position = 0;
    for (size_t i = 0; i < expected.values.size(); ++i) {
      double difference = std::abs(double(found->second.values[i]) - expected.values[i]);
      if (doubts)
        difference = std::max(0.0, difference - doubts->of(name, i));
      square += difference * difference;
      norm += double(expected.values[i]) * expected.values[i];
      if (!(difference <= largest)) {
        largest = difference;
        position = i;
      }
    }
    double relative = norm ? std::sqrt(square / norm) : std::sqrt(square);
    if (!(relative < tolerance) && choices && choices->explain(name))
      continue;
    if (!(relative < tolerance)) {
      std::string text, index;
      for (size_t dim = expected.shape.size(), rest = position; dim-- > 0; rest /= expected.shape[dim])
        index = std::to_string(rest % expected.shape[dim]) + (index.empty() ? "" : ", ") + index;
      llvm::raw_string_ostream(text) << llvm::format(
          "differs by %.3g (relative L2); most at [%s]: %.9g, on a single device %.9g", relative, index.c_str(),
          found->second.values[position], expected.values[position]);
      reportError("--check: " + kind + " '" + name + "' " + text);
      return std::nullopt;
    }
    worst = std::max(worst, relative);
  }
  return worst;
}

/// Compares the gradients of the first steps and of the last one; returns the bounds on differences of the parameters,
/// or std::nullopt if a run fails or a gradient differs. `worst`: the largest relative difference.
std::optional<Doubts> compareGradients(llvm::StringRef parallel, llvm::StringRef single, llvm::StringRef folder,
                                       int64_t steps, const Run *runs, const Tolerances &tolerances, double &worst) {
  Doubts doubts;
  auto add = [&](const Run &ofParallel, const Run &ofSingle) {
    ExpertChoices choices(ofParallel.gradients, ofSingle.gradients, ofSingle.parameters, tolerances.tensor);
    std::optional<double> difference =
        compareTensors("gradient", ofParallel.gradients, ofSingle.gradients, tolerances.tensor, /*doubts=*/nullptr,
                       tolerances.roundsScores ? &choices : nullptr);
    if (!difference)
      return false;
    choices.report(llvm::errs());
    worst = std::max(worst, *difference);
    doubts.addStep(ofParallel.gradients, ofSingle.gradients);
    return true;
  };
  int64_t known = std::min(steps, kKnownSteps);
  for (int64_t count = 1; count < known; ++count) {
    Run first[2];
    if (!execute(single, (folder + "/single-first").str(), count, first[1]) ||
        !execute(parallel, (folder + "/parallel-first").str(), count, first[0]) || !add(first[0], first[1]))
      return std::nullopt;
  }
  if (!add(runs[0], runs[1]))
    return std::nullopt;
  doubts.addUnknown(steps - known);
  return doubts;
}

/// Names the tensors of which elements moved by rounding alone, and how many.
void reportDoubts(const Doubts &doubts, const TensorFile &parameters) {
  constexpr size_t named = 3;
  std::vector<std::pair<int64_t, llvm::StringRef>> open;
  int64_t total = 0;
  for (auto &[name, tensor] : parameters.tensors)
    if (int64_t count = llvm::count_if(llvm::seq(tensor.values.size()),
                                       [&](size_t i) { return doubts.of(name, i) >= kLearningRate; })) {
      open.push_back({count, name});
      total += count;
    }
  if (open.empty())
    return;
  llvm::stable_sort(open, [](auto &a, auto &b) { return a.first > b.first; });
  llvm::errs() << "check: the gradients of " << total << " elements are zero but for rounding, which moves them: ";
  llvm::interleaveComma(llvm::ArrayRef(open).take_front(named), llvm::errs(),
                        [](const auto &entry) { llvm::errs() << entry.first << " of '" << entry.second << "'"; });
  if (open.size() > named)
    llvm::errs() << ", and of " << open.size() - named << " more tensors";
  llvm::errs() << "\n";
}

} // namespace

bool checkEquivalence(llvm::StringRef parallel, llvm::StringRef single, llvm::StringRef folder, int64_t steps,
                      llvm::StringRef precision) {
  Tolerances tolerances = tolerancesOf(precision);
  Run runs[2];
  if (!execute(single, (folder + "/single").str(), steps, runs[1]) ||
      !execute(parallel, (folder + "/parallel").str(), steps, runs[0]))
    return false;
  if (!compareLosses(runs[0], runs[1], tolerances.loss))
    return false;
  double gradients = 0;
  std::optional<Doubts> doubts = compareGradients(parallel, single, folder, steps, runs, tolerances, gradients);
  if (!doubts)
    return false;
  std::optional<double> parameters =
      compareTensors("parameter", runs[0].parameters, runs[1].parameters, tolerances.tensor, &*doubts);
  if (!parameters)
    return false;
  llvm::errs() << llvm::format(
      "check: %lld steps agree with the single-device program: losses within %.0e, gradients within "
      "%.1e, parameters within %.1e (relative L2)\n",
      (long long)steps, tolerances.loss, gradients, *parameters);
  reportDoubts(*doubts, runs[1].parameters);
  return true;
}

} // namespace mlir::ppc
