// --check: run the parallel and the single-device program on the same data and compare what they computed.
#include "CheckRun.h"
#include "Compilation.h"
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
};
Tolerances tolerancesOf(llvm::StringRef precision) {
  return precision == "bf16" ? Tolerances{1e-3, 5e-2} : Tolerances{1e-5, 1e-4};
}

// A gradient this much smaller than the largest of its tensor is zero but for rounding, and Adam moves its element by
// the learning rate in a random direction: a bias of keys does not change attention without rotary positions.
constexpr double kRounding = 1e-5;

struct Tensor {
  std::vector<int64_t> shape;
  llvm::ArrayRef<float> values;
};

/// The f32 tensors of a safetensors file that one of our executables wrote.
class TensorFile {
public:
  bool read(llvm::StringRef path) {
    auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!file)
      return reportError("cannot read " + path + ": " + file.getError().message()), false;
    buffer = std::move(*file);
    llvm::StringRef bytes = buffer->getBuffer();
    uint64_t headerSize = bytes.size() < 8 ? 0 : llvm::support::endian::read64le(bytes.data());
    llvm::Expected<llvm::json::Value> header = headerSize && headerSize <= bytes.size() - 8
                                                   ? llvm::json::parse(bytes.substr(8, headerSize))
                                                   : llvm::createStringError("no header");
    if (!header || !header->getAsObject())
      return reportError(path + ": " + (header ? std::string("no header") : llvm::toString(header.takeError()))), false;
    for (auto &[name, value] : *header->getAsObject()) {
      const llvm::json::Object *entry = value.getAsObject();
      if (!entry || !entry->getArray("data_offsets"))
        continue; // __metadata__
      Tensor tensor;
      for (const llvm::json::Value &size : *entry->getArray("shape"))
        tensor.shape.push_back(size.getAsInteger().value_or(0));
      const llvm::json::Array &offsets = *entry->getArray("data_offsets");
      uint64_t begin = offsets[0].getAsUINT64().value_or(0), end = offsets[1].getAsUINT64().value_or(0);
      if (end < begin || 8 + headerSize + end > bytes.size())
        return reportError(path + ": tensor '" + name.str() + "' lies outside of the file"), false;
      tensor.values = {reinterpret_cast<const float *>(bytes.data() + 8 + headerSize + begin),
                       (end - begin) / sizeof(float)};
      tensors.emplace(name.str(), tensor);
    }
    return true;
  }
  std::map<std::string, Tensor> tensors;

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
};

struct Run {
  std::vector<double> losses;
  TensorFile gradients, parameters;
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
              count = std::to_string(steps);
  llvm::SmallVector<llvm::StringRef> arguments = {
      executable, "--synthetic",   "--quiet", "--seed",           "1",       "--steps",           count,     "--warmup",
      "0",        "--save-losses", losses,    "--save-gradients", gradients, "--save-parameters", parameters};
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

/// Elements of a tensor that Adam moved by rounding: their gradient is that small, but not exactly zero in both runs.
std::vector<bool> roundedElements(const Run *runs, const std::string &name, size_t count) {
  std::vector<bool> rounded(count, false);
  llvm::ArrayRef<float> gradients[2];
  for (int i = 0; i < 2; ++i)
    if (auto it = runs[i].gradients.tensors.find(name); it != runs[i].gradients.tensors.end())
      gradients[i] = it->second.values;
  if (gradients[0].size() != count || gradients[1].size() != count)
    return rounded;
  float largest = 0;
  for (float value : gradients[1])
    largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < count; ++i) {
    float magnitude = std::max(std::abs(gradients[0][i]), std::abs(gradients[1][i]));
    rounded[i] = magnitude > 0 && magnitude <= kRounding * largest;
  }
  return rounded;
}

/// The worst relative L2 difference, or none when one is too large (and reported). With `runs`, elements are left out
/// and counted in `left` where the gradient is zero but for rounding.
std::optional<double> compareTensors(llvm::StringRef kind, const TensorFile &parallel, const TensorFile &single,
                                     double tolerance, const Run *runs = nullptr, int64_t *left = nullptr) {
  double worst = 0;
  for (auto &[name, expected] : single.tensors) {
    auto found = parallel.tensors.find(name);
    if (found == parallel.tensors.end() || found->second.shape != expected.shape) {
      reportError("--check: " + kind + " '" + name + "' is missing or has another shape in the parallel program");
      return std::nullopt;
    }
    double square = 0, norm = 0, largest = -1;
    size_t position = 0;
    size_t count = expected.values.size();
    std::vector<bool> rounded = runs ? roundedElements(runs, name, count) : std::vector<bool>(count, false);
    for (size_t i = 0; i < count; ++i) {
      if (rounded[i]) {
        ++*left;
        continue;
      }
      double difference = std::abs(double(found->second.values[i]) - expected.values[i]);
      square += difference * difference;
      norm += double(expected.values[i]) * expected.values[i];
      if (!(difference <= largest)) {
        largest = difference;
        position = i;
      }
    }
    double relative = norm ? std::sqrt(square / norm) : std::sqrt(square);
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
  std::optional<double> gradients = compareTensors("gradient", runs[0].gradients, runs[1].gradients, tolerances.tensor);
  if (!gradients)
    return false;
  int64_t left = 0;
  std::optional<double> parameters =
      compareTensors("parameter", runs[0].parameters, runs[1].parameters, tolerances.tensor, runs, &left);
  if (!parameters)
    return false;
  llvm::errs() << llvm::format(
      "check: %lld steps agree with the single-device program: losses within %.0e, gradients within "
      "%.1e, parameters within %.1e (relative L2)\n",
      (long long)steps, tolerances.loss, *gradients, *parameters);
  if (left)
    llvm::errs() << "check: left out " << left << " parameters whose gradient is zero but for rounding\n";
  return true;
}

} // namespace mlir::ppc
