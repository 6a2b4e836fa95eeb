#include "ExpertChoices.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mlir::ppc {
namespace {

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;

constexpr llvm::StringLiteral gateUp = ".experts.gate_up_proj", down = ".experts.down_proj", router = ".gate.weight",
                              block = ".mlp", norm = ".post_attention_layernorm.weight";
/// Share of |w| |x| by which a score of x and w in bf16 may be off: each element is rounded to 2^-9, and so are the
/// operands of x.
constexpr double kRounding = 0x1p-7;
/// A step of Adam moves an element of the router's row by about that.
constexpr double kStep = 3e-4;
/// Minimum ratio between a token's contributions to the gradients of the two experts: a smaller one is lost in
/// rounding.
constexpr double kLeastAdded = 0.1;
/// Cosine of the angle between a token as two experts have it, which rounding turns a little.
constexpr double kSame = 0.99;
/// Length of the part of a unit vector that is new, from which on it counts.
constexpr double kSameDirection = 0.05;

double dot(const Vector &a, const Vector &b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
double normOf(const Vector &a) { return std::sqrt(dot(a, a)); }
double normOf(const Rows &rows) {
  double square = 0;
  for (const Vector &row : rows)
    square += dot(row, row);
  return std::sqrt(square);
}

void subtract(Vector &from, const Vector &unit) {
  double part = dot(from, unit);
  for (auto [element, direction] : llvm::zip_equal(from, unit))
    element -= part * direction;
}

/// The rows without their components in the space of the orthonormal `basis`.
Rows without(Rows rows, llvm::ArrayRef<Vector> basis) {
  for (Vector &row : rows)
    for (const Vector &unit : basis)
      subtract(row, unit);
  return rows;
}

/// The right singular vector of the largest singular value, by power iteration from the longest row.
Vector leadingDirection(const Rows &rows) {
  Vector unit = *std::max_element(rows.begin(), rows.end(), [](auto &a, auto &b) { return dot(a, a) < dot(b, b); });
  for (int i = 0; i < 50; ++i) {
    Vector next(unit.size(), 0);
    for (const Vector &row : rows)
      for (auto [element, own] : llvm::zip_equal(next, row))
        element += dot(row, unit) * own;
    double length = normOf(next);
    if (length == 0)
      break;
    for (double &element : next)
      element /= length;
    unit = std::move(next);
  }
  return unit;
}

/// Orthonormal directions that two spaces, given by orthonormal vectors, have in common but for rounding.
Rows commonDirections(Rows own, const Rows &other) {
  Rows found;
  while (!own.empty() && !other.empty()) {
    Rows products; // dot products; their leading direction is a combination of the own vectors
    for (const Vector &theirs : other)
      for (Vector &row = products.emplace_back(); const Vector &mine : own)
        row.push_back(dot(mine, theirs));
    Vector weights = leadingDirection(products), unit(own.front().size(), 0);
    for (auto [weight, mine] : llvm::zip_equal(weights, own))
      for (auto [element, value] : llvm::zip_equal(unit, mine))
        element += weight * value;
    double shared = 0;
    for (const Vector &row : products)
      shared += dot(row, weights) * dot(row, weights);
    if (std::sqrt(shared) < kSame)
      break;
    // Rest of the own space: one dimension less.
    Rows left = without(std::move(own), unit);
    own.clear();
    for (Vector &vector : left)
      if (Vector rest = without({std::move(vector)}, own).front(); normOf(rest) > kSameDirection) {
        double length = normOf(rest);
        for (double &element : rest)
          element /= length;
        own.push_back(std::move(rest));
      }
    found.push_back(std::move(unit));
  }
  return found;
}

/// Difference of the scores of a token x of two experts, relative to |w| |x|, beyond the movement of one step of the
/// optimizer.
double apart(const Tensor &router, const Vector &unit, int64_t expert, int64_t other) {
  const int64_t columns = int64_t(unit.size());
  auto rowOf = [&](int64_t number) {
    llvm::ArrayRef<float> values = router.values.slice(number * columns, columns);
    return Vector(values.begin(), values.end());
  };
  Vector left = rowOf(expert), right = rowOf(other);
  double distance = std::abs(dot(left, unit) - dot(right, unit)) - kStep * std::sqrt(double(columns));
  return distance / std::max(normOf(left), normOf(right));
}

} // namespace

std::optional<ExpertChoices::Difference> ExpertChoices::differenceOf(const std::string &name, int64_t number,
                                                                     int64_t count) const {
  auto own = parallel.tensors.find(name), expected = single.tensors.find(name);
  if (own == parallel.tensors.end() || expected == single.tensors.end() ||
      own->second.shape != expected->second.shape || expected->second.shape.size() < 2 ||
      expected->second.shape.front() % count)
    return std::nullopt;
  size_t columns = expected->second.shape.back(), size = expected->second.values.size() / count;
  llvm::ArrayRef<float> left = own->second.values.slice(number * size, size),
                        right = expected->second.values.slice(number * size, size);
  Difference result;
  for (size_t begin = 0; begin < size; begin += columns) {
    Vector &row = result.rows.emplace_back(columns);
    for (size_t i = 0; i < columns; ++i) {
      row[i] = double(left[begin + i]) - right[begin + i];
      result.norm += double(right[begin + i]) * right[begin + i];
    }
  }
  result.norm = std::sqrt(result.norm);
  return result;
}

std::optional<int64_t> ExpertChoices::tiedWith(const Tensor &router, const Vector &unit, int64_t own,
                                               llvm::ArrayRef<Difference> differences) const {
  auto addedTo = [&](int64_t expert) { // by the token
    double square = 0;
    for (const Vector &row : differences[expert].rows)
      square += dot(row, unit) * dot(row, unit);
    return std::sqrt(square);
  };
  const double most = addedTo(own);
  std::optional<int64_t> tied;
  double nearest = kRounding;
  for (int64_t expert = 0; expert < router.shape.front(); ++expert) {
    if (expert == own || addedTo(expert) < kLeastAdded * most)
      continue;
    if (double distance = apart(router, unit, own, expert); distance <= nearest)
      nearest = distance, tied = expert;
  }
  return tied;
}

bool ExpertChoices::isExplained(const Difference &difference, llvm::ArrayRef<Vector> basis) const {
  return normOf(without(difference.rows, basis)) <= tolerance * difference.norm;
}

void ExpertChoices::Layer::add(Vector unit, int64_t expert, int64_t other) {
  Vector direction = without({unit}, basis).front();
  if (double part = normOf(direction); part > kSameDirection) {
    for (double &element : direction)
      element /= part;
    basis.push_back(std::move(direction));
  }
  tokens.push_back({std::move(unit), expert, other});
}

/// Tokens of experts that have no other one.
void ExpertChoices::findAlone(const Tensor &router, llvm::ArrayRef<Difference> differences, Layer &layer) const {
  for (auto [expert, difference] : llvm::enumerate(differences)) {
    if (isExplained(difference, layer.basis))
      continue;
    Vector unit = leadingDirection(difference.rows);
    std::optional<int64_t> other = tiedWith(router, unit, expert, differences);
    if (other && isExplained(difference, unit))
      layer.add(std::move(unit), expert, *other);
  }
}

/// The space of the tokens of an expert: orthonormal, of `most` dimensions at most. Empty when these are not enough.
std::vector<ExpertChoices::Vector> ExpertChoices::spaceOf(const Difference &difference, size_t most) const {
  Rows basis, rest = difference.rows;
  while (normOf(rest) > tolerance * difference.norm) {
    if (basis.size() == most)
      return {};
    basis.push_back(without({leadingDirection(rest)}, basis).front());
    double length = normOf(basis.back());
    for (double &element : basis.back())
      element /= length;
    rest = without(std::move(rest), basis.back());
  }
  return basis;
}

/// For experts with several tokens each: the scores of tokens that two experts share must allow either of them.
void ExpertChoices::findShared(const Tensor &router, llvm::ArrayRef<Difference> differences, Layer &layer) const {
  std::vector<Rows> spaces;
  for (const Difference &difference : differences)
    spaces.push_back(isExplained(difference, layer.basis) ? Rows() : spaceOf(difference, differences.size()));
  for (int64_t expert = 0; expert < int64_t(spaces.size()); ++expert)
    for (int64_t other = expert + 1; other < int64_t(spaces.size()); ++other)
      for (Vector &unit : commonDirections(spaces[expert], spaces[other]))
        if (apart(router, unit, expert, other) <= kRounding)
          layer.add(std::move(unit), expert, other);
}

ExpertChoices::Layer ExpertChoices::findTokens(const std::string &prefix) const {
  auto weights = parameters.tensors.find(prefix + router.str()), experts = single.tensors.find(prefix + gateUp.str());
  if (weights == parameters.tensors.end() || experts == single.tensors.end())
    return {};
  const int64_t count = experts->second.shape.front();
  if (weights->second.shape != std::vector<int64_t>{count, experts->second.shape.back()})
    return {};
  std::vector<Difference> differences;
  for (int64_t expert = 0; expert < count; ++expert) {
    std::optional<Difference> difference = differenceOf(prefix + gateUp.str(), expert, count);
    if (!difference)
      return {};
    differences.push_back(std::move(*difference));
  }
  Layer layer;
  auto isWhole = [&] { return llvm::all_of(differences, [&](auto &each) { return isExplained(each, layer.basis); }); };
  findAlone(weights->second, differences, layer);
  if (!isWhole())
    findShared(weights->second, differences, layer);
  return isWhole() && int64_t(layer.tokens.size()) <= count ? layer : Layer();
}

ExpertChoices::Layer &ExpertChoices::layerOf(const std::string &prefix) {
  auto [found, isNew] = layers.try_emplace(prefix);
  if (isNew)
    found->second = findTokens(prefix);
  return found->second;
}

/// A token adds its columns times the input of the second matmul: only the number of these directions is known.
bool ExpertChoices::isDownExplained(const std::string &name, const Layer &layer) const {
  auto found = single.tensors.find(name);
  const int64_t count = found == single.tensors.end() ? 0 : found->second.shape.front();
  for (int64_t expert = 0; expert < count; ++expert) {
    std::optional<Difference> difference = differenceOf(name, expert, count);
    if (!difference)
      return false;
    for (const Token &token : layer.tokens)
      if (token.expert == expert || token.other == expert)
        difference->rows = without(difference->rows, leadingDirection(difference->rows));
    if (normOf(difference->rows) > tolerance * difference->norm)
      return false;
  }
  return count > 0;
}

bool ExpertChoices::explain(const std::string &name) {
  llvm::StringRef prefix = name;
  bool isDown = prefix.consume_back(down), isNorm = !isDown && prefix.consume_back(norm);
  if (!isDown && !isNorm && !prefix.consume_back(gateUp) && !prefix.consume_back(router))
    return false;
  Layer &layer = layerOf(isNorm ? (prefix + block).str() : prefix.str());
  if (layer.tokens.empty())
    return false;
  if (isDown && !isDownExplained(name, layer))
    return false;
  if (!isDown && !isNorm) {
    std::optional<Difference> difference = differenceOf(name, 0, 1);
    if (!difference || normOf(without(difference->rows, layer.basis)) > tolerance * difference->norm)
      return false;
  }
  return layer.isUsed = true;
}

void ExpertChoices::report(llvm::raw_ostream &out) const {
  for (const auto &[prefix, layer] : layers) {
    if (!layer.isUsed)
      continue;
    out << "check: " << layer.tokens.size() << " tokens of '" << prefix
        << "' have scores that are equal but for rounding, which chooses the expert: ";
    llvm::interleaveComma(layer.tokens, out, [&](const Token &token) { out << token.expert << " or " << token.other; });
    out << "; what they add to gradients there is not compared\n";
  }
}

} // namespace mlir::ppc
