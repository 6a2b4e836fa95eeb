// Templates of whole models for tests.
#ifndef PPC_TEST_UNIT_PLANNING_TEMPLATEMODELS_H
#define PPC_TEST_UNIT_PLANNING_TEMPLATEMODELS_H

#include "ppc/Planning/Chain/OpTemplate.h"

#include <string>

namespace mlir::ppc::test {

/// Writes a template op by op. Dimension labels name factors; a value's shape is given by the sizes of its labels.
class TemplateBuilder {
public:
  TemplateBuilder(std::string name, std::vector<std::pair<char, int64_t>> sizes);
  int value(const std::string &name, const std::string &letters, TemplateValueKind kind, bool gradient = true);
  int boundary(const std::string &name, const std::string &letters);
  int parameter(const std::string &name, const std::string &letters);
  /// Einsum "bsh,fh->bsf"; both operands are saved for backward.
  int product(const std::string &name, const std::string &spec, int left, int right);
  /// Elementwise over dimensions `letters`; `fixed` ones cannot be sharded. Linear ops pass partial sums through and
  /// save nothing.
  int pointwise(const std::string &name, const std::string &letters, std::vector<int> operands, bool linear,
                const std::string &fixed = "");
  /// Any stream: dimension labels per operand and of the result.
  int stream(const std::string &name, std::vector<std::pair<int, std::string>> operands, const std::string &result,
             const std::string &fixed = "", Combiner combiner = Combiner::Sum);
  int attention(const std::string &name, int q, int k, int v);
  OpTemplate finish(std::vector<int> outputs);

private:
  int64_t size(char letter) const;
  TemplateOp &start(const std::string &name, const std::vector<std::pair<int, std::string>> &operands,
                    const std::string &result, const std::string &fixed);
  OpTemplate layer;
  std::vector<std::pair<char, int64_t>> sizes;
};

struct DenseModel {
  int64_t layers = 32, hidden = 4096, ffn = 14336, heads = 32, kvHeads = 8, headDim = 128, vocab = 128256;
  int64_t batch = 1, sequence = 4096;
  bool positional = false; // rotary may be sharded along the sequence
};
/// Embedding, decoder layers, head with loss.
TemplateChain denseChain(const DenseModel &model);

/// A layer of two towers over one stream: y = x + W1 f(U1 x) + W2 g(U2 x), the second gated elementwise several times
/// over a wide hidden dimension; no attention and no norm.
TemplateChain twoTowerChain(int64_t layers, int64_t tokens, int64_t hidden, int64_t wide, int64_t narrow);

} // namespace mlir::ppc::test

#endif // PPC_TEST_UNIT_PLANNING_TEMPLATEMODELS_H
