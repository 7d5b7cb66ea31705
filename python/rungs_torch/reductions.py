"""Sums and extrema: of all items, or along dimensions.

All functions take float32, float64, float16, bfloat16, int32 and int64. Along the last dimension of a contiguous tensor
nothing is copied; else the input is copied first. Halves are summed in float32 and rounded once. The same input has the
same bits on the same GPU; along dimensions, a row has the same bits whatever the number of rows. Gradients are not
computed."""

import math

from .library import OPERATIONS
from .low_precision import reduced_codes
from .tensors import (
    CODES,
    NUMBERS,
    check,
    dimension,
    dimensions,
    empty,
    last,
    num_rows,
    run_with_storage,
    torch,
    type_code,
    type_name,
    without,
)


def sum(x, dim=None, keepdim=False):
    """The sum of all items or along `dim`, one or several dimensions, as torch.sum. Sums of integers are int64. x may
    also be float8_e4m3fn or float8_e5m2, whose sums are float32."""
    check("sum", "x", x, NUMBERS + CODES)
    if type_name(x) in CODES:
        return reduced_codes("sum", "sum", x, dim, keepdim)
    dtype = x.dtype if x.is_floating_point() else torch().int64
    dims = dimensions("sum", x, dim)
    if x.numel() == 0:
        return torch().zeros(without(x, dims, keepdim), dtype=dtype, device=x.device)
    return _reduced("sum", x, dims, keepdim, dtype)


def amin(x, dim=None, keepdim=False):
    """The least item of all or along `dim`, one or several dimensions, as torch.amin. NaN where there is one; -0 is less
    than 0."""
    return _extremum("amin", "min", x, dim, keepdim)


def amax(x, dim=None, keepdim=False):
    """The greatest item of all or along `dim`, one or several dimensions, as torch.amax. NaN where there is one; -0 is
    less than 0."""
    return _extremum("amax", "max", x, dim, keepdim)


def argmin(x, dim=None, keepdim=False):
    """Where the least item is, along `dim` or in the flattened tensor, as torch.argmin: int64. Of equals the first,
    and -0 equals 0. A NaN is less than any number."""
    return _place("argmin", "min", x, dim, keepdim)


def argmax(x, dim=None, keepdim=False):
    """Where the greatest item is, along `dim` or in the flattened tensor, as torch.argmax: int64. Of equals the
    first, and -0 equals 0. A NaN is greater than any number."""
    return _place("argmax", "max", x, dim, keepdim)


def _reduced(operation, x, dims, keepdim, dtype):
    leading = (OPERATIONS[operation], type_code(x))
    result = empty(without(x, dims, keepdim), x, dtype)
    if len(dims) == x.dim():
        x = x.contiguous()
        run_with_storage("rungs_reduce", x, leading, (x.data_ptr(), result.data_ptr(), x.numel()))
    else:
        rows = last(x, dims).contiguous()
        arguments = (rows.data_ptr(), result.data_ptr(), num_rows(rows), rows.shape[-1])
        run_with_storage("rungs_reduce_rows", x, leading, arguments)
    return result


def _extremum(name, operation, x, dim, keepdim):
    check(name, "x", x, NUMBERS)
    dims = dimensions(name, x, dim)
    _refuse_none(name, x, dims)
    if x.numel() == 0:
        return empty(without(x, dims, keepdim), x)
    return _reduced(operation, x, dims, keepdim, x.dtype)


def _place(name, operation, x, dim, keepdim):
    check(name, "x", x, NUMBERS)
    dims = dimensions(name, x, None if dim is None else dimension(name, x, dim))
    _refuse_none(name, x, dims)
    result = empty(without(x, dims, keepdim), x, torch().int64)
    leading = (OPERATIONS[operation], type_code(x))
    if result.numel() == 0:
        return result
    if dim is None or x.dim() <= 1:
        x = x.contiguous()
        extremum = empty((), x)
        arguments = (x.data_ptr(), extremum.data_ptr(), result.data_ptr(), x.numel())
        run_with_storage("rungs_arg_reduce", x, leading, arguments)
    else:
        rows = last(x, dims).contiguous()
        arguments = (rows.data_ptr(), result.data_ptr(), num_rows(rows), rows.shape[-1])
        run_with_storage("rungs_arg_reduce_rows", x, leading, arguments)
    return result


def _refuse_none(name, x, dims):
    if math.prod(x.shape[each] for each in dims) == 0:
        raise ValueError(f"{name}: there is no item along dim {dims} of a tensor of shape {tuple(x.shape)}")
