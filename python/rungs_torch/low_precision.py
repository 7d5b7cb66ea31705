"""To fp8 and fp4 with scales, and sums of them; softmax and norms of fp8. docs/low_precision.md has the formats and the rules of the scales.

A row lies along the last dimension, and groups of its items have a scale. Two codes of fp4 are a byte: the one of the even
column is in its low half, as in torch.float4_e2m1fn_x2, which a result of uint8 may be viewed as. Gradients are not
computed."""

from . import library
from .tensors import (
    CODES,
    FLOATS,
    address,
    check,
    check_has_rows,
    check_one,
    check_shape,
    dimension,
    dimensions,
    empty,
    in_rows,
    last,
    name_of,
    num_rows,
    run,
    run_with_storage,
    torch,
    type_code,
    type_name,
    without,
)

GROUPS = {"float8_e4m3fn": (16,), "float8_e8m0fnu": (32,), "float32": (16, 32)}  # of fp4, by the type of the scales


def quantize_fp8(x, group=None, *, scale_type=None):
    """(codes, scales): codes of float8_e4m3fn in the shape of x. A value is code * scale.

    group        None: a scale for each row (per token); scales have the shape (..., 1). 128: a scale for 128 columns.
    scale_type   torch.float32, the default; or torch.float8_e8m0fnu, which rounds a scale up to a power of two

    The scale is the greatest magnitude / 448, at least 2**-126. Codes are the nearest, ties to even. A group with NaN has
    the scale NaN. Infinities count as the greatest finite number."""
    if group not in (None, 128):
        raise ValueError(f"quantize_fp8: group is {group!r}, but must be None or 128")
    scale_type = torch().float32 if scale_type is None else scale_type
    if name_of(scale_type) not in ("float32", "float8_e8m0fnu"):
        raise TypeError(f"quantize_fp8: scale_type is {scale_type}, but must be torch.float32 or torch.float8_e8m0fnu")
    return _quantized("quantize_fp8", "fp8_groups" if group else "fp8_rows", x, group, torch().float8_e4m3fn, scale_type)


def quantize_mxfp8(x):
    """(codes, scales) of MXFP8: float8_e4m3fn in the shape of x, and a float8_e8m0fnu for 32 columns. The scale is
    2**(floor(log2 greatest) - 8), as the OCP specification has it: greater items may saturate."""
    return _quantized("quantize_mxfp8", "mxfp8", x, 32, torch().float8_e4m3fn, torch().float8_e8m0fnu)


def quantize_mxfp4(x):
    """(codes, scales) of MXFP4: uint8 in the shape (..., columns / 2), and a float8_e8m0fnu for 32 columns. The scale is
    2**(floor(log2 greatest) - 2)."""
    return _quantized("quantize_mxfp4", "mxfp4", x, 32, torch().uint8, torch().float8_e8m0fnu)


def quantize_nvfp4(x, global_scale=None):
    """(codes, scales) of NVFP4: uint8 in the shape (..., columns / 2), and a float8_e4m3fn for 16 columns. A value is
    code * scale * global scale.

    global_scale   float32, one item on the GPU, usually the greatest magnitude / (6 * 448). None: 1."""
    return _quantized("quantize_nvfp4", "nvfp4", x, 16, torch().uint8, torch().float8_e4m3fn, global_scale)


