// Tokens for which one of two runs chose another expert, because two of its scores are equal but for rounding.
//
// Such a token x adds to the gradients of one expert in one run, and to those of the other in the other run. To gate_up
// [expert, 2, ffn, hidden] it adds columns times x: the gradients of an expert differ by a matrix of rank one, whose
// right singular vector is x; for several tokens, by a matrix whose rows span them, and the common directions of two
// experts are the tokens that went to either. A tie is a token whose scores w_e x and w_f x, of the router's rows e and
// f, differ by no more than rounding of bf16. The part of a gradient that is orthogonal to these tokens is determined,
// and compared.
#ifndef PPC_TOOLS_COMPILE_EXPERTCHOICES_H
#define PPC_TOOLS_COMPILE_EXPERTCHOICES_H

#include "TensorFile.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace mlir::ppc {

class ExpertChoices {
public:
  /// Explains differences of the gradients of a step, which are equal if they differ by less than `tolerance` (relative
  /// L2), and of the parameters after it.
  ExpertChoices(const TensorFile &parallel, const TensorFile &single, const TensorFile &parameters, double tolerance)
      : parallel(parallel), single(single), parameters(parameters), tolerance(tolerance) {}

  /// Whether ties explain that the gradients of this tensor differ: of experts, of their router, or of the norm in
  /// front of both.
  bool explain(const std::string &name);
  /// Names the experts whose gradients are not all compared; prints nothing if no ties were needed.
  void report(llvm::raw_ostream &out) const;

private:
  using Vector = std::vector<double>;
  struct Token {
    Vector unit;           // x / |x|
    int64_t expert, other; // the expert that has the token in each run
  };
  struct Layer {
    std::vector<Token> tokens; // none: nothing is explained
    std::vector<Vector> basis; // orthonormal, of the space of the tokens
    bool isUsed = false;
    void add(Vector unit, int64_t expert, int64_t other);
  };
  /// Rows of a gradient's difference, and the norm of the gradient of the single run.
  struct Difference {
    std::vector<Vector> rows;
    double norm = 0;
  };

  Layer &layerOf(const std::string &prefix);
  Layer findTokens(const std::string &prefix) const;
  void findAlone(const Tensor &router, llvm::ArrayRef<Difference> differences, Layer &layer) const;
  void findShared(const Tensor &router, llvm::ArrayRef<Difference> differences, Layer &layer) const;
  std::vector<Vector> spaceOf(const Difference &difference, size_t most) const;
  bool isExplained(const Difference &difference, llvm::ArrayRef<Vector> basis) const;
  /// The expert whose score of a token of expert `own` is as near as rounding reaches, and to which it adds as well.
  std::optional<int64_t> tiedWith(const Tensor &router, const Vector &unit, int64_t own,
                                  llvm::ArrayRef<Difference> differences) const;
  /// Difference of block `number` of `count` along the first dimension; std::nullopt if the runs have no such tensor.
  std::optional<Difference> differenceOf(const std::string &name, int64_t number, int64_t count) const;
  bool isDownExplained(const std::string &name, const Layer &layer) const;

  const TensorFile &parallel, &single, &parameters;
  double tolerance;
  std::map<std::string, Layer> layers;
};

} // namespace mlir::ppc

#endif // PPC_TOOLS_COMPILE_EXPERTCHOICES_H
