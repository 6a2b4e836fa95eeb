// A fake cuBLASLt: the functions that the runtime uses, as cublasLt.h declares them. GEMMs are plain loops on the
// memory of the fake driver, and complete when their stream executes them. It checks the preconditions of cuBLASLt:
// sizes, alignments that the preference has promised, the workspace that the algorithm asked for, offsets within
// allocations; for epilogues their kind, pointers that are set and aligned to 16 bytes, and the leading dimension of
// the auxiliary matrix.
#include "test/CudaStandIn/Driver/Machine.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

using standin::Machine;

namespace {

enum BlasStatus { Success = 0, InvalidArgument = 7, ExecutionFailed = 13, NotSupported = 15 };
enum Type { F32 = 0, F64 = 1, Bf16 = 14 };
enum Compute { Compute32 = 68, Compute64 = 70 };

struct Matmul {
  int compute, scale;
  int32_t transposed[2] = {};
  int32_t epilogue = 1;
  uint64_t bias = 0, aux = 0;
  int64_t auxLeading = 0;

  bool hasBias() const { return epilogue & 4; }
  bool hasAux() const { return epilogue & 128; }
  bool isGelu() const { return epilogue & 32; }
  bool isGradient() const { return epilogue & 64; }
};
// DEFAULT, BIAS, GELU and GELU_AUX with and without BIAS, DGELU.
constexpr int32_t knownEpilogues[] = {1, 4, 32, 32 | 4, 32 | 128, 32 | 128 | 4, 64 | 128};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};
};
struct Algorithm {
  uint64_t mark;
  uint32_t alignments[4];
  uint64_t workspace;
  uint64_t epilogueAlignment; // alignment of the pointers that the heuristic has seen
  uint64_t rest[3];
};
struct Result {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Algorithm) == 64);

constexpr uint64_t mark = 0x70706374;
constexpr uint64_t neededWorkspace = 4096;

int64_t bytesOf(int type) { return type == F64 ? 8 : type == Bf16 ? 2 : 4; }

