// Ops that rearrange elements.
#ifndef PPC_IR_SHAPE_TD
#define PPC_IR_SHAPE_TD

include "dialects/ppc/IR/PpcDialect.td"

def Ppc_TransposeOp : Ppc_DifferentiableOp<"transpose"> {
  let summary = "permutation of dimensions";
  let description = [{
    Dimension i of the result is dimension `permutation[i]` of `x`. C1: `permutation` permutes the dimensions of `x`. C2:
    the result has the permuted shape.

    Example: `%y = ppc.transpose %x by [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x `by` $permutation attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Ppc_ReshapeOp : Ppc_DifferentiableOp<"reshape"> {
  let summary = "reshape: equal elements in another shape";
  let description = [{
    Row-major reinterpretation. C1: both shapes have equally many elements.

    Example: `%y = ppc.reshape %x : tensor<4x8xf32> to tensor<2x2x8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Ppc_BroadcastOp : Ppc_DifferentiableOp<"broadcast"> {
  let summary = "repetition along new dimensions";
  let description = [{
    The result has the new dimensions `dims` (indices of dimensions of the result); the other dimensions equal the
    dimensions of `x`, in order. C1: `dims` are distinct, sorted dimensions of the result. C2: the other dimensions
    equal the dimensions of `x`.

    Example: `%y = ppc.broadcast %x dims [1] : tensor<4xf32> to tensor<4x8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x `dims` $dims attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Ppc_SplitOp : Ppc_DifferentiableOp<"split"> {
  let summary = "consecutive parts of a dimension";
  let description = [{
    Result i is the part of `x` along `dim` that starts where result i - 1 ends. C1: `dim` is a dimension of `x`. C2: there
    is at least one result; they have the shape and element type of `x` but along `dim`, where their sizes add up to that of `x`.

    With `runs` r, `dim` is r runs of equal size, each of which is split so: result i is its part of the first run, then of
    the second, and so on. C3: r divides the size of every part.

    Example: `%q, %k = ppc.split %x dim 1 : tensor<4x8xf32> to tensor<4x6xf32>, tensor<4x2xf32>`
  }];
  let arguments = (ins Ppc_Tensor:$x, I64Attr:$dim, DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$runs);
  let results = (outs Variadic<Ppc_Tensor>:$parts);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$parts, "::mlir::Value":$x, "::mlir::IntegerAttr":$dim), [{
    build($_builder, $_state, parts, x, dim, $_builder.getI64IntegerAttr(1));
  }]>];
  let assemblyFormat = "$x `dim` $dim (`runs` $runs^)? attr-dict `:` type($x) `to` type($parts)";
  let hasVerifier = 1;
}

def Ppc_ConcatOp : Ppc_DifferentiableOp<"concat"> {
  let summary = "concatenation of tensors along a dimension";
  let description = [{
    The inverse of `split` with as many `runs`. C1: `dim` is a dimension of the result. C2: there is at least one operand; they
    have the shape and element type of the result but along `dim`, where their sizes add up to that of the result. C3: the number
    of runs divides the size of every operand.

    Example: `%y = ppc.concat %a, %b dim 1 : tensor<4x6xf32>, tensor<4x2xf32> to tensor<4x8xf32>`
  }];
  let arguments = (ins Variadic<Ppc_FloatTensor>:$parts, I64Attr:$dim,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$runs);
  let results = (outs Ppc_FloatTensor:$y);
  let builders = [OpBuilder<(ins "::mlir::Type":$y, "::mlir::ValueRange":$parts, "::mlir::IntegerAttr":$dim), [{
    build($_builder, $_state, y, parts, dim, $_builder.getI64IntegerAttr(1));
  }]>];
  let assemblyFormat = "$parts `dim` $dim (`runs` $runs^)? attr-dict `:` type($parts) `to` type($y)";
  let hasVerifier = 1;
}

#endif // PPC_IR_SHAPE_TD