def _quantized(name, form, x, group, code_type, scale_type, global_scale=None):
    check(name, "x", x, FLOATS)
    check_has_rows(name, "x", x)
    columns = x.shape[-1]
    if group and columns % group != 0:
        raise ValueError(f"{name}: x has {columns} columns, but must have a multiple of {group}")
    if global_scale is not None:
        check(name, "global_scale", global_scale, ("float32",), like=x)
        check_one(name, "global_scale", global_scale)
    packed = columns // 2 if form in ("mxfp4", "nvfp4") else columns
    codes = empty((*x.shape[:-1], packed), x, code_type)
    scales = empty((*x.shape[:-1], columns // group if group else 1), x, scale_type)
    if x.numel() > 0:
        source, stride = in_rows(x)
        run(
            "rungs_quantize", x, library.FORMATS[form], type_code(x), type_code(scales), source.data_ptr(), stride,
            codes.data_ptr(), scales.data_ptr(), address(global_scale), num_rows(source), columns,
        )  # fmt: skip
    return codes, scales


def abs_max(x, dim=None, keepdim=False):
    """The greatest magnitude of float8_e4m3fn or float8_e5m2, of all items or along `dim`: float32. NaN where there is one,
    0 of nothing."""
    return reduced_codes("abs_max", "abs_max", x, dim, keepdim)


def reduced_codes(name, operation, x, dim, keepdim):
    """fp8 reduced to float32. Rows along the last dimension are read where they lie."""
    check(name, "x", x, CODES)
    dims = dimensions(name, x, dim)
    if x.numel() == 0:
        return torch().zeros(without(x, dims, keepdim), dtype=torch().float32, device=x.device)
    result = empty(without(x, dims, keepdim), x, torch().float32)
    leading = (library.OPERATIONS[operation], type_code(x))
    if len(dims) == x.dim():
        x = x.contiguous()
        run_with_storage("rungs_reduce_codes", x, leading, (x.data_ptr(), result.data_ptr(), x.numel()))
    else:
        rows, stride = in_rows(last(x, dims))
        run(
            "rungs_reduce_rows_of_codes", x, *leading, rows.data_ptr(), stride, result.data_ptr(), num_rows(rows),
            rows.shape[-1],
        )  # fmt: skip
    return result


def dequantizing_sum(codes, scales, dim=None, keepdim=False, *, global_scale=None):
    """The sum of code * scale of fp4, times the global scale where there is one: float32, of all items or of each row.

    codes    uint8 or float4_e2m1fn_x2, of the shape (..., columns / 2)
    scales   (..., columns / group): float8_e4m3fn for groups of 16, float8_e8m0fnu for 32, float32 for either
    dim      None or -1

    Codes and scales are those of quantize_nvfp4 and quantize_mxfp4."""
    name = "dequantizing_sum"
    check(name, "codes", codes, ("uint8", "float4_e2m1fn_x2"))
    check(name, "scales", scales, tuple(GROUPS), like=codes)
    check_has_rows(name, "codes", codes)
    if dim is not None and dimension(name, codes, dim) != codes.dim() - 1:
        raise ValueError(f"{name}: dim is {dim}, but must be None or -1")
    if global_scale is not None:
        check(name, "global_scale", global_scale, ("float32",), like=codes)
        check_one(name, "global_scale", global_scale)
    columns = 2 * codes.shape[-1]
    groups = GROUPS[type_name(scales)]
    fitting = [each for each in groups if (*codes.shape[:-1], columns) == (*scales.shape[:-1], each * scales.shape[-1])]
    if not fitting:
        told = " or ".join(str((*codes.shape[:-1], columns // each)) for each in groups)
        raise ValueError(f"{name}: {type_name(scales)} scales have the shape {tuple(scales.shape)}, but must have {told}")
    dims = dimensions(name, codes, dim)
    shape = without(codes, dims, keepdim)
    if codes.numel() == 0:
        return torch().zeros(shape, dtype=torch().float32, device=codes.device)
    result = empty(shape, codes, torch().float32)
    scales = scales.contiguous()
    if len(dims) == codes.dim():
        codes = codes.contiguous()
        run_with_storage(
            "rungs_dequantizing_sum", codes, (type_code(scales), fitting[0]),
            (codes.data_ptr(), scales.data_ptr(), address(global_scale), result.data_ptr(), 2 * codes.numel()),
        )  # fmt: skip
    else:
        rows, stride = in_rows(codes)
        run(
            "rungs_dequantizing_sum_rows", codes, type_code(scales), fitting[0], rows.data_ptr(), stride,
            scales.data_ptr(), address(global_scale), result.data_ptr(), num_rows(rows), rows.shape[-1],
        )  # fmt: skip
    return result


def softmax_of_fp8(x, *, scale=None, dtype=None):
    """Softmax of each row of code * scale, with sums in float32.

    x       float8_e4m3fn or float8_e5m2
    scale   float32: one item for all codes; or one for each row, in the shape (..., 1), as quantize_fp8 has it. None: 1.
    dtype   of the result: torch.float32, torch.float16, or torch.bfloat16, the default"""
    return _softmax("softmax_of_fp8", False, x, scale, dtype)


def log_softmax_of_fp8(x, *, scale=None, dtype=None):
    """The logarithm of that. See softmax_of_fp8."""
    return _softmax("log_softmax_of_fp8", True, x, scale, dtype)


def layer_norm_of_fp8(x, weight=None, bias=None, eps=1e-5, *, scale=None, dtype=None):
    """(value - mean) / sqrt(variance + eps) * weight + bias of each row of code * scale.

    weight, bias   (columns), of the type of the result

    The others are as in softmax_of_fp8."""
    return _norm("layer_norm_of_fp8", True, x, weight, bias, eps, scale, dtype)


def rms_norm_of_fp8(x, weight=None, eps=1e-6, *, scale=None, dtype=None):
    """value / sqrt(the mean of value * value + eps) * weight of each row of code * scale. See layer_norm_of_fp8."""
    return _norm("rms_norm_of_fp8", False, x, weight, None, eps, scale, dtype)


def _softmax(name, logarithm, x, scale, dtype):
    result, scale = _result_and_scale(name, x, scale, dtype)
    if x.numel() > 0:
        _run_on_codes("rungs_softmax_of_codes", logarithm, x, scale, result)
    return result


def _norm(name, centred, x, weight, bias, eps, scale, dtype):
    result, scale = _result_and_scale(name, x, scale, dtype)
    for what, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None:
            check(name, what, parameter, (type_name(result),), like=x)
            check_shape(name, what, parameter, x.shape[-1:])
    weight, bias = (None if each is None else each.contiguous() for each in (weight, bias))
    if x.numel() > 0:
        _run_on_codes("rungs_norm_of_codes", centred, x, scale, result, address(weight), address(bias), float(eps))
    return result


def _result_and_scale(name, x, scale, dtype):
    check(name, "x", x, CODES)
    check_has_rows(name, "x", x)
    dtype = torch().bfloat16 if dtype is None else dtype
    if name_of(dtype) not in FLOATS:
        raise TypeError(f"{name}: dtype is {dtype}, but must be torch.float32, torch.float16 or torch.bfloat16")
    if scale is not None:
        check(name, "scale", scale, ("float32",), like=x)
        if scale.numel() != 1:
            check_shape(name, "scale", scale, (*x.shape[:-1], 1))
        scale = scale.contiguous()
    return empty(x.shape, x, dtype), scale


def _run_on_codes(function, variant, x, scale, result, *more):
    source, stride = in_rows(x)
    run(
        function, x, int(variant), type_code(x), type_code(result), source.data_ptr(), stride, address(scale),
        int(scale is not None and scale.numel() > 1), result.data_ptr(), x.shape[-1], num_rows(x), x.shape[-1], *more,
    )  # fmt: skip
