"""Liger's kernels (PyPI: liger-kernel), compiled by Triton for a GPU that is not there, at the sizes of own.py."""
import importlib.util
import pathlib
import sys
import types
import unittest.mock


def pretend_torch():
    """The package imports PyTorch for its functions on tensors, none of which is called here."""
    torch = unittest.mock.MagicMock()
    torch.__version__, torch.__spec__ = "2.15.0", None
    torch.cuda.is_available.return_value, torch.version.hip = True, None
    torch.float32, torch.float16, torch.bfloat16 = "float32", "float16", "bfloat16"
    torch.autograd.Function = object
    torch.nn.Module = object
    for name in ("", ".distributed", ".distributed.tensor", ".nn", ".nn.functional", ".autograd", ".amp", ".utils", ".utils.checkpoint"):
        module = torch
        for part in name.split(".")[1:]:
            module = getattr(module, part)
        sys.modules["torch" + name] = module
    # The package of the kernels without its own imports, which want all of them.
    found = importlib.util.find_spec("liger_kernel")
    package = types.ModuleType("liger_kernel.ops")
    package.__path__ = [str(pathlib.Path(found.origin).parent / "ops")]
    sys.modules["liger_kernel.ops"] = package


def kernels(architecture):
    """(operation, name, cubin) of each."""
    pretend_torch()
    import triton
    from liger_kernel.ops import cross_entropy, geglu, layer_norm, rms_norm, rope, swiglu
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    import triton.language as tl

    def compiled(operation, function, warps, **arguments):
        """Arguments by name: a type for what is given at a launch, else a constant, as Triton makes one of every 1, too."""
        types, constants, attributes = {}, {}, {}
        for place, name in enumerate(function.arg_names):
            value = arguments.get(name, 1)  # strides of adjacent elements are 1
            if isinstance(value, str) and value.lstrip("*") in ("bf16", "fp32", "i32", "i64"):
                types[name] = value
                if value.startswith("*") or value == "i32":  # multiples of 16, all of these
                    attributes[(place,)] = [["tt.divisibility", 16]]
            else:
                types[name], constants[name] = "constexpr", value
        source = ASTSource(fn=function, constexprs=constants, attrs=attributes, signature=types)
        made = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": warps})
        return operation, function.__name__.strip("_"), made.asm["cubin"]

    b, f, n = "*bf16", "*fp32", "i32"
    rows = dict(X_ptr=b, X_row_stride=n, W_ptr=b, RSTD_ptr=f, n_cols=n, eps="fp32", BLOCK_SIZE=4096)
    norm = dict(rows, Y_ptr=b, Y_row_stride=n)
    yield compiled("RMS norm", rms_norm._rms_norm_forward_kernel, 8, **norm, offset="fp32", casting_mode=0, elementwise_affine=True)
    yield compiled("RMS norm, backward", rms_norm._rms_norm_backward_kernel, 8, **rows, dY_ptr=b, dY_row_stride=n, dX_ptr=b, dX_row_stride=n,
                   X_dtype=tl.bfloat16, dW_ptr=f, dW_row_stride=n, n_rows=n, offset="fp32", rows_per_program=n, casting_mode=0,
                   elementwise_affine=True, COMPUTE_DW=True)
    yield compiled("layer norm", layer_norm._layer_norm_forward_kernel, 8, **norm, B_ptr=b, Mean_ptr=f)
    yield compiled("layer norm, backward", layer_norm._layer_norm_backward_kernel, 8, X_ptr=b, stride_x=n, W_ptr=b, Mean_ptr=f, RSTD_ptr=f, DX_ptr=b,
                   stride_dx=n, DW_ptr=f, stride_dw=n, DB_ptr=f, stride_db=n, DY_ptr=b, stride_dy=n, n_rows=n, n_cols=n, rows_per_program=32,
                   BLOCK_SIZE=4096, COMPUTE_DW=True, COMPUTE_DB=True)
    turn = dict(q_ptr=b, q_row_stride=n, k_ptr=b, k_row_stride=n, cos=b, cos_row_stride=n, sin=b, sin_row_stride=n, sl=n, n_qh=32, n_kh=8, hd=128,
                pad_n_qh=32, pad_n_kh=8, pad_hd=128, pad_rd=128, rd=128, BLOCK_SIZE=32)
    yield compiled("rotary embedding", rope._triton_rope, 4, **turn, BACKWARD_PASS=False)
    gated = dict(stride=n, n_cols=14336, BLOCK_SIZE=16384)
    if architecture < 100:
        yield compiled("SwiGLU", swiglu._swiglu_forward_kernel, 16, **gated, a_ptr=b, b_ptr=b, c_ptr=b, gate_multiplier="fp32")
        yield compiled("SwiGLU, backward", swiglu._swiglu_backward_kernel, 16, **gated, dc_ptr=b, a_ptr=b, b_ptr=b, gate_multiplier="fp32")
    else:
        tiled = dict(stride=n, n_cols=n, BLOCK_SIZE=1024)
        yield compiled("SwiGLU", swiglu._swiglu_forward_kernel_tiled, 4, **tiled, a_ptr=b, b_ptr=b, c_ptr=b, gate_multiplier="fp32")
        yield compiled("SwiGLU, backward", swiglu._swiglu_backward_kernel_tiled, 4, **tiled, dc_ptr=b, a_ptr=b, b_ptr=b, gate_multiplier="fp32")
    yield compiled("GeGLU", geglu._geglu_tanh_forward_kernel, 16, **gated, a=b, b=b, c=b)
    yield compiled("GeGLU, backward", geglu._geglu_tanh_backward_kernel, 16, **gated, dc=b, a=b, b=b)
    # Without a weight, softcap or label smoothing, in bf16 as the package's users call it.
    nothing = dict(weight_ptr=None, z_loss_ptr=None, token_accuracy_ptr=None, predicted_tokens_ptr=None, token_accuracy_stride=0,
                   predicted_tokens_stride=0, softcap=None, HAS_WEIGHT=False, HAS_SOFTCAPPING=False, RETURN_Z_LOSS=False,
                   RETURN_TOKEN_ACCURACY=False, RETURN_PREDICTED_TOKENS=False)
    yield compiled("gradient of the loss", cross_entropy.liger_cross_entropy_kernel, 8 if architecture == 100 else 32, **nothing, X_ptr=b,
                   X_stride=n, Y_ptr="*i64", loss_ptr=f, n_cols=n, n_non_ignore="fp32", sum_non_ignore_weight="fp32", weight_sum="fp32",
                   ignore_index=-100, lse_square_scale=0.0, label_smoothing=0.0, reduction="mean", BLOCK_SIZE=32768, HAS_GRADIENTS=True)
