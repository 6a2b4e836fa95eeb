// Appends ops with their costs to a layer program. Shared by the builders of layers, embedding and LM head.
#ifndef PPC_LIB_COSTMODEL_LAYERBUILDER_H
#define PPC_LIB_COSTMODEL_LAYERBUILDER_H

#include "ppc/CostModel/LayerProgram.h"
#include "ppc/CostModel/Overlap.h"

namespace mlir::ppc {

/// Largest share of `extent` heads, columns or rows on one of `parts` ranks: a remainder makes that rank slower.
inline double largestShare(int64_t extent, int64_t parts) { return double((extent + parts - 1) / parts); }

class LayerBuilder {
public:
  LayerBuilder(const PricingContext &context, LayerProgram &program) : context(context), program(program) {}

  /// rows x k times k x n with trained weights, in the layout's precision: forward, gradient of the rows, gradient of
  /// the weights. `saved`: bytes of its operand saved for backward. Below 16 bits another op follows, which quantizes
  /// the operands.
  void linear(llvm::StringRef name, double rows, double n, double k, Bytes saved, int kernels = 1);
  /// Sets the columns of a call of the last op, a matmul, that later slices of the sequence read.
  void readLater(double columns);
  /// As linear, in bf16 whatever the layout's precision: the LM head, the router.
  LayerOp &linearBf16(llvm::StringRef name, double rows, double n, double k, Bytes saved);
  /// As linear, for `groups` experts that share `rows` evenly; quantizeExperts quantizes them. `operand`, `gradient`:
  /// whether separate kernels do it for the operand and for the gradient of the result.
  LayerOp &experts(llvm::StringRef name, int64_t groups, double rows, double n, double k, Bytes saved);
  void quantizeExperts(int64_t groups, double rows, double n, double k, bool operand, bool gradient);
  /// A matmul of two activations, in bf16: forward, and the gradients of both operands. `skipped`: as in LayerProduct.
  LayerOp &batched(llvm::StringRef name, double batch, double m, double n, double k, Bytes saved, int64_t skipped = 0);
  /// Adds a matmul to `op`.
  void multiply(LayerOp &op, const LayerProduct &product);
  /// Memory-bound kernels: bytes read and written in forward and backward, spread over that many kernels.
  LayerOp &stream(llvm::StringRef name, double forwardBytes, double backwardBytes, int forwardKernels,
                  int backwardKernels, Bytes saved);
  /// One collective in forward and one in backward (bytes 0: none).
  LayerOp &collective(llvm::StringRef name, const GroupPlacement &group, CollectiveKind forward, Bytes forwardBytes,
                      CollectiveKind backward, Bytes backwardBytes);
  /// Collectives in the code of compiled programs. Appends nothing if the group has one rank.
  LayerOp &transfers(llvm::StringRef name, llvm::ArrayRef<LayerTransfer> transfers);
  void addTransfer(LayerOp &op, const LayerTransfer &transfer);
  /// Overlaps `op`'s backward communication with `compute`: the exposed part replaces it.
  void hide(Seconds &communication, Seconds compute) const;

  LayerProgram &result() { return program; }

private:
  using When = LayerProduct::When;
  LayerOp &product(llvm::StringRef name, Precision precision, double rows, double n, double k, Bytes saved,
                   int kernels);
  /// Operands, gradients and weights (elements of each) brought to the layout's precision, if it is below 16 bits.
  void quantize(double operands, double gradients, double weights, int kernels);
  LayerOp &add(llvm::StringRef name, OpClass kind);
  const PricingContext &context;
  LayerProgram &program;
};

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_LAYERBUILDER_H
