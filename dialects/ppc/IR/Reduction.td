// Ops that combine along dimensions.
#ifndef PPC_IR_REDUCTION_TD
#define PPC_IR_REDUCTION_TD

include "dialects/ppc/IR/PpcAttrs.td"

def Ppc_ReduceOp : Ppc_DifferentiableOp<"reduce"> {
  let summary = "sum or maximum over some dimensions";
  let description = [{
    C1: `dims` are distinct, sorted dimensions of `x`. C2: the result has the other dimensions. C3: `combiner` is sum or
    max. The derivative exists for sum only.

    Example: `%y = ppc.reduce <sum> %x dims [0, 1] : tensor<4x8xf32> to tensor<f32>`
  }];
  let arguments = (ins Ppc_CombinerAttr:$combiner, Ppc_FloatTensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$combiner $x `dims` $dims attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef noGradientReason() {
      return getCombiner() == ::mlir::ppc::Combiner::Sum ? "" : "maxima are not differentiated";
    }
  }];
}

def Ppc_LogSumExpOp : Ppc_FinalOp<"log_sum_exp", "created from cross_entropy after autodiff"> {
  let summary = "ln of the sum of e^x over the last dimension";
  let description = [{
    Computed with the maximum subtracted. A sharded last dimension gives a partial result that combines by
    `log_sum_exp`, so that no device ever holds all classes. `classes` specifies the block of the classes that a local
    op sees (padding counts as minus infinity). C1: the result has all dimensions but the last. Created by
    `ppc-expand-cross-entropy`.

    Example: `%y = ppc.log_sum_exp %x : tensor<4x131xf32> to tensor<4xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, OptionalAttr<Ppc_BlockAttr>:$classes);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x (`classes` $classes^)? attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef noGradientReason() { return "created from cross_entropy after autodiff"; }
    bool setFactorBlock(unsigned factor, ::mlir::Attribute block);
  }];
}

def Ppc_SoftmaxOp : Ppc_DifferentiableOp<"softmax", [SameOperandsAndResultType]> {
  let summary = "softmax over the last dimension";
  let description = "C1: rank at least one.\n\nExample: `%y = ppc.softmax %x : tensor<4x8xf32>`";
  let arguments = (ins Ppc_FloatTensor:$x);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Ppc_SoftmaxBackwardOp : Ppc_FinalOp<"softmax_backward", "second derivatives are not implemented", [SameOperandsAndResultType]> {
  let summary = "gradient of softmax";
  let description = [{
    Computes `y * (dy - sum(y * dy))` over the last dimension. C1: rank at least one. Created by autodiff.

    Example: `%dx = ppc.softmax_backward %y, %dy : tensor<4x8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$y, Ppc_FloatTensor:$dy);
  let results = (outs Ppc_FloatTensor:$dx);
  let assemblyFormat = "$y `,` $dy attr-dict `:` type($y)";
  let hasVerifier = 1;
}

def Ppc_RmsNormOp : Ppc_DifferentiableOp<"rms_norm", [AllTypesMatch<["x", "y"]>]> {
  let summary = "root-mean-square normalisation over the last dimension";
  let description = [{
    Computes `weight * x / sqrt(mean(x^2) + epsilon)` (Zhang and Sennrich, 2019). C1: `weight` is one-dimensional, as
    long as the last dimension of `x`. C2: the result has the type of `x`; element types are equal.

    Example: `%y = ppc.rms_norm %x, %w epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_FloatTensor:$weight, F64Attr:$epsilon);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x `,` $weight `epsilon` $epsilon attr-dict `:` type($x) `,` type($weight)";
  let hasVerifier = 1;
}

def Ppc_RmsNormInputGradientOp : Ppc_FinalOp<"rms_norm_input_gradient", "second derivatives are not implemented", [AllTypesMatch<["x", "dy", "dx"]>]> {
  let summary = "gradient of rms_norm with respect to its input";
  let description = [{
    With `r = 1 / sqrt(mean(x^2) + epsilon)` and `g = dy * weight`: `dx = r * g - x * r^3 * mean(g * x)`. C1, C2 as
    `rms_norm`. Created by autodiff.

    Example: `%dx = ppc.rms_norm_input_gradient %x, %w, %dy epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_FloatTensor:$weight, Ppc_FloatTensor:$dy, F64Attr:$epsilon);
  let results = (outs Ppc_FloatTensor:$dx);
  let assemblyFormat = "$x `,` $weight `,` $dy `epsilon` $epsilon attr-dict `:` type($x) `,` type($weight)";
  let hasVerifier = 1;
}

def Ppc_RmsNormWeightGradientOp : Ppc_FinalOp<"rms_norm_weight_gradient", "second derivatives are not implemented", [AllTypesMatch<["x", "dy"]>]> {
  let summary = "gradient of rms_norm with respect to its weight";
  let description = [{
    `dweight = sum over all but the last dimension of dy * x / sqrt(mean(x^2) + epsilon)`. C1: the result is
    one-dimensional, as long as the last dimension of `x`. Created by autodiff.

    Example: `%dw = ppc.rms_norm_weight_gradient %x, %dy epsilon 1.000000e-05 : tensor<4x8xf32> to tensor<8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_FloatTensor:$dy, F64Attr:$epsilon);
  let results = (outs Ppc_FloatTensor:$dweight);
  let assemblyFormat = "$x `,` $dy `epsilon` $epsilon attr-dict `:` type($x) `to` type($dweight)";
  let hasVerifier = 1;
}

def Ppc_LayerNormOp : Ppc_DifferentiableOp<"layer_norm", [AllTypesMatch<["x", "y"]>, AllTypesMatch<["weight", "bias"]>]> {
  let summary = "normalisation to mean 0 and variance 1 over the last dimension";
  let description = [{
    Computes `weight * (x - mean(x)) / sqrt(variance(x) + epsilon) + bias`, the variance as the mean of squares (Ba et al.,
    2016). C1: `weight` and `bias` are one-dimensional, as long as the last dimension of `x`; element types are equal.

    Example: `%y = ppc.layer_norm %x, %w, %b epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_FloatTensor:$weight, Ppc_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x `,` $weight `,` $bias `epsilon` $epsilon attr-dict `:` type($x) `,` type($weight)";
  let hasVerifier = 1;
}

def Ppc_LayerNormInputGradientOp : Ppc_FinalOp<"layer_norm_input_gradient", "second derivatives are not implemented", [AllTypesMatch<["x", "dy", "dx"]>]> {
  let summary = "gradient of layer_norm with respect to its input";
  let description = [{
    With `z = (x - mean(x)) * r`, `r = 1 / sqrt(variance(x) + epsilon)` and `g = dy * weight`:
    `dx = r * (g - mean(g) - z * mean(g * z))`. C1: as `layer_norm`. Created by autodiff.

    Example: `%dx = ppc.layer_norm_input_gradient %x, %w, %dy epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_FloatTensor:$weight, Ppc_FloatTensor:$dy, F64Attr:$epsilon);
  let results = (outs Ppc_FloatTensor:$dx);
  let assemblyFormat = "$x `,` $weight `,` $dy `epsilon` $epsilon attr-dict `:` type($x) `,` type($weight)";
  let hasVerifier = 1;
}

def Ppc_LayerNormWeightGradientOp : Ppc_FinalOp<"layer_norm_weight_gradient", "second derivatives are not implemented", [AllTypesMatch<["x", "dy"]>]> {
  let summary = "gradient of layer_norm with respect to its weight";
  let description = [{
    `dweight = sum over all but the last dimension of dy * (x - mean(x)) / sqrt(variance(x) + epsilon)`; the gradient of the
    bias is the sum of `dy`. C1: the result is one-dimensional, as long as the last dimension of `x`. Created by autodiff.

    Example: `%dw = ppc.layer_norm_weight_gradient %x, %dy epsilon 1.000000e-05 : tensor<4x8xf32> to tensor<8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_FloatTensor:$dy, F64Attr:$epsilon);
  let results = (outs Ppc_FloatTensor:$dweight);
  let assemblyFormat = "$x `,` $dy `epsilon` $epsilon attr-dict `:` type($x) `to` type($dweight)";
  let hasVerifier = 1;
}

#endif // PPC_IR_REDUCTION_TD
