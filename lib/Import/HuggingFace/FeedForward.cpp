// Dense feed-forward layers: gated (SwiGLU and its like) or plain.
#include "ModelBuilder.h"

namespace mlir::ppc {

Value ModelBuilder::activate(Value x) {
  if (shape.activation == ActivationKind::Silu)
    return create<SiluOp>(x.getType(), x);
  return create<GeluOp>(x.getType(), x, config.tanhGelu ? builder.getUnitAttr() : UnitAttr());
}

Value ModelBuilder::feedForward(Value x, const std::string &name, int64_t inner) {
  Dimension hidden{"hidden", shape.hidden}, ffn{"ffn", inner};
  // Weights are [out, in], or transposed; `in` and `out` are einsum indices.
  auto linear = [&](StringRef which, Value from, Dimension in, Dimension out, const char *letters) {
    std::string full = name + "." + which.str();
    Value weight =
        matrix(full + ".weight", names.transposed ? ArrayRef<Dimension>{in, out} : ArrayRef<Dimension>{out, in}, 1,
               which == names.down ? residualScale() : 1);
    Value bias = shape.ffnBias ? vector(full + ".bias", {out}, InitKind::Zeros) : Value();
    at(full);
    std::string i(1, letters[0]), o(1, letters[1]);
    Value y = matmul("bs" + i + "," + (names.transposed ? i + o : o + i) + "->bs" + o, from, weight);
    return bias ? addBias(y, bias) : y;
  };
  if (!shape.gated) {
    Value up = linear(names.up, x, hidden, ffn, "hf");
    at(name);
    return linear(names.down, activate(up), ffn, hidden, "fh");
  }
  if (!names.storedGateUp.empty())
    for (auto [which, first] : {std::pair<StringRef, int64_t>("gate_proj", 0), {names.up, inner}})
      storedInRows(name + "." + which.str() + ".weight", name + "." + names.storedGateUp, 2 * inner, first, inner);
  Value gate = linear("gate_proj", x, hidden, ffn, "hf");
  Value up = linear(names.up, x, hidden, ffn, "hf");
  at(name);
  Value product = mul(activate(gate), up);
  return linear(names.down, product, ffn, hidden, "fh");
}

} // namespace mlir::ppc
