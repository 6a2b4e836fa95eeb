// Elementwise ops.
#ifndef PPC_IR_ELEMENTWISE_TD
#define PPC_IR_ELEMENTWISE_TD

include "dialects/ppc/IR/PpcDialect.td"

class Ppc_UnaryOp<string mnemonic, string formula, list<Trait> traits = []>
    : Ppc_DifferentiableOp<mnemonic, traits # [SameOperandsAndResultType]> {
  let summary = "elementwise " # formula;
  let description = "Computes `" # formula # "` for each element.\n\nExample: `%y = ppc." # mnemonic # " %x : tensor<4x8xf32>`";
  let arguments = (ins Ppc_FloatTensor:$x);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

class Ppc_BinaryOp<string mnemonic, string formula, list<Trait> traits = []>
    : Ppc_DifferentiableOp<mnemonic, traits # [SameOperandsAndResultType]> {
  let summary = "elementwise " # formula;
  let description = "Computes `" # formula # "` for each element. C1: operands and result have one type; broadcasting is an op of its own.\n\n" #
                    "Example: `%y = ppc." # mnemonic # " %a, %b : tensor<4x8xf32>`";
  let arguments = (ins Ppc_FloatTensor:$a, Ppc_FloatTensor:$b);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a)";
}

def Ppc_AddOp : Ppc_BinaryOp<"add", "a + b", [Commutative]> { let hasFolder = 1; }
def Ppc_SubOp : Ppc_BinaryOp<"sub", "a - b"> { let hasFolder = 1; }
def Ppc_MulOp : Ppc_BinaryOp<"mul", "a * b", [Commutative]> { let hasFolder = 1; }
def Ppc_DivOp : Ppc_BinaryOp<"div", "a / b">;

def Ppc_NegOp : Ppc_UnaryOp<"neg", "-x"> { let hasFolder = 1; }
def Ppc_ExpOp : Ppc_UnaryOp<"exp", "e^x">;
def Ppc_LogOp : Ppc_UnaryOp<"log", "ln x">;
def Ppc_SqrtOp : Ppc_UnaryOp<"sqrt", "x^(1/2)">;
def Ppc_RsqrtOp : Ppc_UnaryOp<"rsqrt", "x^(-1/2)">;
def Ppc_SigmoidOp : Ppc_UnaryOp<"sigmoid", "1 / (1 + e^-x)">;
def Ppc_SiluOp : Ppc_UnaryOp<"silu", "x / (1 + e^-x)">;

def Ppc_SiluBackwardOp : Ppc_FinalOp<"silu_backward", "second derivatives are not implemented", [SameOperandsAndResultType]> {
  let summary = "gradient of silu";
  let description = [{
    Computes `dy * s * (1 + x * (1 - s))` with `s = 1 / (1 + e^-x)`. Created by autodiff.

    Example: `%dx = ppc.silu_backward %x, %dy : tensor<4x8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_FloatTensor:$dy);
  let results = (outs Ppc_FloatTensor:$dx);
  let assemblyFormat = "$x `,` $dy attr-dict `:` type($x)";
}

def Ppc_GeluOp : Ppc_DifferentiableOp<"gelu", [SameOperandsAndResultType]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    Computes `x * P(x)` with P the distribution function of the normal distribution, `P(x) = (1 + erf(x / sqrt(2))) / 2`
    (Hendrycks and Gimpel, 2016). With `tanh`, by the approximation `P(x) = (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2`.

    Example: `%y = ppc.gelu %x tanh : tensor<4x8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, UnitAttr:$tanh);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x (`tanh` $tanh^)? attr-dict `:` type($x)";
}

def Ppc_GeluBackwardOp : Ppc_FinalOp<"gelu_backward", "second derivatives are not implemented", [SameOperandsAndResultType]> {
  let summary = "gradient of gelu";
  let description = [{
    Computes `dy * (P(x) + x * P'(x))`, P as for `gelu`. Created by autodiff.

    Example: `%dx = ppc.gelu_backward %x, %dy tanh : tensor<4x8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_FloatTensor:$dy, UnitAttr:$tanh);
  let results = (outs Ppc_FloatTensor:$dx);
  let assemblyFormat = "$x `,` $dy (`tanh` $tanh^)? attr-dict `:` type($x)";
}

def Ppc_ScaleOp : Ppc_DifferentiableOp<"scale", [SameOperandsAndResultType]> {
  let summary = "multiplication by a constant";
  let description = [{
    Computes `factor * x`; `factor` is a compile-time f64.

    Example: `%y = ppc.scale %x by 2.500000e-01 : tensor<4x8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, F64Attr:$factor);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x `by` $factor attr-dict `:` type($x)";
  let hasFolder = 1;
}

def Ppc_ConvertOp : Ppc_DifferentiableOp<"convert", [SameOperandsAndResultShape]> {
  let summary = "change of element type";
  let description = [{
    Rounds to nearest even where the result has fewer bits. Then what is partial does not pass: a sum of rounded parts is not the
    rounded sum. Where the result has no fewer bits, no number changes and partial sums pass.

    Example: `%y = ppc.convert %x : tensor<4x8xf32> to tensor<4x8xbf16>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Whether every number stays what it is: from 16 bits to f32, from f32 to f64.
    bool widens();
  }];
}

def Ppc_SumOp : Ppc_DifferentiableOp<"sum", [SameOperandsAndResultType]> {
  let summary = "elementwise sum of any number of tensors";
  let description = [{
    Adds its operands from left to right. C1: there is at least one operand. Used if a value has several contributions
    (tied parameters, the squared norm of all gradients): unlike a chain of `add`, it can be regrouped when the
    contributions live on different pipeline stages or are partial over different axes.

    Example: `%y = ppc.sum %a, %b, %c : tensor<f32>`
  }];
  let arguments = (ins Variadic<Ppc_FloatTensor>:$inputs);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$inputs attr-dict `:` type($y)";
  let hasFolder = 1;
}

def Ppc_ConstantOp : Ppc_FinalOp<"constant", "a constant depends on nothing", [ConstantLike, AllTypesMatch<["value", "y"]>]> {
  let summary = "a constant tensor";
  let description = "Example: `%c = ppc.constant dense<1.0> : tensor<4xf32>`";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Ppc_Tensor:$y);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

#endif // PPC_IR_ELEMENTWISE_TD
