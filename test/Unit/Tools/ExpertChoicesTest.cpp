// Differences that --check accepts as another choice of experts by rounding, and differences that it does not.
#include "tools/ppc-compile/ExpertChoices.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mlir::ppc;

namespace {

constexpr int64_t kExperts = 4, kFfn = 6, kHidden = 16, kTokens = 40;
const std::string kLayer = "model.layers.1.mlp", kGateUp = kLayer + ".experts.gate_up_proj",
                  kDown = kLayer + ".experts.down_proj", kRouter = kLayer + ".gate.weight",
                  kNorm = "model.layers.1.post_attention_layernorm.weight";

using Vector = std::vector<double>;

/// Gradients of the same tokens in two runs, of which one token went to expert 1 in the one and to expert 2 in the
/// other.
class TwoRuns {
public:
  explicit TwoRuns(unsigned seed) : random(seed) {}

  Vector vector(int64_t size, double scale = 1) {
    Vector result(size);
    for (double &element : result)
      element = scale * std::normal_distribution<double>()(random);
    return result;
  }

  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  /// `apart`: of the two scores of the first token, of |w| |x|. `isLost`: it is nowhere in the parallel run. `moved`:
  /// the experts of the first tokens in the single and in the parallel run.
  void draw(double apart, bool isLost = false, const Pairs &moved = {{1, 2}}) {
    Vector router = vector(kExperts * kHidden, 0.05);
    for (size_t number = 0; number < kTokens; ++number) {
      bool isMoved = number < moved.size();
      int64_t expert = isMoved ? moved[number].first : std::uniform_int_distribution<int64_t>(0, kExperts - 1)(random);
      Vector x = vector(kHidden);
      if (isMoved)
        tie(x, router, number ? 0 : apart, moved[number]);
      add(sums[1], x, expert);
      if (!isMoved)
        repeat(sums[0], x, expert);
      else if (!isLost || number)
        add(sums[0], x, moved[number].second);
    }
    set(parameters, kRouter, {kExperts, kHidden}, router);
    for (int run : {0, 1}) {
      set(runs[run], kGateUp, {kExperts, 2, kFfn, kHidden}, sums[run].gateUp);
      set(runs[run], kDown, {kExperts, kHidden, kFfn}, sums[run].down);
      set(runs[run], kRouter, {kExperts, kHidden}, sums[run].router);
      set(runs[run], kNorm, {kHidden}, vector(kHidden));
    }
  }

  void change(const std::string &name, int64_t from, int64_t count, double factor) {
    std::vector<float> &all = held[0][name];
    for (int64_t i = from; i < from + count; ++i)
      all[i] *= float(factor);
  }

  TensorFile runs[2], parameters; // parallel, single

private:
  struct Sums {
    Vector gateUp = Vector(kExperts * 2 * kFfn * kHidden), down = Vector(kExperts * kHidden * kFfn),
           router = Vector(kExperts * kHidden);
  };

  /// Moves x such that the scores of two experts are `apart` of each other.
  void tie(Vector &x, const Vector &router, double apart, std::pair<int64_t, int64_t> experts) {
    const double *own = &router[experts.first * kHidden], *other = &router[experts.second * kHidden];
    double across = 0, square = 0, row = 0, length = 0;
    for (int64_t i = 0; i < kHidden; ++i) {
      double difference = own[i] - other[i];
      across += difference * x[i], square += difference * difference;
      row += own[i] * own[i], length += x[i] * x[i];
    }
    double wanted = apart * std::sqrt(row * length);
    for (int64_t i = 0; i < kHidden; ++i)
      x[i] += (wanted - across) / square * (own[i] - other[i]);
  }

  void add(Sums &to, const Vector &x, int64_t expert) {
    last = {vector(2 * kFfn), vector(kHidden), vector(kFfn), vector(kExperts, 0.1)};
    repeat(to, x, expert);
  }
  /// Repeats the last addition, with as much rounding as bf16 has.
  void repeat(Sums &to, const Vector &x, int64_t expert) {
    auto addProduct = [&](Vector &sum, int64_t place, const Vector &rows, const Vector &columns) {
      for (size_t i = 0; i < rows.size(); ++i)
        for (size_t j = 0; j < columns.size(); ++j)
          sum[place + i * columns.size() + j] +=
              rows[i] * columns[j] * (1 + 0x1p-8 * std::normal_distribution<double>()(random));
    };
    addProduct(to.gateUp, expert * 2 * kFfn * kHidden, last[0], x);
    addProduct(to.down, expert * kHidden * kFfn, last[1], last[2]);
    addProduct(to.router, 0, last[3], x);
  }

