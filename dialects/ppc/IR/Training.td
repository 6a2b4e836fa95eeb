// The optimizer.
#ifndef PPC_IR_TRAINING_TD
#define PPC_IR_TRAINING_TD

include "dialects/ppc/IR/PpcDialect.td"

def Ppc_AdamwOp : Ppc_FinalOp<"adamw", "the optimizer is not differentiated", [
    AllTypesMatch<["parameter", "gradient", "m", "v", "new_parameter", "new_m", "new_v"]>,
    AllTypesMatch<["lr", "step", "scale"]>]> {
  let summary = "one AdamW update";
  let description = [{
    Loshchilov and Hutter, 2019. With `g = scale * gradient` and `t = step` (counted from 1):
    `m' = beta1 m + (1 - beta1) g`, `v' = beta2 v + (1 - beta2) g^2`,
    `p' = p - lr (weight_decay p + (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + epsilon))`.
    `scale` carries gradient clipping. C1: parameter, gradient, m, v have one type; lr, step and scale are scalars of the
    same element type.

    Example: `%p2, %m2, %v2 = ppc.adamw %p, %g, %m, %v, %lr, %step, %scale {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<8xf32>, tensor<f32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$parameter, Ppc_FloatTensor:$gradient, Ppc_FloatTensor:$m, Ppc_FloatTensor:$v,
                       Ppc_FloatScalar:$lr, Ppc_FloatScalar:$step, Ppc_FloatScalar:$scale,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
  let results = (outs Ppc_FloatTensor:$new_parameter, Ppc_FloatTensor:$new_m, Ppc_FloatTensor:$new_v);
  let assemblyFormat = [{
    $parameter `,` $gradient `,` $m `,` $v `,` $lr `,` $step `,` $scale attr-dict `:` type($parameter) `,` type($lr)
  }];
  let hasVerifier = 1;
}

def Ppc_SquaredNormOp : Ppc_FinalOp<"squared_norm", "the optimizer is not differentiated"> {
  let summary = "sum of squares of all elements";
  let description = [{
    C1: the result is a scalar of the operand's element type.

    Example: `%n = ppc.squared_norm %g : tensor<4x8xf32> to tensor<f32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x);
  let results = (outs Ppc_FloatScalar:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Ppc_ClipScaleOp : Ppc_FinalOp<"clip_scale", "the optimizer is not differentiated", [SameOperandsAndResultType]> {
  let summary = "factor that clips a gradient of the given norm";
  let description = [{
    `min(1, max_norm / (norm + 1e-6))` (Pascanu et al., 2013; the constant is PyTorch's). C1: `max_norm` > 0.

    Example: `%s = ppc.clip_scale %norm max_norm 1.000000e+00 : tensor<f32>`
  }];
  let arguments = (ins Ppc_FloatScalar:$norm, F64Attr:$max_norm);
  let results = (outs Ppc_FloatScalar:$scale);
  let assemblyFormat = "$norm `max_norm` $max_norm attr-dict `:` type($norm)";
  let hasVerifier = 1;
}

#endif // PPC_IR_TRAINING_TD