double load(int type, const std::byte *at) {
  if (type == F64) {
    double value;
    std::memcpy(&value, at, 8);
    return value;
  }
  uint32_t bits = 0;
  std::memcpy(type == Bf16 ? reinterpret_cast<std::byte *>(&bits) + 2 : reinterpret_cast<std::byte *>(&bits), at,
              size_t(bytesOf(type)));
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

void store(int type, std::byte *at, double value) {
  if (type == F64) {
    std::memcpy(at, &value, 8);
    return;
  }
  auto single = float(value);
  uint32_t bits;
  std::memcpy(&bits, &single, 4);
  if (type == F32) {
    std::memcpy(at, &bits, 4);
    return;
  }
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  auto half = uint16_t(isNan ? (bits >> 16 | 0x40) : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  std::memcpy(at, &half, 2);
}

// Element (row, column) of batch entry b is at offset b * stride + column * leading + row. Gaps between columns are not
// used.
std::byte *find(const Layout &layout, uint64_t address, int32_t entry, const char *what, ptx::Use use) {
  int64_t size = bytesOf(layout.type), extent = (int64_t(layout.columns) - 1) * layout.leading + int64_t(layout.rows);
  uint64_t first = address + uint64_t(entry * layout.stride * size);
  ptx::GlobalMemory &memory = Machine::get().memory;
  std::byte *found = memory.find(first, extent * size);
  if (!found) {
    char text[128];
    std::snprintf(text, sizeof text, "cublasLtMatmul: %s, %lld bytes at 0x%llx, is not in one allocation", what,
                  static_cast<long long>(extent * size), static_cast<unsigned long long>(first));
    throw ptx::Fault(ptx::FaultKind::OutOfBounds, text);
  }
  try {
    for (uint64_t column = 0; column < layout.columns; ++column)
      memory.use(use, first + column * uint64_t(layout.leading * size), int64_t(layout.rows) * size);
  } catch (const ptx::Fault &fault) {
    std::string text = fault.what();
    throw ptx::Fault(fault.kind, std::string("cublasLtMatmul: of ") + what + " " + text.substr(text.find(": ") + 2));
  }
  return found;
}

// All elements in rows, transposed if asked for.
std::vector<double> unpack(const Layout &layout, const std::byte *from, bool transposed) {
  std::vector<double> values(size_t(layout.rows * layout.columns));
  for (uint64_t column = 0; column < layout.columns; ++column)
    for (uint64_t row = 0; row < layout.rows; ++row)
      values[transposed ? column * layout.rows + row : row * layout.columns + column] =
          load(layout.type, from + (int64_t(column) * layout.leading + int64_t(row)) * bytesOf(layout.type));
  return values;
}

// P(x) and P'(x) of x P(x), by the tanh approximation.
std::pair<double, double> gelu(double x) {
  const double c = std::sqrt(2 / 3.14159265358979323846), t = std::tanh(c * (x + 0.044715 * x * x * x));
  return {(1 + t) / 2, (1 - t * t) / 2 * c * (1 + 3 * 0.044715 * x * x)};
}

struct Product {
  Matmul description;
  Layout a, b, d;
  uint64_t addressA, addressB, addressC, addressD;
  double alpha, beta;

  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const { return description.transposed[0] ? a.rows : a.columns; }

  bool isConsistent() const {
    bool fits = (description.transposed[0] ? a.columns : a.rows) == m() &&
                (description.transposed[1] ? b.rows : b.columns) == n() &&
                (description.transposed[1] ? b.columns : b.rows) == k() && a.batch == d.batch && b.batch == d.batch;
    for (const Layout *layout : {&a, &b, &d})
      fits &= layout->rows > 0 && layout->columns > 0 && layout->leading >= int64_t(layout->rows);
    bool types = description.compute == Compute64
                     ? a.type == F64 && b.type == F64 && d.type == F64 && description.scale == F64
                     : description.compute == Compute32 && description.scale == F32 && a.type == b.type &&
                           ((a.type == F32 && d.type == F32) || (a.type == Bf16 && (d.type == F32 || d.type == Bf16)));
    return fits && types && hasKnownEpilogue();
  }

  // The auxiliary matrix has the columns of D, `auxLeading` apart.
  bool hasKnownEpilogue() const {
    bool known = false;
    for (int32_t kind : knownEpilogues)
      known |= kind == description.epilogue;
    if (description.hasAux())
      known &= description.auxLeading >= int64_t(d.rows) && description.auxLeading % 8 == 0;
    return known && (description.epilogue == 1 || (d.batch == 1 && d.type != F64));
  }
  uint64_t epilogueAlignment() const {
    uint64_t places = (description.hasBias() ? description.bias : 0) | (description.hasAux() ? description.aux : 0);
    return places ? places & -places : 4096;
  }
  bool hasPlaces() const {
    return (!description.hasBias() || description.bias) && (!description.hasAux() || description.aux);
  }

  // The value stored for a sum in column `j`, row `i` of D. `bias` and `aux` are null if the epilogue has none.
  double finish(double sum, uint64_t i, uint64_t j, const std::byte *bias, std::byte *aux) const {
    if (bias)
      sum += load(d.type, bias + i * size_t(bytesOf(d.type)));
    std::byte *beside = aux ? aux + (int64_t(j) * description.auxLeading + int64_t(i)) * bytesOf(d.type) : nullptr;
    if (description.isGradient()) {
      double x = load(d.type, beside);
      auto [p, slope] = gelu(x);
      return sum * (p + x * slope);
    }
    if (!description.isGelu())
      return sum;
    if (beside)
      store(d.type, beside, sum);
    return sum * gelu(sum).first;
  }

  void run() const {
    for (int32_t entry = 0; entry < d.batch; ++entry) {
      std::vector<double> left = unpack(a, find(a, addressA, entry, "A", ptx::Use::Read), description.transposed[0]);
      std::vector<double> right = unpack(b, find(b, addressB, entry, "B", ptx::Use::Read), description.transposed[1]);
      std::vector<double> row(n());
      const std::byte *in = beta != 0 ? find(d, addressC, entry, "C", ptx::Use::Read) : nullptr;
      Layout vector{d.type, d.rows, 1, int64_t(d.rows)}, beside = d;
      beside.leading = description.auxLeading;
      const std::byte *bias =
          description.hasBias() ? find(vector, description.bias, 0, "the bias", ptx::Use::Read) : nullptr;
      std::byte *aux = description.hasAux() ? find(beside, description.aux, 0, "the auxiliary matrix",
                                                   description.isGradient() ? ptx::Use::Read : ptx::Use::Write)
                                            : nullptr;
      std::byte *out = find(d, addressD, entry, "D", ptx::Use::Write);
      for (uint64_t i = 0; i < m(); ++i) {
        std::fill(row.begin(), row.end(), 0.0);
        for (uint64_t l = 0; l < k(); ++l)
          for (uint64_t j = 0; j < n(); ++j)
            row[j] += left[i * k() + l] * right[l * n() + j];
        for (uint64_t j = 0; j < n(); ++j) {
          int64_t place = (int64_t(j) * d.leading + int64_t(i)) * bytesOf(d.type);
          double sum = alpha * row[j] + (beta != 0 ? beta * load(d.type, in + place) : 0);
          store(d.type, out + place, finish(sum, i, j, bias, aux));
        }
      }
    }
  }
};

template <typename T> int set(T &field, const void *value, size_t bytes) {
  if (bytes != sizeof(T))
    return InvalidArgument;
  std::memcpy(&field, value, bytes);
  return Success;
}

} // namespace

extern "C" {

int cublasLtCreate(void **handle) {
  standin::Lock lock(Machine::get().mutex);
  static int one;
  *handle = &one;
  return Machine::get().contexts ? Success : 1;
}
int cublasLtDestroy(void *) { return Success; }

int cublasLtMatmulDescCreate(Matmul **description, int compute, int scale) {
  *description = new Matmul{compute, scale};
  return Success;
}
int cublasLtMatmulDescDestroy(Matmul *description) {
  delete description;
  return Success;
}
int cublasLtMatmulDescSetAttribute(Matmul *description, int attribute, const void *value, size_t bytes) {
  constexpr int first = 3; // TRANSA, then TRANSB
  constexpr int epilogue = 7, bias = 8, aux = 11, auxLeading = 12;
  switch (attribute) {
  case first:
  case first + 1:
    return set(description->transposed[attribute - first], value, bytes);
  case epilogue:
    return set(description->epilogue, value, bytes);
  case bias:
    return set(description->bias, value, bytes);
  case aux:
    return set(description->aux, value, bytes);
  case auxLeading:
    return set(description->auxLeading, value, bytes);
  default:
    return InvalidArgument;
  }
}

int cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = new Layout{type, rows, columns, leading};
  return Success;
}
int cublasLtMatrixLayoutDestroy(Layout *layout) {
  delete layout;
  return Success;
}
int cublasLtMatrixLayoutSetAttribute(Layout *layout, int attribute, const void *value, size_t bytes) {
  constexpr int batchCount = 5, batchStride = 6;
  return attribute == batchCount    ? set(layout->batch, value, bytes)
         : attribute == batchStride ? set(layout->stride, value, bytes)
                                    : InvalidArgument;
}

int cublasLtMatmulPreferenceCreate(Preference **preference) {
  *preference = new Preference;
  return Success;
}
int cublasLtMatmulPreferenceDestroy(Preference *preference) {
  delete preference;
  return Success;
}
int cublasLtMatmulPreferenceSetAttribute(Preference *preference, int attribute, const void *value, size_t bytes) {
  constexpr int workspace = 1, firstAlignment = 5;
  if (attribute == workspace)
    return set(preference->workspace, value, bytes);
  return attribute < firstAlignment || attribute > firstAlignment + 3
             ? InvalidArgument
             : set(preference->alignments[attribute - firstAlignment], value, bytes);
}

int cublasLtMatmulAlgoGetHeuristic(void *, Matmul *description, Layout *a, Layout *b, Layout *c, Layout *d,
                                   Preference *preference, int wanted, Result *results, int *found) {
  *found = 0;
  if (wanted < 1 || c != d)
    return InvalidArgument;
  Product product{*description, *a, *b, *d, 0, 0, 0, 0, 1, 0};
  if (!product.isConsistent())
    return InvalidArgument;
  constexpr uint64_t leastAlignment = 16; // alignment of an epilogue's pointers
  if (product.epilogueAlignment() < leastAlignment)
    return NotSupported;
  for (int i = 0; i < 4; ++i) // no kernel reads operands that are not aligned to their elements
    if (preference->alignments[i] < bytesOf(i < 2 ? a->type : d->type))
      return NotSupported;
  results[0] = {};
  results[0].algorithm.mark = mark;
  std::memcpy(results[0].algorithm.alignments, preference->alignments, sizeof preference->alignments);
  results[0].algorithm.epilogueAlignment = leastAlignment;
  results[0].workspace = results[0].algorithm.workspace =
      preference->workspace >= neededWorkspace ? neededWorkspace : uint64_t(0);
  *found = 1;
  return Success;
}

int cublasLtMatmul(void *, Matmul *description, const void *alpha, uint64_t a, Layout *layoutA, uint64_t b,
                   Layout *layoutB, const void *beta, uint64_t c, Layout *layoutC, uint64_t d, Layout *layoutD,
                   const Algorithm *algorithm, uint64_t workspace, size_t workspaceBytes, standin::Stream *stream) {
  standin::Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  if (machine.status() || !stream)
    return ExecutionFailed;
  double factors[2];
  const void *given[2] = {alpha, beta};
  for (int i = 0; i < 2; ++i)
    factors[i] = load(description->scale, static_cast<const std::byte *>(given[i]));
  Product product{*description, *layoutA, *layoutB, *layoutD, a, b, c, d, factors[0], factors[1]};
  bool holds = product.isConsistent() && product.hasPlaces() && layoutC == layoutD && algorithm->mark == mark &&
               workspaceBytes >= algorithm->workspace;
  uint64_t addresses[4] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (addresses[i] % algorithm->alignments[i]) {
      machine.fail(standin::MisalignedAddress,
                   "cublasLtMatmul: operand " + std::to_string(i) + " is not aligned as the preference has promised");
      return ExecutionFailed;
    }
  if (product.epilogueAlignment() < algorithm->epilogueAlignment) {
    machine.fail(standin::MisalignedAddress, "cublasLtMatmul: what its epilogue reads or writes is not aligned");
    return ExecutionFailed;
  }
  if (algorithm->workspace && !machine.memory.find(workspace, int64_t(algorithm->workspace)))
    holds = false;
  if (!holds)
    return InvalidArgument;
  uint64_t used = algorithm->workspace;
  machine.enqueue(stream, "cublasLtMatmul", [product, workspace, used, &machine] {
    if (used)
      machine.memory.use(ptx::Use::Write, workspace, int64_t(used));
    product.run();
  });
  return machine.status() ? ExecutionFailed : Success;
}

} // extern "C"