  void set(TensorFile &file, const std::string &name, std::vector<int64_t> shape, const Vector &values) {
    int place = &file == &runs[0] ? 0 : &file == &runs[1] ? 1 : 2;
    std::vector<float> &all = held[place][name];
    all.assign(values.begin(), values.end());
    file.tensors[name] = {std::move(shape), all};
  }

  std::mt19937 random;
  std::vector<Vector> last;
  Sums sums[2];
  std::map<std::string, std::vector<float>> held[3];
};

/// Which of the four tensors the choices explain, as letters.
std::string explained(TwoRuns &runs, std::string *said = nullptr) {
  ExpertChoices choices(runs.runs[0], runs.runs[1], runs.parameters, 0.05);
  std::string result;
  for (auto [name, letter] :
       {std::pair(kGateUp, 'g'), std::pair(kDown, 'd'), std::pair(kRouter, 'r'), std::pair(kNorm, 'n')})
    if (choices.explain(name))
      result += letter;
  EXPECT_FALSE(choices.explain("model.layers.1.self_attn.q_proj.weight"));
  if (said) {
    llvm::raw_string_ostream out(*said);
    choices.report(out);
  }
  return result;
}

} // namespace

TEST(ExpertChoices, ExplainATokenWhoseScoresAreEqual) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    TwoRuns runs(seed);
    runs.draw(/*apart=*/0x1p-9);
    std::string said;
    EXPECT_EQ(explained(runs, &said), "gdrn") << "seed " << seed;
    EXPECT_TRUE(said.find("1 or 2") != std::string::npos || said.find("2 or 1") != std::string::npos)
        << "seed " << seed << ": " << said;
  }
}

// No expert has a token of its own: in a ring, and two of the same experts.
TEST(ExpertChoices, ExplainTokensThatShareTheirExperts) {
  for (const TwoRuns::Pairs &moved : {TwoRuns::Pairs{{1, 2}, {2, 3}, {3, 1}}, TwoRuns::Pairs{{1, 2}, {2, 1}}})
    for (unsigned seed = 0; seed < 50; ++seed) {
      TwoRuns runs(seed), wrong(seed), lost(seed);
      runs.draw(/*apart=*/0x1p-9, /*isLost=*/false, moved);
      EXPECT_EQ(explained(runs), "gdrn") << "seed " << seed << " of " << moved.size();
      wrong.draw(/*apart=*/0.3, /*isLost=*/false, moved);
      EXPECT_EQ(explained(wrong), "") << "seed " << seed << " of " << moved.size();
      lost.draw(/*apart=*/0, /*isLost=*/true, moved);
      EXPECT_EQ(explained(lost), "") << "seed " << seed << " of " << moved.size();
    }
}

TEST(ExpertChoices, DoNotExplainAWrongChoice) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    TwoRuns runs(seed);
    runs.draw(/*apart=*/0.1);
    EXPECT_EQ(explained(runs), "") << "seed " << seed;
  }
}

TEST(ExpertChoices, DoNotExplainALostToken) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    TwoRuns runs(seed);
    runs.draw(/*apart=*/0, /*isLost=*/true);
    EXPECT_EQ(explained(runs), "") << "seed " << seed;
  }
}

TEST(ExpertChoices, DoNotExplainOtherErrors) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    TwoRuns runs(seed);
    runs.draw(/*apart=*/0);
    int64_t size = kHidden * kFfn;
    runs.change(kDown, 0, size, 1.2); // an expert without part in it
    EXPECT_EQ(explained(runs), "grn") << "seed " << seed;
    runs.change(kGateUp, 2 * size, 2 * size, 1.4);
    EXPECT_EQ(explained(runs), "") << "seed " << seed;
  }
}
